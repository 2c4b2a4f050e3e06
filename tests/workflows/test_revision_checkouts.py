from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.checkouts import ROOT
from tests.workflows.repositories import git, start, state, write
from workflows.git import RevisionError
from workflows.revisions import Revision, checked_out, checkout, main, release, resolve

pytestmark = pytest.mark.usefixtures("_no_settings_of_this_machine")


@pytest.fixture
def revision(repository: Path) -> Revision:
    return resolve("middle", repository)


@pytest.fixture
def target(repository: Path, revision: Revision) -> Path:
    return repository / "results" / revision.name / "source"


@pytest.fixture(autouse=True)
def _users_checkout_stays(repository: Path) -> Iterator[None]:
    write(repository, "kernels/gelu.py", "the user's own")
    write(repository, "kernels/new.py", "the user's own")
    git(repository, "add", "kernels/new.py")
    before = state(repository)
    yield
    assert state(repository) == before
    assert (repository / "kernels/gelu.py").read_text() == "the user's own"


def listed(root: Path) -> list[str]:
    """Return the folders that git lists, but for the user's checkout."""
    lines = git(root, "worktree", "list", "--porcelain").splitlines()
    return [line.removeprefix("worktree ") for line in lines if line.startswith("worktree ")][1:]


def assert_gone(target: Path, root: Path) -> None:
    assert not target.exists()
    assert listed(root) == []
    assert list(root.glob(".git/worktrees/*")) == []


def slow_down(root: Path, marker: Path) -> None:
    """Let git take long over each file that it checks out; the marker says that it began."""
    write(root, ".git/info/attributes", "gelu.py filter=slow\n")
    command = f"echo $$ > '{marker}.new'; mv '{marker}.new' '{marker}'; sleep 60; cat"
    git(root, "config", "filter.slow.smudge", command)
    git(root, "config", "filter.slow.required", "true")


def speed_up(root: Path) -> None:
    git(root, "config", "--remove-section", "filter.slow")
    (root / ".git/info/attributes").unlink()


def python(root: Path, *arguments: str | Path) -> subprocess.Popen[str]:
    """Start Python in a repository with the modules of this checkout, not those of that one."""
    return subprocess.Popen(
        [sys.executable, "-P", *arguments],
        cwd=root,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(marker: Path, process: subprocess.Popen[str]) -> None:
    until = time.monotonic() + 30
    while not marker.exists():
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_commit_is_checked_out_and_used_again(
    repository: Path, revision: Revision, target: Path
) -> None:
    checkout(revision, target, repository)
    assert git(target, "rev-parse", "HEAD") == revision.commit
    assert git(target, "status", "--porcelain") == ""
    assert git(target, "branch", "--show-current") == ""
    assert (target / "kernels/gelu.py").read_text() == "one"
    assert listed(repository) == [str(target)]
    write(target, "results/build", "its own")
    made = (target / "kernels/gelu.py").stat().st_ino
    checkout(revision, target, repository)
    assert (target / "kernels/gelu.py").stat().st_ino == made
    assert (target / "results/build").exists()
    release(target, repository)
    assert_gone(target, repository)
    release(target, repository)


def test_no_hook_runs(repository: Path, revision: Revision, target: Path, tmp_path: Path) -> None:
    for name in ("post-checkout", "post-index-change", "reference-transaction"):
        write(repository, f".git/hooks/{name}", f"#!/bin/sh\ntouch '{tmp_path}/ran'\n")
        (repository / ".git/hooks" / name).chmod(0o755)
    checkout(revision, target, repository)
    release(target, repository)
    assert not (tmp_path / "ran").exists()


def test_a_sparse_checkout_gives_whole_ones(tmp_path: Path) -> None:
    root = start(tmp_path / "sparse")
    git(root, "sparse-checkout", "set", "captures")
    assert not (root / "kernels").exists()
    checkout(resolve("middle", root), root / "results/it", root)
    assert (root / "results/it/kernels/gelu.py").exists()


def test_a_shallow_clone_checks_out_what_it_has(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{repository}", "shallow")
    clone = tmp_path / "shallow"
    with checked_out(resolve("HEAD", clone), clone / "results/it", clone) as where:
        assert (where / "kernels/soft_max.py").exists()
    assert_gone(clone / "results/it", clone)


def test_a_removed_results_folder_is_no_obstacle(
    repository: Path, revision: Revision, target: Path
) -> None:
    checkout(revision, target, repository)
    shutil.rmtree(repository / "results")
    checkout(revision, target, repository)
    assert (target / "kernels/gelu.py").exists()
    shutil.rmtree(repository / "results")
    release(target, repository)
    assert_gone(target, repository)


def test_the_working_tree_needs_none(repository: Path, target: Path) -> None:
    with pytest.raises(RevisionError, match="revision worktree: needs no checkout; "):
        checkout(resolve("worktree", repository), target, repository)
    assert not target.exists()


@pytest.mark.parametrize("kind", ["folder", "file", "link", "worktree", "clone"])
def test_something_else_is_left_alone(
    repository: Path, revision: Revision, target: Path, kind: str
) -> None:
    target.parent.mkdir(parents=True)
    kept = target / "kept"
    if kind == "worktree":
        git(repository, "worktree", "add", "--quiet", "--detach", str(target), "middle")
    elif kind == "clone":
        git(repository, "clone", "--quiet", ".", str(target))
    elif kind == "link":
        (repository / "results/empty").mkdir()
        target.symlink_to(repository / "results/empty")
    elif kind == "file":
        kept = target
    if kind != "link":
        write(kept.parent, kept.name, "mine")
    before = sorted(target.rglob("*"))
    said = "not a checkout that was made here; move it away"
    with pytest.raises(RevisionError, match=said):
        checkout(revision, target, repository)
    with pytest.raises(RevisionError, match=said):
        release(target, repository)
    assert sorted(target.rglob("*")) == before
    assert list(target.parent.iterdir()) == [target]
    assert target.is_symlink() if kind == "link" else kept.read_text() == "mine"


@pytest.mark.parametrize("change", ["edit", "add", "commit", "unlink"])
def test_a_changed_checkout_is_not_taken_for_the_commit(
    repository: Path, revision: Revision, target: Path, change: str
) -> None:
    checkout(revision, target, repository)
    write(target, "kernels/gelu.py" if change != "add" else "kernels/more.py", "mine")
    if change == "commit":
        git(target, "commit", "--quiet", "--all", "--message", "mine")
    if change == "unlink":
        (target / ".git").unlink()
    with pytest.raises(RevisionError, match=f"no longer the checkout of {revision.name} "):
        checkout(revision, target, repository)
    assert "mine" in {path.read_text() for path in target.glob("kernels/*.py")}
    release(target, repository)
    assert_gone(target, repository)


def test_the_users_checkout_does_not_stand_in_for_a_broken_one(
    shared: Path, tmp_path: Path
) -> None:
    root = Path(shutil.copytree(shared, tmp_path / "unchanged"))
    head, target = resolve("HEAD", root), root / "results/it"
    checkout(head, target, root)
    (target / ".git").unlink()
    with pytest.raises(RevisionError, match="no longer the checkout of "):
        checkout(head, target, root)


def test_two_commits_do_not_share_a_folder(
    repository: Path, revision: Revision, target: Path
) -> None:
    checkout(revision, target, repository)
    with pytest.raises(RevisionError, match="no longer the checkout of "):
        checkout(resolve("early", repository), target, repository)
    assert git(target, "rev-parse", "HEAD") == revision.commit


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, None])
def test_a_block_leaves_nothing(
    repository: Path, revision: Revision, target: Path, error: type[BaseException] | None
) -> None:
    def use() -> None:
        with checked_out(revision, target, repository) as where:
            assert (where / "kernels/softmax.py").exists()
            if error is not None:
                raise error

    if error is None:
        use()
    else:
        with pytest.raises(error):
            use()
    assert_gone(target, repository)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_the_last_user_removes_it(repository: Path, revision: Revision, target: Path) -> None:
    with checked_out(revision, target, repository):
        with checked_out(revision, target, repository):
            pass
        with pytest.raises(RevisionError, match="in use; "):
            release(target, repository)
        assert (target / "kernels/gelu.py").exists()
    assert_gone(target, repository)


def test_a_block_ends_in_order_at_sigterm(repository: Path, target: Path, tmp_path: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path; from workflows.revisions import *\n"
        "root, marker = Path.cwd(), Path(sys.argv[2])\n"
        "with checked_out(resolve('middle', root), Path(sys.argv[1]), root): \n"
        "    marker.touch(); time.sleep(60)\n"
    )
    with python(repository, "-c", program, target, tmp_path / "marker") as process:
        wait_for(tmp_path / "marker", process)
        assert (target / "kernels/gelu.py").exists()
        process.terminate()
    assert process.returncode == 128 + signal.SIGTERM
    assert_gone(target, repository)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_an_interrupt_in_the_middle_leaves_nothing(
    repository: Path, target: Path, tmp_path: Path, number: signal.Signals
) -> None:
    slow_down(repository, tmp_path / "marker")
    with python(repository, "-m", "workflows.revisions", "checkout", "middle", target) as process:
        wait_for(tmp_path / "marker", process)
        assert target.exists()
        process.send_signal(number)
        assert process.wait(timeout=30) == 128 + number
    speed_up(repository)
    assert_gone(target, repository)


def test_what_a_killed_process_left_is_made_anew(
    repository: Path, revision: Revision, target: Path, tmp_path: Path
) -> None:
    slow_down(repository, tmp_path / "marker")
    with python(repository, "-m", "workflows.revisions", "checkout", "middle", target) as process:
        wait_for(tmp_path / "marker", process)
        process.kill()
    os.killpg(os.getpgid(int((tmp_path / "marker").read_text())), signal.SIGKILL)
    speed_up(repository)
    assert target.exists()
    checkout(revision, target, repository)
    assert git(target, "status", "--porcelain") == ""
    assert (target / "kernels/gelu.py").read_text() == "one"
    release(target, repository)
    assert_gone(target, repository)


def test_what_git_cannot_check_out_leaves_nothing(
    repository: Path, revision: Revision, target: Path
) -> None:
    slow_down(repository, repository)
    git(repository, "config", "filter.slow.smudge", "false")
    with pytest.raises(RevisionError, match="smudge filter slow failed"):
        checkout(revision, target, repository)
    speed_up(repository)
    assert_gone(target, repository)


def test_processes_may_ask_for_one_at_once(
    repository: Path, revision: Revision, target: Path
) -> None:
    asking = [
        python(repository, "-m", "workflows.revisions", "checkout", "middle", target)
        for _ in range(3)
    ]
    assert [process.communicate()[1] for process in asking] == ["", "", ""]
    assert [process.returncode for process in asking] == [0, 0, 0]
    assert listed(repository) == [str(target)]
    assert git(target, "rev-parse", "HEAD") == revision.commit


def test_the_command_says_what_is_wrong_in_one_line(
    repository: Path,
    target: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(repository)
    relative = str(target.relative_to(repository))
    assert main(["checkout", "middle", relative]) == 0
    assert (target / "kernels/softmax.py").exists()
    assert main(["release", relative]) == 0
    assert_gone(target, repository)
    assert capsys.readouterr().err == ""
    for arguments in (["checkout", "v9", relative], ["release", "kernels"]):
        assert main(arguments) == 2
        said = capsys.readouterr().err
        assert said.startswith("error: ")
        assert said.count("\n") == 1
