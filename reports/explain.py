"""Why one variant is faster than another: time against bytes, launches and sectors.

Each function returns sentences of Markdown, and says which pass a number comes from.
"""

from __future__ import annotations

from collections.abc import Iterable

from reports.format import code, column, count, digits, listing, percent, quantity, times
from reports.frames import Row

LEVEL = 1.01
"""Times within 1 % are level: real in one session perhaps, but other nodes and clocks turn it."""

AGREE = 1.25
"""Two ratios agree within a factor of 1.25. DRAM counters miss up to the size of L2 at a kernel's
end and bandwidth differs by some 10 % between mixes of reads and writes; 25 % holds both."""

SMALL = 1.05
"""Below 5 % of difference nothing is explained. Above, bytes must account for at least half."""

NEAR_COPY = 0.90
"""From 90 % of the measured copy bandwidth on there is nothing left to gain from fewer bytes."""

BEYOND_COPY = 1.05
"""Above the copy bandwidth by more than its own spread, bytes must have come from a cache."""

EXCESS = 1.10
"""Moving over 1.1 times the fewest bytes is worth naming: less can be noise of the counters."""

BUSY_PCT = 60.0
"""Nsight Compute's own rule: a unit below 60 % of its peak is not what limits a kernel."""

FULL_SECTOR = 32.0
SECTOR_SLACK = 0.95
"""A sector is 32 bytes. Ragged edges of a tensor cost a little; below 95 % the pattern does."""

MOSTLY_READ = 0.75
"""A copy reads half of its bytes. From three quarters on a case is no copy: reading alone can be
faster, and a share of a copy's rate above 100 % is then nothing odd."""

MOSTLY_HIT = 50.0
"""L1 serves what other accesses leave of a sector, if at least half of the sectors hit it."""

MOSTLY_TMA = 0.5
"""Sectors say little of a kernel that moves half of its bytes without them."""

IDLE = 0.20
"""Launch gaps are named from a fifth of the range on: a profiler alone adds some per cent."""


def difference(slow: Row, fast: Row, l2_bytes: float | None = None) -> list[str]:
    """Explain the time ratio of two rows of the comparison frame, slow over fast.

    ``l2_bytes`` is the size of the L2 cache, which bounds how many written bytes counters miss.
    """
    time = slow["median_ns"] / fast["median_ns"]
    names = f"{code(slow['variant'])} → {code(fast['variant'])}"
    if slow["dram_bytes"] is None or fast["dram_bytes"] is None:
        return [f"Why is not explained: the ncu pass has no DRAM bytes for {names}."]
    if not fast["dram_bytes"] or not slow["dram_bytes"]:
        return [f"The ncu pass counted no DRAM bytes for one of {names}: bytes explain nothing."]
    traffic = slow["dram_bytes"] / fast["dram_bytes"]
    low, high = _whole(slow, fast, l2_bytes)
    missed = "" if traffic / low < SMALL else f", {_between(low, high)} with the writes left in L2"
    return [
        f"{names}: the time {_moves(time, 's')} (time pass), the DRAM bytes {_moves(traffic)} "
        f"({_amounts(slow, fast)}; ncu pass){missed}{_launches(slow, fast)}.",
        _conclusion(slow, fast, time, min(max(time, low), high)),
    ]


def _whole(slow: Row, fast: Row, l2_bytes: float | None) -> tuple[float, float]:
    """Return between which bounds the ratio of all bytes moved lies.

    Counters miss what L2 still holds of a launch's writes: the fewest bytes are moved for sure, and
    each launch that one has more than the other may have written as much as L2 holds unseen.
    """
    above, below = (float(max(r["dram_bytes"], r["min_bytes"] or 0)) for r in (slow, fast))
    unseen = 0.0
    if slow["launches"] and fast["launches"] and slow["min_write_bytes"] and l2_bytes:
        more = max(slow["launches"] - fast["launches"], 0)
        unseen = more * min(slow["min_write_bytes"], l2_bytes)
    return above / below, (above + unseen) / below


def _between(low: float, high: float) -> str:
    return times(low) if high / low < LEVEL else f"{digits(low)} to {times(high)}"


def _moves(ratio: float, ending: str = "") -> str:
    """Say by which factor something falls; ``ending`` is that of a verb in the singular."""
    if 1 / LEVEL < ratio < LEVEL:
        return f"stay{ending} the same"
    return f"fall{ending} {times(ratio)}" if ratio > 1 else f"grow{ending} {times(1 / ratio)}"


def _amounts(slow: Row, fast: Row) -> str:
    unit, (before, after) = column((slow["dram_bytes"], fast["dram_bytes"]), "B")
    said = f"{before} → {after} {unit}"
    if slow["amplification"] is None or fast["amplification"] is None:
        return said
    least = f"{times(slow['amplification'])} → {times(fast['amplification'])} of the fewest"
    return f"{said}, {least}"


def _launches(slow: Row, fast: Row) -> str:
    if slow["launches"] is None or fast["launches"] is None:
        return ""
    if slow["launches"] == fast["launches"]:
        return f", launches stay {count(slow['launches'])}"
    return f", launches {count(slow['launches'])} → {count(fast['launches'])}"


def _conclusion(slow: Row, fast: Row, time: float, traffic: float) -> str:
    name = code(slow["variant"])
    if max(time, traffic) < SMALL:
        return "Neither differs by much."
    if time / AGREE <= traffic <= time * AGREE and traffic - 1 >= (time - 1) / 2:
        return _follows(slow, fast, name)
    if traffic > time:
        return (
            "Bytes fall more than time: moving fewer of them is not all that "
            f"{code(fast['variant'])} needs, or part of what {name} moves stays in the cache when "
            f"no profiler empties it between launches.{_tensor(slow, fast)}"
        )
    return f"Bytes alone do not explain the time.{_other_causes(slow, fast)}"


def _follows(slow: Row, fast: Row, name: str) -> str:
    pct = slow["dram_throughput_pct"]
    bound = f"The time follows the bytes: {name} is bound by the bytes that it moves through DRAM"
    if pct is None:
        return f"{bound}; how busy its DRAM was is not known."
    busy = f"{digits(pct)} % of peak (ncu pass)"
    if pct >= BUSY_PCT:
        return f"{bound}, which its launches keep at {busy}."
    return (
        f"Time and bytes fall alike, but {name} uses DRAM at {busy} only: this contradicts a bound "
        f"by bytes, and both may have another cause.{_tensor(slow, fast)}"
    )


def _other_causes(slow: Row, fast: Row) -> str:
    """Name what else differs; the evidence says that it may matter, not that it does."""
    name, causes = code(slow["variant"]), []
    idle = slow["idle_share_nsys"]
    if idle is not None and idle >= IDLE:
        causes.append(f"no kernel runs for {percent(idle, 2)} of its range (nsys pass)")
    for kind, verb in (("load", "loaded"), ("store", "stored")):
        used = f"{kind}_bytes_per_sector"
        if partial(slow[used]) and not partial(fast[used]):
            causes.append(
                f"it uses {digits(slow[used], 2)} bytes of each 32-byte sector {verb} (ncu pass)"
            )
    if slow["local_instructions"] and not fast["local_instructions"]:
        causes.append(
            f"it runs {count(slow['local_instructions'])} local-memory instructions (ncu pass)"
        )
    busy, less = slow["sm_throughput_pct"] or 0, fast["sm_throughput_pct"] or 0
    if busy >= BUSY_PCT and busy > less:
        against = f", against {digits(less)} %" if less else ""
        causes.append(f"its SMs are at {digits(busy)} % of peak{against} (ncu pass)")
    tensor = _tensor(slow, fast)
    if not causes:
        return tensor or f" Nothing else measured here tells {name} apart."
    return f" What else tells {name} apart: {listing(causes)}.{tensor}"


def _tensor(slow: Row, fast: Row) -> str:
    """Compare what the tensor pipe did in an intense case; empty for any other.

    The pipe's activity is its work over the time: where the work is the same, it only restates
    which variant is faster, and is said not to be a cause.
    """
    if not slow["intense"]:
        return ""
    work = [row["tensor_instructions"] for row in (slow, fast)]
    active = [row["tensor_active_pct"] for row in (slow, fast)]
    if None in work or None in active:
        return " What the tensor pipe did is not known: the ncu pass lacks counters of it."
    if not any(work):
        return " Neither executes tensor instructions (ncu pass)."
    instructions, percents = map(count, work), map(digits, active)
    said = f" Executed tensor instructions go {_arrow(instructions)}{_tensor_flops(slow, fast)}"
    said += f", the tensor pipe's activity {_arrow(percents)} % of peak (ncu pass)"
    if not all(work):
        return f"{said}: only {code((fast if work[1] else slow)['variant'])} uses that pipe."
    flops = [row["tensor_flops"] for row in (slow, fast)]
    if all(flops) and 1 / LEVEL < flops[0] / flops[1] < LEVEL:
        return f"{said}: the same tensor FLOPs at another rate, which does not say why."
    return f"{said}."


def _tensor_flops(slow: Row, fast: Row) -> str:
    if slow["tensor_flops"] is None or fast["tensor_flops"] is None:
        return " (their FLOPs are not known)"
    unit, values = column((slow["tensor_flops"], fast["tensor_flops"]), "FLOP")
    return f" ({_arrow(values)} {unit})"


def _arrow(values: Iterable[str]) -> str:
    return " → ".join(values)


def partial(bytes_per_sector: float | None) -> bool:
    """Say whether sectors are used in part only; a kernel without any has 0 or none."""
    return bool(bytes_per_sector) and (bytes_per_sector or 0) < FULL_SECTOR * SECTOR_SLACK


def beyond_copy(row: Row, l2_bytes: float | None) -> str | None:
    """Say why a share of a copy's rate is no limit, where it is not; None for an intense case."""
    equal, name = row["equal_copy_share"], code(row["variant"])
    share = row["copy_share"] if equal is None else equal
    if share is None or row["intense"]:
        return None
    if share >= NEAR_COPY and (reads := _reads(row)) >= MOSTLY_READ:
        return (
            f"Of the {quantity(row['min_bytes'], 'B')} that {name} must move, {percent(reads)} are "
            "read (model), of a copy's half: reading alone can be faster than a copy, so 100 % is "
            "no limit here."
        )
    if equal is None and share > BEYOND_COPY:
        size = "" if l2_bytes is None else f", which holds {quantity(l2_bytes, 'B')}"
        return (
            f"{name} reaches {percent(share)} of the rate of a large copy (time pass): more than "
            f"DRAM can give, so part of its bytes stays in L2{size}."
        )
    return None


def _reads(row: Row) -> float:
    """Return the share of reads in the fewest bytes; 0 where that is not known."""
    least, written = row["min_bytes"], row["min_write_bytes"]
    return 0.0 if not least or written is None else 1 - float(written) / float(least)


def coalescing(rows: list[Row]) -> str | None:
    """Name the variants that use sectors in part; say so where none does.

    Not judged where the tensor memory accelerator carries most of the bytes.
    """
    rows = [row for row in rows if (row.get("tma_share") or 0) < MOSTLY_TMA]
    known = [r for r in rows if r["load_bytes_per_sector"] or r["store_bytes_per_sector"]]
    if not known:
        return None
    parts = []
    for row in known:
        uses = [
            f"{digits(row[f'{kind}_bytes_per_sector'], 2)} bytes of a sector {verb}"
            for kind, verb in (("load", "loaded"), ("store", "stored"))
            if partial(row[f"{kind}_bytes_per_sector"])
        ]
        if uses:
            parts.append(f"{code(row['variant'])} uses {listing(uses)}{_served_by_l1(row)}")
    if parts:
        return f"An access uses its 32-byte sectors in part (ncu pass): {'; '.join(parts)}."
    if len(known) == 1:
        return f"{code(known[0]['variant'])} uses its 32-byte sectors in full (ncu pass)."
    return "Coalescing is no difference: sectors are used in full (ncu pass)."


def _served_by_l1(row: Row) -> str:
    """Say where the unused parts of sectors go, if DRAM does not move more for them."""
    excess, hits = row["amplification"], row["l1_hit_pct"]
    if excess is None or excess > EXCESS or (hits or 0) < MOSTLY_HIT:
        return ""
    return f", though DRAM moves no more for it, as {digits(hits)} % of its sectors hit L1"
