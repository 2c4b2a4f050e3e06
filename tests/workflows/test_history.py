"""The history of recorded captures as a user asks for it."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.checkouts import copy_checkout
from tests.workflows.repositories import commit, git
from tests.workflows.running import snakemake
from tests.workflows.test_diff import OPERATOR, slow_down

HISTORY = ("reports/history", "--config", "source=replay")
PAGE = "results/reports/history.md"
CAPTURES = "captures/h200"


def parsed(output: str) -> list[tuple[str, str]]:
    """Return what was parsed, as operator and revision."""
    return sorted(re.findall(r"parse (\w+): the captures of (\w+)", output))


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Captures without a harness, then: whole, of another format, slower, and as before."""
    where = copy_checkout(tmp_path_factory.mktemp("history") / "checkout")
    for folder in (where / CAPTURES).iterdir():
        if folder.name not in {OPERATOR, "transpose"}:
            shutil.rmtree(folder)
    git(where, "init", "--quiet", "--initial-branch=main")
    git(where, "add", f"{CAPTURES}/transpose")
    git(where, "commit", "--quiet", "--message", "early")
    git(where, "tag", "early")
    commit(where, "whole")
    git(where, "tag", "whole")
    path = where / CAPTURES / OPERATOR / "time/run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 99}))
    commit(where, "foreign")
    git(where, "tag", "foreign")
    git(where, "checkout", "--quiet", "whole", "--", CAPTURES)
    slow_down(where, 1.5)
    commit(where, "slower")
    git(where, "tag", "slower")
    git(where, "checkout", "--quiet", "whole", "--", CAPTURES)
    commit(where, "as | before")
    return where


def short(where: Path, name: str, digits: int = 12) -> str:
    return git(where, "rev-parse", f"{name}^{{commit}}")[:digits]


def test_steps_are_told_and_the_same_files_are_parsed_once(repository: Path) -> None:
    code, output = snakemake(repository, *HISTORY)
    assert code == 0, output
    whole, slower = (short(repository, name) for name in ("whole", "slower"))
    assert parsed(output) == sorted([(OPERATOR, whole), (OPERATOR, slower), ("transpose", whole)])
    page = (repository / PAGE).read_text()
    assert re.search(rf"^\| `{slower[:7]}` \| `triton` \| .* \| slower \| \+\d", page, re.MULTILINE)
    back = short(repository, "main", 7)
    assert re.search(rf"^\| `{back}` \| `triton` \| .* \| faster \| -\d", page, re.MULTILINE)
    assert f"| [vector_add](#{OPERATOR}) | 3 |" in page
    assert "| [transpose](#transpose) | 1 | 0 | 0 | 0 | 0 | 0 |" in page
    assert r"as \| before" in page
    early, foreign = (short(repository, name) for name in ("early", "foreign"))
    assert f"- revision {early}: from before kernels/harness existed." in page
    cause = rf"{CAPTURES}/{OPERATOR}/time/run.json has format 99, not 1"
    assert f"- revision {foreign}: {cause}." in page
    assert (repository / "results/reports/history/transpose.svg").is_file()


def test_nothing_of_it_stays_and_nothing_is_done_twice(repository: Path) -> None:
    assert git(repository, "status", "--porcelain") == ""
    assert len(git(repository, "worktree", "list").splitlines()) == 1
    assert not [path for path in (repository / "results").rglob("source") if path.is_dir()]
    code, output = snakemake(repository, *HISTORY)
    assert code == 0, output
    assert "Nothing to be done" in output


def test_captures_on_disk_are_the_last(repository: Path, tmp_path: Path) -> None:
    where = Path(shutil.copytree(repository, tmp_path / "checkout"))
    slow_down(where, 1.5)
    code, output = snakemake(where, *HISTORY, f"operators=['{OPERATOR}']")
    assert code == 0, output
    assert not parsed(output)
    page = (where / PAGE).read_text()
    assert re.search(r"^\| `worktree` \| `triton` \| .* \| slower \| ", page, re.MULTILINE)
    assert "#transpose" not in page


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("base=nosuch", "base: revision nosuch: no such commit"),
        ("base=aside", "reports/history: base aside: not among the first parents of HEAD"),
    ],
)
def test_a_wrong_base_is_one_line(repository: Path, config: str, said: str) -> None:
    tree = git(repository, "rev-parse", "whole^{tree}")
    git(repository, "branch", "--force", "aside", git(repository, "commit-tree", "-m", "x", tree))
    code, output = snakemake(repository, *HISTORY, config)
    assert code != 0
    assert said in output
    assert "Traceback (most" not in output
