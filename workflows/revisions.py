"""Revisions of this project: commits, and the working tree as it is.

A revision is what git takes for one commit, such as ``HEAD~1``, a branch, a tag or the beginning of
a hash; or ``worktree``, the files on disk. (A branch of that name is ``heads/worktree``.) Nothing
here writes to the user's checkout, index, branches or settings.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from kernels.harness import discovery
from kernels.harness.spec import NAME, RESERVED
from parsers.contract import RUN_FILE
from workflows.checkouts import checked_out, checkout, release
from workflows.git import RevisionError, git, require_repository, run

WORKTREE = "worktree"
HARNESS = "kernels/harness"
TURNS = f"{HARNESS}/alternation.py"
CAPTURES = "captures"
SPELLING = "name a commit, tag or branch, such as HEAD~1 or origin/main, or worktree"

__all__ = [
    "Changes",
    "Revision",
    "RevisionError",
    "captures",
    "checked_out",
    "checkout",
    "dirty",
    "harness_changes",
    "operators",
    "release",
    "require_turns",
    "resolve",
    "sources",
]


@dataclass(frozen=True)
class Revision:
    """One revision.

    Attributes
    ----------
    text
        What the user called it.
    commit
        Its hash in full, or None for the working tree.
    """

    text: str
    commit: str | None

    @property
    def name(self) -> str:
        """Its folder in ``results/``: ``worktree``, or the first 12 digits of the commit."""
        return WORKTREE if self.commit is None else self.commit[:12]


@dataclass(frozen=True)
class Changes:
    """What the files on disk differ in from HEAD; false where they do not.

    Attributes
    ----------
    paths
        Tracked files that differ, and untracked ones that git does not ignore, sorted. A renamed
        file counts under both names.
    """

    paths: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.paths)

    def __str__(self) -> str:
        shown, more = ", ".join(self.paths[:3]), len(self.paths) - 3
        return f"{len(self.paths)} changed: {shown}{f' and {more} more' if more > 0 else ''}"


def resolve(text: str, root: Path) -> Revision:
    """Find the revision that a text names.

    Parameters
    ----------
    text
        What a user typed.
    root
        Top of the checkout.

    Raises
    ------
    RevisionError
        When the text names no commit or several, when ``root`` is not the top of a checkout or has
        no commit yet, or when git is not installed.
    """
    require_repository(root)
    named = text.strip()
    if not named:
        raise RevisionError("revision '': empty", SPELLING)
    if named.startswith("-") or not named.isprintable():
        raise RevisionError(f"revision {named!r}: not a name that git gives", SPELLING)
    if named != WORKTREE:
        return Revision(named, _commit(named, root))
    _commit("HEAD", root)
    return Revision(named, None)


def _commit(name: str, root: Path) -> str:
    answer = run(root, "rev-parse", "--verify", "--end-of-options", name)
    if "is ambiguous" in answer.stderr:
        raise RevisionError(
            f"revision {name}: ambiguous",
            "give more digits of the commit, or say heads/NAME or tags/NAME",
        )
    found = answer.stdout.strip()
    if answer.returncode or not re.fullmatch("[0-9a-f]{40,64}", found):
        raise _unknown(name, root)
    kind = run(root, "cat-file", "-t", f"{found}^{{}}")
    if kind.returncode:
        # A full hash passes as a name whether there is such an object or not.
        raise _unknown(name, root)
    if kind.stdout.strip() != "commit":
        raise RevisionError(f"revision {name}: a {kind.stdout.strip()}, not a commit", SPELLING)
    return git(root, "rev-parse", "--verify", "--end-of-options", f"{found}^{{commit}}")


def _unknown(name: str, root: Path) -> RevisionError:
    if git(root, "rev-parse", "--is-shallow-repository") == "true":
        return RevisionError(
            f"revision {name}: not in this shallow clone", "run `git fetch --unshallow`"
        )
    return RevisionError(f"revision {name}: no such commit", SPELLING)


def dirty(root: Path) -> Changes:
    """Return what the files on disk differ in from HEAD.

    Raises
    ------
    RevisionError
        When git fails.
    """
    status = ("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all")
    entries = git(root, *status).split("\0")
    return Changes(tuple(sorted(entry[3:] for entry in entries if entry)))


def operators(revision: Revision, root: Path) -> tuple[str, ...]:
    """Return the names of a revision's operators, sorted; no module is imported.

    Raises
    ------
    RevisionError
        When the revision has no harness that could measure them.
    """
    _require_harness(revision, root)
    if revision.commit is None:
        return tuple(discovery.names(root / "kernels"))
    entries = _entries(root, revision.commit, "kernels/")
    stems = (Path(path).stem for path in entries if path.endswith(".py"))
    return tuple(
        sorted(stem for stem in stems if re.fullmatch(NAME, stem) and stem not in RESERVED)
    )


def captures(revision: Revision, gpu: str, root: Path) -> dict[str, dict[str, str]]:
    """Return the ids of a revision's recorded captures on a GPU, by operator and pass.

    An id is that of git's tree of the pass's folder: equal ids, equal files. Of the working tree
    the files on disk count, as ``git add`` would store them. Deep profiles, which belong to a
    variant, are left out.

    Parameters
    ----------
    gpu
        Name of the folder in ``captures/``.

    Raises
    ------
    RevisionError
        When the revision has no harness, or no capture on that GPU.
    """
    _require_harness(revision, root)
    with _tree(revision, root) as (tree, variables):
        entries = _entries(root, tree, f"{CAPTURES}/", "-r", "-t", variables=variables)
    found: dict[str, dict[str, dict[str, str]]] = {}
    for path in entries:
        match path.split("/"):
            case [_, recorded, operator, name, file] if file == RUN_FILE:
                passes = found.setdefault(recorded, {}).setdefault(operator, {})
                passes[name] = entries[path.removesuffix(f"/{file}")]
    if gpu not in found:
        raise RevisionError(
            f"revision {revision.text}: no capture on {gpu}",
            f"choose one of {', '.join(found)}" if found else "choose one with captures",
        )
    return found[gpu]


def sources(revision: Revision, root: Path) -> dict[str, str]:
    """Return git's ids of the modules in ``kernels/``, by path; those of the harness are left out.

    Raises
    ------
    RevisionError
        When git fails.
    """
    if revision.commit is not None:
        entries = _entries(root, revision.commit, "kernels/")
        return {path: found for path, found in entries.items() if path.endswith(".py")}
    paths = sorted(path.relative_to(root).as_posix() for path in (root / "kernels").glob("*.py"))
    return dict(zip(paths, git(root, "hash-object", "--", *paths).split(), strict=True))


def harness_changes(base: Revision, head: Revision, root: Path) -> tuple[str, ...]:
    """Return the files of the harness that differ, sorted.

    Raises
    ------
    RevisionError
        When git fails.
    """
    ids = [[] if one.commit is None else [one.commit] for one in (base, head)]
    if not any(ids):
        return ()
    found = git(root, "diff", "--name-only", "-z", *ids[0], *ids[1], "--", HARNESS)
    return tuple(sorted(filter(None, found.split("\0"))))


def require_turns(revision: Revision, root: Path) -> None:
    """Complain of a revision whose harness cannot measure in turn with another's.

    Raises
    ------
    RevisionError
        When it cannot, or when there is no harness.
    """
    _require_harness(revision, root)
    if not _has(revision, TURNS, root):
        raise RevisionError(
            f"revision {revision.text}: from before two could be measured in alternating rounds",
            "choose a later one, or compare recorded captures with `--config source=replay`",
        )


def _require_harness(revision: Revision, root: Path) -> None:
    if not _has(revision, HARNESS, root):
        raise RevisionError(
            f"revision {revision.text}: from before {HARNESS} existed", "choose a later one"
        )


def _has(revision: Revision, path: str, root: Path) -> bool:
    if revision.commit is None:
        return (root / path).exists()
    return run(root, "cat-file", "-e", f"{revision.commit}:{path}").returncode == 0


def _entries(
    root: Path, tree: str, path: str, *options: str, variables: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the ids of what lies under a path of a tree."""
    listing = git(root, "ls-tree", "-z", *options, tree, path, variables=variables)
    found = {}
    for line in filter(None, listing.split("\0")):
        facts, name = line.split("\t", maxsplit=1)
        found[name] = facts.split()[2]
    return found


@contextmanager
def _tree(revision: Revision, root: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Give a tree that holds a revision's captures, and the variables with which git finds it.

    For the working tree, index and new objects go to a temporary folder. It starts from HEAD, for
    what is tracked counts even where it is ignored.
    """
    if revision.commit is not None:
        yield revision.commit, {}
        return
    objects = root / git(root, "rev-parse", "--git-path", "objects")
    with TemporaryDirectory(prefix="roofsnake-") as scratch:
        quoted = str(objects.resolve()).replace("\\", "\\\\").replace('"', '\\"')
        variables = {
            "GIT_INDEX_FILE": f"{scratch}/index",
            "GIT_OBJECT_DIRECTORY": f"{scratch}/objects",
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{quoted}"',
        }
        Path(scratch, "objects").mkdir()
        there = (root / CAPTURES).is_dir()
        git(root, "read-tree", "HEAD" if there else "--empty", variables=variables)
        if there:
            git(root, "add", "--all", "--", CAPTURES, variables=variables)
        yield git(root, "write-tree", "--missing-ok", variables=variables), variables


def main(arguments: list[str] | None = None) -> int:
    """Run a subcommand; return 0, or 2 with one line on standard error for a user's mistake.

    ``run`` returns the status of its command.
    """
    parser = argparse.ArgumentParser(
        prog="python -m workflows.revisions",
        description="Check commits out beside the working tree.",
    )
    commands = parser.add_subparsers(required=True, dest="command")
    make = commands.add_parser("checkout", help="check a commit out into a folder of its own")
    make.add_argument("revision", metavar="REV")
    remove = commands.add_parser("release", help="remove such a folder, and git's entry of it")
    beside = commands.add_parser("run", help="run a command while a commit is checked out")
    beside.add_argument("revision", metavar="REV")
    for command in (make, remove, beside):
        command.add_argument("target", metavar="TARGET", type=Path)
    beside.add_argument("words", metavar="COMMAND", nargs="+", help="after --, run in this folder")
    options = parser.parse_args(arguments)
    root = Path.cwd()
    try:
        if options.command == "checkout":
            checkout(resolve(options.revision, root), options.target, root)
        elif options.command == "release":
            release(options.target, root)
        else:
            with checked_out(resolve(options.revision, root), options.target, root):
                return subprocess.run(options.words, check=False).returncode
    except (RevisionError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
