"""Shared by all tests: the checkout's root, and what is left out without the interpreter."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.captured import Captured, shared_folder
from tests.checkouts import ROOT, copy_checkout

# Triton decides at import whether kernels are interpreted, so these tests need a process of their
# own: tests/kernels/test_interpreted.py starts it.
collect_ignore = [] if os.environ.get("TRITON_INTERPRET") == "1" else ["interpreted"]

# A job in the background of a shell is started with SIGINT ignored, and so would be what it starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def root() -> Path:
    """Return the root of the checkout."""
    return ROOT


@pytest.fixture(scope="session")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Captured:
    """Return the frames and pages of what is recorded."""
    return Captured(shared_folder(tmp_path_factory))


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a copy of this checkout as git would clone it, with the changes made since."""
    return copy_checkout(tmp_path / "checkout")
