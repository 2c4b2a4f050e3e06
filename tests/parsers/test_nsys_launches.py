from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest

from parsers import nsys
from parsers.errors import CaptureError
from parsers.nsys_schemas import LAUNCHES
from tests.parsers.exports import BASE, P1, write_export

PATHS = {
    305: "gelu/start-end/small > gelu/naive/small > not a key > gelu/other-domain/small",
    420: "gelu/start-end/small",
    1000: "gelu/start-end/small > gelu/naive/small > not a key",
    1100: "gelu/start-end/small > gelu/naive/small",
    1200: "gelu/start-end/small > gelu/builtin/small",
    1300: "gelu/second-process/small",
    1400: "gelu/start-end/small",
    1500: "gelu/start-end/small > gelu/triton/small",
    1600: "gelu/start-end/small > gelu/outer/small",
    1700: "gelu/start-end/small > gelu/outer/small > gelu/inner/small",
    1800: "gelu/start-end/small > gelu/outer/small",
    1900: None,
}
"""GPU start of the launches of `tests.parsers.exports`, and what was open when they were called."""

GRAPH_TABLE = """CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER,
    deviceId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, graphId INTEGER,
    graphExecId INTEGER)"""
GRAPH = f"""INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES
    ({BASE + 5000}, {BASE + 5700}, 0, 7, 10, {P1}, 4, 5)"""
COPIES = (
    """CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER,
    streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER)""",
    f"""INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES
    ({BASE + 6000}, {BASE + 6001}, 0, 7, 1, {P1}, 4096, 1),
    ({BASE + 6100}, {BASE + 6102}, 0, 7, 2, {P1}, 4, 99)""",
)


def _paths(frame: pd.DataFrame) -> dict[int, str | None]:
    rows = frame[["start_ns", "range_path"]].itertuples(index=False)
    return {start - BASE: path if isinstance(path, str) else None for start, path in rows}


def _parquet(source: Path, folder: Path) -> Path:
    folder.mkdir()
    with closing(sqlite3.connect(source)) as database:
        tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (name,) in tables:
            frame = pd.read_sql_query(
                f"SELECT * FROM {name}", database, dtype_backend="numpy_nullable"
            )
            frame.to_parquet(folder / f"{name}.parquet")
    return folder


def test_columns_are_those_of_the_schema(export_path: Path) -> None:
    frame = nsys.launches(export_path)
    pd.testing.assert_frame_equal(LAUNCHES.validate(frame), frame)


def test_the_path_names_all_open_ranges(export_path: Path) -> None:
    frame = nsys.launches(export_path)
    assert _paths(frame) == PATHS
    inner = frame.set_index(frame["start_ns"] - BASE)
    assert inner.loc[305, "range"] == "gelu/other-domain/small"
    assert inner.loc[305, "domain"] == "other"
    assert inner.loc[1000, "domain"] == "roofsnake"
    assert inner.loc[1300, "domain"] == "roofsnake"
    assert inner.loc[1700, "range_start_ns"] == BASE + 620
    assert inner["range_start_ns"].isna().tolist() == [path is None for path in PATHS.values()]
    assert "1 of 12 launches are outside of every NVTX range" in frame.attrs["notes"]


def test_ids_keep_processes_and_threads_apart(export_path: Path) -> None:
    frame = nsys.launches(export_path)
    first = frame[frame["correlation"] == 1]
    assert first[["process", "thread", "device"]].to_numpy().tolist() == [[100, 7, 0], [200, 7, 1]]
    assert frame["thread"].value_counts().to_dict() == {7: 11, 8: 1}


def test_what_is_missing_is_said(export_path: Path) -> None:
    frame = nsys.launches(export_path)
    (note,) = [n for n in frame.attrs["notes"] if n.startswith("CUPTI_ACTIVITY_KIND_KERNEL")]
    assert "blockX" in note
    assert "gridX" not in note
    assert frame["block_x"].isna().all()


@pytest.mark.parametrize("table", ["NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_RUNTIME"])
def test_missing_tables_are_said(tmp_path: Path, table: str) -> None:
    frame = nsys.launches(write_export(tmp_path / "a.sqlite", f"DROP TABLE {table}"))
    assert any(note.startswith(f"no table {table}") for note in frame.attrs["notes"])
    assert frame["range"].isna().all()
    assert len(frame) == len(PATHS)


def test_a_folder_of_parquet_files_says_the_same(export_path: Path, tmp_path: Path) -> None:
    folder = _parquet(export_path, tmp_path / "all")
    pd.testing.assert_frame_equal(nsys.launches(folder), nsys.launches(export_path))
    pd.testing.assert_frame_equal(nsys.parse(folder), nsys.parse(export_path))
    assert nsys.recognises_folder(path.name for path in folder.iterdir())


def test_damaged_parquet_files(export_path: Path, tmp_path: Path) -> None:
    folder = _parquet(export_path, tmp_path / "all")
    kernels = folder / "CUPTI_ACTIVITY_KIND_KERNEL.parquet"
    kernels.write_bytes(kernels.read_bytes()[:-30])
    with pytest.raises(CaptureError, match=r"KERNEL\.parquet: is truncated or damaged"):
        nsys.launches(folder)
    (tmp_path / "other").mkdir()
    pd.DataFrame({"x": [1]}).to_parquet(tmp_path / "other/x.parquet")
    with pytest.raises(CaptureError, match="not an nsys export"):
        nsys.launches(tmp_path / "other")


def test_a_whole_graph_is_time_of_unknown_kernels(tmp_path: Path) -> None:
    frame = nsys.launches(write_export(tmp_path / "a.sqlite", GRAPH_TABLE, GRAPH))
    graph = frame.iloc[-1]
    assert (graph["kind"], graph["duration_ns"]) == ("graph", 700)
    assert pd.isna(graph["kernel"])
    assert (graph["graph"], graph["graph_exec"]) == (4, 5)
    assert graph["range"] == "gelu/inner/small"
    assert any("1 CUDA graphs traced as a whole, 700 ns" in n for n in frame.attrs["notes"])


def test_whole_graphs_alone(tmp_path: Path) -> None:
    drop = "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL"
    frame = nsys.launches(write_export(tmp_path / "a.sqlite", drop, GRAPH_TABLE, GRAPH))
    assert frame["kind"].tolist() == ["graph"]


def test_nodes_of_a_graph_belong_to_the_range_of_its_launch(tmp_path: Path) -> None:
    path = write_export(
        tmp_path / "a.sqlite",
        "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN graphNodeId INTEGER",
        "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET graphNodeId = 70 + deviceId, correlationId = 9 "
        f"WHERE start IN ({BASE + 1900}, {BASE + 1800})",
        "CREATE TABLE CUDA_GRAPH_NODE_EVENTS (globalTid INTEGER, graphNodeId INTEGER, "
        "originalGraphNodeId INTEGER)",
        f"INSERT INTO CUDA_GRAPH_NODE_EVENTS VALUES ({P1 | 7}, 70, 30), ({P1 | 7}, 70, 31)",
    )
    frame = nsys.launches(path)
    nodes = frame[frame["graph_node"] == 70]
    assert nodes["range"].tolist() == ["gelu/outer/small"] * 2
    assert nodes["graph_node_original"].tolist() == [30, 30]
    assert frame["graph_node_original"].isna().sum() == len(frame) - 2


def test_copies_where_asked_for(tmp_path: Path) -> None:
    path = write_export(tmp_path / "a.sqlite", *COPIES)
    assert set(nsys.launches(path)["kind"]) == {"kernel"}
    copies = nsys.launches(path, copies=True).tail(2)
    assert copies["kind"].tolist() == ["memcpy"] * 2
    assert copies["kernel"].tolist() == ["[CUDA memcpy Host-to-Device]", "[CUDA memcpy]"]
    assert copies["bytes"].tolist() == [4096, 4]
    assert copies["grid_x"].isna().all()


def test_names_as_text_in_old_exports(tmp_path: Path) -> None:
    path = write_export(
        tmp_path / "a.sqlite",
        "DROP TABLE META_DATA_EXPORT",
        "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN demangledName",
        "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN demangledName TEXT",
        "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = 'void k<' || streamId || '>()'",
        "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN shortName",
    )
    frame = nsys.launches(path)
    assert set(frame["kernel_demangled"]) == {"void k<7>()"}
    assert set(frame["kernel"]) == {"void k<7>()"}
    assert any("export schema unknown" in note for note in frame.attrs["notes"])


def test_without_process_ids_one_process_is_assumed(tmp_path: Path) -> None:
    path = write_export(
        tmp_path / "a.sqlite",
        "DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE globalTid >= 200 << 24",
        "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN globalPid",
        "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE deviceId = 1",
    )
    expected = {start: name for start, name in PATHS.items() if start != 1300}
    assert _paths(nsys.launches(path)) == expected


@pytest.mark.parametrize(
    ("column", "kind", "value", "payload"),
    [
        ("uint64Value", "INTEGER", "-1", "18446744073709551615"),
        ("int32Value", "INTEGER", "-7", "-7"),
        ("doubleValue", "REAL", "0.5", "0.5"),
        ("jsonText", "TEXT", "'{\"a\": 1}'", '{"a": 1}'),
        ("jsonTextId", "INTEGER", "4", "void k_long<float>(int)"),
    ],
)
def test_payloads(tmp_path: Path, column: str, kind: str, value: str, payload: str) -> None:
    path = write_export(
        tmp_path / "a.sqlite",
        f"ALTER TABLE NVTX_EVENTS ADD COLUMN {column} {kind}",
        f"UPDATE NVTX_EVENTS SET {column} = {value} WHERE text = 'gelu/inner/small'",
    )
    frame = nsys.launches(path)
    assert frame["payload"].dropna().tolist() == [payload]
    assert frame.loc[frame["payload"].notna(), "range"].tolist() == ["gelu/inner/small"]


def test_devices_of_processes_are_gpus_of_the_report(tmp_path: Path) -> None:
    path = write_export(
        tmp_path / "a.sqlite",
        "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET deviceId = 0",
        "INSERT INTO TARGET_INFO_GPU VALUES (1, 'NVIDIA B200', NULL, NULL)",
        "CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER)",
        "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0, 0, 200), (1, 0, 100)",
    )
    frame = nsys.launches(path)
    assert frame.groupby("process")["gpu"].unique().map(list).to_dict() == {100: [1], 200: [0]}
    assert set(frame.loc[frame["process"] == 100, "gpu_name"]) == {"NVIDIA B200"}
    assert nsys.busy_ns(frame).to_dict() == {(0, 0): 10, (0, 1): 145}


def test_the_gpus_of_early_exports(tmp_path: Path) -> None:
    path = write_export(
        tmp_path / "a.sqlite",
        "DROP TABLE TARGET_INFO_GPU",
        "CREATE TABLE TARGET_INFO_CUDA_GPU (deviceId INTEGER, name TEXT)",
        "INSERT INTO TARGET_INFO_CUDA_GPU VALUES (0, 'Tesla V100'), (1, 'Tesla T4')",
    )
    frame = nsys.launches(path)
    assert set(frame.loc[frame["device"] == 1, "gpu_name"]) == {"Tesla T4"}


def test_busy_time_is_the_union_of_intervals() -> None:
    frame = pd.DataFrame(
        {
            "machine": 0,
            "gpu": [0, 0, 0, 0, 1, 1],
            "device": 0,
            "start_ns": [0, 5, 6, 100, 0, 50],
            "duration_ns": [10, 2, 20, 5, 60, 1],
        }
    ).astype("Int64")
    assert nsys.busy_ns(frame).to_dict() == {(0, 0): 31, (0, 1): 60}
    assert nsys.busy_ns(frame.assign(gpu=frame["gpu"].where(frame["gpu"] > 9))).to_dict() == {
        (0, 0): 65
    }
    assert nsys.busy_ns(frame.head(0)).empty


@pytest.mark.parametrize("sixteenth", range(1, 16))
def test_truncated(export_path: Path, sixteenth: int) -> None:
    content = export_path.read_bytes()
    export_path.write_bytes(content[: len(content) * sixteenth // 16])
    with pytest.raises(CaptureError, match="the database is truncated"):
        nsys.launches(export_path)


@pytest.mark.parametrize("sixteenth", range(1, 16))
def test_truncated_real_export(
    shared: Callable[[str], Path], tmp_path: Path, sixteenth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parsers.nsys_tables.CHECKED_BYTES", 0)
    content = shared("field/nsys-2026.2-two-gpus.sqlite").read_bytes()
    path = tmp_path / "cut.sqlite"
    path.write_bytes(content[: len(content) * sixteenth // 16])
    with pytest.raises(CaptureError, match="the database is truncated"):
        nsys.launches(path)


def test_recognised_by_content(export_path: Path, tmp_path: Path) -> None:
    assert nsys.recognises(export_path.read_bytes()[: 64 << 10])
    with closing(sqlite3.connect(tmp_path / "other.sqlite")) as database:
        database.execute("CREATE TABLE t (x)")
    assert not nsys.recognises((tmp_path / "other.sqlite").read_bytes())
    assert not nsys.recognises(b"NVR\0")
    assert not nsys.recognises_folder(["a.parquet", "META_DATA_EXPORT.csv"])


@pytest.mark.parametrize(
    ("name", "kinds", "duration"),
    [
        ("h200/gelu_4096.sqlite", {"kernel": 21}, 824926),
        ("h200/gelu.sqlite", {"kernel": 52}, 7668137),
        ("field/nsys-2024.6-cuda-graph.sqlite", {"kernel": 30, "graph": 10}, 7811219965),
        ("field/nsys-2025.5-graph-nodes.sqlite", {"kernel": 3, "graph": 2}, 6944),
        ("field/nsys-2026.2-two-gpus.sqlite", {"kernel": 3442}, 44829522),
    ],
)
def test_real_exports(
    shared: Callable[[str], Path], name: str, kinds: dict[str, int], duration: int
) -> None:
    path = shared(name)
    frame = nsys.launches(path)
    assert frame["kind"].value_counts().to_dict() == kinds
    assert frame["duration_ns"].sum() == duration
    assert nsys.recognises(path.read_bytes()[: 64 << 10])
    LAUNCHES.validate(frame)


def test_real_ranges(shared: Callable[[str], Path]) -> None:
    frame = nsys.launches(shared("h200/gelu_4096.sqlite"))
    assert frame["range"].value_counts().to_dict() == {"naive": 9, "triton": 1}
    assert set(frame["domain"].dropna()) == {"kp"}
    assert set(frame["gpu_name"]) == {"NVIDIA H200"}


def test_real_ranges_equal_the_answer_of_sql(shared: Callable[[str], Path]) -> None:
    path = shared("field/nsys-2026.2-two-gpus.sqlite")
    query = """
        SELECT k.start, (SELECT n.text FROM NVTX_EVENTS n WHERE n.globalTid = r.globalTid
                         AND n.start <= r.start AND n.end > r.start
                         ORDER BY n.start DESC, n.end LIMIT 1)
        FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN CUPTI_ACTIVITY_KIND_RUNTIME r
        ON r.correlationId = k.correlationId AND r.globalTid >> 24 = k.globalPid >> 24
    """
    with closing(sqlite3.connect(f"{path.as_uri()}?immutable=1", uri=True)) as database:
        expected = sorted(database.execute(query).fetchall())
    frame = nsys.launches(path).dropna(subset=["range"])
    assert len(expected) == 1632
    assert sorted(zip(frame["start_ns"], frame["range"], strict=True)) == expected
