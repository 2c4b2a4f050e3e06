"""What vendors state of their GPUs: the datasheet side of every comparison.

A figure that no document states is left out. Peaks are those of dense matrices at the boost clock,
accumulated in float32; GeForce cards state twice as much for float16 accumulated in float16. What a
capture measured of its own GPU takes the place of the table's (`of_runs`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

import pandas as pd

from reports.frames import records

T, G, MI, KI = 1e12, 1e9, 1 << 20, 1 << 10


@dataclass(frozen=True)
class Chip:
    """One GPU as its maker describes it.

    ``pattern`` matches what the driver calls it, without "NVIDIA", "Tesla" and "GeForce".
    ``dram_bytes_per_s`` is the bandwidth of its memory, ``l2_bytes`` the size of L2, ``boost_hz``
    the SM clock of the float32 peak. ``peaks`` are in FLOP/s: ``fp64`` and ``fp32`` of the CUDA
    cores, ``tensor_tf32``, ``tensor_fp16``, ``tensor_bf16`` and ``tensor_fp8`` of the tensor cores.
    ``source`` has the titles of the documents.
    """

    name: str
    pattern: str
    compute_capability: str
    sm_count: int
    dram_bytes_per_s: float
    l2_bytes: int | None
    boost_hz: float | None
    peaks: Mapping[str, float]
    source: str


def _peaks(
    *,
    fp32: float,
    fp16: float,
    fp64: float | None = None,
    tf32: float | None = None,
    bf16: float | None = None,
    fp8: float | None = None,
) -> dict[str, float]:
    """Return the peaks that are stated, from TFLOP/s; ``fp16`` and the narrower are tensor's."""
    cores = {"fp64": fp64, "fp32": fp32}
    tensor = {"tf32": tf32, "fp16": fp16, "bf16": bf16, "fp8": fp8}
    stated = cores | {f"tensor_{dtype}": peak for dtype, peak in tensor.items()}
    return {dtype: peak * T for dtype, peak in stated.items() if peak is not None}


_VOLTA = "NVIDIA V100 data sheet; NVIDIA Tesla V100 GPU Architecture white paper"
_TURING = "NVIDIA Turing GPU Architecture white paper"
_GA100 = "NVIDIA A100 data sheet; NVIDIA A100 Tensor Core GPU Architecture white paper"
_GA102 = "NVIDIA Ampere GA102 GPU Architecture white paper"
_ADA = "NVIDIA Ada GPU Architecture white paper"
_HOPPER = "NVIDIA H100 data sheet; NVIDIA H100 Tensor Core GPU Architecture white paper"
_GRACE = "NVIDIA GH200 Grace Hopper Superchip data sheet"

_A100 = _peaks(fp64=9.7, fp32=19.5, tf32=156, fp16=312, bf16=312)
_H200 = _peaks(fp64=34, fp32=67, tf32=989 / 2, fp16=1979 / 2, bf16=1979 / 2, fp8=3958 / 2)
"""This data sheet, like those of L4 and B200, states rates with sparsity: twice the dense ones."""

CHIPS: tuple[Chip, ...] = (
    Chip(
        *("V100 SXM2", r"V100-SXM[23]-\d+GB", "7.0", 80, 900 * G, 6 * MI, 1.53 * G),
        _peaks(fp64=7.8, fp32=15.7, fp16=125),
        _VOLTA,
    ),
    Chip(
        *("V100 PCIe", r"V100-PCIE-\d+GB", "7.0", 80, 900 * G, 6 * MI, 1.38 * G),
        _peaks(fp64=7, fp32=14, fp16=112),
        _VOLTA,
    ),
    Chip(
        *("V100S PCIe", r"V100S-PCIE-32GB", "7.0", 80, 1134 * G, 6 * MI, 1.597 * G),
        _peaks(fp64=8.2, fp32=16.4, fp16=130),
        _VOLTA,
    ),
    Chip(
        *("T4", r"T4", "7.5", 40, 320 * G, 4 * MI, 1.59 * G),
        _peaks(fp32=8.1, fp16=65),
        f"NVIDIA T4 data sheet; {_TURING}",
    ),
    Chip(
        *("RTX 2080 Ti", r"RTX 2080 Ti", "7.5", 68, 616 * G, 5632 * KI, 1.545 * G),
        _peaks(fp32=13.4, fp16=53.8),
        f"{_TURING}, reference card",
    ),
    Chip(
        *("A100 40 GB SXM", r"A100-SXM4-40GB", "8.0", 108, 1555 * G, 40 * MI, 1.41 * G),
        *(_A100, _GA100),
    ),
    Chip(
        *("A100 40 GB PCIe", r"A100-PCIE-40GB", "8.0", 108, 1555 * G, 40 * MI, 1.41 * G),
        *(_A100, _GA100),
    ),
    Chip(
        *("A100 80 GB SXM", r"A100-SXM4-80GB", "8.0", 108, 2039 * G, 40 * MI, 1.41 * G),
        *(_A100, _GA100),
    ),
    Chip(
        *("A100 80 GB PCIe", r"A100 80GB PCIe", "8.0", 108, 1935 * G, 40 * MI, 1.41 * G),
        *(_A100, _GA100),
    ),
    Chip(
        *("A10", r"A10", "8.6", 72, 600 * G, 6 * MI, 1.695 * G),
        _peaks(fp32=31.2, tf32=62.5, fp16=125, bf16=125),
        f"NVIDIA A10 data sheet; {_GA102}",
    ),
    Chip(
        *("A40", r"A40", "8.6", 84, 696 * G, 6 * MI, 1.74 * G),
        _peaks(fp32=37.4, tf32=74.8, fp16=149.7, bf16=149.7),
        f"NVIDIA A40 data sheet; {_GA102}",
    ),
    Chip(
        *("RTX 3090", r"RTX 3090", "8.6", 82, 936 * G, 6144 * KI, 1.695 * G),
        _peaks(fp32=35.6, tf32=35.6, fp16=71, bf16=71),
        _GA102,
    ),
    Chip(
        *("L4", r"L4", "8.9", 58, 300 * G, 48 * MI, 2.04 * G),
        _peaks(fp32=30.3, tf32=120 / 2, fp16=242 / 2, bf16=242 / 2, fp8=485 / 2),
        f"NVIDIA L4 data sheet; {_ADA}",
    ),
    Chip(
        *("L40S", r"L40S", "8.9", 142, 864 * G, 96 * MI, 2.52 * G),
        _peaks(fp32=91.6, tf32=183, fp16=362.05, bf16=362.05, fp8=733),
        f"NVIDIA L40S data sheet; {_ADA}",
    ),
    Chip(
        *("RTX 4090", r"RTX 4090", "8.9", 128, 1008 * G, 73728 * KI, 2.52 * G),
        _peaks(fp32=82.6, tf32=82.6, fp16=165.2, bf16=165.2, fp8=330.3),
        _ADA,
    ),
    Chip(
        *("H100 SXM", r"H100 80GB HBM3", "9.0", 132, 3.35 * T, 50 * MI, 1.98 * G),
        _peaks(fp64=33.5, fp32=66.9, tf32=494.7, fp16=989.4, bf16=989.4, fp8=1978.9),
        _HOPPER,
    ),
    Chip(
        *("H100 PCIe", r"H100 PCIe", "9.0", 114, 2 * T, 50 * MI, 1.755 * G),
        _peaks(fp64=25.6, fp32=51.2, tf32=378, fp16=756, bf16=756, fp8=1513),
        _HOPPER,
    ),
    Chip(
        *("H20", r"H20", "9.0", 78, 4 * T, 60 * MI, None),
        _peaks(fp64=1, fp32=44, tf32=74, fp16=148, bf16=148, fp8=296),
        "NVIDIA H20 specification, as resellers print it",
    ),
    Chip(
        *("H200 SXM", r"H200", "9.0", 132, 4.8 * T, 60 * MI, 1.98 * G),
        _H200,
        "NVIDIA H200 data sheet; L2 and clock as CUDA reports them",
    ),
    Chip(
        *("GH200, HBM3", r"GH200 (120|480)GB", "9.0", 132, 4 * T, None, 1.98 * G),
        *(_H200, _GRACE),
    ),
    Chip(
        *("GH200, HBM3e", r"GH200 144G HBM3e", "9.0", 132, 4.9 * T, None, 1.98 * G),
        *(_H200, _GRACE),
    ),
    Chip(
        *("B200", r"B200", "10.0", 148, 7.7 * T, 132_644_864, 1.965 * G),
        _peaks(fp64=37, fp32=75, tf32=2200 / 2, fp16=4500 / 2, bf16=4500 / 2, fp8=9000 / 2),
        "NVIDIA Blackwell data sheet, HGX B200; L2, SMs and clock as CUDA reports them",
    ),
    Chip(
        *("RTX 5090", r"RTX 5090", "12.0", 170, 1792 * G, 98304 * KI, 2.407 * G),
        _peaks(fp32=104.8, tf32=104.8, fp16=209.5, bf16=209.5, fp8=419),
        "NVIDIA RTX Blackwell GPU Architecture white paper",
    ),
)

_MAKER = re.compile(r"^(?:(?:NVIDIA|Tesla|GeForce)\s+)*", re.IGNORECASE)


def find(
    name: str, compute_capability: str | None = None, sm_count: int | None = None
) -> Chip | None:
    """Return the GPU that the driver calls ``name``; None where it is not in the table.

    The whole name must match: "RTX 4090 D", "H100 NVL" and "H20-3e" are other products. So is what
    has another compute capability or number of SMs, such as a MIG slice; None skips a check.
    """
    bare = " ".join(_MAKER.sub("", name.strip()).split())
    for chip in CHIPS:
        if re.fullmatch(chip.pattern, bare, re.IGNORECASE):
            same = compute_capability in {None, chip.compute_capability}
            return chip if same and sm_count in {None, chip.sm_count} else None
    return None


def of_runs(runs: pd.DataFrame) -> Chip | None:
    """Return the GPU of the frame ``runs``, with what the runs themselves say of it.

    Size of L2 and highest SM clock are those of the runs where they have them. None where no run
    names a GPU, where runs name several, and where the GPU is not in the table.
    """
    named = records(runs.dropna(subset=["gpu"]))
    if len({row["gpu"] for row in named}) != 1:
        return None
    live = {
        column: next((row[column] for row in named if row[column] is not None), None)
        for column in ("compute_capability", "sm_count", "l2_bytes", "sm_clock_max_hz")
    }
    chip = find(named[0]["gpu"], live["compute_capability"], live["sm_count"])
    if chip is None:
        return None
    return replace(
        chip,
        l2_bytes=live["l2_bytes"] or chip.l2_bytes,
        boost_hz=live["sm_clock_max_hz"] or chip.boost_hz,
    )
