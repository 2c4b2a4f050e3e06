"""Code of two revisions side by side, as a user asks for it."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import shutil
from pathlib import Path

import pytest

from parsers.files import sha256
from tests.checkouts import copy_checkout
from tests.workflows.repositories import commit, git
from tests.workflows.running import jobs, planned, snakemake

OPERATOR = "vector_add"
BUILD = Path(f"captures/h200/{OPERATOR}/build")
CODE = ("reports/diff/code", "--config", "source=replay", "base=main")
HIDE = """\
import importlib.util

known = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: (
    None if name in {"torch", "triton"} else known(name, *more)
)
"""


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of one commit, with the captures of two operators."""
    where = copy_checkout(tmp_path_factory.mktemp("code") / "checkout")
    for folder in (where / "captures/h200").iterdir():
        if folder.name not in {OPERATOR, "transpose"}:
            shutil.rmtree(folder)
    git(where, "init", "--quiet", "--initial-branch=main")
    commit(where, "all")
    return where


def narrow_loads(where: Path) -> set[str]:
    """Record other SASS of a kernel in the working tree; return the names of its diffs."""
    table = csv.DictReader(io.StringIO(gzip.decompress(read(where, "builds.csv")).decode()))
    row, *others = [row for row in table if row["arch"] == "sm_90" and row["load_bits"] == "128"]
    text = gzip.decompress(read(where, row["sass"])).replace(b"LDG.E.128", b"LDG.E")
    path = where / BUILD / f"{row['sass']}.gz"
    path.write_bytes(gzip.compress(text, mtime=0))
    run = where / BUILD / "run.json"
    content = json.loads(run.read_text())
    content["files"][path.name] = sha256(path)
    run.write_text(json.dumps(content))
    # Builds that are alike share their texts.
    return {
        f"{OPERATOR}/{one['variant']}/{one['case']}.{one['kernel']}.sm_90.sass.diff"
        for one in (row, *others)
        if one["sass"] == row["sass"]
    }


def read(where: Path, name: str) -> bytes:
    return (where / BUILD / f"{name}.gz").read_bytes()


def test_recorded_builds_are_compared_without_a_compiler(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = Path(shutil.copytree(repository, tmp_path / "checkout"))
    kernels = narrow_loads(where)
    (tmp_path / "sitecustomize.py").write_text(HIDE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    code, output = snakemake(where, *CODE)
    assert code == 0, output
    assert jobs(output)["recorded_build"] == jobs(output)["code"] == 1
    (page,) = (where / "results/reports/diff").glob("*.code.md")
    folder = page.with_suffix("")
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*.diff")}
    assert files == {"kernels.diff", *kernels}
    assert (folder / "kernels.diff").read_text() == ""
    for name in kernels:
        assert re.search(r"^\+ .* LDG\.E R", (folder / name).read_text(), re.MULTILINE)
        assert f"]({folder.name}/{name})" in page.read_text()
    assert git(where, "worktree", "list").count("\n") == 0


def test_a_changed_kernel_is_built_in_both_revisions(repository: Path, tmp_path: Path) -> None:
    where = Path(shutil.copytree(repository, tmp_path / "checkout"))
    git(where, "apply", "tests/mutations/vector_add-unspecialised-steps.patch")
    found = planned(where, *CODE)
    rules = ("build", "build_revision", "code", "metrics", "reports/diff/code")
    assert found == dict.fromkeys(rules, 1)
