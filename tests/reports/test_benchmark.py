"""The table of the Triton kernels in the index."""

from __future__ import annotations

from reports.benchmark import HEADERS, triton_table
from reports.format import TIMES
from reports.frames import Frames, Row, records
from reports.summary import compare
from tests.reports.data import CASE, make, sample_rows


def cells(frames: Frames) -> dict[str, str]:
    by_case: dict[str, list[Row]] = {CASE: records(compare(frames))}
    (row,) = triton_table([(frames, by_case)]).rows
    return dict(zip(HEADERS, row, strict=True))


def test_the_fastest_triton_variant_stands_beside_the_fastest_other() -> None:
    times = {"naive": 1_300_000.0, "builtin": 125_000.0, "compiled": 130_000.0}
    faster = cells(make(samples=sample_rows({**times, "triton": 100_000.0})))
    assert (faster["Triton variant"], faster["Best other"]) == ("`triton`", "`builtin`")
    assert faster["Operator"] == "[gelu](gelu.md)"
    assert 0.79 < float(faster["Time over it [95 %]"].split(TIMES)[0]) < 0.81
    slower = cells(make(samples=sample_rows({**times, "triton": 250_000.0})))
    value, bounds = slower["Time over it [95 %]"].split(f"{TIMES} [")
    low, high = map(float, bounds.rstrip("]").split(", "))
    assert 1.95 < low < float(value) < high < 2.05


def test_without_a_triton_variant_there_is_no_row() -> None:
    frames = make(builds=[])
    assert triton_table([(frames, {CASE: records(compare(frames))})]).rows == ()
