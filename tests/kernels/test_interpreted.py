"""Runs tests/interpreted in a process whose Triton interprets kernels."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path


def test_kernels_under_the_interpreter(root: Path) -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "pytest", "tests/interpreted", "-p", "no:cacheprovider"],
        cwd=root,
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stdout[-4000:]
    passed = re.search(r"(\d+) passed", answer.stdout)
    assert passed is not None
    assert int(passed.group(1)) >= 20
