"""Shared by all tests: the checkout's root, and what is left out without the interpreter."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# Triton decides at import whether kernels are interpreted, so these tests need a process of their
# own: tests/kernels/test_interpreted.py starts it.
collect_ignore = [] if os.environ.get("TRITON_INTERPRET") == "1" else ["interpreted"]


@pytest.fixture(scope="session")
def root() -> Path:
    """Return the root of the checkout."""
    return ROOT


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a copy of this checkout as git would clone it, with the changes made since."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    copy = tmp_path / "checkout"
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
    return copy
