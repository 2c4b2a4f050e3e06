"""Nsight's advice for a launch, and the reasons to set some of it aside."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from reports.frames import KEY, Row, records

NEAR_PEAK = 80
"""Per cent of a peak from which on the rules of Nsight themselves call a kernel well used."""

_BUSY_TENSOR = 10
"""Per cent of the tensor pipe's peak from which on a kernel's arithmetic is taken to be there."""

_LAUNCH = [*KEY, "launch"]
_PIPES = {
    "DRAM": "dram_throughput_pct",
    "L2": "l2_throughput_pct",
    "the tensor pipe": "tensor_active_pct",
}
_MORE_WARPS = frozenset({"AchievedOccupancy", "TheoreticalOccupancy", "IssueSlotUtilization"})
_FEWER_INSTRUCTIONS = frozenset({"FPInstructions", "ThreadDivergence"})
_SECTOR_BYTES = 32


def set_aside(advice: pd.DataFrame, counters: pd.DataFrame, hotspots: pd.DataFrame) -> pd.DataFrame:
    """Say of each piece of advice whether it misleads.

    Parameters
    ----------
    advice, counters, hotspots
        Frames of a deep profile. Advice for a launch outside of every range is left out.

    Returns
    -------
    DataFrame
        Columns of ``advice`` and ``set_aside``: why it is of no help here; NA where it stands. What
        was not collected sets nothing aside.
    """
    launches = counters.dropna(subset=_LAUNCH).merge(
        _by_instruction(hotspots), on=_LAUNCH, how="left", validate="one_to_one"
    )
    facts = {tuple(row[key] for key in _LAUNCH): row for row in records(launches)}
    kept = advice.dropna(subset=_LAUNCH).reset_index(drop=True)
    reasons = [_reason(row, facts[tuple(row[key] for key in _LAUNCH)]) for row in records(kept)]
    return kept.assign(set_aside=pd.array(reasons, dtype="string"))


def _reason(advice: Row, launch: Row) -> str | None:
    return next(filter(None, (why(advice, launch) for why in _WHY)), None)


def _by_instruction(hotspots: pd.DataFrame) -> pd.DataFrame:
    """Return of each launch what only its instructions tell.

    ``specialised``: whether warps give registers to one another; ``wavefronts`` and
    ``ideal_wavefronts`` of shared memory.
    """
    rows = hotspots.dropna(subset=_LAUNCH)
    rows = rows.assign(specialised=rows["sass"].str.contains("USETMAXREG").fillna(value=False))
    groups = rows.groupby(_LAUNCH, sort=False)
    wavefronts = groups[["shared_wavefronts", "shared_ideal_wavefronts"]].sum(min_count=1)
    return wavefronts.join(groups["specialised"].any()).reset_index()


def _another_unit_is_busy(advice: Row, launch: Row) -> str | None:
    """Set aside what asks for more warps or fewer instructions where they are not the limit."""
    idle_pipes = advice["rule"] == "HighPipeUtilization" and advice["title"] == "Low Utilization"
    if advice["rule"] not in _MORE_WARPS | _FEWER_INSTRUCTIONS and not idle_pipes:
        return None
    shares = {name: launch[column] for name, column in _PIPES.items() if launch[column] is not None}
    busiest = max(shares, key=lambda name: shares[name], default="")
    if busiest and shares[busiest] >= NEAR_PEAK:
        return f"{busiest} is at {shares[busiest]:.1f} % of its peak, which this does not relieve"
    return None


def _warps_have_roles(advice: Row, launch: Row) -> str | None:
    """Set aside what asks for more warps where few are the design."""
    if advice["rule"] not in _MORE_WARPS or not launch["specialised"]:
        return None
    return "its warps have roles and trade registers (USETMAXREG): few warps are the design"


def _loads_by_tma(advice: Row, launch: Row) -> str | None:
    """Set aside what judges accesses of threads where data come by TMA."""
    if advice["rule"] not in {"UncoalescedGlobalAccess", "MemoryCacheAccessPattern"}:
        return None
    tma = (launch["tma_load_bytes"] or 0) + (launch["tma_store_bytes"] or 0)
    sectors = (launch["global_load_sectors"] or 0) + (launch["global_store_sectors"] or 0)
    share = tma / max(1, tma + sectors * _SECTOR_BYTES)
    if share < 0.9:
        return None
    return f"{share * 100:.1f} % of its bytes go by TMA, which no thread's access pattern touches"


def _one_block_fills_an_sm(advice: Row, launch: Row) -> str | None:
    """Set aside that the grid is small where a block fills an SM and nearly every SM has one."""
    if (advice["rule"], advice["title"]) != ("LaunchConfiguration", "Small Grid"):
        return None
    limits = [value for key, value in launch.items() if key.startswith("limit_")]
    known = [value for value in limits if value is not None]
    if None in {launch["grid_size"], launch["sm_count"]} or min(known, default=0) != 1:
        return None
    share = launch["grid_size"] / launch["sm_count"]
    if not 0.9 <= share <= 1:
        return None
    return f"a block fills an SM, and {launch['grid_size']} of {launch['sm_count']} SMs have one"


def _tensor_cores_compute(advice: Row, launch: Row) -> str | None:
    """Set aside the roofline of CUDA cores where tensor cores compute."""
    active = launch["tensor_active_pct"]
    if advice["rule"] != "SOLFPRoofline" or active is None or active < _BUSY_TENSOR:
        return None
    return f"its FLOPs are those of tensor cores, {active:.1f} % busy, which it does not count"


def _nothing_is_compressible(advice: Row, _: Row) -> str | None:
    """Set aside compression where nothing can be compressed."""
    if advice["rule"] != "MemoryL2Compression" or " 0.00% " not in advice["message"]:
        return None
    return "only memory that was allocated as compressible is compressed; here none was"


def _no_instruction_conflicts(advice: Row, launch: Row) -> str | None:
    """Set aside bank conflicts that no instruction has."""
    needed, ideal = launch["shared_wavefronts"], launch["shared_ideal_wavefronts"]
    if advice["rule"] != "SharedMemoryConflicts" or needed is None or ideal is None:
        return None
    if needed > 1.01 * ideal:
        return None
    return f"no instruction has them: {needed:,} wavefronts by address, {ideal:,} without conflicts"


_WHY: tuple[Callable[[Row, Row], str | None], ...] = (
    _another_unit_is_busy,
    _warps_have_roles,
    _loads_by_tma,
    _one_block_fills_an_sm,
    _tensor_cores_compute,
    _nothing_is_compressible,
    _no_instruction_conflicts,
)
