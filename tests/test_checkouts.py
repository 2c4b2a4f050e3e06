"""Copies of the checkout, with git and without."""

from __future__ import annotations

from pathlib import Path

from tests.checkouts import ROOT, files_of


def test_without_git_the_same_files_are_found(checkout: Path) -> None:
    for name in (".venv/bin/python", "results/x.md", "kernels/__pycache__/x.pyc", "captures/x.pyc"):
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).touch()
    there = {name for name in files_of(ROOT) if (ROOT / name).is_file()}
    assert set(files_of(checkout)) == there
