"""Checkouts of commits in folders of their own, as detached git worktrees.

A file beside the folder, ``.NAME.lock``, says what was made there: ``half`` and the commit from
before git begins, ``whole`` and the commit once it has ended. What it does not name was not made
here and is never removed. Who uses a checkout holds a shared lock on that file; who makes or
removes one has it alone.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shlex
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import IO, TYPE_CHECKING

from workflows.git import RevisionError, git, require_repository, run

if TYPE_CHECKING:
    from workflows.revisions import Revision

ENDINGS = (signal.SIGTERM, signal.SIGHUP)
RELEASE = "python -m workflows.revisions release"


def checkout(revision: Revision, target: Path, root: Path) -> None:
    """Check a commit out into a folder, unless it is there already, and leave it there.

    One that was interrupted is made anew. Several processes may ask for the same one at once.

    Parameters
    ----------
    target
        Folder that is to be made; ``root`` is the top of the user's checkout.

    Raises
    ------
    RevisionError
        When the revision is the working tree, there is something else at the target, the checkout
        there was changed, or git fails.
    """
    with _held(revision, target.absolute(), root):
        pass


def release(target: Path, root: Path) -> None:
    """Remove a checkout, whatever was changed in it, and what git knows of it.

    Raises
    ------
    RevisionError
        When a process uses it, or what is there was not made by `checkout`.
    """
    require_repository(root)
    target = target.absolute()
    if not _lock_file(target).exists():
        if os.path.lexists(target):
            raise _foreign(target)
        _clear(target, root)
        return
    with _lock_file(target).open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RevisionError(f"{target}: in use", "wait for who uses it, or end it") from None
        if not _read(lock) and os.path.lexists(target):
            raise _foreign(target)
        with _undisturbed():
            _clear(target, root)
            _write(lock, "")


@contextmanager
def checked_out(revision: Revision, target: Path, root: Path) -> Iterator[Path]:
    """Check a commit out for as long as the block runs; the last of several users removes it.

    It is removed after an exception too, an interrupt or SIGTERM among them.

    Raises
    ------
    RevisionError
        As `checkout` does.
    """
    target = target.absolute()
    with _ending_in_order(), _held(revision, target, root) as lock:
        try:
            yield target
        finally:
            with _undisturbed(), contextlib.suppress(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _clear(target, root)
                _write(lock, "")


@contextmanager
def _held(revision: Revision, target: Path, root: Path) -> Iterator[IO[str]]:
    """Make the checkout unless it is there, and keep others from removing it."""
    require_repository(root)
    if revision.commit is None:
        raise RevisionError(f"revision {revision.text}: needs no checkout", "use it where it is")
    if _is_taken(target) and not _lock_file(target).exists():
        raise _foreign(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    with _lock_file(target).open("a+") as lock:
        while True:
            fcntl.flock(lock, fcntl.LOCK_SH)
            if _is_whole(lock, revision.commit, target, root):
                break
            fcntl.flock(lock, fcntl.LOCK_EX)
            # Another process may have had the lock between the two.
            if not _is_whole(lock, revision.commit, target, root):
                _make(lock, revision.commit, target, root)
        yield lock


def _make(lock: IO[str], commit: str, target: Path, root: Path) -> None:
    with _ending_in_order():
        _write(lock, f"half {commit}")
        try:
            _clear(target, root)
            git(root, "worktree", "add", "--detach", "--quiet", str(target), commit)
            _write(lock, f"whole {commit}")
        except BaseException:
            with _undisturbed():
                _clear(target, root)
                _write(lock, "")
            raise


def _is_whole(lock: IO[str], commit: str, target: Path, root: Path) -> bool:
    """Tell whether the commit is checked out there; false where there is nothing, or half of it.

    Raises
    ------
    RevisionError
        When there is something else, or the checkout was changed.
    """
    said = _read(lock)
    if not os.path.lexists(target) or said.startswith("half "):
        return False
    if not said:
        if _is_taken(target):
            raise _foreign(target)
        return False
    # Were its file .git gone, git would look into the folders above, and find the user's checkout.
    own = ("--git-dir=.git", "--work-tree=.")
    status = run(target, *own, "status", "--porcelain", "--untracked-files=all")
    unchanged = status.returncode == 0 and not status.stdout
    if unchanged and said == f"whole {commit}" and _registered(target, root) == commit:
        return True
    raise RevisionError(
        f"{target}: no longer the checkout of {commit[:12]} that was made there",
        f"save what you changed in it and run `{RELEASE} {shlex.quote(str(target))}`",
    )


def _is_taken(target: Path) -> bool:
    """Tell whether there is anything but an empty folder."""
    empty = target.is_dir() and not target.is_symlink() and not any(target.iterdir())
    return os.path.lexists(target) and not empty


def _foreign(target: Path) -> RevisionError:
    return RevisionError(f"{target}: not a checkout that was made here", "move it away")


def _clear(target: Path, root: Path) -> None:
    """Remove the folder and git's entry of it, each where it is there."""
    if os.path.lexists(target):
        shutil.rmtree(target)
    if _registered(target, root):
        # Twice, for git locks an entry while it makes it.
        git(root, "worktree", "remove", "--force", "--force", str(target))


def _registered(target: Path, root: Path) -> str | None:
    """Return the commit that git's list of worktrees has for a folder, or None."""
    for entry in git(root, "worktree", "list", "--porcelain").split("\n\n"):
        facts = dict(line.partition(" ")[::2] for line in entry.splitlines())
        if facts and Path(facts["worktree"]).resolve() == target.resolve():
            return facts.get("HEAD")
    return None


def _lock_file(target: Path) -> Path:
    return target.with_name(f".{target.name}.lock")


def _read(lock: IO[str]) -> str:
    lock.seek(0)
    return lock.read()


def _write(lock: IO[str], text: str) -> None:
    lock.seek(0)
    lock.truncate()
    lock.write(text)
    lock.flush()


@contextmanager
def _ending_in_order() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into SystemExit, unless the program has handlers of its own."""
    taken = []
    if threading.current_thread() is threading.main_thread():
        taken = [number for number in ENDINGS if signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def _end(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Hold interrupts back until what is to be removed is removed."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, *ENDINGS])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
