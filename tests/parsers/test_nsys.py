from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest

from parsers import nsys
from parsers.errors import CaptureError
from parsers.schemas import TIMELINE
from tests.parsers.exports import ATTRIBUTED, BASE, EARLIEST, write_export


def test_launches_belong_to_the_range_of_their_call(export_path: Path) -> None:
    frame = nsys.parse(export_path)
    found = {
        row["start_ns"] + EARLIEST: None
        if pd.isna(row["variant"])
        else (row["variant"], row["repeat"], row["launch"])
        for row in frame.to_dict("records")
    }
    assert found == ATTRIBUTED
    outside = frame[frame["variant"].isna()]
    assert outside[["operator", "case", "repeat", "launch"]].isna().all(axis=None)


def test_columns_and_exact_times(export_path: Path) -> None:
    frame = nsys.parse(export_path)
    assert list(frame.columns) == list(TIMELINE.columns)
    first = frame.iloc[0]
    assert first["kernel"] == "k_short"
    assert first["kernel_demangled"] == "void k_long<float>(int)"
    assert (first["start_ns"], first["duration_ns"]) == (305 - EARLIEST, 25)
    assert (first["api_start_ns"], first["api_duration_ns"]) == (150 - EARLIEST, 5)
    assert frame["api_start_ns"].min() == 0
    assert frame["start_ns"].is_monotonic_increasing
    assert frame["device"].value_counts().to_dict() == {0: 11, 1: 1}
    assert (frame["grid_x"] == 64).all()
    assert (frame["registers_per_thread"] == 32).all()
    assert frame[["block_x", "static_shared_bytes"]].isna().all(axis=None)


@pytest.mark.parametrize("table", ["NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_RUNTIME"])
def test_without_ranges_or_calls_there_are_no_keys(tmp_path: Path, table: str) -> None:
    frame = nsys.parse(write_export(tmp_path / "a.sqlite", f"DROP TABLE {table}"))
    assert len(frame) == len(ATTRIBUTED)
    assert frame[["operator", "variant", "case", "repeat", "launch"]].isna().all(axis=None)


def test_a_range_that_was_cut_off_stays_open(tmp_path: Path) -> None:
    change = f"UPDATE NVTX_EVENTS SET end = NULL WHERE start = {BASE + 410}"
    frame = nsys.parse(write_export(tmp_path / "a.sqlite", change))
    assert frame["variant"].tolist()[-4:] == ["outer", "inner", "outer", "triton"]


def test_text_column_alone(tmp_path: Path) -> None:
    changes = (
        "DELETE FROM NVTX_EVENTS WHERE text IS NULL",
        "ALTER TABLE NVTX_EVENTS DROP COLUMN textId",
    )
    frame = nsys.parse(write_export(tmp_path / "a.sqlite", *changes))
    assert (frame["variant"] == "naive").sum() == 1


@pytest.mark.parametrize(
    "change", ["DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL", "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL"]
)
def test_no_kernels(tmp_path: Path, change: str) -> None:
    with pytest.raises(CaptureError, match=r"holds no kernel launches \(schema 3\.20\.3\)"):
        nsys.parse(write_export(tmp_path / "a.sqlite", change))


def test_whole_graphs_are_named(tmp_path: Path) -> None:
    path = write_export(
        tmp_path / "a.sqlite",
        "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL",
        "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER)",
        "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (1)",
    )
    with pytest.raises(CaptureError, match="--cuda-graph-trace=node"):
        nsys.parse(path)


def test_a_missing_column_that_is_needed(tmp_path: Path) -> None:
    change = "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN globalPid"
    with pytest.raises(CaptureError, match=r"no globalPid \(export schema 3\.20\.3\)"):
        nsys.parse(write_export(tmp_path / "a.sqlite", change))


def test_another_database(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE t (x)")
    with pytest.raises(CaptureError, match="not an nsys export"):
        nsys.parse(path)


def test_the_export_is_not_written_to(export_path: Path) -> None:
    before = export_path.read_bytes()
    nsys.parse(export_path)
    assert export_path.read_bytes() == before
    assert [path.name for path in export_path.parent.iterdir()] == [export_path.name]


@pytest.mark.parametrize(
    ("name", "kernels", "duration", "devices"),
    [
        ("h200/gelu_4096.sqlite", 21, 824926, {0: 21}),
        ("h200/gelu.sqlite", 52, 7668137, {0: 52}),
        ("field/nsys-2024.6-cuda-graph.sqlite", 30, 78270, {0: 30}),
        ("field/nsys-2025.5-graph-nodes.sqlite", 3, 3840, {0: 3}),
        ("field/nsys-2026.2-two-gpus.sqlite", 3442, 44829522, {0: 1721, 1: 1721}),
    ],
)
def test_real_exports(
    shared: Callable[[str], Path], name: str, kernels: int, duration: int, devices: dict[int, int]
) -> None:
    frame = nsys.parse(shared(name))
    assert len(frame) == kernels
    assert frame["duration_ns"].sum() == duration
    assert frame["device"].value_counts().to_dict() == devices
    assert frame["operator"].isna().all()


def test_real_export_without_kernels(shared: Callable[[str], Path]) -> None:
    with pytest.raises(CaptureError, match=r"no kernel launches \(schema 3\.17\.2\)"):
        nsys.parse(shared("field/nsys-2025.1-no-kernel-table.sqlite"))


def test_real_ranges(shared: Callable[[str], Path]) -> None:
    frame = nsys.launches_in(
        shared("h200/gelu.sqlite"), "kp", lambda name: name.startswith("gelu.")
    )
    assert frame["range"].value_counts().to_dict() == {
        "gelu.naive": 9,
        "gelu.builtin": 1,
        "gelu.compiled": 1,
        "gelu.triton": 1,
    }
    assert set(frame["repeat"].dropna()) == {0}
    assert frame.loc[frame["range"] == "gelu.naive", "launch"].tolist() == list(range(9))
