"""Copies of this checkout for tests that change it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def copy_checkout(target: Path) -> Path:
    """Copy the checkout as git would clone it, with the changes made since, and return it."""
    for name in files_of(ROOT):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    return target


def files_of(root: Path) -> list[str]:
    """Return what git keeps or would keep; without git, all that .gitignore does not name."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    if (root / ".git").exists():
        try:
            answer = subprocess.run(listing, cwd=root, capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            pass
        else:
            return [name for name in answer.stdout.split("\0") if name]
    return [str(path.relative_to(root)) for path in _walk(root, root)]


def _walk(root: Path, folder: Path) -> Iterator[Path]:
    patterns = [line.rstrip("/") for line in (root / ".gitignore").read_text().splitlines()]
    for path in sorted(folder.iterdir()):
        anchored = f"/{path.relative_to(root)}"
        if path.name == ".git" or any(
            anchored == pattern or path.match(pattern) for pattern in patterns if pattern
        ):
            continue
        if path.is_dir():
            yield from _walk(root, path)
        else:
            yield path
