"""Where recorded captures changed among the commits, in small repositories."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.workflows.repositories import commit, git, state, write
from workflows.git import RevisionError
from workflows.history import main
from workflows.lineage import Lineage, trace

pytestmark = pytest.mark.usefixtures("_no_settings_of_this_machine")

PASSES = ("time", "ncu")


def record(root: Path, operator: str, text: str, gpu: str = "h200") -> None:
    for name in PASSES:
        write(root, f"captures/{gpu}/{operator}/{name}/run.json", f"{operator} {name} {text}")


def traced(root: Path, base: str | None = None, *, on_disk: bool = False) -> Lineage:
    return trace("h200", PASSES, root, base, on_disk=on_disk)


def points(lineage: Lineage, operator: str) -> list[tuple[str, str]]:
    """Return the subject of each point's commit and of the one whose frames it has."""
    subjects = {one.revision.name: one.subject for one in lineage.commits}
    return [(subjects[one.at], subjects[one.first]) for one in lineage.points[operator]]


@pytest.fixture
def history(repository: Path) -> Path:
    """The commits early (no harness), middle and late, and then ones that record."""
    record(repository, "gelu", "1")
    commit(repository, "first")
    git(repository, "tag", "first")
    write(repository, "README.md", "nothing recorded")
    commit(repository, "words")
    git(repository, "tag", "words")
    record(repository, "gelu", "2")
    record(repository, "softmax", "1")
    commit(repository, "second")
    record(repository, "gelu", "1")
    commit(repository, "back")
    return repository


def test_commits_that_changed_captures_are_found_oldest_first(history: Path) -> None:
    before = state(history)
    lineage = traced(history)
    assert [one.subject for one in lineage.commits] == ["middle", "first", "second", "back"]
    assert all(one.date and one.date.startswith("20") for one in lineage.commits)
    assert state(history) == before


def test_the_same_files_have_the_frames_of_the_first_that_had_them(history: Path) -> None:
    lineage = traced(history)
    gelu = [("middle", "middle"), ("first", "first"), ("second", "second"), ("back", "first")]
    assert points(lineage, "gelu") == gelu
    assert points(lineage, "softmax") == [("second", "second")]


def test_captures_without_all_passes_are_noted(history: Path) -> None:
    name = git(history, "rev-parse", "--short=12", "middle^{commit}")
    assert traced(history).notes == [f"revision {name}: softmax has no ncu pass."]
    assert not trace("h200", PASSES, history, operators=["gelu"]).notes


def test_a_base_is_the_first_whether_or_not_its_captures_changed(history: Path) -> None:
    lineage = traced(history, "words")
    assert [one.subject for one in lineage.commits] == ["words", "second", "back"]
    assert points(lineage, "gelu") == [("words", "words"), ("second", "second"), ("back", "words")]


def test_a_merge_counts_by_what_it_brings(history: Path) -> None:
    git(history, "switch", "--quiet", "--create", "topic")
    record(history, "gelu", "3")
    commit(history, "aside")
    record(history, "gelu", "4")
    commit(history, "aside again")
    git(history, "switch", "--quiet", "main")
    git(history, "merge", "--quiet", "--no-ff", "--message", "merged", "topic")
    assert [one.subject for one in traced(history).commits[-2:]] == ["back", "merged"]
    with pytest.raises(RevisionError, match="base topic: not among the first parents of HEAD"):
        traced(history, "topic")


def test_a_revision_from_before_the_harness_is_noted_and_passed_over(history: Path) -> None:
    shutil.rmtree(history / "kernels/harness")
    record(history, "gelu", "5")
    lost = commit(history, "lost")[:12]
    git(history, "checkout", "--quiet", "HEAD^", "--", "kernels/harness")
    record(history, "gelu", "6")
    commit(history, "found")
    lineage = traced(history)
    assert lineage.notes[0] == f"revision {lost}: from before kernels/harness existed."
    assert [at for at, _ in points(lineage, "gelu")][-2:] == ["back", "found"]


def test_captures_that_come_again_are_a_point(history: Path) -> None:
    shutil.rmtree(history / "captures/h200/softmax")
    commit(history, "removed")
    record(history, "softmax", "1")
    commit(history, "again")
    assert points(traced(history), "softmax") == [("second", "second"), ("again", "second")]


def test_files_on_disk_are_the_last_where_they_differ(history: Path) -> None:
    assert traced(history, on_disk=True) == traced(history)
    record(history, "gelu", "7")
    assert traced(history).commits[-1].subject == "back"
    last = traced(history, on_disk=True).points["gelu"][-1]
    assert (last.at, last.first) == ("worktree", "worktree")


def test_commits_that_brought_nothing_to_follow_are_not_listed(history: Path) -> None:
    write(history, "captures/h200/gelu/noise/0/time/run.json", "of no pass")
    commit(history, "aside")
    assert traced(history).commits[-1].subject == "back"
    lineage = trace("h200", PASSES, history, operators=["softmax"])
    assert [one.subject for one in lineage.commits] == ["second"]


def test_another_gpu_is_not_listed(history: Path) -> None:
    record(history, "gelu", "8", gpu="a100")
    commit(history, "other")
    assert traced(history).commits[-1].subject == "back"
    assert not trace("b200", PASSES, history).points


def test_a_shallow_clone_says_what_it_lacks(history: Path, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", "--depth=2", history.as_uri(), str(clone))
    lineage = traced(clone)
    assert lineage.notes[0] == "This is a shallow clone; what was recorded before it is not here."
    assert [one.subject for one in lineage.commits] == ["second", "back"]


@pytest.mark.parametrize(
    ("base", "said"),
    [
        ("worktree", "base worktree: not a commit"),
        ("side", "base side: not among the first parents"),
        ("nosuch", "revision nosuch: no such commit"),
    ],
)
def test_a_base_that_cannot_be_one_is_one_line(history: Path, base: str, said: str) -> None:
    git(history, "switch", "--quiet", "side")
    commit(history, "elsewhere")
    git(history, "switch", "--quiet", "main")
    with pytest.raises(RevisionError, match=said):
        traced(history, base)


def test_what_the_parsers_refuse_becomes_a_note(
    history: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(history)
    before, out = state(history), tmp_path / "lineage.json"
    options = ["--gpu", "h200", "--passes", *PASSES, "--operators", "gelu", "--out", str(out)]
    assert main(options) == 0
    lineage = json.loads(out.read_text())
    assert lineage["points"] == {"gelu": []}
    refused = [note for note in lineage["notes"] if "run.json is not JSON" in note]
    assert len(refused) == len(lineage["notes"]) == 3
    assert state(history) == before
    assert not list(history.glob("results/*/source"))
