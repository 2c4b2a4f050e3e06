"""What limits a launch, by how busy Nsight Compute saw the units of the GPU."""

from __future__ import annotations

from enum import StrEnum

import pandas as pd

from reports.frames import Row, records

BUSY_PCT = 60.0
"""Nsight Compute's own rule: a unit below 60 % of its peak is not what limits a kernel."""

LIMITING_PCT = 80.0
"""Nsight Compute's own rule: from 80 % on a unit is the limiter, with little left to gain. DRAM
gives no more than some 92 % to any kernel, so it is the limiter even if another unit is as busy."""

BALANCED_POINTS = 10.0
"""Nsight Compute calls units balanced that are within 10 points of each other. Where one is from
80 % on, another must be, too."""

WASTED = 0.5
"""Half of the bytes of the sectors unused: at best half of the time that moves them is well spent.
Below, ragged edges and parameters that a warp shares have the same share in sound kernels."""

COUNTED = 1 / 32
"""An access uses at least one byte of a sector. Where less is counted, the counter leaves accesses
out: those of ``cp.async``, which load straight into shared memory."""

SECTOR_BYTES = 32.0

REUSED = 2.0
"""Bytes of L2 for each of DRAM. A copy has 1.5 on an H200, where what the far half of L2 holds
counts in both halves; twice as many are read again, or written and not yet in DRAM."""

_L2_AND_DRAM = ("l2_read_sectors", "l2_write_sectors", "dram_read_bytes", "dram_write_bytes")


class Kind(StrEnum):
    """What limits a kernel."""

    LAUNCH = "launch-bound"
    LATENCY = "latency-bound"
    DRAM = "DRAM-bound"
    L2 = "L2-bound"
    SHARED = "shared-memory-bound"
    UNCOALESCED = "uncoalesced"
    CORES = "CUDA-core-bound"
    TENSOR = "tensor-bound"
    SPECIAL = "special-function-bound"
    BALANCED = "balanced"
    UNKNOWN = "unknown"


UNITS: tuple[tuple[Kind, str, str], ...] = (
    (Kind.TENSOR, "tensor_active_pct", "tensor pipe"),
    (Kind.SPECIAL, "xu_pipe_pct", "special functions"),
    (Kind.CORES, "fma_pipe_pct", "FMA pipe"),
    (Kind.CORES, "alu_pipe_pct", "ALU pipe"),
    (Kind.CORES, "fp64_pipe_pct", "FP64 pipe"),
    (Kind.CORES, "issue_active_pct", "issue slots"),
    (Kind.DRAM, "dram_throughput_pct", "DRAM"),
    (Kind.SHARED, "shared_throughput_pct", "shared memory"),
    (Kind.L2, "l2_throughput_pct", "L2"),
)
"""What a unit is the limit of, its column in % of peak, and its name."""

WHOLES = (("sm_throughput_pct", "SMs"), ("memory_throughput_pct", "memory system"))
"""The largest of many units each, among them some that have no column of their own."""

_MEMORY = {Kind.DRAM, Kind.L2, Kind.SHARED}


def busy(row: Row) -> list[tuple[Kind, str, float]]:
    """Return kind, name and % of peak of each unit that was counted, the busiest first."""
    counted = [(kind, name, row[column]) for kind, column, name in UNITS if row[column] is not None]
    return sorted(counted, key=lambda unit: -unit[2])


def limit(row: Row) -> Kind:
    """Return what limits a launch, or launches that were rolled up.

    Parameters
    ----------
    row
        Columns of the frame ``counters``. What was not counted is never taken for idle: where the
        SMs or the memory system are busy and no counted unit of theirs is, the kind is unknown.
    """
    busiest = near(row)
    if wasteful(row) and _serves_waste(row, {kind for kind, _, _ in busiest}):
        return Kind.UNCOALESCED
    if not busiest:
        known = all(row[column] is not None for column, _ in WHOLES)
        return Kind.LATENCY if known else Kind.UNKNOWN
    kind, _, pct = busiest[0]
    least = max(pct - BALANCED_POINTS, LIMITING_PCT if pct >= LIMITING_PCT else BUSY_PCT)
    if len({other for other, _, value in busiest if value >= least}) == 1:
        return kind
    return Kind.DRAM if (row["dram_throughput_pct"] or 0) >= LIMITING_PCT else Kind.BALANCED


def near(row: Row) -> list[tuple[Kind, str, float]]:
    """Return what is busy enough to limit, as `busy` does; of no known kind what hides in a whole.

    Bytes that go through DRAM go through L2, too, which is then the busier by its own measure: it
    limits only where DRAM does not, and where it serves more than it hands on.
    """
    found = [unit for unit in busy(row) if unit[2] >= BUSY_PCT]
    if Kind.DRAM in {kind for kind, _, _ in found} or not _reused(row):
        found = [unit for unit in found if unit[0] is not Kind.L2]
    kinds = {kind for kind, _, _ in found}
    for (column, name), parts in zip(WHOLES, (set(Kind) - _MEMORY, _MEMORY), strict=True):
        if (row[column] or 0) >= BUSY_PCT and not kinds & parts:
            found.append((Kind.UNKNOWN, name, row[column]))
    return sorted(found, key=lambda unit: -unit[2])


def _reused(row: Row) -> bool:
    """Say whether L2 serves more bytes than a copy's, as far as is known."""
    parts = [row[column] for column in _L2_AND_DRAM]
    if None in parts:
        return True
    *sectors, read, written = parts
    return bool(sum(sectors) * SECTOR_BYTES >= REUSED * (read + written))


def _serves_waste(row: Row, near: set[Kind]) -> bool:
    """Say whether the memory system is busy with sectors, rather than with what they are used for.

    Sectors that hit L1 again cost L1 alone; DRAM that is busy, too, moves bytes that are wanted.
    """
    if near & {Kind.DRAM, Kind.SHARED, Kind.TENSOR, Kind.SPECIAL, Kind.CORES}:
        return False
    return max(row["memory_throughput_pct"] or 0, row["l2_throughput_pct"] or 0) >= BUSY_PCT


def wasted(row: Row) -> float | None:
    """Return the share of the bytes of all sectors that was not used; None where not known."""
    used = moved = 0.0
    for way in ("load", "store"):
        sectors, each = row[f"global_{way}_sectors"], row[f"{way}_bytes_per_sector"]
        if sectors is None or (sectors and each is None):
            return None
        moved += sectors
        used += sectors * (each or 0)
    if not moved or used / moved < COUNTED * SECTOR_BYTES:
        return None
    return 1 - used / moved / SECTOR_BYTES


def wasteful(row: Row) -> bool:
    """Say whether so much of the sectors is unused that it can be the limit.

    Not judged where the tensor memory accelerator carries more bytes than the sectors do.
    """
    share = wasted(row)
    carried = (row["tma_load_bytes"] or 0) + (row["tma_store_bytes"] or 0)
    sectors = (row["global_load_sectors"] or 0) + (row["global_store_sectors"] or 0)
    return share is not None and share >= WASTED and carried <= sectors * SECTOR_BYTES


def of_launches(counters: pd.DataFrame) -> pd.Series:
    """Return the kind of each launch of the frame ``counters``, as strings with its index."""
    kinds = [str(limit(row)) for row in records(counters)]
    return pd.Series(kinds, index=counters.index, dtype="string", name="limit")
