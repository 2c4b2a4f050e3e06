from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from tests.workflows.repositories import commit, git, state, write
from workflows.git import RevisionError
from workflows.revisions import (
    Revision,
    captures,
    dirty,
    harness_changes,
    operators,
    require_turns,
    resolve,
)

pytestmark = pytest.mark.usefixtures("_no_settings_of_this_machine")


def refused(text: str, root: Path) -> str:
    with pytest.raises(RevisionError) as raised:
        resolve(text, root)
    assert "\n" not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("HEAD", "HEAD"),
        ("HEAD~1", "middle^{commit}"),
        ("middle", "middle^{commit}"),
        ("side", "middle^{commit}"),
        ("early", "HEAD~2"),
        (" main ", "HEAD"),
        (":/early", "HEAD~2"),
    ],
)
def test_what_git_takes_for_a_commit_is_one(shared: Path, text: str, same: str) -> None:
    found = resolve(text, shared)
    assert found.commit == git(shared, "rev-parse", same)
    assert found == Revision(text.strip(), found.commit)
    assert found.name == found.commit[:12]


def test_a_hash_may_be_short(shared: Path) -> None:
    head = git(shared, "rev-parse", "HEAD")
    assert resolve(head[:8], shared).commit == resolve(head, shared).commit == head


def test_the_working_tree_has_no_commit(shared: Path) -> None:
    found = resolve("worktree", shared)
    assert (found.commit, found.name) == (None, "worktree")


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("", "revision '': empty; "),
        ("  ", "revision '': empty; "),
        ("v9", "revision v9: no such commit; "),
        ("0" * 40, f"revision {'0' * 40}: no such commit; "),
        ("HEAD~9", "revision HEAD~9: no such commit; "),
        ("HEAD~1..HEAD", "revision HEAD~1..HEAD: no such commit; "),
        ("^HEAD", "revision ^HEAD: no such commit; "),
        ("HEAD^{tree}", "revision HEAD^{tree}: a tree, not a commit; "),
        ("HEAD:kernels/gelu.py", "revision HEAD:kernels/gelu.py: a blob, not a commit; "),
        ("--all", "revision '--all': not a name that git gives; "),
        ("--git-dir", "revision '--git-dir': not a name that git gives; "),
        ("a\nb", r"revision 'a\nb': not a name that git gives; "),
        ("a\0b", r"revision 'a\x00b': not a name that git gives; "),
    ],
)
def test_what_names_no_commit_is_refused(shared: Path, text: str, cause: str) -> None:
    assert refused(text, shared).startswith(cause)


def test_a_name_of_two_is_refused(repository: Path) -> None:
    git(repository, "tag", "side", "HEAD")
    assert refused("side", repository).startswith("revision side: ambiguous; ")
    assert resolve("heads/side", repository).commit != resolve("tags/side", repository).commit


def test_the_beginning_of_two_commits_is_refused(repository: Path) -> None:
    tree = git(repository, "rev-parse", "HEAD^{tree}")
    first: dict[str, str] = {}
    for number in range(5000):
        who = f"Ada <ada@example.org> {number} +0000"
        text = f"tree {tree}\nauthor {who}\ncommitter {who}\n\ntwin\n"
        content = text.encode()
        digits = hashlib.sha1(b"commit %d\0" % len(content) + content).hexdigest()[:4]
        other = first.setdefault(digits, text)
        if other != text:
            break
    for twin in (other, text):
        git(repository, "hash-object", "-t", "commit", "-w", "--stdin", text=twin)
    assert refused(digits, repository).startswith(f"revision {digits}: ambiguous; ")


def test_only_the_top_of_a_checkout_has_revisions(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    for folder in (tmp_path, tmp_path / "gone"):
        assert refused("HEAD", folder).startswith(f"{folder}: not a git checkout; ")
    inside = shared / "kernels"
    assert refused("HEAD", inside).startswith(f"{inside}: not the top of a git checkout; ")
    git(tmp_path, "init", "--quiet")
    assert refused("worktree", tmp_path).startswith("revision HEAD: no such commit; ")


def test_another_users_repository_is_told_apart(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    assert f"safe.directory '{shared}'`" in refused("HEAD", shared)


def test_git_has_to_be_there(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(shared))
    assert refused("HEAD", shared) == ("git: cannot be run, No such file or directory; install git")


def test_a_hook_of_another_repository_does_not_lead_astray(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = git(shared, "rev-parse", "HEAD")
    git(tmp_path, "init", "--quiet")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / ".git/index"))
    assert resolve("HEAD", shared).commit == head


def test_a_shallow_clone_says_how_to_deepen_it(shared: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{shared}", "shallow")
    clone = tmp_path / "shallow"
    head = resolve("HEAD", clone)
    assert head.commit == git(shared, "rev-parse", "HEAD")
    assert operators(head, clone) == ("gelu", "soft_max")
    for text in ("HEAD~1", git(shared, "rev-parse", "HEAD~1")):
        assert refused(text, clone) == (
            f"revision {text}: not in this shallow clone; run `git fetch --unshallow`"
        )


def test_what_differs_from_head_is_told(repository: Path) -> None:
    assert not dirty(repository)
    write(repository, "results/ignored")
    assert not dirty(repository)
    git(repository, "config", "status.showUntrackedFiles", "no")
    write(repository, "notes/new one.py")
    write(repository, "kernels/gelu.py", "changed")
    assert dirty(repository).paths == ("kernels/gelu.py", "notes/new one.py")
    assert str(dirty(repository)) == "2 changed: kernels/gelu.py, notes/new one.py"
    git(repository, "mv", "kernels/soft_max.py", "kernels/softmax.py")
    assert str(dirty(repository)) == (
        "4 changed: kernels/gelu.py, kernels/soft_max.py, kernels/softmax.py and 1 more"
    )


def test_operators_are_those_of_the_revision(repository: Path) -> None:
    assert operators(resolve("middle", repository), repository) == ("gelu", "softmax")
    assert operators(resolve("main", repository), repository) == ("gelu", "soft_max")
    (repository / "kernels/gelu.py").unlink()
    write(repository, "kernels/_new.py")
    write(repository, "kernels/row_sum.py")
    assert operators(resolve("worktree", repository), repository) == ("row_sum", "soft_max")
    assert operators(resolve("HEAD", repository), repository) == ("gelu", "soft_max")


def test_a_revision_before_the_harness_is_refused(repository: Path) -> None:
    early = resolve("early", repository)
    git(repository, "checkout", "--quiet", "early")
    for revision in (early, resolve("worktree", repository)):
        for ask in (
            lambda it: operators(it, repository),
            lambda it: captures(it, "h200", repository),
        ):
            with pytest.raises(RevisionError) as raised:
                ask(revision)
            assert str(raised.value) == (
                f"revision {revision.text}: from before kernels/harness existed; choose a later one"
            )


def test_captures_have_the_ids_of_their_folders(shared: Path) -> None:
    found = captures(resolve("HEAD", shared), "h200", shared)
    assert {operator: sorted(passes) for operator, passes in found.items()} == {
        "gelu": ["ncu", "time"],
        "softmax": ["time"],
    }
    assert found["gelu"]["time"] == git(shared, "rev-parse", "HEAD:captures/h200/gelu/time")
    assert found == captures(resolve("middle", shared), "h200", shared)


def test_captures_of_the_working_tree_are_the_files_on_disk(repository: Path) -> None:
    worktree, head = resolve("worktree", repository), resolve("HEAD", repository)
    recorded = captures(head, "h200", repository)
    git(repository, "config", "core.excludesFile", str(repository / "results/excludes"))
    write(repository, "results/excludes", "*.gz\n")
    assert captures(worktree, "h200", repository) == recorded

    before = state(repository)
    samples = "captures/h200/gelu/time/samples.csv.gz"
    git(repository, "update-index", "--assume-unchanged", samples)
    write(repository, samples, "1 2 4")
    (repository / "captures/h200/gelu/ncu/run.json").unlink()
    write(repository, "captures/h200/row_sum/time/run.json", "new")
    found = captures(worktree, "h200", repository)
    assert found["gelu"].keys() == {"time"}
    assert found["gelu"]["time"] != recorded["gelu"]["time"]
    assert found["softmax"] == recorded["softmax"]
    assert found["row_sum"].keys() == {"time"}
    assert captures(head, "h200", repository) == recorded

    git(repository, "update-index", "--no-assume-unchanged", samples)
    git(repository, "checkout", "--quiet", "--", "captures")
    (repository / "captures/h200/row_sum/time/run.json").unlink()
    assert captures(worktree, "h200", repository) == recorded
    assert state(repository) == before


def test_a_question_writes_nothing_into_the_repository(repository: Path) -> None:
    write(repository, "captures/h200/gelu/time/run.json", "changed")
    os.utime(repository / "kernels/gelu.py")
    folder = repository / ".git"
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    worktree = resolve("worktree", repository)
    assert dirty(repository)
    assert operators(worktree, repository)
    assert captures(worktree, "h200", repository)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_without_a_capture_on_that_gpu_the_others_are_named(repository: Path) -> None:
    worktree = resolve("worktree", repository)
    for revision in (worktree, resolve("middle", repository)):
        for gpu in ("a100", "..", "h200/gelu", ""):
            with pytest.raises(RevisionError) as raised:
                captures(revision, gpu, repository)
            assert str(raised.value) == (
                f"revision {revision.text}: no capture on {gpu}; choose one of h200"
            )
    git(repository, "rm", "-r", "--quiet", "captures")
    commit(repository, "no captures")
    for revision in (worktree, resolve("HEAD", repository)):
        with pytest.raises(RevisionError, match="no capture on h200; choose one with captures"):
            captures(revision, "h200", repository)


def test_a_revision_whose_harness_takes_no_turns_is_named(repository: Path) -> None:
    head = resolve("main", repository)
    with pytest.raises(RevisionError, match="from before two could be measured in alternating"):
        require_turns(head, repository)
    write(repository, "kernels/harness/alternation.py", "turns")
    require_turns(resolve("worktree", repository), repository)
    later = resolve(commit(repository, "turns"), repository)
    require_turns(later, repository)
    with pytest.raises(RevisionError, match="from before kernels/harness existed"):
        require_turns(resolve("early", repository), repository)


def test_what_of_the_harness_differs_is_listed(repository: Path) -> None:
    middle, head = (resolve(name, repository) for name in ("middle", "main"))
    assert harness_changes(middle, head, repository) == ()
    write(repository, "kernels/harness/__init__.py", "another")
    worktree = resolve("worktree", repository)
    assert harness_changes(middle, worktree, repository) == ("kernels/harness/__init__.py",)
    later = resolve(commit(repository, "another"), repository)
    assert harness_changes(head, later, repository) == ("kernels/harness/__init__.py",)
    assert harness_changes(worktree, worktree, repository) == ()
