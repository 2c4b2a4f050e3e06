"""What the recorded captures give, made once for all workers of a test run."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kernels.harness import discovery
from reports.__main__ import main as report
from tests.checkouts import ROOT

RECORDED = ROOT / "captures/h200"
PASSES = ("check", "build", "time", "nsys", "ncu")
REPLAY = ("--source", "replay", "--source-sha256")


class Captured:
    """Frames and pages of the recorded operators, by the commands that the rules run.

    Whoever asks first makes them, and others wait.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def frames(self, operator: str) -> Path:
        """Return the folder of an operator's frames."""
        captures = [RECORDED / operator / name for name in PASSES]
        return self._made(f"frames/{operator}", lambda out: _parse(*captures, out=out))

    def pages(self, operator: str) -> Path:
        """Return a folder with an operator's page and the deep ones that it links to."""
        return self._made(f"pages/{operator}", lambda out: self._write(operator, out))

    def _write(self, operator: str, out: Path) -> None:
        frames = self.frames(operator)
        source = [*REPLAY, f"{operator}={discovery.source_sha256(operator)}"]
        folders = {v: RECORDED / operator / "deep" / v for v in discovery.variants(operator)}
        deep = [variant for variant, folder in folders.items() if folder.is_dir()]
        linked = ["--deep", *deep] if deep else []
        _report("operator", frames, "--out", out, *source, *linked)
        for variant in deep:
            parsed = self._folder / "deep" / operator / variant
            _parse(folders[variant], out=parsed)
            _report("deep", parsed, "--out", out / operator, *source)

    def _made(self, name: str, make: Callable[[Path], None]) -> Path:
        folder, done = self._folder / name, self._folder / f"{name}.done"
        folder.parent.mkdir(exist_ok=True)
        with (self._folder / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not done.exists():
                make(folder)
                done.touch()
        return folder


def _parse(*captures: Path, out: Path) -> None:
    """Read captures in a process of its own: ``ncu_report`` keeps what it loaded to the end."""
    command = [sys.executable, "-m", "parsers", "frames", *map(str, captures), "--out", str(out)]
    subprocess.run(command, check=True, cwd=ROOT)


def _report(*words: str | Path) -> None:
    assert report([str(word) for word in words]) == 0


def shared_folder(factory: pytest.TempPathFactory) -> Path:
    """Return a folder that all workers of this test run have in common."""
    own = factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
