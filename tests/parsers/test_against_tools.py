"""Every value equals what the installed ncu and nsys print of the same capture.

The captures are those of this repository; the tools only read them, so no GPU is needed.
"""

from __future__ import annotations

import csv
import io
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from parsers import ncu, nsys, read
from parsers.files import plain
from parsers.metrics import METRICS

ROOT = Path(__file__).parents[2]
NCU_REPORTS = sorted(ROOT.glob("captures/*/*/ncu/*.ncu-rep.gz"))
NSYS_EXPORTS = sorted(ROOT.glob("captures/*/*/nsys/*.sqlite.gz"))

HALF = 0.0051
"""ncu prints two decimals."""

needs_ncu = pytest.mark.skipif(shutil.which("ncu") is None, reason="needs ncu")
needs_nsys = pytest.mark.skipif(shutil.which("nsys") is None, reason="needs nsys")


def operator(path: Path) -> str:
    return path.parents[1].name


def table(text: str) -> list[dict[str, str]]:
    """Return the table in what a tool printed, from its header on."""
    lines = text.splitlines(keepends=True)
    first = next((i for i, line in enumerate(lines) if line.count(",") > 5), None)
    assert first is not None, text[-500:]
    header, *rows = csv.reader(io.StringIO("".join(lines[first:])))
    return [dict(zip(header, row, strict=True)) for row in rows if row]


def number(text: str) -> float | None:
    return float(text.replace(",", "")) if text else None


@needs_ncu
@pytest.mark.parametrize("recorded", NCU_REPORTS, ids=operator)
def test_counters(recorded: Path) -> None:
    with plain(recorded, "restore it") as report:
        frame = ncu.parse(report)
        options = ("--page", "raw", "--print-units", "base", "--csv")
        command = ["ncu", "--import", str(report), *options]
        answer = subprocess.run(command, capture_output=True, text=True, check=True)
    _units, *rows = table(answer.stdout)
    assert len(frame) == len(rows)
    compared = 0
    for metric in METRICS:
        name = next((name for name in metric.names if name in rows[0]), None)
        found = frame[metric.column].astype("Float64")
        if name is None:
            assert found.isna().all(), metric.column
            continue
        expected = [number(row[name]) for row in rows]
        assert [pd.isna(value) for value in found] == [value is None for value in expected]
        pairs = zip(found.dropna(), (v for v in expected if v is not None), strict=True)
        assert all(a == pytest.approx(b, rel=1e-12, abs=HALF) for a, b in pairs), metric.column
        compared += 1
    assert compared > 50
    assert all(
        kernel in row["Kernel Name"] for kernel, row in zip(frame["kernel"], rows, strict=True)
    )


@pytest.fixture(params=NSYS_EXPORTS, ids=operator)
def export(request: pytest.FixtureRequest) -> Iterator[Path]:
    with plain(request.param, "restore it") as path:
        yield path


OLD = {"cuda_gpu_trace": "gputrace", "nvtx_gpu_proj_trace": "nvtxgpuproj"}
"""What reports were called up to 2022."""


def stats(report: str, export: Path) -> str:
    """Return what ``nsys stats`` prints of a report; skip the test where it has no such report."""
    for name in (report, OLD[report]):
        command = ["nsys", "stats", "--report", name, "--format", "csv", "--force-export=false"]
        answer = subprocess.run(
            [*command, str(export)], capture_output=True, text=True, check=False
        )
        if "could not be found" not in answer.stdout + answer.stderr:
            return answer.stdout
    pytest.skip(f"this nsys has no report {report}")


@needs_nsys
def test_launches(export: Path) -> None:
    frame = nsys.launches(export, copies=True).sort_values("start_ns", kind="stable")
    rows = table(stats("cuda_gpu_trace", export))
    assert len(frame) == len(rows)
    columns = {
        "Start (ns)": "start_ns",
        "Duration (ns)": "duration_ns",
        "CorrId": "correlation",
        **{f"Grd{axis}": f"grid_{axis.lower()}" for axis in "XYZ"},
        **{f"Blk{axis}": f"block_{axis.lower()}" for axis in "XYZ"},
        "Reg/Trd": "registers_per_thread",
        "Ctx": "context",
        "Strm": "stream",
    }
    key = ["start_ns", "correlation"]
    found = frame.sort_values(key)
    theirs = pd.DataFrame(rows).replace(["", "None"], pd.NA)
    theirs = theirs.rename(columns=columns).astype(dict.fromkeys(key, "Int64"))
    theirs = theirs.sort_values(key)
    for column in columns.values():
        assert found[column].tolist() == theirs[column].astype("Int64").tolist(), column
    kernels = found["kind"].eq("kernel").tolist()
    names = zip(found["kernel_demangled"], theirs["Name"], kernels, strict=True)
    assert all(ours == name for ours, name, kernel in names if kernel)


@needs_nsys
def test_ranges(export: Path) -> None:
    """A range holds as many operations of the GPU, for as long, as its projection says.

    nsys counts what the thread launched that opened the range; a start/end range is the whole
    process's to us, so that what autograd's thread launches counts too.
    """
    frame = nsys.launches(export, copies=True)
    rows = table(stats("nvtx_gpu_proj_trace", export))
    threads = {row["Name"]: int(row["TID"]) for row in rows}
    names = frame["domain"].astype("string") + ":" + frame["range"].astype("string")
    inside = frame.assign(name=names, end_ns=frame["start_ns"] + frame["duration_ns"])
    own = inside[inside["thread"] == inside["name"].map(threads)]
    groups = own.groupby(["name", "range_start_ns"])
    ours = Counter(
        (str(name), len(group), int(group["end_ns"].max() - group["start_ns"].min()))
        for (name, _), group in groups
    )
    theirs = Counter(
        (row["Name"], int(row["NumGPUOps"]), int(row["Projected Duration (ns)"])) for row in rows
    )
    assert ours == theirs
    assert len(ours) > 0


@needs_nsys
def test_what_nsys_stats_prints_is_read_alike(export: Path, tmp_path: Path) -> None:
    """Its trace of the GPU gives the launches that the export itself gives."""
    (tmp_path / "trace.csv").write_text(stats("cuda_gpu_trace", export))
    trace, frame = read(tmp_path / "trace.csv"), nsys.launches(export, copies=True)
    order = ["start_ns", "correlation"]
    for column in ("kind", "start_ns", "duration_ns", "grid_x", "block_x", "registers_per_thread"):
        ours, theirs = (f.sort_values(order)[column].tolist() for f in (frame, trace))
        assert [v for v in ours if v is not pd.NA] == [v for v in theirs if v is not pd.NA], column
