"""Checks of two revisions under Triton's interpreter → what became of each variant and case."""

from __future__ import annotations

import pandas as pd

from reports.diff.counters import Pair
from reports.diff.findings import Finding, Verdict
from reports.frames import Row, records

BAD = frozenset({"wrong", "failed"})
"""Words of a check for what gives no right answer."""

NOT_CHECKED = frozenset({"unsupported", "unseen"})
"""Words for what the variant refuses, and for what could not be checked."""


def compare_checks(operator: str, base: pd.DataFrame | None, head: pd.DataFrame) -> list[Finding]:
    """Compare whether two revisions of an operator compute the right thing.

    Parameters
    ----------
    base, head
        Frames ``checks``; of a base that could not be checked there is none.

    Returns
    -------
    list
        A finding a variant and case: *broken* where head gives no right answer and base is not
        known to have given none, or head refuses what base got right; *mended* where base gave
        none and head does; *not seen* where head could not be checked.
    """
    before, after = {} if base is None else _rows(base), _rows(head)
    found = []
    for pair, row in after.items():
        verdict, reason = _verdict(before.get(pair), row)
        if base is None and verdict is Verdict.NEW:
            verdict = Verdict.SAME
        found.append(Finding(operator, *pair, verdict, reason=reason))
    gone = [pair for pair in before if pair not in after]
    return [*found, *(Finding(operator, *pair, Verdict.REMOVED) for pair in gone)]


def _rows(checks: pd.DataFrame) -> dict[Pair, Row]:
    return {(row["variant"], row["case"]): row for row in records(checks)}


def _verdict(before: Row | None, after: Row) -> tuple[Verdict, str]:
    was = None if before is None else before["status"]
    if after["status"] in NOT_CHECKED:
        refused = after["status"] == "unsupported" and was == "ok"
        why = str(after["reason"])
        return (Verdict.BROKEN, f"refused: {why}") if refused else (Verdict.UNSEEN, why)
    if after["status"] in BAD:
        told = f"{after['status']}: {after['reason']}"
        if was in BAD:
            return Verdict.SAME, f"{told}; {was} before too"
        return Verdict.BROKEN, told if was == "ok" else f"{told}; not seen in base"
    if before is not None and was in BAD:
        return Verdict.MENDED, f"{was} before: {before['reason']}"
    return Verdict.NEW if before is None else Verdict.SAME, ""
