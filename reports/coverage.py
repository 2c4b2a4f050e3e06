"""What the ncu pass has of each metric, and which of its values cannot be."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from parsers.coverage import ABSENT, DERIVED, MEASURED, PARTLY
from reports.columns import Table, counts, names, table, texts
from reports.format import cell_code, digits, plural
from reports.frames import Row, records


@dataclass(frozen=True)
class Coverage:
    """A sentence, the metrics that were not measured throughout, and the values left out."""

    summary: str
    others: Table | None
    flags: Table | None


def coverage_of(coverage: pd.DataFrame, flags: pd.DataFrame) -> Coverage:
    """Say what the frames ``coverage`` and ``flags`` of an operator hold."""
    rows = records(coverage)
    number = {
        status: sum(row["status"] == status for row in rows)
        for status in (MEASURED, DERIVED, PARTLY, ABSENT)
    }
    summary = (
        f"Of {plural(len(rows), 'metric')}, {number[MEASURED]} were measured for every launch,"
        f" {number[DERIVED]} derived, {number[PARTLY]} measured or derived for some launches,"
        f" and {number[ABSENT]} are absent."
    )
    return Coverage(
        summary if rows else "The ncu pass collected nothing.",
        _others([row for row in rows if row["status"] != MEASURED]),
        _flags(records(flags)),
    )


def _others(rows: list[Row]) -> Table | None:
    if not rows:
        return None
    return table(
        [
            names(rows, "column", "Metric"),
            counts("Launches", rows, "launches"),
            texts("Status", rows, "status"),
            texts("Reason", rows, "reason"),
        ]
    )


def _flags(rows: list[Row]) -> Table | None:
    if not rows:
        return None
    return table(
        [
            texts("Variant", rows, "variant", cell_code),
            texts("Case", rows, "case", cell_code),
            texts("Kernel", rows, "kernel", cell_code),
            texts("Metric", rows, "column", cell_code),
            texts("Value", rows, "value", digits),
            texts("Reason", rows, "reason"),
        ],
        left=4,
    )
