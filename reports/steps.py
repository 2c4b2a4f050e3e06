"""What to try next: what other variants of the case already reach, else what the limit asks for."""

from __future__ import annotations

from collections.abc import Iterable

from reports.explain import EXCESS, LEVEL, NEAR_COPY
from reports.format import code, count, digits, percent, quantity, times
from reports.frames import Row
from reports.limits import LIMITING_PCT, Kind

AT_ROOF = 0.9
"""From 90 % of the measured roof on there is no more to gain than by other clocks."""

CONFLICTS = 0.1
"""Bank conflicts are named from a tenth of the wavefronts of shared memory on."""

FEW_WARPS_PCT = 50.0
"""Half of the warps that an SM can hold hide latency as well as all of them in most kernels."""

_HELD: tuple[tuple[str, str], ...] = (
    ("long_scoreboard", "more bytes in flight: wider or more independent loads"),
    ("barrier", "fewer barriers, or smaller blocks"),
    ("short_scoreboard", "fewer trips through shared memory"),
    ("mio_throttle", "fewer trips through shared memory"),
    ("lg_throttle", "wider loads and stores, fewer of them"),
    ("math_pipe_throttle", "fewer instructions on the busiest pipe"),
    ("wait", "more independent instructions a warp"),
    ("gmma", "deeper pipelining of loads and tensor instructions"),
    ("no_instruction", "smaller code, or work enough to warm it up"),
    ("imc_miss", "fewer constants, or work enough to warm them up"),
)

_BY_KIND: dict[Kind, str] = {
    Kind.LAUNCH: "fewer launches: fuse with neighbours, or a CUDA graph",
    Kind.UNCOALESCED: "neighbouring lanes on neighbouring addresses; a tile in shared memory",
    Kind.L2: "larger tiles: reuse in registers or shared memory",
    Kind.CORES: "fewer instructions an element",
    Kind.TENSOR: "larger tiles, deeper pipelining",
    Kind.SPECIAL: "a cheaper approximation",
    Kind.BALANCED: "another algorithm: several units are as busy",
    Kind.UNKNOWN: "count pipes and stalls: a deep profile",
}

_COMPUTE = {Kind.TENSOR, Kind.CORES}

NOTHING = "nothing left"


def next_steps(row: Row, part: Row, rows: list[Row], kind: Kind) -> list[str]:
    """Return what to try, in order of effort: a library, torch.compile, Triton, then the limit.

    Parameters
    ----------
    row, part
        The variant's row of `reports.evidence.gather`, and the counters of the launches that have
        most of its time.
    rows
        All rows of the case.
    kind
        What limits the variant.
    """
    return list(_faster(row, rows)) or [_own(row, part, kind)]


def effort(row: Row) -> int:
    """Return how much work a variant is: 0 a library call, 1 torch.compile, 2 a Triton kernel."""
    if row["triton"]:
        return 2
    return int(row["variant"] == "compiled")


_WORDS = ("library", "torch.compile", "Triton")


def _faster(row: Row, rows: list[Row]) -> Iterable[str]:
    """Name the faster variants; more effort must buy more speed than what takes less."""
    if row["slowdown"] is None:
        return
    reached = float(row["slowdown"])
    for level, word in enumerate(_WORDS):
        known = [r for r in rows if r["slowdown"] is not None and effort(r) == level]
        best = min(known, key=lambda r: r["slowdown"], default=None)
        if best is not None and reached / best["slowdown"] >= LEVEL:
            reached = float(best["slowdown"])
            how = "baseline" if best["baseline"] else word
            yield f"{code(best['variant'])} ({how}): {times(row['slowdown'] / reached)}"


def _own(row: Row, part: Row, kind: Kind) -> str:
    """Return what the limit of a variant asks for that no other beats."""
    if kind is Kind.DRAM:
        return _moving(row, part)
    if kind is Kind.LATENCY:
        return _waiting(row, part)
    if kind is Kind.SHARED:
        return _sharing(part)
    return _computing(row) if row["intense"] and kind in _COMPUTE else _BY_KIND[kind]


def _computing(row: Row) -> str:
    share = row["measured_share"]
    if share is not None and share >= AT_ROOF:
        return f"{NOTHING}: {percent(share)} of the measured roof"
    rest = 1 - (row["parts_share"] or 1)
    if rest >= 1 - AT_ROOF:
        return f"shorten the other launches: {percent(rest)} of kernel time"
    return "larger tiles, deeper pipelining"


def _moving(row: Row, part: Row) -> str:
    excess = row["amplification"]
    if excess is not None and excess > EXCESS:
        return f"another algorithm: it moves {times(excess)} the fewest bytes"
    if (row["equal_copy_share"] or 0) >= NEAR_COPY:
        return NOTHING
    if (part["dram_throughput_pct"] or 0) >= LIMITING_PCT:
        return "little left: DRAM is full, of hardly more than the fewest bytes"
    return "more bytes in flight: wider or more independent loads"


def starved(row: Row) -> bool:
    """Say whether the longest launch has fewer blocks than the GPU has SMs."""
    return row["wave_blocks"] is not None and row["wave_blocks"] < row["wave_sms"]


def _waiting(row: Row, part: Row) -> str:
    """Find what keeps warps from hiding latency: too few blocks, few warps, or what they wait for.

    Low occupancy is a problem only here: where a unit is busy, more warps would only queue for it.
    """
    if starved(row):
        blocks, sms = count(row["wave_blocks"]), count(row["wave_sms"])
        return f"more blocks: {blocks} for {sms} SMs; a larger case or a split"
    reasons = {reason: part[f"stall_{reason}_cycles"] or 0 for reason, _ in _HELD}
    top = max(reasons, key=lambda reason: reasons[reason])
    cure = dict(_HELD)[top] if reasons[top] else "what warps wait for is not known: a deep profile"
    theoretical = row["occupancy_theoretical_pct"]
    if theoretical is None or theoretical >= FEW_WARPS_PCT or row["more_blocks"] is None:
        return cure
    give = [f"{count(row['more_registers'])} registers a thread"] if row["more_registers"] else []
    give += [f"{quantity(row['more_shared'], 'B')} of shared memory"] if row["more_shared"] else []
    if not give:
        return cure
    gain = f"{digits(theoretical)} → {digits(row['more_pct'])} %"
    return f"{cure}; or {' and '.join(give)} less for one more block an SM ({gain})"


def _sharing(part: Row) -> str:
    conflicts = sum(part[f"shared_{way}_conflicts"] or 0 for way in ("load", "store"))
    fronts = sum(part[f"shared_{way}_wavefronts"] or 0 for way in ("load", "store"))
    if fronts and conflicts / fronts >= CONFLICTS:
        return f"pad or swizzle: {percent(conflicts / fronts)} of wavefronts are bank conflicts"
    return "more reuse in registers: larger tiles a warp"
