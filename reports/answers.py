"""What a reader asks of each variant of a case, in one row: how much it moves, and what is left.

All of it stands in the tables of the case, too, with the numbers around it.
"""

from __future__ import annotations

from reports import steps
from reports.bottleneck import Bottleneck
from reports.columns import Column, Table, names, numbers, table
from reports.explain import MOSTLY_TMA, partial
from reports.format import MISSING, TIMES, cell, digits, listing
from reports.frames import Row
from reports.limits import SECTOR_BYTES, Kind

_WORDS = (("load", "loads"), ("store", "stores"))


def answers_table(rows: list[Row], found: list[Bottleneck]) -> Table:
    """Tabulate one case: its limits, next steps, crossings of memory, sectors, occupancy, roof.

    Variants that were neither timed nor counted are left out.

    Parameters
    ----------
    rows, found
        Rows of `reports.evidence.gather`, and what `reports.bottleneck.diagnose` makes of them.
    """
    known = {one.variant: one for one in found}
    rows = [row for row in rows if row["variant"] in known]
    limited = [known[row["variant"]] for row in rows]
    columns: list[Column] = [
        names(rows),
        ("Limit", [str(one.kind) for one in limited]),
        ("Next", ["; ".join(one.next_steps).replace("|", r"\|") for one in limited]),
        numbers("Moved over fewest", rows, "amplification", TIMES),
        ("Sectors used", [_sectors(row) for row in rows]),
        ("Achieved occupancy", [_occupancy(row) for row in rows]),
        ("Limiter", [cell(row["occupancy_limiter"]) for row in rows]),
        (
            "Would more help",
            [_wanted(row, one.kind) for row, one in zip(rows, limited, strict=True)],
        ),
        numbers("Of measured roof", rows, "measured_share", "%", 3, 100),
    ]
    return table(columns, left=3)


def _sectors(row: Row) -> str:
    """Say whether accesses use their sectors in full; TMA moves whole tiles and is not judged."""
    if (row["tma_share"] or 0) >= MOSTLY_TMA:
        return "by TMA"
    used = {word: row[f"{kind}_bytes_per_sector"] for kind, word in _WORDS}
    if not any(used.values()):
        return MISSING
    short = [
        f"{word} {digits(value, 2)} of {digits(SECTOR_BYTES, 2)} B"
        for word, value in used.items()
        if partial(value)
    ]
    return listing(short) or "in full"


def _occupancy(row: Row) -> str:
    achieved, theoretical = row["occupancy_achieved_pct"], row["occupancy_theoretical_pct"]
    if achieved is None or theoretical is None:
        return MISSING
    return f"{digits(achieved)} of {digits(theoretical)} %"


def _wanted(row: Row, kind: Kind) -> str:
    """Say whether more warps would help: only where latency is the limit and there are few."""
    theoretical = row["occupancy_theoretical_pct"]
    if theoretical is None or kind is Kind.UNKNOWN:
        return MISSING
    if kind is not Kind.LATENCY:
        return "no"
    if steps.starved(row):
        return "more blocks would"
    return "yes" if theoretical < steps.FEW_WARPS_PCT else "hardly"
