"""What `make` says of a Python or a .venv that will not do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.checkouts import ROOT

OLD = f"""exec {sys.executable} -c 'import sys
sys.version_info = (3, 10, 13)
exec(sys.argv[1])' "$2"
"""
NO_VENV = f"""case "$*" in *"-m venv"*) mkdir .venv; exit 1;; esac
exec {sys.executable} "$@"
"""
ANEW = "remove .venv to set it up anew"


def stand_in(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}")
    path.chmod(0o755)
    return path


def make_environment(where: Path, *arguments: str) -> list[str]:
    """Return what a failing `make environment` says, without the line of make itself."""
    shutil.copy(ROOT / "Makefile", where)
    answer = subprocess.run(
        ["make", "--no-print-directory", "environment", *arguments],
        cwd=where,
        env={name: value for name, value in os.environ.items() if "MAKE" not in name},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode != 0
    return [line for line in answer.stderr.splitlines() if not line.startswith("make")]


def test_an_old_python_is_one_line_and_makes_nothing(tmp_path: Path) -> None:
    python = stand_in(tmp_path / "old", OLD)
    assert make_environment(tmp_path, f"PYTHON={python}") == [
        f"{python}: Python 3.10.13, expected 3.11 to 3.13; name one with make PYTHON=python3.12"
    ]
    assert not (tmp_path / ".venv").exists()


def test_an_environment_that_cannot_be_made_is_not_left_behind(tmp_path: Path) -> None:
    make_environment(tmp_path, f"PYTHON={stand_in(tmp_path / 'python', NO_VENV)}")
    assert not (tmp_path / ".venv").exists()


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 127\n", f".venv: its Python is gone or has no pip; {ANEW}"),
        (OLD, f".venv: Python 3.10.13, expected 3.11 to 3.13; {ANEW}"),
    ],
)
def test_an_environment_that_will_not_do_is_one_line(
    tmp_path: Path, script: str, said: str
) -> None:
    stand_in(tmp_path / ".venv/bin/python", script)
    assert make_environment(tmp_path) == [said]


def test_another_python_than_that_of_the_environment_is_one_line(tmp_path: Path) -> None:
    stand_in(tmp_path / ".venv/bin/python", f'exec {sys.executable} "$@"\n')
    python = stand_in(tmp_path / "other", "echo Python 3.12.99\n")
    (line,) = make_environment(tmp_path, f"PYTHON={python}")
    assert line.endswith(f"not that of PYTHON={python}; {ANEW}")
