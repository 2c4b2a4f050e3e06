"""Diffs of revisions as a user asks for them: what is parsed, said and left behind."""

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
from reports.format import escape
from tests.checkouts import copy_checkout
from tests.workflows.repositories import commit, git
from tests.workflows.running import errors, jobs, planned, snakemake

OPERATOR, VARIANT = "vector_add", "triton"
TIMES = Path(f"captures/h200/{OPERATOR}/time")
DIFF = ("--config", "source=replay")


def slow_down(where: Path, factor: float) -> None:
    """Make a variant's samples longer, as a recorder would have written them."""
    (table,) = (where / TIMES).glob("samples.csv*")
    rows = list(csv.DictReader(io.StringIO(gzip.decompress(table.read_bytes()).decode())))
    for row in rows:
        if row["variant"] == VARIANT:
            row["duration_ns"] = str(float(row["duration_ns"]) * factor)
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0])
    writer.writeheader()
    writer.writerows(rows)
    table.write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))
    for name in ("check", "build", "time", "nsys", "ncu"):
        path = where / f"captures/h200/{OPERATOR}/{name}/run.json"
        run = json.loads(path.read_text())
        run["run"]["source_sha256"] = "77" * 32
        if name == "time":
            run["files"][table.name] = sha256(table)
        path.write_text(json.dumps(run))


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of two commits: in the second, a variant is half as slow again."""
    where = copy_checkout(tmp_path_factory.mktemp("diff") / "checkout")
    for folder in (where / "captures/h200").iterdir():
        if folder.name not in {OPERATOR, "transpose"}:
            shutil.rmtree(folder)
    git(where, "init", "--quiet", "--initial-branch=main")
    commit(where, "before")
    git(where, "tag", "before")
    slow_down(where, 1.5)
    commit(where, "after")
    return where


def test_what_is_slower_is_told_and_fails_the_gate(repository: Path) -> None:
    code, output = snakemake(repository, "reports/diff", *DIFF, "base=before", "head=main")
    assert code == 0, output
    assert jobs(output) == {"parse_revision": 2, "diff": 1, "metrics": 1, "reports/diff": 1}
    (page,) = re.findall(r"Reports: (results/reports/diff/\S+\.md)", output)
    text = (repository / page).read_text()
    assert f"| `{OPERATOR}` | `{VARIANT}` | " in text
    assert re.search(r"[1-9]\d* slower", text)
    assert "The captures of 1 operator are the same: `transpose`." in text

    code, output = snakemake(repository, "reports/gate", *DIFF, "base=before", "head=main")
    assert code != 0
    (line,) = errors(output)
    assert re.match(rf"error: {page}: \d+ regressions: {OPERATOR}/{VARIANT}/\S+ is slower", line)
    assert (repository / page).is_file()


def test_nothing_of_it_stays_beside_the_users_checkout(repository: Path) -> None:
    assert git(repository, "status", "--porcelain") == ""
    assert len(git(repository, "worktree", "list").splitlines()) == 1
    assert not [path for path in (repository / "results").rglob("source") if path.is_dir()]


def test_a_revision_against_itself_is_the_same(repository: Path) -> None:
    code, output = snakemake(repository, "reports/gate", *DIFF, "base=main")
    assert code == 0, output
    assert jobs(output) == {"diff": 1, "reports/gate": 1}


def test_a_changed_working_tree_is_said(repository: Path, tmp_path: Path) -> None:
    where = Path(shutil.copytree(repository, tmp_path / "checkout"))
    (where / "README.md").write_text("changed\n")
    code, output = snakemake(where, "reports/diff", *DIFF, "base=main")
    assert code == 0, output
    (page,) = re.findall(r"Reports: (results/reports/diff/\S+\.md)", output)
    text = (where / page).read_text()
    assert escape("The working tree differs from its commit: 1 changed: README.md.") in text
    older = f"The captures of {OPERATOR} are older than the source that stands here."
    assert escape(older) in text


def test_a_changed_kernel_is_built_and_interpreted_in_both_revisions(
    repository: Path, tmp_path: Path
) -> None:
    where = Path(shutil.copytree(repository, tmp_path / "checkout"))
    git(where, "apply", "tests/mutations/vector_add-unspecialised-steps.patch")
    builds = ("build", "build_revision", "parse_build_here", "parse_build_of_revision")
    checks = (
        "interpret",
        "interpret_revision",
        "parse_interpreted",
        "parse_interpreted_of_revision",
    )
    found = planned(where, "reports/gate", *DIFF, "base=main")
    assert found == dict.fromkeys((*builds, *checks, "diff", "reports/gate"), 1)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ((), "base: no revision is named; add one, such as `--config base=main`"),
        (("base=nosuch",), "base: revision nosuch: no such commit; name a commit, tag or branch"),
        (("base=main", "head=--all"), "head: revision '--all': not a name that git gives"),
    ],
)
def test_a_wrong_revision_is_one_line(repository: Path, config: tuple[str, ...], said: str) -> None:
    code, output = snakemake(repository, "reports/diff", *DIFF, *config)
    assert code != 0
    assert said in output
    assert "Traceback (most" not in output
