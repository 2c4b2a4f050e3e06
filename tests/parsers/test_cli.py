from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pandas as pd

from tests.parsers.conftest import ROOT
from tests.parsers.folders import write_pass
from tests.parsers.test_captures import TIME


def _run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "parsers", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_frames_and_runs_are_written(tmp_path: Path) -> None:
    folder = write_pass(tmp_path / "time", "time", TIME)
    out = tmp_path / "new" / "frames"
    done = _run("frames", folder, "--out", out)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    names = ["cases", "ceilings", "outcomes", "runs", "samples", "variants"]
    assert sorted(path.name for path in out.iterdir()) == [f"{name}.parquet" for name in names]
    samples = pd.read_parquet(out / "samples.parquet")
    assert samples["duration_ns"].tolist() == [1500.5, 250.0]
    assert str(samples["round"].dtype) == "Int64"


def test_an_error_is_one_line(tmp_path: Path) -> None:
    done = _run("frames", tmp_path, "--out", tmp_path / "out")
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"error: {tmp_path / 'run.json'}: no such file; ")
    assert not (tmp_path / "out").exists()


def test_an_output_that_cannot_be_written(tmp_path: Path) -> None:
    folder = write_pass(tmp_path / "time", "time", TIME)
    (tmp_path / "out").write_text("a file where a folder should be")
    done = _run("frames", folder, "--out", tmp_path / "out")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
