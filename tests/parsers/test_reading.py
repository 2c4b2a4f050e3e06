"""Every format reads alike whatever it is called and however it is packed."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest

from parsers import ncu, nsys, read
from parsers.errors import CaptureError
from parsers.files import check_whole_database
from parsers.packing import peek
from tests.parsers.conftest import ROOT
from tests.parsers.samples import WRAPPERS, gzipped, write, zstandard

PARSERS: dict[str, Callable[[Path], pd.DataFrame]] = {
    "ncu-rep": ncu.parse,
    "nsys-sqlite": nsys.launches,
}


@pytest.fixture
def sources(ncu_report_path: Path, export_path: Path) -> dict[str, Path]:
    return {"ncu-rep": ncu_report_path, "nsys-sqlite": export_path}


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("form", PARSERS)
def test_format_and_wrapper(
    sources: dict[str, Path], tmp_path: Path, form: str, wrapper: str
) -> None:
    path = write(tmp_path, "no suffix tells", WRAPPERS[wrapper](sources[form].read_bytes()))
    frame = read(path)
    expected = PARSERS[form](sources[form])
    pd.testing.assert_frame_equal(frame, expected)
    packed = [] if wrapper == "plain" else wrapper.split("-in-")[::-1]
    assert (frame.attrs["format"], frame.attrs["packed"]) == (form, packed)
    assert frame.attrs["source"] == "no suffix tells"
    assert frame.attrs["notes"] == expected.attrs.get("notes", [])


@pytest.mark.parametrize(
    "name", ["a.ncu-rep", "a.ncu-repz", "a.nsight-cuprof-report", "a.sqlite", "a.csv.gz"]
)
@pytest.mark.parametrize("wrapper", ["plain", "zstd"])
def test_a_name_does_not_mislead(
    ncu_report_path: Path, tmp_path: Path, name: str, wrapper: str
) -> None:
    path = write(tmp_path, name, WRAPPERS[wrapper](ncu_report_path.read_bytes()))
    frame = read(path)
    assert len(frame) == 60
    assert frame.attrs["tool"] == "Nsight Compute 2025.3.1.0"


def test_coverage_and_what_cannot_be_are_told(
    ncu_report_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = ncu.parse

    def parse(path: Path) -> pd.DataFrame:
        frame = real(path)
        frame.loc[:1, "occupancy_achieved_pct"] = 130.0
        frame["grid_size"] = frame["grid_size"].mask(frame.index == 0)
        frame["l2_bytes"] = frame["l2_bytes"].mask(frame.index >= 0)
        return frame

    monkeypatch.setattr(ncu, "parse", parse)
    frame = read(ncu_report_path)
    assert frame["occupancy_achieved_pct"].isna().sum() == 2
    assert frame["grid_size"].equals(real(ncu_report_path)["grid_size"])
    assert frame.attrs["notes"] == ["occupancy_achieved_pct is over 100.1 % in 2 rows: left out"]
    coverage = frame.attrs["coverage"]
    assert (coverage["grid_size"], coverage["l2_bytes"]) == ("in part", "absent")
    assert coverage["duration_ns"] == "measured"


def test_the_tool_of_an_export(shared: Callable[[str], Path]) -> None:
    assert read(shared("h200/gelu.sqlite")).attrs["tool"] == "Nsight Systems 2025.3.2.0"


@pytest.mark.parametrize("wrapper", ["gzip", "zstd", "gzip-in-zstd", "zstd-in-gzip"])
@pytest.mark.parametrize("lost", [1, 5, 100, 0.5])
def test_a_packed_file_that_is_cut_off(
    export_path: Path, tmp_path: Path, wrapper: str, lost: float
) -> None:
    content = WRAPPERS[wrapper](export_path.read_bytes())
    size = len(content) - int(lost if lost >= 1 else len(content) * lost)
    with pytest.raises(CaptureError, match=r"is packed by \w+ and truncated or damaged"):
        read(write(tmp_path, "cut", content[:size]))


def test_packed_thrice(export_path: Path, tmp_path: Path) -> None:
    content = gzipped(zstandard(gzipped(export_path.read_bytes())))
    with pytest.raises(CaptureError, match="is packed more than 2 times; unpack it first"):
        read(write(tmp_path, "thrice", content))


def test_a_peek_shows_what_there_is_of_a_cut_file(tmp_path: Path) -> None:
    content = os.urandom(300_000)
    for pack in (gzipped, zstandard):
        path = write(tmp_path, "cut", pack(content)[:200_000])
        assert content.startswith(peek(path, 1 << 20))
        assert peek(path, 1 << 20) != b""
        assert peek(path, 1000) in {content[:n] for n in range(1001)}


@pytest.mark.parametrize("lost", [1, 2, 10, 4095, 4096, 5000])
def test_a_database_without_its_end(export_path: Path, lost: int) -> None:
    content = export_path.read_bytes()
    check_whole_database(export_path, "copy it")
    export_path.write_bytes(content[:-lost])
    cause = f"the database is truncated: it has {len(content) - lost} of {len(content)} bytes"
    with pytest.raises(CaptureError, match=cause):
        read(export_path)


def test_another_tools_database(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as database:
        database.execute("CREATE TABLE bookmarks (place TEXT, start INTEGER)")
        database.commit()
    with pytest.raises(CaptureError, match="is a SQLite database but not an nsys export"):
        read(other)


def test_what_a_parser_did_not_foresee_is_the_files_fault(
    export_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def parse(_: Path) -> pd.DataFrame:
        raise KeyError("a column\nthat nobody knew")

    monkeypatch.setattr(nsys, "launches", parse)
    with pytest.raises(CaptureError) as caught:
        read(export_path)
    assert "that cannot be read (KeyError: " in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_and_unreadable(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="no such file"):
        read(tmp_path / "absent.ncu-rep")


def test_importing_the_package_imports_no_pandas() -> None:
    code = "import sys, parsers; assert 'pandas' not in sys.modules; parsers.read"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(ImportError):
        exec("from parsers import write")
