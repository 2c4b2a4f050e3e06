from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.metric import Rollup
from parsers.metrics import METRICS
from parsers.rollup import roll_up
from parsers.schemas import COUNTERS
from reports.frames import KEY, records
from tests.reports.data import counter_rows, launch

SUMS = [m.column for m in METRICS if m.rollup is Rollup.SUM]
MEANS = [m.column for m in METRICS if m.rollup is Rollup.MEAN]


def rolled(*rows: dict[str, Any]) -> dict[str, Any]:
    (row,) = records(roll_up(COUNTERS.conform(list(rows)), KEY))
    return row


def test_nine_launches_add_up_but_their_occupancies_do_not() -> None:
    naive = records(roll_up(COUNTERS.conform(counter_rows()), KEY))[0]
    assert naive["launches"] == 9
    assert naive["dram_read_bytes"] == 13 * 268_435_456 + 90_000
    assert naive["occupancy_achieved_pct"] == pytest.approx(85)
    assert naive["occupancy_limiter"] == "registers + warps"
    assert naive["registers_per_thread"] == 32
    assert naive["grid_x_values"] == "65536"


def test_means_are_weighted() -> None:
    row = rolled(
        launch("naive", 0, duration_ns=300, occupancy_achieved_pct=90.0),
        launch("naive", 1, duration_ns=100, occupancy_achieved_pct=50.0),
    )
    assert row["occupancy_achieved_pct"] == 80


def test_launches_without_sectors_do_not_weigh() -> None:
    none: dict[str, Any] = {"global_load_sectors": 0, "load_bytes_per_sector": 0.0}
    assert rolled(launch("naive", 0), launch("naive", 1) | none)["load_bytes_per_sector"] == 32
    assert rolled(launch("naive", 0, **none))["load_bytes_per_sector"] is None
    unknown: dict[str, Any] = {"global_load_sectors": None, "load_bytes_per_sector": 4.0}
    assert rolled(launch("naive", 0), launch("naive", 1, **unknown))["load_bytes_per_sector"] == 32


def test_missing_stays_missing() -> None:
    lost = launch("naive", 1, dram_read_bytes=None, sm_throughput_pct=None)
    row = rolled(launch("naive", 0), lost | {"registers_per_thread": None})
    assert row["dram_read_bytes"] is None
    assert row["sm_throughput_pct"] is None
    assert row["registers_per_thread"] is None
    assert row["registers_per_thread_values"] == "32"
    assert row["tensor_instructions"] is None


def test_launches_without_key_make_a_row_of_their_own() -> None:
    outside = launch("naive", 0) | {"operator": None, "variant": None, "case": None}
    rows = records(roll_up(COUNTERS.conform([outside, launch("naive", 0), outside]), KEY))
    assert [(row["variant"], row["launches"]) for row in rows] == [(None, 2), ("naive", 1)]
    assert roll_up(COUNTERS.conform([]), KEY).empty


def test_properties_are_listed_and_the_largest_named() -> None:
    row = rolled(
        launch("naive", 0, registers_per_thread=100), launch("naive", 1, registers_per_thread=26)
    )
    assert row["registers_per_thread"] == 100
    assert row["registers_per_thread_values"] == "26, 100"


@st.composite
def _launches(draw: st.DrawFn) -> list[dict[str, Any]]:
    whole, share = st.integers(0, 10**9), st.floats(0, 100)
    names = st.fixed_dictionaries(
        {c: st.none() | whole for c in SUMS} | {c: st.none() | share for c in MEANS}
    )
    rows = draw(st.lists(names, min_size=1, max_size=5))
    return [launch("naive", i) | row for i, row in enumerate(rows)]


@settings(max_examples=15, deadline=None)
@given(_launches(), st.integers(0, 100), st.randoms())
def test_splitting_and_reordering_launches_changes_nothing(
    rows: list[dict[str, Any]], cut: int, order: Any
) -> None:
    first = rows[0]
    left = {c: None if first[c] is None else first[c] * cut // 100 for c in SUMS}
    right = {c: None if first[c] is None else first[c] - (left[c] or 0) for c in SUMS}
    parts = [first | left, first | right, *rows[1:]]
    order.shuffle(parts)
    both = [row | {"variant": "whole"} for row in rows] + [
        row | {"variant": "cut"} for row in parts
    ]
    found = {row.pop("variant"): row for row in records(roll_up(COUNTERS.conform(both), KEY))}
    before, after = found["whole"], found["cut"]
    assert after.pop("launches") == before.pop("launches") + 1
    for column, value in before.items():
        if column in MEANS and value is not None:
            # A part that weighs nothing leaves the rest to weigh: the mean stays.
            assert after[column] == pytest.approx(value, rel=1e-9, abs=1e-9)
        else:
            assert after[column] == value


def test_dtypes_are_nullable() -> None:
    frame = roll_up(COUNTERS.conform(counter_rows()), KEY)
    assert isinstance(frame["dram_read_bytes"].dtype, pd.Int64Dtype)
    assert isinstance(frame["sm_throughput_pct"].dtype, pd.Float64Dtype)
