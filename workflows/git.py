"""Run git for a question or a change that leaves the user's checkout and settings alone."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.sparseCheckout": "false",
    "core.warnAmbiguousRefs": "true",
    "core.disambiguate": "committish",
}
"""Settings of each command: no hook runs, a checkout is whole, ambiguous names are told."""

PLACES = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
)
"""Variables that a hook of another repository sets, and that would lead git there."""


class RevisionError(Exception):
    """A revision that cannot be used: what is wrong with it, and the way out, in one line."""

    def __init__(self, cause: str, remedy: str) -> None:
        self.cause = cause
        self.remedy = remedy
        super().__init__(" ".join(f"{cause}; {remedy}".split()))


def run(
    where: Path, *arguments: str, variables: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run git in a folder, whatever its exit code; its messages are English.

    Git has a process group of its own. An exception, such as that of an interrupt, ends the whole
    group and is raised again once none of it is left.

    Raises
    ------
    RevisionError
        When git is not installed.
    """
    settings = [word for key, value in SETTINGS.items() for word in ("-c", f"{key}={value}")]
    command = ["git", "--literal-pathspecs", *settings, "-C", str(where), *arguments]
    kept = {name: value for name, value in os.environ.items() if name not in PLACES}
    # A question such as `git status` must not write the index either.
    kept |= {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    try:
        process = subprocess.Popen(
            command,
            env=kept | dict(variables or {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="backslashreplace",
            process_group=0,
        )
    except OSError as error:
        raise RevisionError(f"git: cannot be run, {error.strerror}", "install git") from error
    with process:
        try:
            output, said = process.communicate()
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            # Its children hold the pipes too, so that this waits for each of them.
            process.communicate()
            raise
    return subprocess.CompletedProcess(command, process.returncode, output, said)


def git(where: Path, *arguments: str, variables: Mapping[str, str] | None = None) -> str:
    """Run git in a folder and return what it prints, without the last line break.

    Raises
    ------
    RevisionError
        When it fails or is not installed.
    """
    answer = run(where, *arguments, variables=variables)
    if answer.returncode:
        cause = f"git in {where}: {complaint(answer)}"
        raise RevisionError(cause, "clear that up and run it again")
    return answer.stdout.removesuffix("\n")


def complaint(answer: subprocess.CompletedProcess[str]) -> str:
    """Return the line in which a command said why it failed."""
    lines = answer.stderr.splitlines() or [f"exit code {answer.returncode}"]
    told = [line for line in lines if line.startswith(("fatal: ", "error: "))]
    return (told or lines)[-1].removeprefix("fatal: ").removeprefix("error: ")


def require_repository(root: Path) -> None:
    """Require a folder to be the top of a git checkout, not a folder within one.

    Raises
    ------
    RevisionError
        When it is not, or git is not installed or refuses to read it.
    """
    answer = run(root, "rev-parse", "--show-cdup")
    if "dubious ownership" in answer.stderr:
        raise RevisionError(
            f"{root}: belongs to another user, and git refuses it",
            f"run `git config --global --add safe.directory {shlex.quote(str(root))}`",
        )
    if answer.returncode:
        raise RevisionError(
            f"{root}: not a git checkout", "clone the project with git to compare revisions"
        )
    if answer.stdout.strip():
        raise RevisionError(
            f"{root}: not the top of a git checkout", "run this where its folder .git is"
        )
