"""What is recorded parses, shows nothing of the machine, and is packed the same way each time."""

from __future__ import annotations

import gzip
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from parsers.captures import parse_pass
from parsers.errors import CaptureError
from parsers.files import pack, plain, sha256
from parsers.record import record
from tests.parsers.exports import write_export
from tests.parsers.folders import outcome, write_pass
from tests.parsers.test_captures import TIME


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    export = write_export(tmp_path / "made.sqlite").read_bytes()
    folder = tmp_path / "measured/gelu"
    write_pass(folder / "time", "time", TIME)
    ran = [outcome("nsys", variant) for variant in ("naive", "triton")]
    write_pass(folder / "nsys", "nsys", {"all.sqlite": export}, outcomes=ran)
    return tmp_path / "measured"


def test_a_recorded_capture_is_packed_and_parses_alike(measured: Path, tmp_path: Path) -> None:
    (written,) = record(measured, tmp_path / "kept", ["gelu"], ["time", "nsys"])
    assert sorted(path.name for path in (written / "nsys").iterdir()) == [
        *("all.sqlite.gz", "run.json")
    ]
    files = json.loads((written / "nsys/run.json").read_text())["files"]
    assert files == {"all.sqlite.gz": sha256(written / "nsys/all.sqlite.gz")}
    for name in ("time", "nsys"):
        before, after = parse_pass(measured / "gelu" / name), parse_pass(written / name)
        assert before.keys() == after.keys()
        assert all(before[frame].equals(after[frame]) for frame in before)
    unpacked = tmp_path / "unpacked.sqlite"
    unpacked.write_bytes(gzip.decompress((written / "nsys/all.sqlite.gz").read_bytes()))
    with closing(sqlite3.connect(unpacked)) as database:
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
    assert "TARGET_INFO_SYSTEM_ENV" not in tables


def test_deep_profiles_that_were_measured_go_along(
    measured: Path, ncu_report_path: Path, tmp_path: Path
) -> None:
    ran = [{**outcome("deep", "triton"), "case": "8192x8192-float32"}]
    report = {"all.ncu-rep": ncu_report_path.read_bytes()}
    write_pass(measured / "gelu/deep/triton", "deep", report, outcomes=ran)
    (written,) = record(measured, tmp_path / "kept", ["gelu"], ["time"])
    kept = written / "deep/triton"
    assert sorted(path.name for path in kept.iterdir()) == ["all.ncu-rep.gz", "run.json"]
    assert len(parse_pass(kept)["counters"]) == 60


def test_processes_that_measured_the_noise_go_along_and_stay(
    measured: Path, tmp_path: Path
) -> None:
    alike = measured / "gelu/noise/0/3/time"
    shutil.copytree(measured / "gelu/time", alike)
    (written,) = record(measured, tmp_path / "kept", ["gelu"], ["time"])
    kept = written / "noise/0/3/time"
    before = {path.name: path.read_bytes() for path in kept.iterdir()}
    assert before.keys() == {"run.json", "samples.csv.gz", "ceilings.csv.gz"}
    shutil.rmtree(measured / "gelu/noise")
    record(measured, tmp_path / "kept", ["gelu"], ["time"])
    assert {path.name: path.read_bytes() for path in kept.iterdir()} == before


def test_a_damaged_deep_profile_says_how_to_make_it_anew(tmp_path: Path) -> None:
    folder = write_pass(tmp_path / "gelu/deep/triton", "deep", {"all.ncu-rep": b"NVR\0"})
    (folder / "all.ncu-rep").write_bytes(b"")
    with pytest.raises(CaptureError, match="`snakemake reports/gelu/triton -R deep`"):
        parse_pass(folder)


def test_a_capture_that_does_not_parse_leaves_the_earlier_recording(
    measured: Path, tmp_path: Path
) -> None:
    (written,) = record(measured, tmp_path / "kept", ["gelu"], ["time", "nsys"])
    before = {path: path.read_bytes() for path in written.rglob("*") if path.is_file()}
    (measured / "gelu/time/samples.csv").write_text("operator\n")
    with pytest.raises(CaptureError):
        record(measured, tmp_path / "kept", ["gelu"], ["time", "nsys"])
    assert {path: path.read_bytes() for path in written.rglob("*") if path.is_file()} == before


def test_packing_is_the_same_each_time_and_can_be_undone(tmp_path: Path) -> None:
    source = tmp_path / "samples.csv"
    source.write_bytes(b"a,b\n1,2\n" * 1000)
    for name in ("one.csv.gz", "two.csv.gz"):
        pack(source, tmp_path / name)
    assert (tmp_path / "one.csv.gz").read_bytes() == (tmp_path / "two.csv.gz").read_bytes()
    assert (tmp_path / "one.csv.gz").stat().st_size < 200
    with plain(tmp_path / "one.csv.gz", "") as copy:
        assert copy.name == "one.csv"
        assert copy.read_bytes() == source.read_bytes()
    with plain(source, "") as same:
        assert same == source


@pytest.mark.parametrize("keep", [0.5, 0.99])
def test_a_cut_off_file_is_damaged(tmp_path: Path, keep: float) -> None:
    source = tmp_path / "samples.csv"
    source.write_bytes(bytes(range(256)) * 100)
    packed = tmp_path / "samples.csv.gz"
    pack(source, packed)
    content = packed.read_bytes()
    packed.write_bytes(content[: int(len(content) * keep)])
    with (
        pytest.raises(CaptureError, match=r"samples\.csv\.gz: is truncated or damaged .*; mend it"),
        plain(packed, "mend it"),
    ):
        pass
