"""Runs each file of tests/interpreted in a process whose Triton interprets kernels."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kernels.harness import discovery
from tests.checkouts import ROOT

FILES = sorted(path.name for path in (ROOT / "tests/interpreted").glob("test_*.py"))


@pytest.mark.parametrize("name", FILES)
def test_kernels_under_the_interpreter(root: Path, name: str) -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "pytest", f"tests/interpreted/{name}", "-p", "no:cacheprovider"],
        cwd=root,
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stdout[-4000:]
    assert re.search(r"\d+ passed", answer.stdout)
    assert "skipped" not in answer.stdout


def test_every_operator_has_its_file() -> None:
    assert {f"test_{operator}.py" for operator in discovery.names()} <= set(FILES)
