from __future__ import annotations

import json
from pathlib import Path

import pytest

from parsers.captures import parse_runs
from parsers.schemas import RUNS
from reports.chips import CHIPS, Chip, find, of_runs

FP32_LANES = {
    "7.0": 64,
    "7.5": 64,
    "8.0": 64,
    "8.6": 128,
    "8.9": 128,
    "9.0": 128,
    "10.0": 128,
    "12.0": 128,
}


def found(name: str) -> str | None:
    chip = find(name)
    return None if chip is None else chip.name


@pytest.mark.parametrize(
    ("driver", "name"),
    [
        ("NVIDIA H200", "H200 SXM"),
        ("NVIDIA H100 80GB HBM3", "H100 SXM"),
        ("NVIDIA H100 PCIe", "H100 PCIe"),
        ("NVIDIA H20", "H20"),
        ("NVIDIA GH200 480GB", "GH200, HBM3"),
        ("NVIDIA GH200 144G HBM3e", "GH200, HBM3e"),
        ("NVIDIA B200", "B200"),
        ("NVIDIA A100-SXM4-80GB", "A100 80 GB SXM"),
        ("A100-SXM4-40GB", "A100 40 GB SXM"),
        ("NVIDIA A100 80GB PCIe", "A100 80 GB PCIe"),
        ("NVIDIA A100-PCIE-40GB", "A100 40 GB PCIe"),
        ("Tesla V100-SXM2-32GB", "V100 SXM2"),
        ("Tesla V100-PCIE-16GB", "V100 PCIe"),
        ("Tesla V100S-PCIE-32GB", "V100S PCIe"),
        ("Tesla T4", "T4"),
        ("NVIDIA L4", "L4"),
        ("NVIDIA L40S", "L40S"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        (" GeForce  RTX 2080 Ti ", "RTX 2080 Ti"),
        ("nvidia geforce rtx 3090", "RTX 3090"),
    ],
)
def test_names_of_drivers(driver: str, name: str) -> None:
    assert found(driver) == name


@pytest.mark.parametrize(
    "driver",
    [
        "",
        "NVIDIA",
        "NVIDIA H100 NVL",
        "NVIDIA H200 NVL",
        "NVIDIA H20-3e",
        "NVIDIA L40",
        "NVIDIA A10G",
        "NVIDIA GeForce RTX 3090 Ti",
        "NVIDIA GeForce RTX 4090 D",
        "NVIDIA GeForce RTX 4090 Laptop GPU",
        "AMD Instinct MI300X",
    ],
)
def test_other_products_are_unknown(driver: str) -> None:
    assert find(driver) is None


def test_a_slice_of_a_gpu_is_not_the_gpu() -> None:
    assert find("NVIDIA A100-SXM4-40GB", "8.0", 108) is not None
    assert find("NVIDIA A100-SXM4-40GB", "8.0", 14) is None
    assert find("NVIDIA A100-SXM4-40GB", "8.6", 108) is None


@pytest.mark.parametrize("chip", CHIPS, ids=lambda chip: chip.name)
def test_the_float32_peak_is_two_flops_a_lane_and_cycle(chip: Chip) -> None:
    """H200: 132 SMs x 128 lanes x 2 x 1.98 GHz = 66.9 TFLOP/s; the data sheet says 67."""
    if chip.boost_hz is None:
        pytest.skip("no clock is stated")
    lanes = chip.sm_count * FP32_LANES[chip.compute_capability]
    assert chip.peaks["fp32"] == pytest.approx(2 * lanes * chip.boost_hz, rel=0.02)


@pytest.mark.parametrize("chip", CHIPS, ids=lambda chip: chip.name)
def test_tensor_peaks_double_as_the_type_halves(chip: Chip) -> None:
    peaks = chip.peaks
    if "tensor_tf32" in peaks:
        assert peaks["tensor_fp16"] == peaks["tensor_bf16"]
        assert peaks["tensor_fp16"] == pytest.approx(2 * peaks["tensor_tf32"], rel=0.03)
    if "tensor_fp8" in peaks:
        assert peaks["tensor_fp8"] == pytest.approx(2 * peaks["tensor_fp16"], rel=0.03)
    assert peaks["fp32"] <= peaks["tensor_fp16"] / 2 * 1.01
    assert chip.source


def run(**changes: object) -> dict[str, object]:
    return {
        "operator": "gelu",
        "pass": "time",
        "date": "2026-01-01",
        "source_sha256": "0",
        "gpu": "NVIDIA H100 80GB HBM3",
        "compute_capability": "9.0",
        "sm_count": 132,
    } | changes


def test_what_a_run_says_takes_precedence() -> None:
    runs = RUNS.conform([run(l2_bytes=1000), run(sm_clock_max_hz=1_755_000_000)])
    chip, stated = of_runs(runs), find("NVIDIA H100 80GB HBM3")
    assert chip is not None
    assert stated is not None
    assert (chip.l2_bytes, chip.boost_hz) == (1000, 1.755e9)
    assert (chip.peaks, chip.dram_bytes_per_s) == (stated.peaks, stated.dram_bytes_per_s)


def test_runs_without_one_known_gpu_have_none() -> None:
    assert of_runs(RUNS.conform([])) is None
    assert of_runs(RUNS.conform([run(gpu="NVIDIA H300")])) is None
    assert of_runs(RUNS.conform([run(), run(gpu="NVIDIA H200")])) is None
    assert of_runs(RUNS.conform([run(sm_count=16)])) is None
    assert of_runs(RUNS.conform([run(sm_count=None)])) == find("NVIDIA H100 80GB HBM3")


def test_the_gpu_of_the_captures_is_known(root: Path) -> None:
    for operator in sorted((root / "captures" / "h200").iterdir()):
        runs = parse_runs(sorted(path.parent for path in operator.glob("*/run.json")))["runs"]
        chip = of_runs(runs)
        assert chip is not None
        assert chip.name == "H200 SXM"
        recorded = json.loads((operator / "time" / "run.json").read_text())["run"]
        assert chip.l2_bytes == recorded["l2_bytes"]
        assert chip.boost_hz == recorded["sm_clock_max_hz"]
