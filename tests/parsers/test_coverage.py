"""What was measured, derived or absent, and which values cannot be."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from parsers.coverage import cover
from parsers.metrics import METRICS
from parsers.plausible import flag
from parsers.schemas import COUNTERS, TIMELINE
from reports.frames import records
from tests.reports.data import launch

MEASURED = {metric.column: 1 for metric in METRICS}


def counters(*changes: dict[str, Any]) -> pd.DataFrame:
    rows = [launch("naive", i) | MEASURED | change for i, change in enumerate(changes)]
    return COUNTERS.conform(rows)


def status(frame: pd.DataFrame, column: str) -> tuple[str, int, str | None]:
    (row,) = records(frame[frame["column"] == column])
    return row["status"], row["launches"], row["reason"]


def test_all_measured() -> None:
    frame = counters({}, {})
    covered, coverage = cover(frame)
    pd.testing.assert_frame_equal(covered, frame)
    assert coverage["column"].tolist() == [metric.column for metric in METRICS]
    assert set(coverage["status"]) == {"measured"}
    assert set(coverage["launches"]) == {2}
    assert coverage["reason"].isna().all()
    assert set(coverage["operator"]) == {"gelu"}


def test_derived_by_formula() -> None:
    parts = {"dram_read_bytes": 300, "dram_write_bytes": 100, "duration_ns": 4}
    sizes = {"grid_x": 3, "grid_y": 5, "grid_z": 2, "grid_size": None}
    frame, coverage = cover(counters(parts | sizes | {"dram_rate_bytes_per_s": None}))
    assert frame["dram_rate_bytes_per_s"].tolist() == [1e11]
    assert frame["grid_size"].tolist() == [30]
    assert frame.dtypes.equals(counters({}).dtypes)
    formula = "(dram_read_bytes + dram_write_bytes) / duration_ns * 1e9"
    assert status(coverage, "dram_rate_bytes_per_s") == ("derived", 1, formula)
    assert status(coverage, "grid_size") == ("derived", 1, "grid_x * grid_y * grid_z")


def test_what_a_formula_lacks_stays_missing() -> None:
    lost = {"dram_rate_bytes_per_s": None, "dram_read_bytes": None}
    frame, coverage = cover(counters(lost))
    assert frame["dram_rate_bytes_per_s"].isna().all()
    found = status(coverage, "dram_rate_bytes_per_s")
    assert found == ("absent", 0, "none of dram__bytes.sum.per_second was collected")


def test_in_part() -> None:
    _, coverage = cover(counters({}, {"l2_hit_pct": None}, {"sm_clock_hz": None}))
    reason = "none of lts__t_sector_hit_rate.pct was collected"
    assert status(coverage, "l2_hit_pct") == ("in part", 2, reason)
    assert status(coverage, "sm_clock_hz") == ("in part", 3, "sm_cycles / duration_ns * 1e9")


@pytest.mark.parametrize(
    ("chip", "reason"),
    [
        ("8.6", "chips have it from compute capability 9.0"),
        ("10.0", "none of launch__occupancy_limit_barriers was collected"),
        (None, "none of launch__occupancy_limit_barriers was collected"),
    ],
)
def test_absent_from_an_older_chip(chip: str | None, reason: str) -> None:
    _, coverage = cover(counters({"limit_barriers_blocks": None, "compute_capability": chip}))
    assert status(coverage, "limit_barriers_blocks") == ("absent", 0, reason)


def test_no_launches() -> None:
    frame, coverage = cover(COUNTERS.conform([]))
    assert frame.empty
    assert set(coverage["status"]) == {"absent"}


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        ("occupancy_achieved_pct", 100.2, "is over 100.1 %"),
        ("sm_throughput_pct", -0.5, "is negative"),
        ("instructions", -1, "is negative"),
        ("threads_per_instruction", 34.0, "is over 33.6 thread"),
        ("l2_hit_pct", 106.0, "is over 105 %"),
        ("dram_rate_bytes_per_s", 2003.0, "is over DRAM's peak at its clock"),
    ],
)
def test_counters_that_cannot_be(column: str, value: float, reason: str) -> None:
    peak = {"dram_peak_bytes_per_cycle": 2.0, "dram_clock_hz": 1000.0}
    frame = counters(peak, peak | {column: value})
    clean, flags = flag(frame, "counters")
    assert clean[column].isna().tolist() == [False, True]
    pd.testing.assert_frame_equal(clean.drop(columns=column), frame.drop(columns=column))
    (row,) = flags.to_dict("records")
    assert (row["column"], row["value"], row["reason"]) == (column, value, reason)
    assert (row["frame"], row["variant"], row["launch"]) == ("counters", "naive", 1)


def test_counters_that_rounding_makes_are_kept() -> None:
    frame = counters({"l2_hit_pct": 102.6, "occupancy_theoretical_pct": 100.0})
    clean, flags = flag(frame, "counters")
    pd.testing.assert_frame_equal(clean, frame)
    assert flags.empty


def test_a_timeline_that_cannot_be() -> None:
    row = {"kernel": "k", "kernel_demangled": "k", "duration_ns": 5}
    rows = [
        row | {"start_ns": 10, "api_start_ns": 9},
        row | {"start_ns": 8, "api_start_ns": 9},
        row | {"start_ns": 8, "api_start_ns": None},
        row | {"start_ns": 12, "api_start_ns": 9, "duration_ns": -3},
    ]
    clean, flags = flag(TIMELINE.conform(rows), "timeline")
    assert clean["start_ns"].isna().tolist() == [False, True, False, False]
    assert clean["duration_ns"].isna().tolist() == [False, False, False, True]
    assert flags["reason"].tolist() == ["is before the launching call", "is negative"]


def test_absent_from_a_newer_chip() -> None:
    lost = {"stall_gmma_cycles": None, "compute_capability": "10.0"}
    _, coverage = cover(counters(lost))
    reason = "chips have it up to compute capability 9.0"
    assert status(coverage, "stall_gmma_cycles") == ("absent", 0, reason)
