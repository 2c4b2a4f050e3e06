"""The index of the operators, and what it says of each case as an operator's page does."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import pandas as pd

from parsers.contract import INTENSE
from reports.benchmark import triton_table
from reports.bottleneck import Bottleneck
from reports.columns import Table
from reports.format import (
    MISSING,
    TIMES,
    bracket,
    cell_code,
    digits,
    escape,
    listing,
    percent,
    plural,
    times,
)
from reports.frames import Frames, Row, records
from reports.notes import recorded
from reports.render import page
from reports.status import cases
from reports.summary import compare
from reports.verdict import Verdict, judge


def index_page(
    operators: Iterable[Frames],
    source: str,
    stale: Collection[str] = (),
    comparisons: Mapping[str, pd.DataFrame] | None = None,
) -> dict[str, str]:
    """Write the index: one row an operator and case. Returns text by file name.

    Parameters
    ----------
    operators
        What is known of each.
    source
        ``"live"`` or ``"replay"``.
    stale
        Names of the operators whose source has changed since they were measured.
    comparisons
        The frames that `compare` makes, by operator, where they are at hand.
    """
    listed = sorted(operators, key=lambda frames: frames.operator)
    known = comparisons or {}
    compared = [(frames, rows_by_case(frames, known.get(frames.operator))) for frames in listed]
    rows: list[tuple[str, ...]] = []
    for frames, by_case in compared:
        for verdict in verdicts_of(frames, by_case):
            link = f"[{escape(frames.operator)}]({frames.operator}.md)"
            status = _status(by_case[verdict.case])
            if frames.operator in stale:
                status += ", older than the source"
            rows.append((link, *verdict_cells(verdict), status))
    headers = ("Operator", "Case", "Fastest", "Speed-up [95 %]", "Of equal copy", "Status")
    taken = "; ".join(dict.fromkeys(recorded(frames.runs) for frames in listed))
    context = {
        "summary": f"{plural(len(listed), 'operator')}, {plural(len(rows), 'case')}.",
        "source": source,
        "recorded": taken,
        "operators": Table(headers, tuple(rows), left=3),
        "triton": triton_table(compared),
        "intense": INTENSE,
        "times": TIMES,
        "missing": MISSING,
    }
    return page("index", "Operators", "index.md.j2", context)


def rows_by_case(frames: Frames, comparison: pd.DataFrame | None) -> dict[str, list[Row]]:
    """Return the rows of the comparison frame, or of one that has more columns, by case."""
    rows = records(compare(frames) if comparison is None else comparison)
    return {case: [row for row in rows if row["case"] == case] for case in cases(frames)}


def verdicts_of(
    frames: Frames,
    by_case: dict[str, list[Row]],
    found: Mapping[str, list[Bottleneck]] | None = None,
) -> list[Verdict]:
    """Judge each case, with what limits its variants where that is known."""
    caches = frames.runs["l2_bytes"].dropna()
    l2_bytes = None if caches.empty else float(caches.iloc[0])
    limits = found or {}
    return [judge(case, rows, l2_bytes, limits.get(case, [])) for case, rows in by_case.items()]


def verdict_cells(verdict: Verdict) -> tuple[str, ...]:
    """Return case, fastest variants, speed-up and share of an equal copy."""
    best = verdict.best
    if best is None:
        return (cell_code(verdict.case), MISSING, MISSING, MISSING)
    return (
        cell_code(verdict.case),
        listing(cell_code(name) for name in verdict.fastest),
        _gain(best),
        percent(best["equal_copy_share"]),
    )


def _gain(best: Row) -> str:
    if best["speedup"] is None:
        return MISSING
    low, high = (
        MISSING if best[f"speedup_{side}"] is None else digits(best[f"speedup_{side}"], 4)
        for side in ("low", "high")
    )
    return times(best["speedup"], 4) + bracket(low, high)


def _status(rows: list[Row]) -> str:
    """Count what is not ok, worst first."""
    words = [row["status"] for row in rows]
    kinds = ("wrong", "failed", "unchecked", "not measured")
    return ", ".join(f"{words.count(k)} {k}" for k in kinds if k in words) or "ok"
