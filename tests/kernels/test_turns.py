"""The GPU is one process's alone while it measures, and shared by checks."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from kernels.harness.turns import turn

HOLD = """
import sys, time
from kernels.harness.turns import turn
with turn("cuda", alone=sys.argv[1] == "alone"):
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""


@pytest.fixture(autouse=True)
def own_lock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)


def waited(root: Path, first: str, *, alone: bool, device: str = "cuda") -> float:
    """Return the seconds until a turn came, while another process held one for two seconds."""
    command = [sys.executable, "-c", HOLD, first, "2"]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        began = time.monotonic()
        with turn(device, alone=alone):
            found = time.monotonic() - began
        other.wait()
    return found


def test_a_measuring_process_waits_for_all_others(root: Path) -> None:
    assert waited(root, "alone", alone=True) > 1
    assert waited(root, "shared", alone=True) > 1


def test_checks_share_but_wait_for_a_measuring_process(root: Path) -> None:
    assert waited(root, "shared", alone=False) < 1
    assert waited(root, "alone", alone=False) > 1


def test_without_a_gpu_nobody_waits(root: Path) -> None:
    assert waited(root, "alone", alone=True, device="cpu") < 1
