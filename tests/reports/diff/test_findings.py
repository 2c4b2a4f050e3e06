"""Verdicts of a diff: at each boundary, with pieces missing, and where nothing changed at all."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from reports.diff.comparable import differences, other_inputs
from reports.diff.counters import BUILDS, COUNTERS
from reports.diff.findings import DRIFT, ORDER, Compared, Finding, Verdict, compare
from reports.diff.page import NOTHING, REGRESSION, UNDECIDABLE, outcome
from reports.diff.times import SESSIONS, Noise
from reports.frames import Frames
from tests.reports.data import (
    CASE,
    MEDIANS,
    all_rows,
    build_rows,
    check_rows,
    counter_rows,
    empty,
    key,
    launch,
    make,
    run_rows,
    sample_rows,
)

OTHER_SOURCE = [row | {"source_sha256": "77" * 32} for row in run_rows()]


def timed(**factors: float) -> list[dict[str, Any]]:
    return sample_rows({name: value * factors.get(name, 1) for name, value in MEDIANS.items()})


def one(base: Frames, head: Frames, variant: str = "triton") -> Finding:
    (found,) = [f for f in compare(base, head, SESSIONS).findings if f.variant == variant]
    return found


def changed(**changes: Any) -> Frames:
    """The head, whose source is another one."""
    return make(**({"runs": OTHER_SOURCE} | changes))


def test_a_revision_against_itself_is_the_same() -> None:
    compared = compare(make(), make(), SESSIONS)
    assert [f.verdict for f in compared.findings] == [Verdict.SAME] * 4
    assert not compared.differences
    assert not any(f.causes for f in compared.findings)
    assert outcome([compared]) == NOTHING


@pytest.mark.parametrize(
    ("factor", "verdict"),
    [
        (1.0, Verdict.SAME),
        (1.03, Verdict.SAME),
        (1.2, Verdict.SLOWER),
        (0.97, Verdict.SAME),
        (0.8, Verdict.FASTER),
    ],
)
def test_a_time_changed_where_its_interval_is_beyond_the_noise(
    factor: float, verdict: Verdict
) -> None:
    found = one(make(), changed(samples=timed(triton=factor)))
    assert found.verdict is verdict
    assert found.timed is not None
    assert found.timed.ratio is not None
    assert found.timed.ratio.value == pytest.approx(factor, rel=0.005)


def test_an_interval_across_the_noise_is_undecided() -> None:
    random, median = np.random.default_rng(1), MEDIANS["triton"]
    rows = [
        key("triton") | {"round": i, "duration_ns": median * random.normal(1, 0.03)}
        for i in range(40)
    ]
    found = []
    for factor in 1 + SESSIONS.of(median) + np.linspace(-0.03, 0.03, 13):
        head = [row | {"duration_ns": row["duration_ns"] * factor} for row in reversed(rows)]
        moved = [row | {"round": i} for i, row in enumerate(head)]
        found.append(one(make(samples=rows), changed(samples=moved)).verdict)
    assert list(dict.fromkeys(found)) == [Verdict.SAME, Verdict.UNDECIDED, Verdict.SLOWER]


def test_short_times_are_noisier() -> None:
    assert SESSIONS.of(10_000) == pytest.approx(0.04 + 0.25)
    short = sample_rows(dict.fromkeys(MEDIANS, 10_000.0))
    longer = sample_rows(dict.fromkeys(MEDIANS, 10_000.0) | {"triton": 12_000.0})
    assert one(make(samples=short), changed(samples=longer)).verdict is Verdict.SAME


def test_what_runs_the_same_code_shows_the_drift() -> None:
    """All of a case moved: none is called slower, the changed one neither."""
    head = changed(samples=timed(**dict.fromkeys(MEDIANS, 1.15)))
    compared = compare(make(), head, SESSIONS)
    verdicts = {f.variant: (f.verdict, f.reason) for f in compared.findings}
    assert verdicts["naive"] == verdicts["builtin"] == (Verdict.UNDECIDED, DRIFT)
    assert verdicts["triton"][0] is Verdict.UNDECIDED
    assert outcome([compared]) == UNDECIDABLE


def test_beyond_the_drift_a_time_changed() -> None:
    factors = dict.fromkeys(MEDIANS, 1.05) | {"triton": 1.3}
    found = one(make(), changed(samples=timed(**factors)))
    assert found.verdict is Verdict.SLOWER
    assert found.timed is not None
    assert found.timed.noise > 0.049


def test_of_one_source_all_variants_show_drift() -> None:
    assert one(make(), make(samples=timed(triton=1.3))).verdict is Verdict.UNDECIDED


def test_few_samples_decide_nothing() -> None:
    few = sample_rows({"triton": MEDIANS["triton"] * 2}, rounds=5)
    rest = [row for row in sample_rows() if row["variant"] != "triton"]
    assert one(make(), changed(samples=rest + few)).verdict is Verdict.UNDECIDED


def test_causes_stand_in_order() -> None:
    others = [row for row in counter_rows() if row["variant"] != "triton"]
    spilled = launch(
        "triton",
        0,
        registers_per_thread=64,
        occupancy_theoretical_pct=50.0,
        local_load_instructions=96,
        global_load_requests=4 * launch("triton", 0)["global_load_requests"],
    )
    builds = [row | {"load_bits": 32, "registers_per_thread": 64} for row in build_rows()]
    head = changed(samples=timed(triton=1.5), counters=[*others, spilled], builds=builds)
    found = one(make(), head)
    assert found.verdict is Verdict.SLOWER
    assert [str(cause) for cause in found.causes] == [
        "local-memory instructions 0 → 96",
        "load width 128 bit → 32 bit",
        "load requests 524,288 → 2,097,152",
        "theoretical occupancy 100 % → 50 %",
        "registers 30 → 64",
    ]
    assert [cause.worse for cause in found.causes] == [True, True, True, True, None]


def test_lost_fusion_is_named_first() -> None:
    others = [row for row in counter_rows() if row["variant"] != "triton"]
    two = [launch("triton", i, kernel=name, registers_per_thread=30) for i, name in enumerate("ab")]
    found = one(make(), changed(samples=timed(triton=2.0), counters=[*others, *two]))
    assert [cause.name for cause in found.causes[:2]] == ["kernels", "launches"]
    assert (found.causes[0].base, found.causes[0].head) == ("vectorized_elementwise_kernel", "a, b")


def test_counters_decide_where_time_does_not() -> None:
    builds = [row | {"spill_loads": 12} for row in build_rows()]
    few = sample_rows(rounds=5)
    found = one(make(samples=few), changed(samples=few, builds=builds))
    assert found.verdict is Verdict.COSTLIER
    better = [row | {"spill_loads": 12, "load_bits": 256} for row in build_rows()]
    assert one(make(samples=few), changed(samples=few, builds=better)).verdict is Verdict.UNDECIDED


def test_worse_counters_are_told_where_the_time_is_the_same() -> None:
    builds = [row | {"spill_loads": 12} for row in build_rows()]
    found = one(make(), changed(builds=builds))
    assert found.verdict is Verdict.SAME
    assert [str(cause) for cause in found.causes] == ["spill loads 0 → 12"]


def test_builds_for_other_gpus_explain_nothing() -> None:
    builds = [row | {"spill_loads": 12 * (row["arch"] != "sm_90")} for row in build_rows()]
    assert one(make(), changed(builds=builds)).causes == ()


def test_nothing_that_tells_why_is_said() -> None:
    found = one(make(), changed(samples=timed(triton=1.2)))
    assert found.reason == "no counter and no build tells why"


@pytest.mark.parametrize(
    ("base", "head", "verdict"),
    [
        ("ok", "wrong", Verdict.BROKEN),
        ("ok", "failed", Verdict.BROKEN),
        ("wrong", "ok", Verdict.MENDED),
        ("wrong", "wrong", Verdict.REFUSED),
        ("unsupported", "unsupported", Verdict.SAME),
        ("ok", "unsupported", Verdict.BROKEN),
    ],
)
def test_wrong_results_are_never_faster(base: str, head: str, verdict: Verdict) -> None:
    def with_status(status: str) -> Frames:
        rows = [
            row | ({"status": status} if row["variant"] == "triton" else {}) for row in check_rows()
        ]
        return changed(checks=rows, samples=timed(triton=0.5))

    found = one(with_status(base), with_status(head))
    assert found.verdict is verdict


def test_what_was_not_measured_is_never_faster() -> None:
    rest = [row for row in sample_rows() if row["variant"] != "triton"]
    found = one(make(), changed(samples=rest))
    assert found.verdict is Verdict.REFUSED
    assert found.reason == "not measured: it has no samples"
    assert one(make(), changed(samples=[])).verdict is Verdict.REFUSED


@pytest.mark.parametrize("column", ["gpu", "driver", "clock_policy", "torch", "triton", "cuda"])
def test_what_was_measured_otherwise_is_refused(column: str) -> None:
    runs = [row | {column: "another"} for row in OTHER_SOURCE]
    head = make(runs=runs, samples=timed(triton=3.0))
    compared = compare(make(), head, SESSIONS)
    (apart,) = compared.differences
    assert apart.head == "another"
    assert set(apart.passes) == {"build", "time", "nsys", "ncu"}
    assert {f.verdict for f in compared.findings} == {Verdict.REFUSED}
    assert all("time pass: " in f.reason for f in compared.findings)
    assert outcome([compared]) == UNDECIDABLE


def test_another_profiler_bars_its_counters_alone() -> None:
    runs = [row | ({"tool": "ncu 2026"} if row["pass"] == "ncu" else {}) for row in OTHER_SOURCE]
    spilled = [row | {"local_load_instructions": 9} for row in counter_rows()]
    found = one(make(), make(runs=runs, counters=spilled, samples=timed(triton=1.5)))
    assert found.verdict is Verdict.SLOWER
    assert found.causes == ()
    assert found.reason == "ncu pass: profiler Nsight Compute 2025.3.1 → ncu 2026"


def test_a_time_pass_on_another_driver_bars_times_alone() -> None:
    runs = [row | ({"driver": "1"} if row["pass"] == "time" else {}) for row in OTHER_SOURCE]
    compared = compare(make(), make(runs=runs), SESSIONS)
    assert {f.verdict for f in compared.findings} == {Verdict.REFUSED}
    builds = [row | {"spill_loads": 12} for row in build_rows()]
    assert one(make(), make(runs=runs, builds=builds)).verdict is Verdict.COSTLIER


def hashed(code: str) -> list[dict[str, Any]]:
    return [row | {"sass_sha256": code} for row in build_rows()]


def test_the_same_machine_code_of_another_source_is_never_called_slower() -> None:
    base = make(builds=hashed("a" * 64))
    found = one(base, changed(builds=hashed("a" * 64), samples=timed(triton=1.3)))
    assert (found.verdict, found.reason) == (Verdict.UNDECIDED, DRIFT)
    found = one(base, changed(builds=hashed("b" * 64), samples=timed(triton=1.3)))
    assert found.verdict is Verdict.SLOWER
    assert [cause.name for cause in found.causes] == ["code"]


def test_what_one_machine_code_differs_by_from_run_to_run_is_no_regression() -> None:
    """How blocks meet in the L2 cache is the moment's: as much as a third of the DRAM bytes."""
    more = [
        row | {"dram_read_bytes": int(1.4 * row["dram_read_bytes"])}
        if row["variant"] == "triton"
        else row
        for row in counter_rows()
    ]
    base = make(builds=hashed("a" * 64))
    assert not one(base, changed(builds=hashed("a" * 64), counters=more)).causes
    found = one(base, changed(builds=hashed("b" * 64), counters=more))
    assert [cause.name for cause in found.causes][:1] == ["DRAM bytes"]


def test_sessions_are_told_by_their_first_rounds() -> None:
    """What one session shows and the other does not is undecided."""
    apart = [
        row | {"round": row["round"] + 1000, "duration_ns": row["duration_ns"] * factor}
        for row, factor in ((row, 1.3 if row["variant"] == "triton" else 1) for row in timed())
    ]
    settings = [
        row | {"settings": json.dumps({"first_round": first})}
        for first in (0, 1000)
        for row in run_rows()
        if row["pass"] == "time"
    ]
    others = [row for row in OTHER_SOURCE if row["pass"] != "time"]
    later = [row | {"round": row["round"] + 1000} for row in timed()]
    base = make(samples=timed() + later, runs=others + settings)
    head = make(samples=timed() + apart, runs=others + settings)
    assert one(base, head).verdict is Verdict.UNDECIDED


def test_a_case_of_another_shape_is_refused() -> None:
    cases = [row | {"shape": "8192x4096"} for row in all_rows()["cases"]]
    head = changed(cases=cases, samples=timed(triton=0.5))
    assert other_inputs(make(), head) == {CASE}
    assert one(make(), head).verdict is Verdict.REFUSED


def test_new_and_removed_variants() -> None:
    rest = {
        name: [row for row in rows if row.get("variant") != "triton"]
        for name, rows in all_rows().items()
    }
    less = make(**rest)
    assert one(make(), less).verdict is Verdict.REMOVED
    assert one(less, make()).verdict is Verdict.NEW


def test_empty_frames_are_not_compared() -> None:
    assert outcome([compare(empty(), empty(), SESSIONS)]) == UNDECIDABLE
    assert outcome([]) == UNDECIDABLE
    compared = compare(make(), empty(), SESSIONS)
    assert {f.verdict for f in compared.findings} == {Verdict.REMOVED}


def test_a_regression_outweighs_what_is_open() -> None:
    bad = Finding("gelu", "triton", CASE, Verdict.SLOWER)
    open_one = Finding("gelu", "naive", CASE, Verdict.UNDECIDED)
    assert outcome([Compared("gelu", [], [open_one, bad])]) == REGRESSION


def test_differences_are_told_once() -> None:
    assert differences(make(), make()) == []
    (apart,) = differences(make(), make(runs=[row | {"driver": "1"} for row in run_rows()]))
    assert (apart.fact, apart.base, apart.head) == ("driver", "580.159", "1")


def test_every_quantity_has_its_place_among_the_causes() -> None:
    named = {counted.name for counted in (*COUNTERS, *BUILDS)}
    assert named | {"build", "kernels", "configuration", "code"} == set(ORDER)
    assert len(set(ORDER)) == len(ORDER)


def test_the_same_code_is_never_called_faster_or_slower() -> None:
    """Forty pairs of samples of one distribution, and of drifting ones."""
    random = np.random.default_rng(3)
    for drift in np.repeat([0.0, 0.08], 20):
        base, head = (
            [
                key(v) | {"round": i, "duration_ns": m * random.normal(1, 0.03)}
                for v, m in MEDIANS.items()
                for i in range(30)
            ]
            for _ in "ab"
        )
        moved = [row | {"duration_ns": row["duration_ns"] * (1 + drift)} for row in head]
        compared = compare(make(samples=base), make(samples=moved), Noise(0.01, 0, "test"))
        assert {f.verdict for f in compared.findings} <= {Verdict.SAME, Verdict.UNDECIDED}
