"""The comparison frame: one row a variant and case, every number with its pass.

Times come from the time pass alone, counters from the ncu pass alone. ``useful_bytes_per_s``
divides the fewest bytes of the case by the time of the time pass: useful bytes a second, not the
bytes that moved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from parsers.contract import INTENSE
from reports import timing
from reports.frames import Frames, Row, records
from reports.launches import idle_shares, launches_per_repeat
from reports.status import Status, baseline, cases, statuses, variants

COLUMNS: dict[str, str] = {
    **dict.fromkeys(("operator", "variant", "case", "status", "reason", "notes"), "string"),
    "baseline": "boolean",
    "samples": "Int64",
    **dict.fromkeys(("median_ns", "median_low_ns", "median_high_ns", "spread"), "Float64"),
    **dict.fromkeys(("speedup", "speedup_low", "speedup_high"), "Float64"),
    **dict.fromkeys(("slowdown", "slowdown_low", "slowdown_high"), "Float64"),
    **dict.fromkeys(("launches", "launches_nsys"), "Int64"),
    "idle_share_nsys": "Float64",
    **dict.fromkeys(("dram_read_bytes", "dram_write_bytes", "dram_bytes", "min_bytes"), "Float64"),
    "min_write_bytes": "Float64",
    **dict.fromkeys(("amplification", "useful_bytes_per_s", "copy_share"), "Float64"),
    **dict.fromkeys(("equal_copy_share", "l1_hit_pct"), "Float64"),
    **dict.fromkeys(("load_sectors_per_request", "store_sectors_per_request"), "Float64"),
    **dict.fromkeys(("load_sectors_ideal", "store_sectors_ideal"), "Float64"),
    **dict.fromkeys(("load_bytes_per_sector", "store_bytes_per_sector"), "Float64"),
    **dict.fromkeys(("occupancy_achieved_pct", "occupancy_theoretical_pct"), "Float64"),
    "occupancy_limiter": "string",
    **dict.fromkeys(("registers_per_thread", "local_instructions", "build_spills"), "Int64"),
    **dict.fromkeys(
        ("sm_throughput_pct", "memory_throughput_pct", "dram_throughput_pct"), "Float64"
    ),
    "intense": "boolean",
    **dict.fromkeys(("flops", "flops_per_s", "tensor_active_pct"), "Float64"),
    **dict.fromkeys(("tensor_instructions", "tensor_flops"), "Float64"),
}
"""Columns and dtypes. ``slowdown`` is the time over that of the case's fastest ranked variant;
``idle_share_nsys`` the share of the range in which no kernel ran; ``build_spills`` the spill
instructions in the recorded build for the GPU's architecture; ``intense`` whether the case needs
`INTENSE` FLOPs or more for each of its fewest bytes; ``flops`` those of the cost model, and
``tensor_flops`` those that the tensor pipe executed, with fp16, bf16 and tf32 sources."""

SECTOR_BYTES = 32

_FROM_COUNTERS = (
    "launches",
    "dram_read_bytes",
    "dram_write_bytes",
    "load_bytes_per_sector",
    "store_bytes_per_sector",
    "occupancy_achieved_pct",
    "occupancy_theoretical_pct",
    "occupancy_limiter",
    "registers_per_thread",
    "sm_throughput_pct",
    "memory_throughput_pct",
    "dram_throughput_pct",
    "l1_hit_pct",
    "tensor_active_pct",
    "tensor_instructions",
)


@dataclass(frozen=True)
class _Known:
    """What the rows of all variants and cases are computed from."""

    rolled: dict[tuple[str, str], Row]
    repeats: dict[tuple[str, str], list[int]]
    idle: dict[tuple[str, str], float]
    spills: dict[tuple[str, str], int]
    costs: dict[str, Row]
    bandwidth: float | None
    equal: dict[str, float]


def compare(frames: Frames) -> pd.DataFrame:
    """Return the comparison frame, in the declared order of cases and variants."""
    rolled = frames.rolled
    known = _Known(
        rolled={(r["variant"], r["case"]): r for r in records(rolled)},
        repeats=launches_per_repeat(frames.timeline),
        idle=idle_shares(frames.timeline),
        spills=_build_spills(frames),
        costs={r["case"]: r for r in records(frames.cases)},
        bandwidth=timing.copy_bandwidth(frames.ceilings),
        equal=timing.equal_copy_rates(frames.ceilings),
    )
    states = statuses(frames)
    rows: list[Row] = []
    for case in cases(frames):
        timed = _times(frames, case, {v: states[v, case] for v in variants(frames)})
        for variant in variants(frames):
            row: Row = {"operator": frames.operator, "variant": variant, "case": case}
            row |= timed[variant] | _counted(known, variant, case)
            row |= _work(row, known.costs.get(case, {}))
            row |= _bytes(row, known, case)
            row |= _judged(states[variant, case], known, row)
            rows.append(row)
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(COLUMNS)


def _times(frames: Frames, case: str, states: dict[str, Status]) -> dict[str, Row]:
    """Return times and ratios of one case; only ranked variants have ratios."""
    rows = frames.samples[frames.samples["case"] == case]
    counts = rows["variant"].value_counts()
    samples = {v: timing.by_round(rows[rows["variant"] == v]) for v in states}
    medians = {v: timing.median(timing.values(own)) for v, own in samples.items()}
    ranked = {v: m.value for v, m in medians.items() if m and states[v].ranked}
    base, best = baseline(frames), min(ranked, key=lambda v: ranked[v], default=None)
    result: dict[str, Row] = {}
    for variant, own in samples.items():
        row: Row = {
            "baseline": variant == base,
            "samples": int(counts.get(variant, 0)),
            "spread": timing.spread(timing.values(own)),
            **_estimate("median", medians[variant], "_ns"),
        }
        if variant in ranked and base in ranked:
            row |= _estimate("speedup", _against(samples[base], own, same=variant == base))
        if variant in ranked and best is not None:
            row |= _estimate("slowdown", _against(own, samples[best], same=variant == best))
        result[variant] = row
    return result


def _against(
    above: pd.Series[float], below: pd.Series[float], *, same: bool
) -> timing.Estimate | None:
    return timing.Estimate(1.0) if same else timing.ratio(above, below)


def _estimate(name: str, estimate: timing.Estimate | None, unit: str = "") -> Row:
    if estimate is None:
        return {}
    values = {"": estimate.value, "_low": estimate.low, "_high": estimate.high}
    return {f"{name}{part}{unit}": value for part, value in values.items()}


def _counted(known: _Known, variant: str, case: str) -> Row:
    """Return what ncu, nsys and the build say of one variant."""
    pair = (variant, case)
    rolled = known.rolled.get(pair, {})
    row = {column: rolled.get(column) for column in _FROM_COUNTERS}
    for kind in ("load", "store"):
        row[f"{kind}_sectors_per_request"] = sectors = divided(
            rolled.get(f"global_{kind}_sectors"), rolled.get(f"global_{kind}_requests")
        )
        used = divided(rolled.get(f"{kind}_bytes_per_sector"), SECTOR_BYTES)
        row[f"{kind}_sectors_ideal"] = None if sectors is None or not used else sectors * used
    row["local_instructions"] = added(
        rolled.get("local_load_instructions"), rolled.get("local_store_instructions")
    )
    fp16, bf16, tf32 = (rolled.get(f"tensor_{kind}_flops") for kind in ("fp16", "bf16", "tf32"))
    row["tensor_flops"] = added(added(fp16, bf16), tf32)
    repeats = known.repeats.get(pair)
    row["launches_nsys"] = max(repeats) if repeats else None
    row["idle_share_nsys"] = known.idle.get(pair)
    row["build_spills"] = known.spills.get(pair)
    return row


def _work(row: Row, cost: Row) -> Row:
    """Return what the cost model says of a case, and the rates that it makes of the time."""
    least, flops = added(cost.get("min_read_bytes"), cost.get("min_write_bytes")), cost.get("flops")
    useful, rate = (divided(work, row.get("median_ns")) for work in (least, flops))
    intensity = divided(flops, least)
    return {
        "min_bytes": least,
        "min_write_bytes": cost.get("min_write_bytes"),
        "useful_bytes_per_s": None if useful is None else useful * 1e9,
        "flops": flops,
        "flops_per_s": None if rate is None else rate * 1e9,
        "intense": None if intensity is None else intensity >= INTENSE,
    }


def _bytes(row: Row, known: _Known, case: str) -> Row:
    """Compare bytes moved with the fewest, and the useful rate with copies; not if intense."""
    useful = None if row["intense"] else row["useful_bytes_per_s"]
    moved = added(row["dram_read_bytes"], row["dram_write_bytes"])
    return {
        "dram_bytes": moved,
        "amplification": divided(moved, row["min_bytes"]),
        "copy_share": divided(useful, known.bandwidth),
        "equal_copy_share": divided(useful, known.equal.get(case)),
    }


def _judged(status: Status, known: _Known, row: Row) -> Row:
    repeats = sorted(set(known.repeats.get((row["variant"], row["case"]), [])))
    notes = list(status.notes)
    if len(repeats) > 1:
        seen = " or ".join(map(str, repeats))
        notes.append(f"nsys saw {seen} launches, depending on the repeat")
    elif repeats and row["launches"] is not None and repeats[0] != row["launches"]:
        notes.append(
            f"the passes contradict each other: ncu counted {row['launches']} launches, "
            f"nsys {repeats[0]}"
        )
    return {"status": status.word, "reason": status.reason, "notes": "; ".join(notes) or None}


def _build_spills(frames: Frames) -> dict[tuple[str, str], int]:
    """Return the most spill instructions that the build for this GPU has in one kernel."""
    capabilities = frames.runs["compute_capability"].dropna()
    if capabilities.empty:
        return {}
    arch = "sm_" + str(capabilities.iloc[0]).replace(".", "")
    most: dict[tuple[str, str], int] = {}
    for row in records(frames.builds[frames.builds["arch"] == arch]):
        spills = added(row["spill_loads"], row["spill_stores"])
        if spills is not None:
            pair = (row["variant"], row["case"])
            most[pair] = max(int(spills), most.get(pair, 0))
    return most


def added(left: Any, right: Any) -> Any:
    """Return left + right; None where either is missing."""
    return None if left is None or right is None else left + right


def divided(above: Any, below: Any) -> Any:
    """Return above / below; None where either is missing or nothing divides."""
    return None if above is None or not below else above / below
