from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.workflows.repositories import ALONE, start


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


@pytest.fixture
def _no_settings_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ALONE.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a git repository that has the folders of this project, and that no test changes."""
    return start(tmp_path_factory.mktemp("with spaces") / "a project")


@pytest.fixture
def repository(shared: Path, tmp_path: Path) -> Path:
    """Return a copy of that repository, to be changed."""
    return Path(shutil.copytree(shared, tmp_path / shared.name))
