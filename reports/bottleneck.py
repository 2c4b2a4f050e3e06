"""What limits each variant of a case: a kind, how sure that is, the evidence, what to do next.

The kind is decided in this order, so that what hides the rest comes first:

1. launch-bound: the timer's own cost, or the gaps between launches, are a large part of the time;
2. DRAM-bound: as fast as a copy of as many bytes that itself runs at the speed of DRAM;
3. what limits half of the kernel time or more, launch by launch (`reports.limits`); where no kind
   has so much, what limits all launches by their averages.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from parsers.stalls import STALLS
from reports import limits, steps
from reports.explain import EXCESS, NEAR_COPY
from reports.format import TIMES, code, count, digits, percent, times
from reports.frames import Row
from reports.limits import BUSY_PCT, LIMITING_PCT, Kind

FLOOR_SHARE = 0.4
"""Two events around nothing take so much of the time. What remains is mostly the launch itself,
which on the GPU takes about as long: the smallest kernels recorded take twice this floor."""

IDLE_SHARE = 0.5
MOSTLY_IDLE = 0.8
"""No kernel runs for half of the range. nsys itself lengthens launches, so less proves little; four
fifths no tracer explains away."""

FILLED = 0.7
"""Launches that the time pass queues ahead have gaps of a microsecond. Where kernels fill most of
the time nevertheless, the gaps that nsys saw are the CPU's, and do not limit the GPU."""

DRAM_REGIME = 0.6
"""An equal copy below 60 % of the rate of a large one is bound by latency or launch, not DRAM."""

APART = 1.25
"""Durations of a launch by ncu and nsys within 25 %: clocks, caches and tracing explain as much."""

TAIL = 0.2
"""A last wave that wastes a fifth of the SMs' time is named; by as much a launch could gain."""

DOMINANT = 0.5
"""What limits half of the kernel time is what limits the variant."""


class Confidence(IntEnum):
    """How sure a verdict is."""

    LOW = 0
    MEDIUM = 1
    HIGH = 2


@dataclass(frozen=True)
class Fact:
    """One measured value: its name, the value in its unit, and the pass that it is of."""

    name: str
    value: float
    unit: str
    source: str

    def __str__(self) -> str:
        """Return the fact as Markdown, without its pass."""
        if self.unit == TIMES:
            return f"{self.name} {times(self.value)}"
        shown = count(self.value) if self.unit == "" else digits(self.value)
        return f"{self.name} {shown} {self.unit}".rstrip()


@dataclass(frozen=True)
class Bottleneck:
    """What limits a variant in a case.

    Attributes
    ----------
    variant
        Its name.
    kind
        What limits it.
    confidence
        How sure that is: high from `LIMITING_PCT` on or near a copy, medium from `BUSY_PCT` on or
        where no unit is busy; a step less for each contradiction, and for counters that are missing
        where one of them could have shown another limit.
    evidence
        What was measured, the strongest first.
    contradictions
        Sentences of Markdown: where passes disagree.
    unseen
        What the capture does not have, as words; empty where nothing is missing.
    next_steps
        What to try, in order of effort, as short Markdown.
    """

    variant: str
    kind: Kind
    confidence: Confidence
    evidence: tuple[Fact, ...]
    contradictions: tuple[str, ...]
    unseen: tuple[str, ...]
    next_steps: tuple[str, ...]


def diagnose(rows: list[Row]) -> list[Bottleneck]:
    """Say what limits each variant of one case.

    Parameters
    ----------
    rows
        The rows of `reports.evidence.gather` of one case. Variants that were neither timed nor
        counted are left out.
    """
    return [_diagnose(row, rows) for row in rows if row["median_ns"] or row["parts_limit"]]


def _diagnose(row: Row, rows: list[Row]) -> Bottleneck:
    part = _part(row)
    kind, settled = _kind(row, part)
    contradictions = tuple(_contradictions(row, kind))
    unseen = tuple(_unseen(part)) if part["duration_ns"] is not None else ("the ncu pass",)
    doubts = len(contradictions) + (bool(unseen) and not settled and kind is not Kind.LAUNCH)
    confidence = max((Confidence.HIGH if settled else Confidence.MEDIUM) - doubts, Confidence.LOW)
    return Bottleneck(
        variant=row["variant"],
        kind=kind,
        confidence=Confidence.LOW if kind is Kind.UNKNOWN else Confidence(confidence),
        evidence=tuple(_evidence(row, part, kind)),
        contradictions=contradictions,
        unseen=unseen,
        next_steps=tuple(steps.next_steps(row, part, rows, kind)),
    )


def _part(row: Row) -> Row:
    """Return the counters that decide: of the launches with half of the time, else of all.

    A unit that is busy on the average of all launches limits them, even where most of them are just
    below that.
    """
    waits = row["parts_limit"] == Kind.LATENCY and limits.limit(row) is not Kind.LATENCY
    if waits or (row["parts_share"] or 0) < DOMINANT:
        return row
    return {
        key.removeprefix("part_"): value for key, value in row.items() if key.startswith("part_")
    }


def _kind(row: Row, part: Row) -> tuple[Kind, bool]:
    """Return the kind, and whether what was measured settles it, whatever else was not."""
    floor, idle = _floor_share(row), row["nsys_idle_share"] or 0
    if floor >= FLOOR_SHARE or (idle >= IDLE_SHARE and not _filled(row)):
        return Kind.LAUNCH, floor >= FLOOR_SHARE or idle >= MOSTLY_IDLE
    if (row["equal_copy_share"] or 0) >= NEAR_COPY and _regime(row) >= DRAM_REGIME:
        return Kind.DRAM, True
    if row["parts_limit"] is None:
        return Kind.UNKNOWN, False
    if part is row:
        return limits.limit(row), False
    kind = Kind(row["parts_limit"])
    busiest = max((pct for other, _, pct in limits.busy(part) if other is kind), default=0.0)
    return kind, busiest >= LIMITING_PCT or (kind is Kind.UNCOALESCED and _saturated(part))


def _saturated(part: Row) -> bool:
    return max(part["l2_throughput_pct"] or 0, part["memory_throughput_pct"] or 0) >= LIMITING_PCT


def _floor_share(row: Row) -> float:
    """Return the part of the time that the timer reads for nothing; 0 where not known."""
    if row["floor_ns"] is None or not row["median_ns"]:
        return 0.0
    return float(row["floor_ns"] / row["median_ns"])


def _filled(row: Row) -> bool:
    """Say whether kernels, as long as in the nsys pass, would fill the time of the time pass."""
    busy_ns, median = row["nsys_busy_ns"], row["median_ns"]
    return bool(busy_ns and median and busy_ns / median >= FILLED)


def _regime(row: Row) -> float:
    """Return the rate of an equal copy over that of a large one; 0 where not known."""
    if not row["equal_copy_share"] or row["copy_share"] is None:
        return 0.0
    return float(row["copy_share"] / row["equal_copy_share"])


def _contradictions(row: Row, kind: Kind) -> Iterable[str]:
    name, dram = code(row["variant"]), row["dram_throughput_pct"]
    near = (row["equal_copy_share"] or 0) >= NEAR_COPY
    if kind is Kind.DRAM and near and dram is not None and dram < BUSY_PCT:
        yield (
            f"{name} runs at {percent(row['equal_copy_share'])} of an equal copy (time pass), "
            f"though DRAM is at {digits(dram)} % only (ncu pass): there, what it writes may stay "
            "in L2"
        )
    if (row["nsys_idle_share"] or 0) >= IDLE_SHARE and _filled(row) and kind is not Kind.LAUNCH:
        yield (
            f"no kernel of {name} runs for {percent(row['nsys_idle_share'])} of its range (nsys "
            "pass), yet kernels fill the time of the time pass, which queues launches ahead"
        )
    counted, traced = row["duration_ns"], row["nsys_busy_ns"]
    if kind is Kind.LAUNCH or not counted or not traced:
        return
    ratio = float(counted / traced)
    if not 1 / APART <= ratio <= APART:
        yield (
            f"the kernels of {name} take {times(ratio)} as long in the ncu pass as in the nsys "
            "pass: ncu empties the caches before each launch, nsys does not"
        )


_SEEN = {
    "pipes": ("issue_active_pct", "fma_pipe_pct", "xu_pipe_pct"),
    "L2": ("l2_throughput_pct",),
    "shared memory": ("shared_throughput_pct",),
    "stalls": ("stall_long_scoreboard_cycles",),
}


def _unseen(part: Row) -> Iterable[str]:
    return (word for word, keys in _SEEN.items() if any(part[key] is None for key in keys))


def _evidence(row: Row, part: Row, kind: Kind) -> Iterable[Fact]:
    """Return what speaks for the kind: of the time, of the units, and the losses beside it."""
    if kind is Kind.LAUNCH:
        yield from _launching(row)
        return
    if kind is Kind.UNCOALESCED:
        yield from _sectors(part)
    for name, pct in _units(part, kind):
        yield Fact(name, pct, "%", "ncu")
    if kind is Kind.LATENCY:
        yield from _waiting(part)
    if kind is Kind.DRAM and row["equal_copy_share"] is not None:
        yield Fact("of equal copy", 100 * row["equal_copy_share"], "%", "time")
    if (row["amplification"] or 0) > EXCESS and kind is not Kind.TENSOR:
        yield Fact("moved over fewest", row["amplification"], TIMES, "ncu")
    if kind is Kind.TENSOR and row["measured_share"] is not None:
        yield Fact("of measured roof", 100 * row["measured_share"], "%", "time")
    if part is not row and (row["parts_share"] or 1) < 1:
        yield Fact("in launches of", 100 * row["parts_share"], "% of kernel time", "ncu")
    lost = 1 - (1 if row["wave_efficiency"] is None else row["wave_efficiency"])
    if lost >= TAIL:
        single = row["wave_blocks"] < row["wave_sms"]
        name = "SMs without a block" if single else "lost to the last wave"
        yield Fact(name, 100 * lost, "%", "ncu")


def _units(part: Row, kind: Kind) -> list[tuple[str, float]]:
    """Return what to show of how busy units are: those of the kind, else the busiest."""
    wholes = [(name, part[column]) for column, name in limits.WHOLES if part[column] is not None]
    if kind is Kind.UNKNOWN:
        return wholes
    units, busiest = limits.busy(part), limits.near(part)
    if kind is Kind.UNCOALESCED:
        named = [(name, pct) for other, name, pct in units if other is Kind.L2 and pct >= BUSY_PCT]
        return named[:1] or wholes[-1:]
    if kind is Kind.BALANCED:
        first = {other: (name, pct) for other, name, pct in reversed(busiest)}
        return sorted(first.values(), key=lambda unit: -unit[1])[:2]
    own = [(name, pct) for other, name, pct in units if other is kind]
    return (own or [(name, pct) for _, name, pct in units])[:1] or wholes


def _launching(row: Row) -> Iterable[Fact]:
    if (share := _floor_share(row)) >= FLOOR_SHARE:
        yield Fact("empty timer", 100 * share, "%", "time")
    if (row["nsys_idle_share"] or 0) >= IDLE_SHARE:
        yield Fact("idle", 100 * row["nsys_idle_share"], "%", "nsys")
        yield Fact("launches", row["launches_nsys"], "", "nsys")


def _sectors(part: Row) -> Iterable[Fact]:
    for way in ("load", "store"):
        used, sectors = part[f"{way}_bytes_per_sector"], part[f"global_{way}_sectors"]
        if used and sectors and used < limits.SECTOR_BYTES * limits.WASTED:
            yield Fact(f"{way}s use", used, "B of 32", "ncu")


def _waiting(part: Row) -> Iterable[Fact]:
    """Return the stall that holds most warps, as a share of all that are held."""
    reasons = held(part)
    if reasons:
        top = max(reasons, key=lambda reason: reasons[reason])
        share = 100 * reasons[top] / sum(reasons.values())
        yield Fact(f"{top.replace('_', ' ')} stalls", share, "%", "ncu")
    if part["eligible_warps_per_scheduler"] is not None:
        yield Fact("eligible warps", part["eligible_warps_per_scheduler"], "a scheduler", "ncu")


def held(part: Row) -> dict[str, float]:
    """Return cycles that warps wait, an instruction, by reason; empty if not counted."""
    return {
        reason: float(part[f"stall_{reason}_cycles"])
        for reason in STALLS
        if reason not in {"selected", "not_selected"} and part[f"stall_{reason}_cycles"]
    }
