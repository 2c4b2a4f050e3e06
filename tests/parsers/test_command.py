"""``python -m parsers FILE…``: tables, files, folders, patterns, and errors beside what reads."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from parsers import read
from parsers.__main__ import main
from parsers.nsys_schemas import LAUNCHES
from parsers.schemas import COUNTERS
from parsers.sources import expand
from parsers.tables import join, show
from tests.parsers.conftest import ROOT
from tests.parsers.samples import FOREIGN, gzipped, write

Capture = pytest.CaptureFixture[str]


def test_a_table_of_each_kind(
    ncu_report_path: Path, export_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert main([str(ncu_report_path), str(export_path), "--rows", "2"]) == 0
    counters, launches = capsys.readouterr().out.split("\n\n")
    head, *rows, left = counters.splitlines()
    assert head.split()[:3] == ["kernel", "duration_ns", "operator"]
    assert [row.split()[:2] for row in rows] == [
        ["vectorized_elementwise_kernel", "2304"],
        ["vectorized_elementwise_kernel", "2656"],
    ]
    assert left.startswith("(58 more rows and ")
    assert all(len(line) <= 100 for line in counters.splitlines())
    assert launches.splitlines()[1].split()[:2] == ["k_short", "25"]


def test_a_failing_file_costs_its_own_rows(
    export_path: Path, tmp_path: Path, capsys: Capture
) -> None:
    bad = [write(tmp_path, f"{kind}.ncu-rep", content) for kind, (content, _) in FOREIGN.items()]
    assert main([*map(str, bad), str(export_path), str(tmp_path / "absent")]) == 2
    out, err = capsys.readouterr()
    assert out.count("k_short") == 12
    lines = [line for line in err.splitlines() if line.startswith("error: ")]
    assert [line.split(": ")[:2] for line in lines] == [
        ["error", str(path)] for path in (*bad, tmp_path / "absent")
    ]
    assert all("; " in line for line in lines)


@pytest.mark.parametrize("kind", ["parquet", "csv", "json"])
def test_a_written_file_holds_all(
    export_path: Path, ncu_report_path: Path, tmp_path: Path, kind: str
) -> None:
    out = tmp_path / "new" / f"all.{kind}"
    assert main([str(export_path), str(ncu_report_path), "--out", str(out)]) == 0
    assert [path.name for path in out.parent.iterdir()] == [out.name]
    readers: dict[str, Callable[[Path], pd.DataFrame]] = {
        "parquet": pd.read_parquet,
        "csv": pd.read_csv,
        "json": lambda path: pd.DataFrame(json.loads(path.read_text())),
    }
    frame = readers[kind](out)
    assert list(frame.columns[:2]) == ["file", "format"]
    assert frame["format"].value_counts().to_dict() == {"ncu-rep": 60, "nsys-sqlite": 12}
    expected = [*read(export_path)["duration_ns"], *read(ncu_report_path)["duration_ns"]]
    assert frame["duration_ns"].tolist() == expected
    missing = frame.loc[frame["format"] == "nsys-sqlite", "dram_read_bytes"]
    assert missing.isna().all(), "what was not collected is NA"
    if kind == "parquet":
        assert frame.attrs["sources"][1]["tool"] == "Nsight Compute 2025.3.1.0"


def test_a_format_may_be_named(export_path: Path, tmp_path: Path, capsys: Capture) -> None:
    assert main([str(export_path), "--format", "csv"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("file,format,kind,kernel,")
    target = tmp_path / "out.txt"
    assert main([str(export_path), "--format", "csv", "--out", str(target)]) == 0
    assert target.read_text() == out


@pytest.mark.parametrize(
    "options",
    [[], ["x", "--out", "a.xlsx"], ["x", "--format", "parquet"], ["x", "--format", "xml"]],
)
def test_wrong_options(options: list[str], capsys: Capture) -> None:
    with pytest.raises(SystemExit) as caught:
        main(options)
    assert caught.value.code == 2
    assert "python -m parsers: error: " in capsys.readouterr().err


def test_nothing_is_written_where_nothing_reads(tmp_path: Path) -> None:
    out = tmp_path / "all.csv"
    assert main([str(tmp_path / "absent"), "--out", str(out)]) == 2
    assert not out.exists()


def test_every_column_is_explained(capsys: Capture) -> None:
    assert main(["--columns"]) == 0
    lines = capsys.readouterr().out.splitlines()
    words = [line.split() for line in lines if line.startswith("  ")]
    assert [row[0] for row in words] == [*COUNTERS.columns, *LAUNCHES.columns]
    assert "  duration_ns                  Int64    ns           time the kernel ran " in "".join(
        lines
    )
    assert all(len(row) > 3 for row in words)


def test_the_program_ends_quietly_when_its_reader_has_enough(export_path: Path) -> None:
    command = f"{sys.executable} -m parsers {export_path} --format csv | head -0"
    script = f"set -o pipefail; {command}"
    done = subprocess.run(
        ["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.fixture
def folder(tmp_path: Path, export_path: Path, ncu_report_path: Path) -> Path:
    """Reports, others' files, and what nsys leaves beside an export."""
    folder = tmp_path / "folder"
    (folder / "deep").mkdir(parents=True)
    export_path.rename(folder / "a.sqlite")
    write(folder, "a.nsys-rep", b"NVIDIA Tegra Profiler Report 1.\n")
    write(folder / "deep", "no suffix", gzipped(ncu_report_path.read_bytes()))
    write(folder / "deep", "pointer.ncu-rep", FOREIGN["lfs"][0])
    write(folder, "run.json", b"{}")
    write(folder, ".hidden.sqlite", b"SQLite format 3\0")
    write(folder, "picture.png", FOREIGN["png"][0])
    return folder


def test_a_folder_gives_the_reports_in_it(folder: Path) -> None:
    found, errors = expand([str(folder), str(folder / "a.sqlite")])
    names = [path.relative_to(folder).as_posix() for path in found]
    assert names == ["a.sqlite", "deep/no suffix", "deep/pointer.ncu-rep"]
    assert errors == []


def test_patterns(folder: Path) -> None:
    found, errors = expand([f"{folder}/**/*.ncu-rep", f"{folder}/*.s*"])
    assert [path.name for path in found] == ["pointer.ncu-rep", "a.sqlite"]
    assert errors == []


def test_a_folder_or_pattern_without_reports(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    found, errors = expand([str(tmp_path / "empty"), str(tmp_path / "*.ncu-rep")])
    assert found == []
    assert [error.cause for error in errors] == [
        "holds no report or export of Nsight",
        "matches no file",
    ]


def test_a_name_with_wild_signs_is_a_name(tmp_path: Path, export_path: Path) -> None:
    path = export_path.rename(tmp_path / "a[1].sqlite")
    assert expand([str(path)]) == ([path], [])


def test_long_cells_are_cut_and_missing_ones_are_dashes(export_path: Path) -> None:
    frame = read(export_path)
    frame.attrs["file"] = "a/" * 40 + "end.sqlite"
    frame["kernel"] = "k" * 100
    table = show([frame, frame], 1000, 1)
    _, row, *_ = table.splitlines()
    cells = row.split()
    assert cells[0].endswith("a/end.sqlite")
    assert cells[1] == "k" * 31 + "\N{HORIZONTAL ELLIPSIS}"
    assert len(cells[0]) == len(cells[1]) == 32
    assert set(join([frame, frame])["file"]) == {"a/" * 40 + "end.sqlite"}
