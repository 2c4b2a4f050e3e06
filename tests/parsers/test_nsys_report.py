"""Reports that nsys alone can read: exported by the one installed, or refused with the way out.

The nsys here is a script that copies an export; a real one is asked where there is one.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from parsers import nsys, nsys_report, read
from parsers.errors import CaptureError
from parsers.formats import QDREP_MAGIC, QDSTRM_MAGIC
from parsers.nsys_report import exported, tool_of
from tests.parsers.samples import write, zstandard

COPY = 'while [ "$1" ]; do [ "$1" = {option} ] && out=$2; shift; done; cp "$EXPORT" "$out"'


def _program(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an nsys of our own, the only one that is found."""
    home = tmp_path / "nsight-systems"
    (home / "bin").mkdir(parents=True)
    for tool in ("sh", "cp"):
        (home / "bin" / tool).symlink_to(str(shutil.which(tool)))
    monkeypatch.setenv("PATH", str(home / "bin"))
    return home


@pytest.fixture
def export(export_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EXPORT", str(export_path))
    return export_path


@pytest.mark.parametrize("name", ["a.nsys-rep", "a.qdrep", "no suffix tells"])
def test_an_installed_nsys_exports(
    installed: Path, export: Path, tmp_path: Path, name: str
) -> None:
    _program(installed / "bin/nsys", COPY.format(option="--output"))
    frame = read(write(tmp_path, name, zstandard(QDREP_MAGIC + b" 1.\n")))
    pd.testing.assert_frame_equal(frame, nsys.launches(export))
    assert frame.attrs["format"] == "nsys-rep"


@pytest.mark.usefixtures("installed")
def test_without_nsys(tmp_path: Path) -> None:
    path = write(tmp_path, "a.nsys-rep", QDREP_MAGIC)
    with pytest.raises(CaptureError) as caught:
        read(path)
    assert str(caught.value) == (
        f"{path}: only nsys can read it, and none is installed; export it where nsys is: "
        "`nsys export --type sqlite REPORT`"
    )


def test_an_nsys_that_cannot(installed: Path, tmp_path: Path) -> None:
    _program(installed / "bin/nsys", r"printf 'Exporting: [1%%]\r[2%%]\nBad section\n' >&2; exit 1")
    with pytest.raises(CaptureError, match="nsys cannot read it: Bad section; read it with the"):
        read(write(tmp_path, "a.nsys-rep", QDREP_MAGIC))


def test_an_nsys_that_says_it_can(installed: Path, tmp_path: Path) -> None:
    _program(installed / "bin/nsys", "exit 0")
    with pytest.raises(CaptureError, match="nsys cannot read it: it says nothing"):
        read(write(tmp_path, "a.nsys-rep", QDREP_MAGIC))


def test_an_nsys_that_hangs(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _program(installed / "bin/nsys", "while :; do :; done")
    monkeypatch.setattr(nsys_report, "LONGEST_S", 0.2)
    path = write(tmp_path, "a.nsys-rep", QDREP_MAGIC)
    with pytest.raises(CaptureError) as caught:
        read(path)
    assert str(caught.value) == (
        f"{path}: nsys did not finish with it in 0.2 s; export it where nsys is: "
        "`nsys export --type sqlite REPORT`"
    )


def test_a_raw_stream_is_imported_first(installed: Path, export: Path, tmp_path: Path) -> None:
    target = installed / "target-linux-x64"
    _program(target / "nsys", COPY.format(option="--output"))
    (installed / "bin/nsys").symlink_to("../target-linux-x64/nsys")
    path = write(tmp_path, "a.qdstrm", QDSTRM_MAGIC + b" 2022.4")
    with pytest.raises(CaptureError, match="is a raw stream, and the nsys installed here has no"):
        read(path)
    importer = installed / "host-linux-x64/QdstrmImporter"
    _program(importer, COPY.format(option="--output-file"))
    pd.testing.assert_frame_equal(read(path), nsys.launches(export))


@pytest.mark.skipif(shutil.which("nsys") is None, reason="needs nsys")
def test_a_real_report(tmp_path: Path) -> None:
    code = "import nvtx; nvtx.push_range('a'); nvtx.pop_range()"
    report = tmp_path / "report.nsys-rep"
    command = ["nsys", "profile", "--trace=nvtx", "--sample=none", "--cpuctxsw=none"]
    program = [sys.executable, "-c", code]
    subprocess.run([*command, "--output", str(report), *program], check=True, timeout=120)
    made = max(tmp_path.glob("report.*"))  # a raw stream, where the importer is not beside nsys
    with exported(made) as database:
        assert tool_of(database).startswith("Nsight Systems 20")
    made.write_bytes(made.read_bytes()[:40])
    with pytest.raises(CaptureError, match="cannot read it"):
        read(made)
