"""Every counter that is shown equals what ncu itself prints for the same launch."""

from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd
import pytest

from parsers import ncu
from parsers.files import plain
from parsers.metric import Metric
from parsers.metrics import METRICS
from parsers.rollup import roll_up
from reports.frames import KEY

NOT_ON_THIS_CHIP = ("tensor_fp16_to_fp16_flops", "tensor_fp16_to_fp32_flops")

PRINTED_DIGITS = 0.005
"""ncu prints two decimals."""


@pytest.fixture(scope="module")
def printed(root: Path) -> list[dict[str, str]]:
    with (root / "tests/data/gelu.ncu-raw.csv").open(newline="") as file:
        header, units, *rows = csv.reader(file)
    assert units[header.index("ID")] == ""
    return [dict(zip(header, row, strict=True)) for row in rows]


@pytest.fixture(scope="module")
def counters(root: Path) -> pd.DataFrame:
    with plain(root / "tests/data/gelu.ncu-rep.gz", "restore it") as report:
        return ncu.parse(report)


def number(text: str) -> float:
    return float(text.replace(",", ""))


def test_there_is_a_row_for_each_launch(
    counters: pd.DataFrame, printed: list[dict[str, str]]
) -> None:
    assert len(counters) == len(printed) == 60


def test_launches_carry_the_range_and_block_that_ncu_prints(
    counters: pd.DataFrame, printed: list[dict[str, str]]
) -> None:
    ranges = "Id:Domain:Start/Stop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"
    for (_, row), line in zip(counters.iterrows(), printed, strict=True):
        assert f":roofsnake:{row['operator']}/{row['variant']}/{row['case']}:" in line[ranges]
        assert line["Block Size"] == f"({row['block_x']}, {row['block_y']}, {row['block_z']})"
        assert line["Grid Size"] == f"({row['grid_x']}, {row['grid_y']}, {row['grid_z']})"
        assert row["kernel"] in line["Kernel Name"]


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.column)
def test_counter_equals_what_ncu_prints(
    metric: Metric, counters: pd.DataFrame, printed: list[dict[str, str]]
) -> None:
    name = next((name for name in metric.names if name in printed[0]), None)
    if name is None:
        assert metric.column in NOT_ON_THIS_CHIP
        assert counters[metric.column].isna().all()
        return
    expected = [number(line[name]) for line in printed]
    found = counters[metric.column].astype(float).tolist()
    assert found == pytest.approx(expected, rel=1e-12, abs=PRINTED_DIGITS)


def test_what_the_report_shows_of_naive_is_what_ncu_prints(
    counters: pd.DataFrame, printed: list[dict[str, str]]
) -> None:
    """The nine launches of the naive variant, summed here from ncu's own numbers."""
    case = "8192x8192-float32"
    lines = [line for line in printed if f"gelu/naive/{case}" in str(line.values())]
    assert len(lines) == 9
    rows = roll_up(counters, KEY).query("variant == 'naive' and case == @case")
    assert len(rows) == 1
    row = rows.iloc[0]
    for column, name in (
        ("dram_read_bytes", "dram__bytes_read.sum"),
        ("dram_write_bytes", "dram__bytes_write.sum"),
        ("duration_ns", "gpu__time_duration.sum"),
    ):
        assert row[column] == sum(number(line[name]) for line in lines)
    occupancy = "sm__warps_active.avg.pct_of_peak_sustained_active"
    weights = [number(line["gpu__time_duration.sum"]) for line in lines]
    mean = sum(w * number(line[occupancy]) for w, line in zip(weights, lines, strict=True))
    assert row["occupancy_achieved_pct"] == pytest.approx(mean / sum(weights), abs=PRINTED_DIGITS)
