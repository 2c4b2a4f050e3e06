"""Small git repositories that have the folders of this project."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ME = {
    f"GIT_{role}_{key}": value
    for role in ("AUTHOR", "COMMITTER")
    for key, value in (("NAME", "Ada"), ("EMAIL", "ada@example.org"))
}
ALONE = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}


def git(where: Path, *arguments: str, text: str | None = None) -> str:
    """Run git as its user would, with no settings of this machine, and return what it prints."""
    answer = subprocess.run(
        ["git", "-C", str(where), *arguments],
        env=os.environ | ME | ALONE,
        input=text,
        capture_output=True,
        text=True,
        check=True,
    )
    return answer.stdout.strip()


def write(root: Path, name: str, text: str = "") -> None:
    """Write a file and the folders above it."""
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text, encoding="utf-8")


def commit(root: Path, message: str) -> str:
    """Commit every file and return the hash."""
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--allow-empty", "--message", message)
    return git(root, "rev-parse", "HEAD")


def start(root: Path) -> Path:
    """Make a repository of three commits: no harness yet; two operators; one of them renamed."""
    root.mkdir()
    git(root, "init", "--quiet", "--initial-branch=main")
    write(root, ".gitignore", "/results/\n")
    write(root, "kernels/__init__.py")
    write(root, "kernels/gelu.py", "one")
    commit(root, "early")
    git(root, "tag", "early")
    for name in ("harness/__init__.py", "_rows.py", "softmax.py", "all.py"):
        write(root, f"kernels/{name}", "two")
    write(root, "kernels/notes.txt")
    for operator, name in (("gelu", "time"), ("gelu", "ncu"), ("softmax", "time")):
        write(root, f"captures/h200/{operator}/{name}/run.json", f"{operator} {name}")
    write(root, "captures/h200/gelu/time/samples.csv.gz", "1 2 3")
    write(root, "captures/h200/gelu/half/samples.csv.gz", "not finished")
    write(root, "captures/h200/gelu/deep/triton/run.json", "deep")
    commit(root, "middle")
    git(root, "tag", "--annotate", "middle", "--message", "annotated")
    git(root, "branch", "side")
    (root / "kernels/softmax.py").rename(root / "kernels/soft_max.py")
    commit(root, "late")
    return root


def state(root: Path) -> tuple[str, ...]:
    """Return what of a user's checkout must not change: HEAD, status, index, refs, settings."""
    asked = (
        ("rev-parse", "--symbolic-full-name", "HEAD"),
        ("status", "--porcelain", "--untracked-files=all"),
        ("ls-files", "--stage"),
        ("for-each-ref",),
        ("config", "--list", "--show-origin"),
    )
    return tuple(git(root, *question) for question in asked)
