"""The tables of an operator's page, as text: one unit down a column, the pass in the header."""

from __future__ import annotations

from typing import Any

from reports.columns import (
    Column,
    Table,
    alike,
    counts,
    json_words,
    names,
    numbers,
    table,
    texts,
    within,
)
from reports.format import (
    MISSING,
    TIMES,
    cell,
    cell_code,
    column,
    quantity,
    short_commit,
)
from reports.frames import Row

SHOWN_LAUNCHES = 200
"""Longer lists of launches are cut: a page is read by people, the frame holds the rest."""


def time_table(rows: list[Row], floor_ns: float | None = None) -> Table:
    """Tabulate the times of one case, all of the time pass; ``floor_ns`` is the timer's own.

    An intense case is measured by its FLOPs a second, any other by its bytes against a copy.
    """
    floor = "" if floor_ns is None else quantity(floor_ns * 1e-9, "s")
    computing = [numbers("Rate", rows, "flops_per_s", "FLOP/s")]
    moving = [
        numbers("Useful", rows, "useful_bytes_per_s", "B/s"),
        numbers("Of large copy", rows, "copy_share", "%", 3, 100),
        numbers("Of equal copy", rows, "equal_copy_share", "%", 3, 100),
    ]
    return table(
        [
            names(rows),
            within("Time", rows, ("median_ns", "median_low_ns", "median_high_ns"), "s", 1e-9),
            numbers("Spread", rows, "spread", "%", 2, 100),
            _speedups(rows),
            *(computing if intense(rows) else moving),
            counts("Samples", rows, "samples"),
            ("Status", [cell(row["status"]) for row in rows]),
        ],
        note=floor and f"Two events around nothing are {floor} apart here; that is in every time.",
    )


def intense(rows: list[Row]) -> bool:
    """Say whether rows of the comparison frame are of a case that is intense."""
    return any(row["intense"] for row in rows)


def _speedups(rows: list[Row]) -> Column:
    header, values = within("Speed-up", rows, ("speedup", "speedup_low", "speedup_high"), TIMES)
    marked = ["baseline" if r["baseline"] else text for r, text in zip(rows, values, strict=True)]
    return header, marked


def launches_table(rows: list[Row]) -> Table:
    """Tabulate launches, of the ncu pass but for ``nsys``; cut after ``SHOWN_LAUNCHES`` rows."""
    shown = rows[:SHOWN_LAUNCHES]
    note = "" if len(rows) == len(shown) else f"{len(rows) - len(shown)} more launches follow."
    passes = sorted({row["share_pass"] for row in shown if row["share_pass"] is not None})
    return table(
        [
            names(shown),
            ("#", [MISSING if row["launch"] is None else str(row["launch"]) for row in shown]),
            names(shown, "name", "Kernel"),
            *alike(shown, "s", {"nsys": "nsys_ns", "ncu": "ncu_ns"}, 1e-9),
            numbers("nsys spread", shown, "nsys_spread", "%", 2, 100),
            numbers(f"Share by {' or '.join(passes) or 'nsys'}", shown, "share", "%", 3, 100),
            *alike(
                shown, "B", {"DRAM read": "dram_read_bytes", "DRAM written": "dram_write_bytes"}
            ),
            counts("Registers", shown, "registers_per_thread"),
            (f"Grid {TIMES} block", [shape(row) for row in shown]),
            numbers("Waves", shown, "waves"),
            numbers("Occupancy", shown, "occupancy_achieved_pct", "%"),
            numbers("SM, % of peak", shown, "sm_throughput_pct"),
            numbers("Memory, % of peak", shown, "memory_throughput_pct"),
            numbers("DRAM, % of peak", shown, "dram_throughput_pct"),
        ],
        left=3,
        note=note,
    )


def shape(row: Row) -> str:
    """Return grid and block, without the trailing axes of one."""
    sides = []
    for part in ("grid", "block"):
        extents = [row[f"{part}_{axis}"] for axis in "xyz"]
        if any(extent is None for extent in extents):
            return MISSING
        while len(extents) > 1 and extents[-1] == 1:
            extents.pop()
        sides.append(f"({', '.join(map(str, extents))})")
    return f" {TIMES} ".join(sides)


def passes_table(rows: list[Row], *, several: bool = False) -> Table:
    """Tabulate when, from which commit and how each pass ran, for one or ``several`` operators."""
    return table(
        [
            *([names(rows, "operator", "Operator")] if several else []),
            names(rows, "pass", "Pass"),
            texts("Date (UTC)", rows, "date"),
            texts("Commit", rows, "commit", lambda text: MISSING if text is None else _id(text)),
            texts("Tool", rows, "tool"),
            texts("Clocks", rows, "clock_policy"),
            texts("Settings", rows, "settings", json_words),
        ],
        left=7 if several else 6,
    )


def _id(commit: str) -> str:
    return cell_code(short_commit(commit))


MACHINE = (
    ("GPU", "gpu", ""),
    ("Compute capability", "compute_capability", ""),
    ("SMs", "sm_count", ""),
    ("L2 cache", "l2_bytes", "B"),
    ("Memory", "memory_bytes", "B"),
    ("Driver", "driver", ""),
    ("SM clock under load", "sm_clock_hz", "Hz"),
    ("Highest SM clock", "sm_clock_max_hz", "Hz"),
    ("Memory clock under load", "memory_clock_hz", "Hz"),
    ("Highest memory clock", "memory_clock_max_hz", "Hz"),
    ("Python", "python", ""),
    ("torch", "torch", ""),
    ("CUDA of torch", "cuda", ""),
    ("Triton", "triton", ""),
    ("Roofsnake", "roofsnake", ""),
    ("SHA-256 of the source", "source_sha256", ""),
)
"""What is said of where passes ran: its label, its column in ``runs`` and its unit."""


def machine_table(
    rows: list[Row], source: str | None = None, fields: tuple[tuple[str, str, str], ...] = MACHINE
) -> Table:
    """Tabulate where and with what the passes ran; where they differ, every value is listed."""
    listed = [] if source is None else [("Source", source)]
    for label, key, unit in fields:
        values = dict.fromkeys(row[key] for row in rows if row[key] is not None)
        texts = [_with_unit(value, unit) for value in values]
        listed.append((label, ", ".join(texts) or MISSING))
    return Table(("What", "Value"), tuple(listed), left=2)


def _with_unit(value: Any, unit: str) -> str:
    if not unit:
        return cell(value)
    shown, (text,) = column([float(value)], unit, 4)
    return f"{text} {shown}"
