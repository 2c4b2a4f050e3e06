"""The page that says what every column and counter means."""

from __future__ import annotations

from parsers.reference import counters
from reports.columns import Table
from reports.format import MISSING
from reports.notes import reading_table
from reports.render import METRICS_PAGE, page
from reports.terms import OTHERS


def metrics_page() -> dict[str, str]:
    """Write the reference of the metrics. Returns text by file name."""
    context = {
        "missing": MISSING,
        "reading": reading_table(),
        "others": Table(("Column", "Meaning", "Pass and source"), OTHERS, left=3),
        "counters": counters(),
    }
    return page(METRICS_PAGE, "Metrics", "metrics.md.j2", context)
