"""The tables of a deep profile's page, as text."""

from __future__ import annotations

import pandas as pd

from parsers.names import short_name
from reports import hotspots as hot
from reports.columns import Column, Table, alike, counts, names, numbers, table, texts
from reports.format import MISSING, TIMES, cell_code
from reports.frames import Row, records
from reports.tables import SHOWN_LAUNCHES, shape

SHOWN = 20
"""Lines or instructions that a table shows at most; the frame holds the others."""


def launches_table(counters: pd.DataFrame, hotspots: pd.DataFrame) -> Table:
    """Tabulate the launches of a case, all of the deep pass."""
    joined = counters.merge(hot.by_launch(hotspots), left_on="launch", right_index=True, how="left")
    whole = joined["duration_ns"].sum() if joined["duration_ns"].notna().all() else pd.NA
    joined["share"] = joined["duration_ns"].astype("Float64") / whole
    joined["name"] = joined["kernel_demangled"].map(short_name)
    rows = records(joined)
    shown = rows[:SHOWN_LAUNCHES]
    more = len(rows) - len(shown)
    return table(
        [
            _position(shown),
            names(shown, "name", "Kernel"),
            texts("Waits most", shown, "main_reason", _code),
            numbers("Of its samples", shown, "reason_share", "%", 3, 100),
            numbers("Time", shown, "duration_ns", "s", 3, 1e-9),
            numbers("Share", shown, "share", "%", 3, 100),
            numbers("SM, % of peak", shown, "sm_throughput_pct"),
            numbers("Memory, % of peak", shown, "memory_throughput_pct"),
            numbers("DRAM, % of peak", shown, "dram_throughput_pct"),
            numbers("L2, % of peak", shown, "l2_throughput_pct"),
            numbers("Tensor pipe, % of peak", shown, "tensor_active_pct"),
            *alike(shown, "B", {"DRAM read": "dram_read_bytes", "written": "dram_write_bytes"}),
            numbers("Occupancy", shown, "occupancy_achieved_pct", "%"),
            numbers("Theoretical", shown, "occupancy_theoretical_pct", "%"),
            texts("Limiter", shown, "occupancy_limiter"),
            counts("Registers", shown, "registers_per_thread"),
            (f"Grid {TIMES} block", [shape(row) for row in shown]),
            numbers("Waves", shown, "waves"),
            numbers("Eligible warps", shown, "eligible_warps_per_scheduler"),
            numbers("Issuing", shown, "issue_active_pct", "%"),
        ],
        left=3,
        note=f"{more} more launches follow." if more else "",
    )


def stalls_table(hotspots: pd.DataFrame, counters: pd.DataFrame) -> Table:
    """Tabulate what warps wait for: samples, and beside them Nsight's counters."""
    rows = records(hot.stalls(hotspots, counters))
    return table(
        [
            names(rows, "reason", "Stall"),
            texts("Such a warp is", rows, "meaning"),
            numbers("Samples", rows, "share", "%", 3, 100),
            numbers("Cycles an instruction, by counters", rows, "cycles"),
        ],
        left=2,
    )


def lines_table(hotspots: pd.DataFrame) -> Table:
    """Tabulate the source lines at which warps spend their time."""
    found = hot.lines(hotspots)
    rows = records(found.head(SHOWN))
    return table(
        [
            texts("Kernel", rows, "kernel", cell_code),
            ("Line", [_place(row) for row in rows]),
            texts("Source", rows, "source", _code),
            texts("Waits most", rows, "main_reason", _code),
            numbers("Samples", rows, "share", "%", 3, 100),
        ],
        left=4,
        note=_more(len(found), "line"),
    )


def instructions_table(hotspots: pd.DataFrame) -> Table:
    """Tabulate the instructions at which warps spend their time."""
    found = hot.instructions(hotspots)
    rows = records(found.head(SHOWN))
    return table(
        [
            *_instruction(rows),
            texts("Waits most", rows, "main_reason", _code),
            numbers("Samples", rows, "share", "%", 3, 100),
            counts("Warps executed it", rows, "warp_instructions"),
            numbers("Threads of a warp", _threads(rows), "threads"),
        ],
        left=5,
        note=_more(len(found), "instruction"),
    )


def sectors_table(hotspots: pd.DataFrame) -> Table:
    """Tabulate accesses to global memory whose addresses ask for more sectors than is ideal."""
    found = hot.excess(hotspots, "global_sectors", "global_ideal_sectors")
    return _excess_table(found, "Sectors", "global_sectors", "global_ideal_sectors")


def conflicts_table(hotspots: pd.DataFrame) -> Table:
    """Tabulate accesses to shared memory that need more wavefronts than is ideal."""
    found = hot.excess(hotspots, "shared_wavefronts", "shared_ideal_wavefronts")
    return _excess_table(found, "Wavefronts", "shared_wavefronts", "shared_ideal_wavefronts")


def _excess_table(found: pd.DataFrame, header: str, what: str, ideal: str) -> Table:
    rows = records(found.head(SHOWN))
    return table(
        [
            *_instruction(rows),
            texts("Access", rows, "memory"),
            counts("Width, bit", rows, "access_bits"),
            counts(header, rows, what),
            counts("Ideal", rows, ideal),
            numbers("Too many", rows, "excess_share", "%", 3, 100),
            numbers("Of all", rows, "total_share", "%", 3, 100),
        ],
        left=6,
        note=_more(len(found), "instruction"),
    )


def advice_tables(advice: pd.DataFrame, counters: pd.DataFrame) -> tuple[Table, Table]:
    """Tabulate what stands of Nsight's advice, and what is set aside.

    Launches that get the same advice share a row, with the words for the longest of them. What
    promises most comes first, what is a mere remark last.

    Parameters
    ----------
    advice
        As `reports.advice.set_aside` gives it, of one case.
    counters
        Of the same case.
    """
    timed = advice.merge(counters[["launch", "duration_ns"]], on="launch", how="left")
    timed = timed.sort_values("duration_ns", ascending=False, kind="stable")
    timed["aside"] = timed["set_aside"].notna()
    groups = timed.groupby(["rule", "title", "aside"], sort=False, dropna=False)
    rows = groups.head(1).assign(launches=groups["launch"].transform("count"))
    rows = rows.assign(remark=rows["kind"] == "info")
    order = ["remark", "speedup_pct", "rule", "title"]
    rows = rows.sort_values(order, ascending=[True, False, True, True], kind="stable")
    listed = records(rows)
    kept = [row for row in listed if not row["aside"]]
    aside = [row for row in listed if row["aside"]]
    reason = texts("Set aside because", aside, "set_aside")
    return (
        table([*_advice(kept)], left=3),
        table([_advice(aside)[0], reason, *_advice(aside)[1:]], left=4),
    )


def _advice(rows: list[Row]) -> list[Column]:
    return [
        texts("Advice", rows, "title"),
        texts("Kind", rows, "kind"),
        texts("Of the kernel or a part", rows, "speedup_scope"),
        numbers("Promised", rows, "speedup_pct", "%"),
        counts("Launches", rows, "launches"),
        texts("Says", rows, "message"),
    ]


def _instruction(rows: list[Row]) -> list[Column]:
    return [
        _position(rows),
        texts("Kernel", rows, "kernel", cell_code),
        ("At", [cell_code(hex(row["offset_bytes"])) for row in rows]),
        texts("SASS", rows, "sass", _code),
        ("Line", [_place(row) for row in rows]),
    ]


def _position(rows: list[Row]) -> Column:
    return "#", [MISSING if row["launch"] is None else str(row["launch"]) for row in rows]


def _place(row: Row) -> str:
    """Return file and line as code."""
    if row["file"] is None or row["line"] is None:
        return MISSING
    return cell_code(f"{row['file']}:{row['line']}")


def _code(text: str | None) -> str:
    return MISSING if text is None else cell_code(text)


def _threads(rows: list[Row]) -> list[Row]:
    """Return how many of a warp's 32 threads execute an instruction, those predicated off not."""
    return [
        {"threads": row["active_thread_instructions"] / row["warp_instructions"]}
        if row["warp_instructions"] and row["active_thread_instructions"] is not None
        else {"threads": None}
        for row in rows
    ]


def _more(number: int, noun: str) -> str:
    rest = number - SHOWN
    return f"{rest:,} more {noun}{'' if rest == 1 else 's'} follow." if rest > 0 else ""
