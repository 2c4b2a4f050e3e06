"""Runs tests/interpreted in processes whose Triton interprets kernels."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from kernels.harness import discovery


def test_kernels_under_the_interpreter(root: Path) -> None:
    command = [sys.executable, "-m", "pytest", "tests/interpreted", "-p", "no:cacheprovider"]
    answer = subprocess.run(
        [*command, "--numprocesses=auto", "--dist=loadfile"],
        cwd=root,
        env={**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stdout[-4000:]
    passed = re.search(r"(\d+) passed", answer.stdout)
    assert passed is not None
    assert int(passed.group(1)) >= 20 * len(discovery.names())
    assert "skipped" not in answer.stdout


def test_every_operator_has_its_file(root: Path) -> None:
    files = {path.name for path in (root / "tests/interpreted").glob("test_*.py")}
    assert {f"test_{operator}.py" for operator in discovery.names()} <= files
