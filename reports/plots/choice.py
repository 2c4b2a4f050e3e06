"""Which cases the figures show that cannot show all."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from reports.frames import Row, records

RULE = "the case that must move most bytes"
"""How `main_case` chooses, in words for the page."""

UNKNOWN = "no case was measured of which the fewest bytes are known"

Rows = Mapping[str, list[Row]]
"""Rows of the comparison frame by case."""


def sizes(by_case: Rows) -> dict[str, float]:
    """Return the fewest bytes of each case in which a variant was timed or counted."""
    return {
        case: rows[0]["min_bytes"]
        for case, rows in by_case.items()
        if any(r["median_ns"] is not None or r["dram_bytes"] is not None for r in rows)
        and rows[0]["min_bytes"] is not None
    }


def main_case(by_case: Rows) -> str | None:
    """Return the measured case with the most of its fewest bytes, of several the first."""
    known = sizes(by_case)
    return max(known, key=lambda case: known[case], default=None)


def smallest_case(by_case: Rows) -> str | None:
    """Return the measured case with the least of its fewest bytes, of several the first."""
    known = sizes(by_case)
    return min(known, key=lambda case: known[case], default=None)


def kinds(by_case: Rows, cases: pd.DataFrame) -> list[Rows]:
    """Return the cases apart by dtype and labels, in their declared order."""
    apart: dict[tuple[str | None, str | None], dict[str, list[Row]]] = {}
    for row in records(cases):
        if row["case"] in by_case:
            rows = apart.setdefault((row["dtype"], row["labels"]), {})
            rows[row["case"]] = by_case[row["case"]]
    return list(apart.values())
