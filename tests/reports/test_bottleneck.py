# The multiplication sign is what pages show.
# ruff: noqa: RUF001
"""What limits a variant: rows just below and just above each threshold, and with values missing."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from reports import limits
from reports.bottleneck import Bottleneck, Confidence, diagnose
from reports.evidence import gather
from reports.frames import Row, records
from reports.limits import UNITS, Kind, limit, near, wasted
from reports.steps import NOTHING
from reports.summary import compare
from tests.reports.data import counter_rows, make, timeline_rows

COUNTED = {column: 1.0 for _, column, _ in UNITS} | {
    "sm_throughput_pct": 20.0,
    "memory_throughput_pct": 20.0,
    "duration_ns": 100_000,
    "stall_long_scoreboard_cycles": 8.0,
    "stall_wait_cycles": 2.0,
    "eligible_warps_per_scheduler": 0.25,
    "l2_read_sectors": 30_000.0,
    "l2_write_sectors": 30_000.0,
    "dram_read_bytes": 480_000.0,
    "dram_write_bytes": 480_000.0,
    **{f"global_{way}_sectors": 1000 for way in ("load", "store")},
    **{f"{way}_bytes_per_sector": 32.0 for way in ("load", "store")},
}
"""A launch with every counter there and no unit busy; L2 serves twice the bytes of DRAM."""


@functools.cache
def columns() -> tuple[str, ...]:
    return tuple(gather(make(), compare(make())).columns)


def blank() -> Row:
    return dict.fromkeys(columns())


def counted(**changes: Any) -> Row:
    """A launch of the ncu pass."""
    return blank() | COUNTED | changes


def variant(name: str = "a", **changes: Any) -> Row:
    """A variant of one launch, timed, with a tenth of its time for the timer."""
    of_launch = COUNTED | {k: v for k, v in changes.items() if k in COUNTED}
    row = blank() | {"variant": name, "median_ns": 100_000.0, "slowdown": 1.0, "baseline": False}
    row |= {"triton": False, "floor_ns": 10_000.0, "nsys_busy_ns": 100_000.0, "nsys_idle_share": 0}
    row |= {"launches_nsys": 1, "parts_share": 1.0, "parts_limit": str(limit(counted(**of_launch)))}
    return row | of_launch | {f"part_{k}": v for k, v in of_launch.items()} | changes


def alone(**changes: Any) -> Bottleneck:
    (found,) = diagnose([variant(**changes)])
    return found


@pytest.mark.parametrize(
    ("column", "kind"),
    [(column, kind) for kind, column, _ in UNITS],
)
def test_a_unit_limits_from_60_on(column: str, kind: Kind) -> None:
    assert limit(counted(**{column: 59.9})) is Kind.LATENCY
    assert limit(counted(**{column: 60.0})) is kind
    assert alone(**{column: 79.9}).confidence is Confidence.MEDIUM
    assert alone(**{column: 80.0}).confidence is Confidence.HIGH
    assert alone(**{column: 80.0}).kind is kind


@pytest.mark.parametrize(
    ("tensor", "shared", "kind"),
    [
        (75.0, 65.1, Kind.BALANCED),
        (75.0, 65.0, Kind.BALANCED),
        (75.0, 64.9, Kind.TENSOR),
        (65.0, 75.0, Kind.BALANCED),
        # From 80 % on the limiter is the one that is there.
        (82.0, 79.9, Kind.TENSOR),
        (82.0, 80.0, Kind.BALANCED),
    ],
)
def test_units_that_are_as_busy_are_balanced(tensor: float, shared: float, kind: Kind) -> None:
    row = {"tensor_active_pct": tensor, "shared_throughput_pct": shared}
    assert limit(counted(**row)) is kind


def test_two_pipes_of_one_kind_are_no_balance() -> None:
    row = {"fma_pipe_pct": 75.0, "issue_active_pct": 78.0}
    assert limit(counted(**row)) is Kind.CORES


def test_full_dram_limits_however_busy_the_rest_is() -> None:
    row: dict[str, float] = {"issue_active_pct": 88.0}
    assert limit(counted(**row, dram_throughput_pct=80.0)) is Kind.DRAM
    assert limit(counted(**row, dram_throughput_pct=79.9)) is Kind.CORES


def test_l2_limits_only_where_it_serves_more_than_it_hands_on() -> None:
    row = counted(l2_throughput_pct=90.0)
    assert limit(row) is Kind.L2
    assert limit(row | {"dram_throughput_pct": 60.0}) is Kind.DRAM
    # 60,000 sectors of 32 B are 1.92 MB: twice 0.96 MB.
    assert limit(row | {"dram_read_bytes": 480_001.0}) is Kind.LATENCY
    assert limit(row | {"dram_read_bytes": None}) is Kind.L2


@pytest.mark.parametrize(
    ("used", "kind"),
    [(15.9, Kind.UNCOALESCED), (16.0, Kind.UNCOALESCED), (16.1, Kind.L2)],
)
def test_half_of_the_sectors_must_be_used(used: float, kind: Kind) -> None:
    row = {"load_bytes_per_sector": used, "store_bytes_per_sector": used}
    assert limit(counted(**row, l2_throughput_pct=70.0)) is kind


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"l2_throughput_pct": 59.9}, Kind.LATENCY),
        ({"l2_throughput_pct": 60.0}, Kind.UNCOALESCED),
        # Sectors that L1 serves again and again keep L1 busy.
        ({"memory_throughput_pct": 60.0}, Kind.UNCOALESCED),
        # DRAM moves what is wanted; other units have more to do than to serve the sectors.
        ({"l2_throughput_pct": 90.0, "dram_throughput_pct": 60.0}, Kind.DRAM),
        ({"l2_throughput_pct": 60.0, "tensor_active_pct": 80.0}, Kind.TENSOR),
        # The bytes of TMA are not in the sectors.
        ({"l2_throughput_pct": 70.0, "tma_load_bytes": 64_000}, Kind.UNCOALESCED),
        ({"l2_throughput_pct": 70.0, "tma_load_bytes": 64_001}, Kind.L2),
    ],
)
def test_where_waste_is_the_limit(changes: dict[str, float], kind: Kind) -> None:
    assert limit(
        counted(**{"load_bytes_per_sector": 4, "store_bytes_per_sector": 4} | changes)
    ) is (kind)


def test_sectors_of_which_less_than_a_byte_is_used_were_not_counted() -> None:
    def share(used: float | None) -> float | None:
        each = {"load_bytes_per_sector": used, "store_bytes_per_sector": used}
        return wasted(counted(**each))

    assert share(1.0) == 31 / 32
    assert share(0.99) is share(0) is share(None) is None
    assert wasted(counted(global_load_sectors=0, global_store_sectors=0)) is None
    assert wasted(counted(global_load_sectors=None)) is None


def test_what_was_not_counted_is_not_guessed() -> None:
    pipes = dict.fromkeys((column for _, column, _ in UNITS if "dram" not in column))
    older = counted(**pipes)
    assert limit(older) is Kind.LATENCY
    assert limit(older | {"sm_throughput_pct": 60.0}) is Kind.UNKNOWN
    assert limit(older | {"memory_throughput_pct": 60.0}) is Kind.UNKNOWN
    assert limit(older | {"dram_throughput_pct": 60.0}) is Kind.DRAM
    both = {"dram_throughput_pct": 65.0, "sm_throughput_pct": 70.0}
    assert limit(older | both) is Kind.BALANCED
    assert [name for _, name, _ in near(older | both)] == ["SMs", "DRAM"]
    assert limit(blank()) is Kind.UNKNOWN


def test_missing_counters_lower_the_confidence_where_they_could_show_another_limit() -> None:
    found = alone(issue_active_pct=None, dram_throughput_pct=70.0)
    assert (found.kind, found.confidence, found.unseen) == (Kind.DRAM, Confidence.LOW, ("pipes",))
    assert alone(issue_active_pct=None, dram_throughput_pct=90.0).confidence is Confidence.HIGH
    without = dict.fromkeys(name for name in columns() if name.startswith("part"))
    (bare,) = diagnose([variant() | without | dict.fromkeys(COUNTED)])
    assert (bare.kind, bare.confidence) == (Kind.UNKNOWN, Confidence.LOW)
    assert bare.unseen == ("the ncu pass",)
    assert bare.evidence == ()


def test_what_was_neither_timed_nor_counted_has_no_limit() -> None:
    assert diagnose([blank() | {"variant": "a"}]) == []


@pytest.mark.parametrize(
    ("changes", "kind", "confidence"),
    [
        ({"floor_ns": 39_999.0}, Kind.LATENCY, Confidence.MEDIUM),
        ({"floor_ns": 40_000.0}, Kind.LAUNCH, Confidence.HIGH),
        ({"floor_ns": None}, Kind.LATENCY, Confidence.MEDIUM),
        ({"nsys_idle_share": 0.49, "nsys_busy_ns": 60e3}, Kind.LATENCY, None),
        ({"nsys_idle_share": 0.50, "nsys_busy_ns": 60e3}, Kind.LAUNCH, Confidence.MEDIUM),
        ({"nsys_idle_share": 0.80, "nsys_busy_ns": 60e3}, Kind.LAUNCH, Confidence.HIGH),
        # Kernels fill the time of the time pass: the gaps are the CPU's.
        ({"nsys_idle_share": 0.80, "nsys_busy_ns": 69.9e3}, Kind.LAUNCH, None),
        ({"nsys_idle_share": 0.80, "nsys_busy_ns": 70e3}, Kind.LATENCY, None),
        ({"nsys_idle_share": None}, Kind.LATENCY, Confidence.MEDIUM),
    ],
)
def test_launch_bound(changes: dict[str, Any], kind: Kind, confidence: Confidence | None) -> None:
    found = alone(**changes)
    assert found.kind is kind
    assert confidence is None or found.confidence is confidence


@pytest.mark.parametrize(
    ("equal", "copy", "kind"),
    [
        (0.89, 0.89, Kind.LATENCY),
        (0.90, 0.90, Kind.DRAM),
        # The equal copy itself is at 60 % of a large one, or below.
        (1.00, 0.60, Kind.DRAM),
        (1.00, 0.59, Kind.LATENCY),
        (1.00, None, Kind.LATENCY),
        (None, 0.95, Kind.LATENCY),
    ],
)
def test_as_fast_as_a_copy(equal: float | None, copy: float | None, kind: Kind) -> None:
    assert alone(equal_copy_share=equal, copy_share=copy).kind is kind


def test_a_copy_that_dram_does_not_see_is_a_contradiction() -> None:
    low = alone(equal_copy_share=0.97, copy_share=0.9, dram_throughput_pct=59.9)
    assert (low.kind, low.confidence) == (Kind.DRAM, Confidence.MEDIUM)
    assert low.contradictions == (
        "`a` runs at 97.0 % of an equal copy (time pass), though DRAM is at 59.9 % only "
        "(ncu pass): there, what it writes may stay in L2",
    )
    high = alone(equal_copy_share=0.97, copy_share=0.9, dram_throughput_pct=60.0)
    assert (high.confidence, high.contradictions) == (Confidence.HIGH, ())


@pytest.mark.parametrize(("traced", "said"), [(79e3, True), (81e3, False), (124e3, False)])
def test_passes_that_disagree_on_durations(traced: float, said: bool) -> None:
    found = alone(nsys_busy_ns=traced)
    assert bool(found.contradictions) is said
    assert found.confidence is (Confidence.LOW if said else Confidence.MEDIUM)


def test_half_of_the_kernel_time_decides() -> None:
    mixed = {"dram_throughput_pct": 70.0, "parts_limit": "CUDA-core-bound"}
    assert alone(**mixed, parts_share=0.5).kind is Kind.CORES
    rest = alone(**mixed, parts_share=0.49)
    assert (rest.kind, rest.confidence) == (Kind.DRAM, Confidence.MEDIUM)
    below = mixed | {"parts_limit": "latency-bound", "part_dram_throughput_pct": 59.0}
    assert alone(**below, parts_share=0.9).kind is Kind.DRAM


def said(found: Bottleneck) -> list[str]:
    return [f"{fact} ({fact.source})" for fact in found.evidence]


def test_evidence() -> None:
    moving = alone(dram_throughput_pct=85.0, equal_copy_share=0.2, amplification=3.9)
    assert said(moving) == [
        "DRAM 85.0 % (ncu)",
        "of equal copy 20.0 % (time)",
        "moved over fewest 3.90× (ncu)",
    ]
    assert said(alone(tensor_active_pct=85.0, measured_share=0.9)) == [
        "tensor pipe 85.0 % (ncu)",
        "of measured roof 90.0 % (time)",
    ]
    waiting = alone(wave_efficiency=0.25, wave_blocks=33, wave_sms=132)
    assert said(waiting)[1:] == [
        "long scoreboard stalls 80.0 % (ncu)",
        "eligible warps 0.250 a scheduler (ncu)",
        "SMs without a block 75.0 % (ncu)",
    ]
    tail = alone(wave_efficiency=0.79, wave_blocks=160, wave_sms=148)
    assert said(tail)[-1] == "lost to the last wave 21.0 % (ncu)"
    assert "last wave" not in said(alone(wave_efficiency=0.81))[-1]
    assert said(alone(floor_ns=50e3)) == ["empty timer 50.0 % (time)"]


def step_of(**changes: Any) -> str:
    (step,) = alone(**changes).next_steps
    return step


@pytest.mark.parametrize(
    ("changes", "step"),
    [
        ({"dram_throughput_pct": 90, "amplification": 1.11}, "another algorithm: it moves 1.11×"),
        ({"dram_throughput_pct": 90, "amplification": 1.10}, "little left"),
        ({"dram_throughput_pct": 70}, "more bytes in flight"),
        ({"dram_throughput_pct": 70, "equal_copy_share": 0.9}, NOTHING),
        ({"tensor_active_pct": 90, "intense": True, "measured_share": 0.9}, NOTHING),
        ({"tensor_active_pct": 90, "intense": True, "measured_share": 0.89}, "larger tiles"),
        (
            {"tensor_active_pct": 90, "intense": True, "parts_share": 0.9},
            "shorten the other launches: 10.0 %",
        ),
        ({"wave_blocks": 131, "wave_sms": 132}, "more blocks: 131 for 132 SMs"),
        ({"wave_blocks": 132, "wave_sms": 132}, "more bytes in flight"),
        ({"stall_wait_cycles": 9.0}, "more independent instructions a warp"),
        ({"floor_ns": 50e3}, "fewer launches"),
        ({"shared_throughput_pct": 90}, "more reuse in registers"),
    ],
)
def test_what_is_left_for_the_fastest(changes: dict[str, Any], step: str) -> None:
    assert step_of(**changes).startswith(step)


def test_bank_conflicts_are_named_from_a_tenth_on() -> None:
    part = {"part_shared_load_conflicts": 10, "part_shared_load_wavefronts": 100}
    assert step_of(shared_throughput_pct=90, **part).startswith("pad or swizzle: 10.0 %")
    fewer = part | {"part_shared_load_conflicts": 9}
    assert step_of(shared_throughput_pct=90, **fewer).startswith("more reuse")


def test_low_occupancy_is_a_problem_only_of_latency() -> None:
    few: dict[str, Any] = {"occupancy_theoretical_pct": 18.75, "more_blocks": 4, "more_pct": 25.0}
    few |= {"more_registers": 32, "more_shared": 0}
    assert step_of(**few) == (
        "more bytes in flight: wider or more independent loads; or 32 registers a thread less for "
        "one more block an SM (18.8 → 25.0 %)"
    )
    assert "registers" not in step_of(**few | {"occupancy_theoretical_pct": 50.0})
    assert "registers" not in step_of(**few | {"dram_throughput_pct": 85.0})


def test_faster_variants_come_in_order_of_effort_and_must_be_worth_it() -> None:
    rows = [
        variant("naive", baseline=True, slowdown=10.0),
        variant("builtin", slowdown=2.0),
        variant("compiled", slowdown=1.99),
        variant("triton", slowdown=1.0, triton=True),
    ]
    naive, builtin, compiled, triton = (found.next_steps for found in diagnose(rows))
    assert naive == ("`builtin` (library): 5.00×", "`triton` (Triton): 10.0×")
    assert builtin == ("`triton` (Triton): 2.00×",)
    assert compiled == ("`triton` (Triton): 1.99×",)
    assert triton[0].startswith("more bytes in flight")


def test_the_limits_of_launches_reach_the_variant() -> None:
    """Naive GeLU's nine launches at 88 % of DRAM: the fewest bytes ten times."""
    frames = make()
    rows = records(gather(frames, compare(frames)))
    naive = next(found for found in diagnose(rows) if found.variant == "naive")
    assert (naive.kind, naive.confidence) == (Kind.DRAM, Confidence.HIGH)
    assert "moved over fewest 10.6×" in map(str, naive.evidence)
    assert naive.next_steps[0].startswith("`builtin` (library): 10.")
    assert set(naive.unseen) == {"pipes", "L2", "shared memory", "stalls"}


def test_without_counters_or_timeline_rows_are_kept() -> None:
    frames = make(counters=[], timeline=[], ceilings=[], runs=[], builds=[])
    rows = records(gather(frames, compare(frames)))
    assert [found.kind for found in diagnose(rows)] == [Kind.UNKNOWN] * 4
    assert rows[0].keys() == set(columns())
    assert (
        gather(make(counters=counter_rows()[:1], timeline=timeline_rows()[:1]), compare(make()))[
            "parts_limit"
        ].count()
        == 1
    )


def test_kinds_of_launches_are_strings_of_their_index() -> None:
    counters = make().counters.set_index(make().counters.index + 7)
    kinds = limits.of_launches(counters)
    assert kinds.index.equals(counters.index)
    assert set(kinds) == {"DRAM-bound"}
