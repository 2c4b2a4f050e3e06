from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.captures import parse_pass
from parsers.metrics import METRICS
from parsers.rollup import roll_up
from parsers.schemas import CASES, CEILINGS, COUNTERS
from reports.chips import find
from reports.frames import KEY, records
from reports.roofline import (
    COLUMNS,
    Roof,
    counted,
    datasheet,
    flops,
    matmul_peaks,
    measured,
    modelled,
    place,
)
from reports.summary import compare
from tests.checkouts import ROOT
from tests.reports.data import CASE, all_rows, launch, make

ROOF = Roof("by hand", 4e12, {"fp32": 64e12, "tensor_bf16": 1000e12})
NONE: dict[str, float] = dict.fromkeys(("fp64", "fp32", "tensor_bf16"), 0.0)
positive = st.floats(1.0, 1e15)


def placed(roof: Roof = ROOF, /, **values: float | None) -> dict[str, Any]:
    point = NONE | {"bytes": 4e9, "duration_ns": 2e6} | values
    (row,) = records(place(pd.DataFrame([point], dtype="Float64"), roof))
    return row


def test_below_the_ridge_memory_bounds() -> None:
    """4 GB at 4 TB/s take 1 ms of 2; 8 GFLOP / 4 GB = 2 FLOP/B attain 8 TFLOP/s; ridge 64 / 4."""
    assert placed(fp32=8e9) == {
        "dtype": "fp32",
        "flops": 8e9,
        "bytes": 4e9,
        "duration_ns": 2e6,
        "intensity": 2,
        "bandwidth_bytes_per_s": 4e12,
        "peak_flops_per_s": 64e12,
        "ridge": 16,
        "attainable_flops_per_s": 8e12,
        "flops_per_s": 4e12,
        "share": 0.5,
        "bound": "memory",
    }


def test_above_the_ridge_the_peak_bounds() -> None:
    """96 GFLOP / 4 GB = 24 FLOP/B; at 64 TFLOP/s they take 1.5 ms of 2."""
    row = placed(fp32=96e9)
    assert (row["intensity"], row["attainable_flops_per_s"]) == (24, 64e12)
    assert (row["flops_per_s"], row["share"], row["bound"]) == (48e12, 0.75, "compute")


def test_of_several_types_the_one_counts_that_takes_longest() -> None:
    """1000 GFLOP of bf16 take 1 ms on tensor cores, 96 GFLOP of float32 1.5 ms on CUDA cores."""
    row = placed(fp32=96e9, tensor_bf16=1000e9)
    assert (row["dtype"], row["flops"], row["share"]) == ("fp32", 96e9, 0.75)
    assert placed(fp32=96e9, tensor_bf16=1900e9)["dtype"] == "tensor_bf16"


def test_without_flops_memory_alone_bounds() -> None:
    row = placed()
    assert (row["flops"], row["share"], row["bound"]) == (0, 0.5, "memory")
    assert row["dtype"] is row["peak_flops_per_s"] is row["ridge"] is None


def test_without_bytes_the_peak_alone_bounds() -> None:
    row = placed(fp32=64e9, bytes=0)
    assert (row["intensity"], row["attainable_flops_per_s"]) == (None, 64e12)
    assert (row["share"], row["bound"]) == (0.5, "compute")


def test_an_unknown_ceiling_is_no_ceiling() -> None:
    no_peak = placed(Roof("", 4e12), fp32=96e9)
    assert (no_peak["dtype"], no_peak["share"], no_peak["bound"]) == ("fp32", 0.5, None)
    assert no_peak["attainable_flops_per_s"] == 96e12
    no_bandwidth = placed(Roof("", None, {"fp32": 64e12}), fp32=96e9)
    assert (no_bandwidth["share"], no_bandwidth["bound"]) == (0.75, None)
    nothing = placed(Roof("", None), fp32=96e9)
    assert nothing["share"] is nothing["attainable_flops_per_s"] is None
    assert nothing["flops_per_s"] == 48e12


@pytest.mark.parametrize(
    "missing", [{"fp32": None}, {"bytes": None}, {"duration_ns": None}, {"duration_ns": 0}]
)
def test_what_is_missing_is_not_zero(missing: dict[str, float | None]) -> None:
    assert set(placed(ROOF, **missing).values()) == {None}


@settings(deadline=None)
@given(positive, positive, positive, positive, positive)
def test_the_least_time_is_the_roofline(
    bandwidth: float, peak: float, work: float, moved: float, duration: float
) -> None:
    roof = Roof("", bandwidth, {"fp32": peak})
    row = placed(roof, fp32=work, bytes=moved, duration_ns=duration)
    attainable = min(bandwidth * work / moved, peak)
    assert row["attainable_flops_per_s"] == pytest.approx(attainable)
    assert float(roof.attainable("fp32", work / moved)) == pytest.approx(attainable)
    assert row["share"] == pytest.approx(row["flops_per_s"] / attainable)
    ridge = roof.ridge("fp32")
    assert ridge is not None
    assert row["ridge"] == pytest.approx(ridge)
    if not np.isclose(row["intensity"], ridge):
        assert (row["bound"] == "memory") == (row["intensity"] < ridge)


def test_the_line_of_a_roof() -> None:
    line = ROOF.attainable("fp32", np.array([1, 16, 100]))
    assert line.tolist() == [4e12, 64e12, 64e12]
    assert ROOF.attainable("fp64", 2.0) == 8e12
    assert ROOF.ridge("fp64") is None


def test_matmul_on_an_h200() -> None:
    """2 x 4096^3 = 137.4 GFLOP in 0.205 ms: 670 of 989.5 TFLOP/s; ridge 989.5 / 4.8 = 206."""
    chip = find("NVIDIA H200")
    assert chip is not None
    row = placed(
        datasheet(chip), tensor_bf16=2 * 4096**3, bytes=3 * 2 * 4096**2, duration_ns=205_000
    )
    assert row["intensity"] == pytest.approx(4096 / 3)
    assert row["ridge"] == pytest.approx(206.1, abs=0.1)
    assert row["flops_per_s"] == pytest.approx(670.4e12, rel=1e-3)
    assert row["share"] == pytest.approx(0.6775, abs=1e-3)
    assert row["bound"] == "compute"


def test_flops_by_type() -> None:
    """Weights 1, 1, 2; half precision 2, 2, 4."""
    ones = {m.column: 1 for m in METRICS if m.column.endswith("_thread_instructions")}
    tensor = {"tensor_fp16_flops": 16, "tensor_bf16_flops": 32, "tensor_tf32_flops": 64}
    rows = [
        launch("naive", 0) | ones | tensor,
        launch("naive", 1) | ones | tensor | {"hfma_thread_instructions": None},
    ]
    first, second = records(flops(COUNTERS.conform(rows)))
    assert first == {
        "fp64": 4,
        "fp32": 4,
        "fp16": 8,
        "tensor_fp16": 16,
        "tensor_bf16": 32,
        "tensor_tf32": 64,
    }
    assert second == first | {"fp16": None}


def test_captured_matmuls() -> None:
    """The tensor cores of a 4096^3 matmul do 2 x 4096^3 FLOPs; one ReLU multiplies as well."""
    counters = parse_pass(ROOT / "captures" / "h200" / "matmul_relu" / "ncu")["counters"]
    rolled = roll_up(counters.dropna(subset=KEY), KEY)
    chip = find("NVIDIA H200")
    assert chip is not None
    found = place(counted(rolled), datasheet(chip))
    assert found.index.equals(rolled.index)
    large = found[rolled["case"] == "4096x4096x4096-bfloat16"]
    assert (large["flops"] == 2 * 4096**3).all()
    assert (large["dtype"] == "tensor_bf16").all()
    assert (large["bound"] == "compute").all()
    assert found["share"].between(0, 1).all()


def test_measured_bandwidth() -> None:
    rows = [{"ceiling": "copy", "round": 0, "moved_bytes": 4_000, "duration_ns": 1.0}]
    assert measured(CEILINGS.conform(rows)).bandwidth == 4e12
    peaks = {"tensor_bf16": 700e12}
    assert measured(CEILINGS.conform([]), peaks) == Roof("measured in the same rounds", None, peaks)


def modelled_rows(dtype: str, tensor_flops: float | None) -> dict[str, Any]:
    cases = CASES.conform([all_rows()["cases"][0] | {"dtype": dtype}])
    compared = pd.DataFrame(
        {
            "case": pd.array([CASE], dtype="string"),
            "flops": pd.array([100.0], dtype="Float64"),
            "tensor_flops": pd.array([tensor_flops], dtype="Float64"),
            "min_bytes": pd.array([10.0], dtype="Float64"),
            "median_ns": pd.array([5.0], dtype="Float64"),
        }
    )
    (row,) = records(modelled(compared, cases))
    return {name: value for name, value in row.items() if value}


@pytest.mark.parametrize(
    ("dtype", "tensor_flops", "unit"),
    [
        ("float32", 0, "fp32"),
        ("float32", 64, "tensor_tf32"),
        ("bfloat16", 64, "tensor_bf16"),
        ("float16", 64, "tensor_fp16"),
        ("bfloat16", 0, "fp32"),
        ("float64", 0, "fp64"),
        ("float64", 64, "unknown"),
        ("float32", None, "unknown"),
    ],
)
def test_the_unit_of_modelled_flops(dtype: str, tensor_flops: float | None, unit: str) -> None:
    assert modelled_rows(dtype, tensor_flops) == {unit: 100, "bytes": 10, "duration_ns": 5}


def test_gelu_by_the_model() -> None:
    """9 FLOPs for 8 B moved: 1.125 FLOP/B; 537 MB at 4.8 TB/s take 112 us of 130.2."""
    chip, frames = find("NVIDIA H200"), make()
    assert chip is not None
    compared = compare(frames)
    found = place(modelled(compared, frames.cases), datasheet(chip))
    assert found.dtypes.astype(str).to_dict() == COLUMNS
    row = records(found[compared["variant"] == "triton"])[0]
    assert row["intensity"] == 1.125
    assert row["share"] == pytest.approx(0.859, abs=5e-3)


def test_peaks_of_products_by_the_unit_that_does_them() -> None:
    names = {"a": ("bfloat16", None), "b": ("bfloat16", None), "c": ("float32", "tf32")}
    names |= {"d": ("float32", "ieee"), "e": ("float16", None)}
    cases = [
        {"operator": "x", "case": case, "shape": "1", "dtype": dtype, "labels": labels}
        for case, (dtype, labels) in names.items()
    ]
    times = {"a": (1e6, 2e6, 9e6), "b": (4e6,), "c": (5e6,), "d": (10e6,)}
    rows = [
        {"ceiling": "matmul", "case": case, "round": i, "flops": 10**9, "duration_ns": value}
        for case, values in times.items()
        for i, value in enumerate(values)
    ]
    copy = {"ceiling": "copy", "round": 0, "moved_bytes": 8, "duration_ns": 1.0}
    peaks = matmul_peaks(CEILINGS.conform([*rows, copy]), CASES.conform(cases))
    assert peaks == {"tensor_bf16": 500e9, "tensor_tf32": 200e9, "fp32": 100e9}
    assert matmul_peaks(CEILINGS.conform([]), CASES.conform([])) == {}
