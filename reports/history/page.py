"""Operators followed over revisions → the page of their history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from reports.columns import Table, counts, names, numbers, table, texts, within
from reports.diff.findings import Finding, Verdict
from reports.diff.page import changed_by, why
from reports.diff.times import Noise
from reports.format import (
    MISSING,
    cell,
    cell_code,
    code,
    duration,
    escape,
    listing,
    percent,
    plural,
)
from reports.frames import Row
from reports.history.figure import MEASURES, history_figure
from reports.history.points import STEPS, Change, Track, short
from reports.render import page

NAME = "history"
SHOWN = tuple(verdict for verdict in Verdict if verdict in STEPS)


@dataclass(frozen=True)
class Revision:
    """A revision: its name, when it was committed, and the first line of its message."""

    name: str
    date: str | None
    subject: str


def history_page(
    revisions: list[Revision], tracks: list[Track], noise: Noise, notes: Iterable[str] = ()
) -> dict[str, str]:
    """Write how each variant fared from revision to revision.

    Parameters
    ----------
    revisions
        From the oldest on.
    tracks
        One an operator.
    noise
        What the steps were judged by.
    notes
        Lines of plain text: what was left out, and why.

    Returns
    -------
    dict
        ``history.md``, ``history.html`` and ``history/<operator>.svg``: text by file name.
    """
    figures = {f"{NAME}/{one.operator}.svg": history_figure(one).svg for one in tracks}
    known = {one.name: one for one in revisions}
    context = {
        "summary": _summary(revisions, tracks),
        "notes": [escape(note) for note in notes],
        "operators": _operators_table(tracks),
        "revisions": _revisions_table(revisions, tracks),
        "sections": [_section(track, known) for track in tracks],
        "shows": escape("; ".join(measure.title for measure in MEASURES)),
        "noise": f"{percent(noise.share)} and {duration(noise.least_ns)}",
        "noise_source": noise.source,
        "missing": MISSING,
    }
    return page(NAME, "History", f"{NAME}.md.j2", context, figures)


def _steps(track: Track) -> list[tuple[Change, Finding]]:
    """Return all steps of an operator: by revision, and of one the worst first."""
    rank = list(Verdict).index
    return [
        (one, step)
        for one in track.changes
        for step in sorted(one.steps, key=lambda step: rank(step.verdict))
    ]


def _counted(found: Iterable[Finding]) -> str:
    number = Counter(one.verdict for one in found)
    return listing(f"{number[verdict]} {verdict}" for verdict in SHOWN if verdict in number)


def _summary(revisions: list[Revision], tracks: list[Track]) -> str:
    found = [step for track in tracks for _, step in _steps(track)]
    said = f"{plural(len(found), 'step')}: {_counted(found)}" if found else "no step"
    ends = listing(code(revisions[at].name) for at in (0, -1)[: len(revisions)])
    of = f"{plural(len(tracks), 'operator')} at {plural(len(revisions), 'revision')}"
    return f"{of}, the oldest and the newest being {ends}; {said}." if ends else f"{of}; {said}."


def _operators_table(tracks: list[Track]) -> Table:
    rows = []
    for track in tracks:
        found = Counter(step.verdict for _, step in _steps(track))
        rows.append(
            (
                f"[{escape(track.operator)}](#{track.operator})",
                str(len(track.points)),
                *(str(found[verdict]) for verdict in SHOWN),
            )
        )
    headers = ("Operator", "Points", *(str(verdict).capitalize() for verdict in SHOWN))
    return Table(headers, tuple(rows))


def _revisions_table(revisions: list[Revision], tracks: list[Track]) -> Table:
    rows = []
    for one in revisions:
        came = [t.operator for t in tracks if any(p.commit == one.name for p in t.points)]
        brought = ", ".join(map(cell_code, came)) or MISSING
        rows.append((cell_code(one.name), cell(one.date), cell(one.subject), brought))
    return Table(("Revision", "Date", "Subject", "New captures of"), tuple(rows), left=4)


def _section(track: Track, known: dict[str, Revision]) -> dict[str, Any]:
    found = _steps(track)
    others = [step for step in found if step[1].case != track.case]
    return {
        "operator": escape(track.operator),
        "case": MISSING if track.case is None else code(track.case),
        "figure": f"{NAME}/{track.operator}.svg",
        "numbers": _numbers_table(track, known),
        "steps": _steps_table([step for step in found if step[1].case == track.case]),
        "others": _steps_table(others),
        "others_count": plural(len(others), "step"),
        "gaps": _gaps_table(track),
    }


def _steps_table(found: list[tuple[Change, Finding]]) -> Table:
    rows = tuple(
        (
            cell_code(short(between.commit)),
            cell_code(step.variant),
            cell_code(step.case),
            str(step.verdict),
            changed_by(step),
            why(step),
        )
        for between, step in found
    )
    return Table(("Revision", "Variant", "Case", "Verdict", "Change [95 %]", "Why"), rows, left=4)


def _gaps_table(track: Track) -> Table:
    rows = tuple(
        (
            cell_code(short(between.since)),
            cell_code(short(between.commit)),
            cell(gap.fact),
            cell(gap.base),
            cell(gap.head),
            listing(gap.passes),
        )
        for between in track.changes
        for gap in between.gaps
    )
    headers = ("From", "To", "Differs", "Before", "After", "Passes not compared")
    return Table(headers, rows, left=6)


def _numbers_table(track: Track, known: dict[str, Revision]) -> Table:
    """Tabulate the numbers of the main case, of one variant after another."""
    rows: list[Row] = []
    for variant in track.variants:
        for point in track.points:
            about = {"revision": short(point.commit), "date": point.date}
            about["subject"] = known[point.commit].subject
            if row := track.row(point, variant):
                rows.append(row | about)
    return table(
        [
            names(rows),
            names(rows, "revision", "Revision"),
            texts("Measured", rows, "date"),
            texts("Subject", rows, "subject"),
            texts("Status", rows, "status"),
            within("Time", rows, ("median_ns", "median_low_ns", "median_high_ns"), "s", 1e-9),
            counts("Registers", rows, "registers_per_thread"),
            numbers("DRAM moved", rows, "dram_bytes", "B"),
        ],
        left=5,
    )
