"""Frames of an operator by revision → its numbers at each, the steps between them, and the gaps."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from reports.diff.comparable import Difference
from reports.diff.findings import REGRESSIONS, Compared, Finding, Verdict
from reports.diff.findings import compare as judge
from reports.diff.times import Noise
from reports.frames import Frames, Row, records
from reports.plots.choice import main_case
from reports.status import baseline, variants
from reports.summary import compare

STEPS = REGRESSIONS | {Verdict.FASTER, Verdict.MENDED}
"""Verdicts between two revisions that are marked."""

SHORT = 7
"""Digits of a commit in figures and tables."""


def short(name: str) -> str:
    """Return the first digits of a commit's name; other names stay whole."""
    return name[:SHORT] if re.fullmatch("[0-9a-f]+", name) else name


@dataclass(frozen=True)
class Point:
    """What an operator's captures at a revision say.

    Attributes
    ----------
    commit
        Name of the revision that brought them.
    date
        When the time pass ran; None where that is not known.
    rows
        Rows of `reports.summary.compare` by case.
    """

    commit: str
    date: str | None
    rows: dict[str, list[Row]]


@dataclass(frozen=True)
class Change:
    """Two points, one after the other, by their names, and what `reports.diff` says of them."""

    since: str
    commit: str
    compared: Compared

    @property
    def steps(self) -> list[Finding]:
        """What became slower, faster, costlier, broken or mended."""
        return [one for one in self.compared.findings if one.verdict in STEPS]

    @property
    def gaps(self) -> list[Difference]:
        """What was measured otherwise, and is thus not compared."""
        return self.compared.differences

    def bars(self, name: str) -> bool:
        """Say whether a pass is not compared."""
        return any(name in one.passes for one in self.gaps)


@dataclass(frozen=True)
class Track:
    """An operator from the oldest point to the newest.

    Attributes
    ----------
    variants
        Names of all that any point has, those of the newest first.
    baseline
        That of the newest point.
    changes
        One between each two points.
    """

    operator: str
    variants: list[str] = field(default_factory=list)
    baseline: str | None = None
    points: list[Point] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)

    @property
    def case(self) -> str | None:
        """The case that moves most bytes, of those that all points have, else of the newest."""
        if not self.points:
            return None
        rows = self.points[-1].rows
        common = {c: r for c, r in rows.items() if all(c in p.rows for p in self.points)}
        return main_case(common) or main_case(rows)

    def row(self, point: Point, variant: str) -> Row | None:
        """Return a variant's row of that case; None where a point has none."""
        rows = point.rows.get(self.case or "", [])
        return next((row for row in rows if row["variant"] == variant), None)


def follow(operator: str, recorded: Iterable[tuple[str, Frames]], noise: Noise) -> Track:
    """Follow an operator over revisions.

    Parameters
    ----------
    recorded
        Name and frames of each, from the oldest on. No more than two are held at a time.
    noise
        What two measurements of the same code differ by.
    """
    points: list[Point] = []
    changes: list[Change] = []
    known: dict[str, None] = {}
    before: Frames | None = None
    for name, frames in recorded:
        if before is not None:
            changes.append(Change(points[-1].commit, name, judge(before, frames, noise)))
        points.append(Point(name, _date(frames), _by_case(frames)))
        known = dict.fromkeys([*variants(frames), *known])
        before = frames
    first = None if before is None else baseline(before)
    return Track(operator, list(known), first, points, changes)


def _date(frames: Frames) -> str | None:
    dates = frames.runs.loc[frames.runs["pass"].eq("time"), "date"].dropna()
    return None if dates.empty else str(dates.iloc[0])


def _by_case(frames: Frames) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in records(compare(frames)):
        found.setdefault(row["case"], []).append(row)
    return found
