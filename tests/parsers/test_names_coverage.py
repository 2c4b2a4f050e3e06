"""How many launches of real reports have a name that is decoded, and whether that fits them."""

from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd
import pytest

from parsers import ncu, nsys
from parsers.names import decode_names
from tests.captured import Captured
from tests.parsers.conftest import ROOT, shared_report

CAPTURES = ROOT / "captures" / "h200"
OPERATORS = sorted(folder.name for folder in CAPTURES.iterdir())
SHARED = (
    "h200/gelu.sqlite",
    "h200/gelu_4096.sqlite",
    "h200/gelu_4096.ncu-rep",
    "field/nsys-2024.6-cuda-graph.sqlite",
    "field/nsys-2025.5-graph-nodes.sqlite",
    "field/nsys-2026.2-two-gpus.sqlite",
    "field/ncu-2020.3-cc86.ncu-rep",
    "h200/gelu.ncu-raw-base-units.csv",
    "h200/gelu.ncu-details.csv",
    "field/ncu-details-gemm_naive.csv",
    "field/ncu-details-gemm_tiled.csv",
    "field/ncu-details-gemm_vectorized.csv",
)
BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}


def frame(captured: Captured, operator: str, name: str) -> pd.DataFrame:
    return pd.read_parquet(captured.frames(operator) / f"{name}.parquet")


def undecoded(names: pd.Series, triton_kernels: set[str]) -> pd.Series:
    """Return the launches of each name whose library is not known."""
    unknown = decode_names(names, triton_kernels)["library"].isna()
    return names[unknown].value_counts()


@pytest.mark.parametrize("operator", OPERATORS)
def test_launches_of_a_capture_are_decoded(captured: Captured, operator: str) -> None:
    # The capture itself says which of its kernels Triton compiled.
    triton_kernels = set(frame(captured, operator, "builds")["kernel"])
    counters = frame(captured, operator, "counters")
    timeline = frame(captured, operator, "timeline")
    names = pd.concat([timeline["kernel_demangled"], counters["kernel_demangled"]])
    left = undecoded(names, triton_kernels)
    assert left.sum() <= 0.05 * len(names), left.to_dict()


def kernel_names(report: Path) -> pd.Series:
    """Return the kernel's name of each launch."""
    if report.suffix != ".csv":
        parse = nsys.parse if report.suffix == ".sqlite" else ncu.parse
        return parse(report)["kernel_demangled"]
    lines = report.read_text(encoding="utf-8-sig").splitlines()
    header = next(i for i, line in enumerate(lines) if line.startswith('"ID"'))
    rows = csv.DictReader(lines[header:])
    # The details page has many rows a launch; the row of units has no id.
    return pd.Series({row["ID"]: row["Kernel Name"] for row in rows if row["ID"]})


def test_launches_of_other_reports_are_decoded() -> None:
    names = pd.concat([kernel_names(shared_report(name)) for name in SHARED], ignore_index=True)
    left = undecoded(names, set())
    assert left.sum() <= 0.05 * len(names), left.to_dict()
    # Users' own: no name tells a Triton kernel from any C function.
    assert left.index.str.contains(r"^gelu_k$|^add_one\(|^kernel\(|gemm_\w+_kernel").all()


@pytest.mark.parametrize("operator", ["attention", "matmul_relu", "matmul_sweep"])
def test_named_stages_fit_into_the_shared_memory_of_the_launch(
    captured: Captured, operator: str
) -> None:
    launches = frame(captured, operator, "timeline").reset_index(drop=True)
    decoded = decode_names(launches["kernel_demangled"])
    said = decoded[decoded["family"].eq("gemm") & decoded["tile"].str.count("x").eq(2)]
    said = said.dropna(subset=["stages"])
    m, n, k = (said["tile"].str.split("x").str[axis].astype("int64") for axis in range(3))
    width = said["dtypes"].str.split().str[0].map(BYTES)
    held = launches.loc[said.index, ["static_shared_bytes", "dynamic_shared_bytes"]].sum(axis=1)
    assert len(said) > 0
    assert (held >= said["stages"] * (m + n) * k * width).all()
