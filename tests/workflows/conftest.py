from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def live(tmp_path: Path) -> Path:
    """Stand-ins that make this look like a machine with a GPU and both profilers."""
    folder = tmp_path / "bin"
    folder.mkdir()
    answer = "NVIDIA H200, 580.159.04, 143771 MiB, 1980 MHz, 3201 MHz"
    for name, script in (("nvidia-smi", f"echo '{answer}'"), ("ncu", "true"), ("nsys", "true")):
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    return folder
