from __future__ import annotations

from typing import Any

import pytest

from reports.frames import Frames, records
from reports.launches import launch_table
from reports.status import statuses
from reports.summary import COLUMNS, compare
from tests.reports.data import (
    CASE,
    SIZE,
    build_rows,
    check_rows,
    counter_rows,
    empty,
    key,
    launch,
    make,
    sample_rows,
    timeline_rows,
)


def by_variant(frames: Frames) -> dict[str, dict[str, Any]]:
    return {row["variant"]: row for row in records(compare(frames))}


def test_gelu() -> None:
    rows = by_variant(make())
    naive, triton = rows["naive"], rows["triton"]
    assert list(rows) == ["naive", "builtin", "compiled", "triton"]
    assert triton["speedup"] == pytest.approx(10.7, rel=0.01)
    assert triton["speedup_low"] < triton["speedup"] < triton["speedup_high"]
    assert naive["launches"] == naive["launches_nsys"] == 9
    assert naive["amplification"] == pytest.approx(10.59, abs=0.01)
    assert triton["amplification"] == pytest.approx(0.9545, abs=0.001)
    assert triton["useful_bytes_per_s"] == pytest.approx(2 * SIZE / triton["median_ns"] * 1e9)
    assert triton["copy_share"] == pytest.approx(0.968, abs=0.003)
    assert triton["load_sectors_per_request"] == 16
    assert (triton["build_spills"], naive["build_spills"]) == (0, None)
    assert naive["notes"] is None
    assert naive["idle_share_nsys"] == pytest.approx(0.011, abs=0.003)


def test_everything_missing_is_missing_not_zero() -> None:
    rows = by_variant(make(samples=[], counters=[], timeline=[], ceilings=[], builds=[], runs=[]))
    row = rows["triton"]
    given = {"operator", "variant", "case", "baseline", "status", "reason", "samples"}
    given |= {"min_bytes", "min_write_bytes", "flops", "intense"}
    assert {name for name, value in row.items() if value is not None} == given
    assert (row["samples"], row["status"]) == (0, "not measured")


def test_all_frames_empty() -> None:
    assert list(compare(empty()).columns) == list(COLUMNS)
    assert compare(empty()).empty


def test_passes_that_contradict_each_other_are_reported() -> None:
    rows = by_variant(make(counters=counter_rows()[1:]))
    assert rows["naive"]["notes"] == (
        "the passes contradict each other: ncu counted 8 launches, nsys 9"
    )
    uneven = [r for r in timeline_rows() if (r["repeat"], r["launch"]) != (1, 8)]
    notes = by_variant(make(timeline=uneven))["naive"]["notes"]
    assert notes == "nsys saw 8 or 9 launches, depending on the repeat"


def test_a_wrong_variant_has_no_ratio_even_with_samples() -> None:
    checks = check_rows()
    wrong = {"status": "wrong", "wrong_elements": 12, "max_abs_error": 0.3, "tolerance_share": 400}
    checks[3] |= wrong
    row = by_variant(make(checks=checks))["triton"]
    assert row["status"] == "wrong"
    assert row["reason"] == (
        "12 of 67,108,864 elements outside the tolerance, largest error 0.300, "
        "at most 400 times the tolerance"
    )
    assert row["speedup"] is None
    assert row["slowdown"] is None


def test_a_wrong_baseline_gives_no_speedup() -> None:
    checks = check_rows()
    checks[0] |= {"status": "wrong"}
    rows = by_variant(make(checks=checks))
    assert rows["triton"]["speedup"] is None
    assert rows["triton"]["slowdown"] is not None


@pytest.mark.parametrize(
    ("outcome", "word", "reason"),
    [
        (("check", "failed", "out of memory"), "failed", "the check failed: out of memory"),
        (("time", "failed", "boom"), "failed", "the time pass failed: boom"),
        (("time", "skipped", None), "not measured", "the time pass was skipped: no reason"),
        (("check", "wrong", "a|b"), "wrong", r"a\|b"),
        (("check", "unsupported", "no float32"), "unsupported", "no float32"),
        (("time", "unsupported", "no float32"), "unsupported", "no float32"),
        (("ncu", "failed", "no counters"), "not measured", "it has no samples"),
    ],
)
def test_status_from_outcomes(outcome: tuple[str, str, str | None], word: str, reason: str) -> None:
    name, status, why = outcome
    row = key("triton") | {"pass": name, "status": status, "reason": why}
    frames = make(outcomes=[row], checks=[], samples=[])
    found = statuses(frames)["triton", CASE]
    assert (found.word, found.ranked) == (word, False)
    assert str(found.reason).startswith(reason)
    assert bool(found.notes) == (name == "ncu")


def test_without_a_check_a_variant_is_unchecked() -> None:
    found = statuses(make(checks=[], outcomes=[]))["triton", CASE]
    assert (found.word, found.ranked) == ("unchecked", True)


def test_variants_that_nobody_declared_are_listed_last() -> None:
    extra = sample_rows({"naive": 1e6, "new": 1e5})
    assert list(by_variant(make(samples=extra)))[-1] == "new"


def test_build_spills_are_those_of_this_gpu() -> None:
    builds = build_rows()
    builds[0] |= {"spill_loads": 7}
    builds[1] |= {"spill_loads": 3, "spill_stores": 2}
    assert by_variant(make(builds=builds))["triton"]["build_spills"] == 5


@pytest.mark.parametrize(("flops_a_byte", "intense"), [(15.9, False), (16, True), (200, True)])
def test_intense_cases_are_measured_by_flops(flops_a_byte: float, *, intense: bool) -> None:
    frames = make(samples=[key("triton") | {"round": 0, "duration_ns": 1e6}], timeline=[])
    frames.cases["flops"] = int(flops_a_byte * 2 * SIZE)
    row = by_variant(frames)["triton"]
    assert row["intense"] is intense
    assert row["flops_per_s"] == pytest.approx(flops_a_byte * 2 * SIZE * 1e3)
    assert (row["copy_share"] is None) == intense
    assert row["useful_bytes_per_s"] == 2 * SIZE * 1e3


def test_tensor_flops_are_those_of_all_sources() -> None:
    kinds = {"tensor_fp16_flops": 1, "tensor_bf16_flops": 20, "tensor_tf32_flops": 300}
    used = {"tensor_instructions": 7, "tensor_active_pct": 60.0}
    counters = [launch("triton", 0) | kinds | used]
    row = by_variant(make(samples=[], timeline=[], counters=counters))["triton"]
    assert (row["tensor_flops"], row["tensor_instructions"]) == (321, 7)
    assert row["tensor_active_pct"] == 60
    counters[0]["tensor_tf32_flops"] = None
    row = by_variant(make(samples=[], timeline=[], counters=counters))["triton"]
    assert row["tensor_flops"] is None


def test_launch_table() -> None:
    frames = make()
    rows = records(launch_table(frames.counters, frames.timeline))
    naive = [row for row in rows if row["variant"] == "naive"]
    assert [row["launch"] for row in naive] == list(range(9))
    assert naive[0]["ncu_ns"] == 125_000
    assert naive[0]["nsys_ns"] == 127_001
    assert naive[0]["nsys_spread"] == pytest.approx(1 / 127_001)
    assert naive[0]["name"] == "vectorized_elementwise_kernel"
    assert sum(row["share"] for row in naive) == pytest.approx(1)
    assert {row["share_pass"] for row in rows} == {"nsys"}


def test_launch_table_keeps_both_sides_of_a_contradiction() -> None:
    counters = counter_rows()
    counters[0] |= {"kernel": "other"}
    frames = make(counters=counters)
    rows = records(launch_table(frames.counters, frames.timeline))
    first = [r for r in rows if (r["variant"], r["launch"]) == ("naive", 0)]
    assert sorted((r["kernel"], r["ncu_ns"], r["nsys_ns"]) for r in first) == [
        ("other", 125_000, None),
        ("vectorized_elementwise_kernel", None, 127_001),
    ]


def test_launch_table_from_one_pass_alone() -> None:
    frames = make(timeline=[])
    rows = records(launch_table(frames.counters, frames.timeline))
    assert {row["share_pass"] for row in rows} == {"ncu"}
    frames = make(counters=[])
    rows = records(launch_table(frames.counters, frames.timeline))
    assert {row["share_pass"] for row in rows} == {"nsys"}
    frames = make(counters=[], timeline=[])
    assert launch_table(frames.counters, frames.timeline).empty
