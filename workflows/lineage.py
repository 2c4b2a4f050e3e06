"""The commits at which recorded captures changed, and whose frames each operator has there."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from workflows.git import RevisionError, git
from workflows.revisions import CAPTURES, WORKTREE, Revision, captures, resolve

Ids = tuple[str | None, ...]
"""Git's ids of an operator's captures, a pass each; None of a pass that is not there."""


@dataclass(frozen=True)
class Commit:
    """A commit, or the files on disk, which have no date.

    ``date`` is the committer's, as ISO 8601; ``subject`` the first line of its message.
    """

    revision: Revision
    date: str | None
    subject: str


@dataclass(frozen=True)
class Point:
    """Captures of an operator that a revision brought.

    Attributes
    ----------
    at
        Name of the revision.
    first
        Name of the first one that had these very files: their frames are kept there.
    """

    at: str
    first: str


@dataclass(frozen=True)
class Lineage:
    """Revisions that have points, the oldest first; points by operator; what was left out, why."""

    commits: list[Commit] = field(default_factory=list)
    points: dict[str, list[Point]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def trace(
    gpu: str,
    passes: Collection[str],
    root: Path,
    base: str | None = None,
    operators: Collection[str] = (),
    *,
    on_disk: bool = False,
) -> Lineage:
    """Find where the recorded captures of a GPU changed among the first parents of HEAD.

    Parameters
    ----------
    gpu
        Name of the folder in ``captures/``.
    passes
        Those that a capture must have to be read.
    base
        Revision to begin with, whether or not its captures changed; without, the first commit.
    operators
        Those to follow; all without.
    on_disk
        Whether the files on disk count as the last revision, where their captures are not HEAD's.

    Raises
    ------
    RevisionError
        When ``base`` is not among the first parents of HEAD, or git fails.
    """
    lineage = Lineage(_commits(gpu, root, base))
    if git(root, "rev-parse", "--is-shallow-repository") == "true":
        lineage.notes.append("This is a shallow clone; what was recorded before it is not here.")
    here = Revision(WORKTREE, None)
    if on_disk and _captures(here, gpu, root) != _captures(resolve("HEAD", root), gpu, root):
        lineage.commits.append(Commit(here, None, "files on disk"))
    known = []
    for commit in lineage.commits:
        try:
            known.append(captures(commit.revision, gpu, root))
        except RevisionError as error:
            lineage.notes.append(f"{error.cause}.")
            known.append({})
    if operators:
        known = [{name: found[name] for name in found if name in operators} for found in known]
    _find_points(lineage, known, passes)
    came = {point.at for points in lineage.points.values() for point in points}
    lineage.commits[:] = [one for one in lineage.commits if one.revision.name in came]
    return lineage


def _find_points(
    lineage: Lineage, known: list[dict[str, dict[str, str]]], passes: Collection[str]
) -> None:
    """Add what each commit brought: points of whole captures, and notes of others."""
    before: dict[str, Ids] = {}
    first: dict[tuple[str, Ids], str] = {}
    for commit, found in zip(lineage.commits, known, strict=True):
        name = commit.revision.name
        now = {operator: tuple(map(ids.get, passes)) for operator, ids in found.items()}
        for operator, ids in now.items():
            if before.get(operator) == ids:
                continue
            if None not in ids:
                point = Point(name, first.setdefault((operator, ids), name))
                lineage.points.setdefault(operator, []).append(point)
                continue
            missing = ", ".join(one for one in passes if one not in found[operator])
            lineage.notes.append(f"revision {name}: {operator} has no {missing} pass.")
        before = now


def _captures(revision: Revision, gpu: str, root: Path) -> dict[str, dict[str, str]]:
    """Return the captures of a revision; none where it cannot have any."""
    try:
        return captures(revision, gpu, root)
    except RevisionError:
        return {}


def _commits(gpu: str, root: Path, base: str | None) -> list[Commit]:
    changed = ("--", f"{CAPTURES}/{gpu}")
    if base is None:
        return _listed(root, "HEAD", *changed)
    start = resolve(base, root)
    if start.commit is None:
        raise RevisionError(f"base {base}: not a commit", "name one that HEAD descends from")
    if start.commit not in git(root, "rev-list", "--first-parent", "HEAD").split():
        raise RevisionError(
            f"base {base}: not among the first parents of HEAD",
            "name one of `git log --first-parent`",
        )
    since = _listed(root, f"{start.commit}..HEAD", *changed)
    return [*_listed(root, "--max-count=1", start.commit), *since]


def _listed(root: Path, *arguments: str) -> list[Commit]:
    """Ask git for commits, oldest first; merges count by what they change of their first parent."""
    order = ("--first-parent", "--reverse", "--encoding=UTF-8", "--format=%H %cI %s")
    found = git(root, "rev-list", *order, *arguments).split("\n")[1::2]
    parts = [line.split(" ", maxsplit=2) for line in found]
    return [Commit(Revision(sha[:12], sha), date, subject) for sha, date, subject in parts]
