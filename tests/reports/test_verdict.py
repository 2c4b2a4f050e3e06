# The multiplication sign is what pages show.
# ruff: noqa: RUF001
"""A worked example at each branch of the verdict."""

from __future__ import annotations

from typing import Any

import pytest

from reports import explain
from reports.bottleneck import diagnose
from reports.evidence import gather
from reports.frames import records
from reports.summary import COLUMNS, compare
from reports.verdict import Verdict, judge
from tests.reports.data import (
    CASE,
    MEDIANS,
    check_rows,
    counter_rows,
    key,
    launch,
    make,
    sample_rows,
)

L2 = 62_914_560


def row(variant: str, median_ns: float, **changes: Any) -> dict[str, Any]:
    """A row of the comparison frame: ranked, with everything else missing."""
    blank: dict[str, Any] = dict.fromkeys(COLUMNS)
    given = {"variant": variant, "median_ns": median_ns, "status": "ok", "samples": 100}
    return blank | given | changes


def pair(slow: dict[str, Any], fast: dict[str, Any], ratio: float) -> str:
    times = {"median_ns": 100.0 * ratio}, {"median_ns": 100.0}
    return " ".join(
        explain.difference(row("slow", 0) | slow | times[0], row("fast", 0) | fast | times[1])
    )


def counted(dram: float, **changes: Any) -> dict[str, Any]:
    return {"dram_bytes": dram, "amplification": dram / 1e9, "launches": 1} | changes


def verdict(**changes: Any) -> Verdict:
    frames = make(**changes)
    rows = records(compare(frames))
    return judge(CASE, rows, L2, diagnose(records(gather(frames, compare(frames)))))


def test_gelu() -> None:
    found = verdict()
    assert set(found.fastest) == {"builtin", "compiled", "triton"}
    assert "are fastest**, level with each other: 130." in found.headline
    assert "as fast as the baseline `naive` (1.393 ms) (time pass)." in found.headline
    text = " ".join(found.reasons)
    assert "the time falls 10.7× (time pass), the DRAM bytes fall 11.1× (5.69 → 0.512 GB" in text
    assert "10.6× → 0.955× of the fewest; ncu pass), launches 9 → 1." in text
    assert (
        "`naive` is bound by the bytes that it moves through DRAM, which its launches keep" in text
    )
    assert "Coalescing is no difference" in text
    (doubt,) = found.doubts
    assert "not distinguishable" in doubt
    assert "less than 1 % apart" in doubt


def test_one_variant_is_fastest() -> None:
    found = verdict(samples=sample_rows(MEDIANS | {"triton": 99e3}))
    assert found.fastest == ("triton",)
    assert found.headline.startswith("**`triton` is fastest**: 98.93 µs [98.")
    assert found.doubts == ()


def test_all_are_alike() -> None:
    found = verdict(samples=sample_rows(dict.fromkeys(MEDIANS, 100e3)))
    assert len(found.fastest) == 4
    assert "each other**" in found.headline


def test_the_baseline_is_fastest() -> None:
    found = verdict(samples=sample_rows({"naive": 1e5, "builtin": 2e5}))
    assert found.fastest == ("naive",)
    assert "the baseline `naive` is among them, and `builtin`, the next, takes 2.00× as long" in (
        found.headline
    )
    assert found.reasons[1].startswith("`builtin` → `naive`: the time falls 2.00×")


def test_one_variant_alone() -> None:
    found = verdict(samples=sample_rows({"naive": 1e5}))
    assert "alone is ranked" in found.headline
    assert any("`triton` is **not measured**" in doubt for doubt in found.doubts)


def test_nothing_ranked() -> None:
    found = verdict(samples=[])
    assert (found.best, found.fastest, found.headline) == (None, (), "Nothing is ranked.")
    assert len(found.doubts) == 4


def test_wrong_and_failed_variants_are_named_and_never_ranked() -> None:
    checks = check_rows()
    checks[3] |= {"status": "wrong", "wrong_elements": 12, "max_abs_error": 0.3}
    checks[3] |= {"tolerance_share": 400.0}
    failed = {"pass": "time", "status": "failed", "reason": "out of `memory`"}
    outcomes = [key("compiled") | failed]
    samples = sample_rows(MEDIANS | {"triton": 10.0})
    found = verdict(checks=checks, outcomes=outcomes, samples=samples)
    assert found.fastest == ("builtin",)
    assert found.doubts == (
        "`compiled` has **failed**: the time pass failed: out of \\`memory\\`. It is not ranked.",
        "`triton` is **wrong**: 12 of 67,108,864 elements outside the tolerance, "
        "largest error 0.300, at most 400 times the tolerance. It is not ranked.",
    )


def test_what_a_variant_does_not_take_is_said_and_not_ranked() -> None:
    checks = check_rows()
    checks[3] = key("triton") | {"status": "unsupported", "reason": "float32 needs CC 9.0"}
    skipped = {"pass": "time", "status": "unsupported", "reason": "the check: unsupported"}
    samples = sample_rows(MEDIANS | {"triton": 10.0})
    found = verdict(checks=checks, outcomes=[key("triton") | skipped], samples=samples)
    assert "triton" not in found.fastest
    assert "`triton` does not take this case: float32 needs CC 9.0." in found.doubts
    assert not [doubt for doubt in found.doubts if "`triton` is" in doubt]


def test_a_wrong_baseline_is_said() -> None:
    checks = check_rows()
    checks[0] |= {"status": "wrong"}
    assert "no speed-up is given" in verdict(checks=checks).headline


def test_unchecked_variants_are_said() -> None:
    assert "`naive` is unchecked" in verdict(checks=[], outcomes=[]).doubts[0]


def test_a_wide_spread_is_doubtful() -> None:
    samples = sample_rows()
    for sample in samples[:60]:
        sample["duration_ns"] *= 1.2
    assert any("`naive` is doubtful: half of its" in d for d in verdict(samples=samples).doubts)


def test_few_samples_are_said() -> None:
    doubts = verdict(samples=sample_rows(rounds=3)).doubts
    assert any("`triton` has 3 samples; fewer than 6 give no interval" in d for d in doubts)


def test_without_counters_why_is_not_explained() -> None:
    found = verdict(counters=[])
    assert found.reasons[2].startswith("Why is not explained: the ncu pass has no DRAM bytes")


def test_the_limits_of_the_fastest_and_the_baseline_come_first() -> None:
    first, second, *_ = verdict().reasons
    assert first == (
        "`compiled` is **DRAM-bound** (high confidence): DRAM 88.0 % (ncu). Next: little left: "
        "DRAM is full, of hardly more than the fewest bytes."
    )
    assert second.startswith(
        "`naive` is **DRAM-bound** (high confidence): DRAM 88.0 %, moved over fewest 10.6× (ncu)"
    )


def test_contradicting_passes_are_said() -> None:
    assert any("contradict" in d for d in verdict(counters=counter_rows()[1:]).doubts)


def test_time_follows_bytes() -> None:
    slow = counted(4e9, dram_throughput_pct=88.0)
    assert "The time follows the bytes" in pair(slow, counted(1e9), 4)
    assert "is not known" in pair(counted(4e9), counted(1e9), 4)


def test_bytes_and_time_agree_but_dram_is_idle() -> None:
    slow = counted(4e9, dram_throughput_pct=20.0)
    assert "this contradicts a bound by bytes" in pair(slow, counted(1e9), 4)


def test_bytes_fall_more_than_time() -> None:
    assert "Bytes fall more than time" in pair(counted(9e9), counted(1e9), 2)


def test_neither_differs() -> None:
    assert "Neither differs by much" in pair(counted(1e9), counted(1e9), 1.04)


def test_bytes_must_account_for_half_of_a_small_difference() -> None:
    slow = counted(1.01e9, sm_throughput_pct=72.0)
    text = pair(slow, counted(1e9, sm_throughput_pct=68.0), 1.14)
    assert "Bytes alone do not explain" in text
    assert "its SMs are at 72.0 % of peak, against 68.0 %" in text


def test_no_dram_bytes() -> None:
    assert "bytes explain nothing" in pair(counted(0), counted(1e9), 2)


@pytest.mark.parametrize(
    ("evidence", "said"),
    [
        ({}, "Nothing else measured here tells `slow` apart."),
        ({"idle_share_nsys": 0.4}, "no kernel runs for 40 % of its range (nsys pass)"),
        ({"load_bytes_per_sector": 4.0}, "it uses 4.0 bytes of each 32-byte sector loaded"),
        ({"store_bytes_per_sector": 8.0}, "it uses 8.0 bytes of each 32-byte sector stored"),
        ({"local_instructions": 5000}, "it runs 5,000 local-memory instructions (ncu pass)"),
        ({"sm_throughput_pct": 90.0}, "its SMs are at 90.0 % of peak (ncu"),
    ],
)
def test_bytes_alone_do_not_explain(evidence: dict[str, Any], said: str) -> None:
    text = pair(counted(1e9, **evidence), counted(1e9), 3)
    assert "the DRAM bytes stay the same" in text
    assert "Bytes alone do not explain the time." in text
    assert said in text


def test_bytes_that_grow_are_said() -> None:
    assert "the DRAM bytes grow 2.00×" in pair(counted(1e9), counted(2e9), 3)


@pytest.mark.parametrize(
    ("evidence", "said"),
    [
        ({}, False),
        ({"copy_share": 1.05}, False),
        ({"copy_share": 1.06}, True),
        ({"copy_share": 1.06, "equal_copy_share": 1.0}, False),
        ({"copy_share": 1.06, "intense": True}, False),
    ],
)
def test_more_than_dram_can_give_stays_in_l2(evidence: dict[str, Any], said: bool) -> None:
    text = explain.beyond_copy(row("a", 1.0, min_bytes=1e8, **evidence), L2)
    assert (text is not None) is said
    assert text is None or text.endswith("part of its bytes stays in L2, which holds 62.9 MB.")


@pytest.mark.parametrize("share", [0.97, 1.3])
@pytest.mark.parametrize("which", ["equal_copy_share", "copy_share"])
def test_reading_alone_can_beat_a_copy(which: str, share: float) -> None:
    reads: dict[str, Any] = {"min_bytes": 1e9, "min_write_bytes": 1e6, which: share}
    assert explain.beyond_copy(row("a", 1.0, **reads), L2) == (
        "Of the 1.00 GB that `a` must move, 99.9 % are read (model), of a copy's half: reading "
        "alone can be faster than a copy, so 100 % is no limit here."
    )
    assert explain.beyond_copy(row("a", 1.0, **reads | {which: 0.5}), L2) is None


def intense(**changes: Any) -> dict[str, Any]:
    return counted(1e9, intense=True, flops=1.37e11, flops_per_s=5.12e14) | changes


def tensor(instructions: float, flops: float | None, active: float) -> dict[str, Any]:
    return intense(tensor_instructions=instructions, tensor_flops=flops, tensor_active_pct=active)


@pytest.mark.parametrize(
    ("slow", "fast", "said"),
    [
        (
            tensor(0, 0, 0),
            tensor(4096, 1.37e11, 71),
            " Executed tensor instructions go 0 → 4,096 (0 → 137 GFLOP), the tensor pipe's "
            "activity 0 → 71.0 % of peak (ncu pass): only `fast` uses that pipe.",
        ),
        (
            tensor(4096, 1.37e11, 24),
            tensor(4096, 1.37e11, 71),
            " Executed tensor instructions go 4,096 → 4,096 (137 → 137 GFLOP), the tensor pipe's "
            "activity 24.0 → 71.0 % of peak (ncu pass): the same tensor FLOPs at another rate, "
            "which does not say why.",
        ),
        (
            tensor(8192, None, 71),
            tensor(4096, None, 71),
            " Executed tensor instructions go 8,192 → 4,096 (their FLOPs are not known), the "
            "tensor pipe's activity 71.0 → 71.0 % of peak (ncu pass).",
        ),
        (tensor(0, 0, 0), tensor(0, 0, 0), " Neither executes tensor instructions (ncu pass)."),
        (
            intense(),
            tensor(4096, 1.37e11, 71),
            " What the tensor pipe did is not known: the ncu pass lacks counters of it.",
        ),
    ],
)
def test_the_tensor_pipe_where_bytes_do_not_explain(
    slow: dict[str, Any], fast: dict[str, Any], said: str
) -> None:
    text = pair(slow, fast, 3)
    assert text.endswith(f"Bytes alone do not explain the time.{said}")
    # Nothing is said of it where a case is not intense, or where bytes do explain the time.
    assert "ensor" not in pair(slow | {"intense": False}, fast, 3)
    bytes_explain = {"dram_bytes": 3e9, "dram_throughput_pct": 88.0}
    assert "ensor" not in pair(slow | bytes_explain, fast, 3)


def test_coalescing() -> None:
    full = row("a", 1.0, load_bytes_per_sector=32.0)
    part = row("b", 1.0, load_bytes_per_sector=4.0, store_bytes_per_sector=32.0)
    tma = row("c", 1.0, load_bytes_per_sector=0.0)
    assert explain.coalescing([tma]) is None
    assert explain.coalescing([part | {"tma_share": 0.5}]) is None
    assert explain.coalescing([part | {"tma_share": 0.49}]) is not None
    assert explain.coalescing([full]) == "`a` uses its 32-byte sectors in full (ncu pass)."
    assert "`b` uses 4.0 bytes of a sector loaded." in str(explain.coalescing([full, part, tma]))


def test_uncoalesced_gelu() -> None:
    counters = counter_rows()
    counters[-1] = launch("triton", 0, load_bytes_per_sector=4.0)
    text = " ".join(verdict(counters=counters).reasons)
    assert "in part (ncu pass): `triton` uses 4.0 bytes of a sector loaded" in text
