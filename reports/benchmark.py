"""How good the Triton kernels are: each case's best one against the copy and the best other."""

from __future__ import annotations

from collections.abc import Iterable

from reports.columns import Table
from reports.format import (
    MISSING,
    bracket,
    cell_code,
    digits,
    duration,
    escape,
    percent,
    quantity,
    times,
)
from reports.frames import Frames, Row

HEADERS = (
    "Operator",
    "Case",
    "Triton variant",
    "Time",
    "Useful",
    "Of large copy",
    "Of equal copy",
    "Rate",
    "Best other",
    "Time over it [95 %]",
)


def triton_table(operators: Iterable[tuple[Frames, dict[str, list[Row]]]]) -> Table:
    """Tabulate the fastest Triton variant of each case beside the fastest other one.

    Parameters
    ----------
    operators
        Frames of each operator, and its rows of the comparison frame by case. Triton variants are
        those that the build pass compiled kernels of.
    """
    rows = []
    for frames, by_case in operators:
        own = set(frames.builds["variant"].dropna())
        for case, compared in by_case.items():
            ranked = [row for row in compared if row["slowdown"] is not None]
            ours = _fastest(row for row in ranked if row["variant"] in own)
            if ours is not None:
                other = _fastest(row for row in ranked if row["variant"] not in own)
                rows.append(_cells(frames, case, ours, other))
    return Table(HEADERS, tuple(rows), left=3)


def _fastest(rows: Iterable[Row]) -> Row | None:
    return min(rows, key=lambda row: row["median_ns"], default=None)


def _cells(frames: Frames, case: str, ours: Row, other: Row | None) -> tuple[str, ...]:
    return (
        f"[{escape(frames.operator)}]({frames.operator}.md)",
        cell_code(case),
        cell_code(ours["variant"]),
        duration(ours["median_ns"], 4),
        MISSING if ours["intense"] else quantity(ours["useful_bytes_per_s"], "B/s"),
        percent(ours["copy_share"]),
        percent(ours["equal_copy_share"]),
        quantity(ours["flops_per_s"], "FLOP/s") if ours["intense"] else MISSING,
        MISSING if other is None else cell_code(other["variant"]),
        _against(ours, other),
    )


def _against(ours: Row, other: Row | None) -> str:
    """Return our time over the other's, with its interval: below 1 ours is faster.

    One of the two is the fastest of the case, over which the slowdown of the other is known.
    """
    if other is None:
        return MISSING
    parts = ("slowdown", "slowdown_low", "slowdown_high")
    if ours["slowdown"] > other["slowdown"]:
        value, low, high = (ours[part] for part in parts)
    else:
        value, high, low = (None if other[part] is None else 1 / other[part] for part in parts)
    bounds = (MISSING if bound is None else digits(bound, 4) for bound in (low, high))
    return times(value, 4) + bracket(*bounds)
