"""``python -m parsers FILE… --by NAME,…``: the names that a user types, and what is said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from parsers import read
from parsers.__main__ import main
from parsers.errors import CaptureError
from parsers.grouping import roll_up_by, unknown
from parsers.rollup import busy_ns
from tests.parsers.exports import write_export
from tests.parsers.samples import write

Capture = pytest.CaptureFixture[str]
SUMMARY = b"Time (%),Total Time (ns),Instances,Avg (ns),Name\n100.0,10,2,5.0,k\n"
TRACE = (
    b"Start (ns),Duration (ns),CorrId,Strm,Name\n"
    b"0,10,1,7,[CUDA memcpy Host-to-Device]\n20,30,2,7,nvjet_hsh_64x8_64x16_4x1_v_bz_TNT\n"
)


def by(path: Path, *names: str) -> pd.DataFrame:
    return roll_up_by(path, read(path), names)


def counts(frame: pd.DataFrame, *columns: str) -> dict[object, int]:
    keys = frame[[*columns]].astype(object).where(frame[[*columns]].notna(), None)
    rows = [tuple(row) if len(columns) > 1 else row[0] for row in keys.to_numpy()]
    return dict(zip(rows, frame["launches"].tolist(), strict=True))


def test_a_range_is_the_innermost_with_its_domain(export_path: Path) -> None:
    frame = by(export_path, "range")
    assert frame.attrs["by"] == ["domain", "range"]
    found = counts(frame, "domain", "range")
    assert found["roofsnake", "not a key"] == 1, "inside of gelu/naive/small"
    assert found["other", "gelu/other-domain/small"] == 1
    assert found[None, None] == 1
    assert sum(found.values()) == 12
    assert "1 of 12 launches have no range: in rows of their own" in frame.attrs["notes"]


def test_a_variant_is_read_from_ranges_of_the_harness_alone(export_path: Path) -> None:
    frame = by(export_path, "variant")
    found = counts(frame, "operator", "variant")
    assert found[None, None] == 3, "of another domain, of no such name, or in none"
    assert found["gelu", "outer"] == 2
    lacking = "3 of 12 launches have no variant of the NVTX domain roofsnake: in rows of their own"
    assert lacking in frame.attrs["notes"]
    cases = counts(by(export_path, "variant", "case"), "operator", "variant", "case")
    assert cases["gelu", "outer", "small"] == 2


def test_counters_have_the_same_names(ncu_report_path: Path) -> None:
    ranges = by(ncu_report_path, "range")
    assert ranges.attrs["by"] == ["operator", "variant", "case"]
    assert len(ranges) == 20
    variants = by(ncu_report_path, "variant")
    assert counts(variants, "operator", "variant")["gelu", "naive"] == 45
    assert ranges["duration_ns"].sum() == variants["duration_ns"].sum()
    assert ranges["duration_ns"].is_monotonic_decreasing
    assert ranges.attrs["coverage"]["duration_ns"] == "measured"


def test_what_a_name_says_is_a_key(ncu_report_path: Path, tmp_path: Path) -> None:
    found = counts(by(ncu_report_path, "library", "family"), "library", "family")
    assert found["ATen", "elementwise"] == 50
    assert found["Inductor", "pointwise"] == 5
    assert found[None, None] == 5, "a user's own"
    trace = by(write(tmp_path, "trace.csv", TRACE), "library")
    assert counts(trace, "library") == {"cuBLASLt": 1, "CUDA": 1}


def test_properties_and_places_are_keys(export_path: Path) -> None:
    frame = by(export_path, "kernel", "grid", "device")
    assert frame.attrs["by"] == ["kernel", "grid_x", "grid_y", "grid_z", "device"]
    assert counts(frame, "device") == {0: 11, 1: 1}
    assert "grid_x_values" not in frame
    assert frame["registers_per_thread_values"].tolist() == ["32", "32"]
    assert frame["busy_ns"].tolist() == busy_ns(read(export_path)).tolist()


def test_a_graph_traced_as_a_whole_is_a_row_without_kernel(shared: Callable[[str], Path]) -> None:
    frame = by(shared("field/nsys-2024.6-cuda-graph.sqlite"), "kernel", "kind")
    assert frame["kernel"].isna().tolist()[0]
    assert (frame["kind"][0], frame["duration_ns"][0]) == ("graph", 7811141695)
    assert frame["duration_ns"].sum() == 7811141695 + 78270
    assert "10 of 40 launches have no kernel: in rows of their own" in frame.attrs["notes"]


def test_what_some_launches_lack_is_told(tmp_path: Path) -> None:
    lost = "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET registersPerThread = NULL WHERE deviceId = 1"
    frame = by(write_export(tmp_path / "a.sqlite", lost), "kernel")
    assert frame["registers_per_thread"].isna().all()
    assert frame["registers_per_thread_values"].tolist() == ["32"]
    told = "NA where one launch of a row has no value: registers_per_thread"
    assert frame.attrs["notes"][-1] == told


def test_a_format_without_the_name(
    export_path: Path, ncu_report_path: Path, capsys: Capture
) -> None:
    assert main([str(ncu_report_path), str(export_path), "--by", "stream"]) == 2
    out, err = capsys.readouterr()
    assert out.splitlines()[0].split()[:3] == ["stream", "launches", "duration_ns"]
    (line,) = [line for line in err.splitlines() if line.startswith("error: ")]
    assert line.startswith(f"error: {ncu_report_path}: has no stream to roll up by; name some of ")


def test_a_summary_has_no_launches(tmp_path: Path) -> None:
    path = write(tmp_path, "sum.csv", SUMMARY)
    with pytest.raises(CaptureError, match="is a summary of nsys stats, which has no launches"):
        by(path, "kernel")


@pytest.mark.parametrize("names", ["colour", "", "kernel,", "duration_ns", "start_ns", "range, x"])
def test_a_name_that_no_report_has(names: str, capsys: Capture) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["absent", "--by", names])
    assert caught.value.code == 2
    *_, line = capsys.readouterr().err.splitlines()
    assert line.startswith("python -m parsers: error: --by: no report has '")
    assert "; name some of range, variant, kernel" in line


def test_every_name_that_is_told_is_known() -> None:
    told = ["range", "variant", "kernel", "grid", "block", "library", "family"]
    assert unknown(told) is None
    assert all(name in (unknown(["?"]) or "") for name in told)


def test_keys_lead_the_table(
    export_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert main([str(export_path), "--by", "kernel_demangled,device"]) == 0
    head, first, *_ = capsys.readouterr().out.splitlines()
    keys = ["kernel_demangled", "device", "launches", "duration_ns", "busy_ns"]
    assert head.split()[:5] == keys
    assert first.startswith("void k_long<float>(int)")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_written_roll_up(
    export_path: Path, ncu_report_path: Path, tmp_path: Path, kind: str
) -> None:
    out = tmp_path / f"all.{kind}"
    files = [str(export_path), str(ncu_report_path)]
    assert main([*files, "--by", "kernel", "--out", str(out)]) == 0
    frame = pd.read_csv(out) if kind == "csv" else pd.read_parquet(out)
    assert list(frame.columns[:5]) == ["file", "format", "kernel", "launches", "duration_ns"]
    assert frame["launches"].sum() == 12 + 60
