from __future__ import annotations

import re
from pathlib import Path

from parsers.collection import requested, unknown
from parsers.metric import Rollup
from parsers.metrics import METRICS, OCCUPANCY_LIMITS
from parsers.reference import reference
from parsers.schemas import COUNTERS, SCHEMAS

COLUMNS = [metric.column for metric in METRICS]


def test_columns_and_names_are_unique() -> None:
    assert len(COLUMNS) == len(set(COLUMNS))
    names = [name for metric in METRICS for name in metric.names]
    assert len(names) == len(set(names))
    assert list(requested()) == names


def test_weights_are_summed_columns() -> None:
    summed = {metric.column for metric in METRICS if metric.rollup is Rollup.SUM}
    assert {metric.weight for metric in METRICS if metric.rollup is Rollup.MEAN} <= summed


def test_limits_are_columns() -> None:
    assert set(OCCUPANCY_LIMITS) <= set(COLUMNS)


def test_every_metric_is_in_the_schema_once() -> None:
    assert [column for column in COUNTERS.columns if column in set(COLUMNS)] == COLUMNS
    assert all(COUNTERS.columns[m.column].unit == m.unit for m in METRICS)


def test_every_column_says_what_it_is() -> None:
    for schema in SCHEMAS.values():
        assert all(column.meaning for column in schema.columns.values())


def test_reference_is_the_table(root: Path) -> None:
    written = (root / "docs/metrics.md").read_text(encoding="utf-8")
    assert written == reference(), "run `python -m parsers.reference > docs/metrics.md`"


def test_formulas_are_made_of_other_columns() -> None:
    for metric in METRICS:
        words = set(re.findall(r"\b[a-z]\w+", metric.formula or ""))
        assert words <= set(COLUMNS) - {metric.column}


def test_of_each_metric_the_first_name_that_the_chip_knows_is_requested() -> None:
    blackwell = {"dram__bytes_op_read", "gpc__cycles_elapsed", "gpu__dram_throughput"}
    asked = set(requested(blackwell))
    counted = {name for name in asked if "." in name}
    assert {name.split(".")[0] for name in counted} == blackwell
    assert "dram__bytes_op_read.sum" in counted
    assert "launch__registers_per_thread" in asked
    both = set(requested({"dram__bytes_read", "dram__bytes_op_read"}))
    assert "dram__bytes_read.sum" in both
    assert "dram__bytes_op_read.sum" not in both


def test_what_the_chip_cannot_give() -> None:
    everything = {name.split(".")[0] for name in requested()}
    assert unknown(everything) == ()
    assert unknown(everything - {"lts__t_bytes"}) == ("l2_bytes",)
    assert "dram_read_bytes" not in unknown(everything - {"dram__bytes_read"})
