"""Hand-made frames that look like GeLU's: naive is nine launches, the others are one each."""

from __future__ import annotations

from typing import Any

import numpy as np

from parsers.schemas import SCHEMAS
from reports.frames import NAMES, Frames

CASE = "8192x8192-float32"
ELEMENTS = 8192 * 8192
SIZE = 4 * ELEMENTS
VARIANTS = ("naive", "builtin", "compiled", "triton")
MEDIANS = {"naive": 1394e3, "builtin": 130.9e3, "compiled": 130.1e3, "triton": 130.2e3}
PASSES = ("check", "build", "time", "nsys", "ncu")
CROSSINGS = (1, 1, 2, 2, 2, 1, 1, 1, 2)
TEMPLATE = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::F{}, std::array<char *, 2>>"
)

Rows = list[dict[str, Any]]


def key(variant: str, case: str = CASE) -> dict[str, Any]:
    return {"operator": "gelu", "variant": variant, "case": case}


def launch(variant: str, position: int, *, reads: int = 1, **changes: Any) -> dict[str, Any]:
    """One launch of the ncu pass that reads ``reads`` tensors and writes one."""
    requests = ELEMENTS // 128
    row = {
        **key(variant),
        "launch": position,
        "kernel": "vectorized_elementwise_kernel",
        "kernel_demangled": TEMPLATE.format(position),
        "compute_capability": "9.0",
        "duration_ns": 125_000 + 56_000 * (reads - 1),
        "dram_read_bytes": SIZE * reads + 10_000,
        "dram_write_bytes": 244_000_000,
        "dram_throughput_pct": 88.0,
        "memory_throughput_pct": 88.0,
        "sm_throughput_pct": 30.0,
        "global_load_requests": requests * reads,
        "global_store_requests": requests,
        "global_load_sectors": 16 * requests * reads,
        "global_store_sectors": 16 * requests,
        "load_bytes_per_sector": 32.0,
        "store_bytes_per_sector": 32.0,
        "occupancy_achieved_pct": 85.0,
        "occupancy_theoretical_pct": 100.0,
        "occupancy_limiter": "registers + warps",
        "registers_per_thread": 32,
        "local_load_instructions": 0,
        "local_store_instructions": 0,
        "waves": 31.03,
        **{f"grid_{axis}": n for axis, n in zip("xyz", (65536, 1, 1), strict=True)},
        **{f"block_{axis}": n for axis, n in zip("xyz", (128, 1, 1), strict=True)},
    }
    return row | changes


def counter_rows() -> Rows:
    naive = [launch("naive", i, reads=reads) for i, reads in enumerate(CROSSINGS)]
    return naive + [launch(v, 0, registers_per_thread=30) for v in VARIANTS[1:]]


def timeline_rows() -> Rows:
    rows: Rows = []
    clock = 0
    for repeat in range(3):
        for row in counter_rows():
            clock += 2_000
            rows.append(
                {c: row[c] for c in ("operator", "variant", "case", "launch", "kernel")}
                | {"kernel_demangled": row["kernel_demangled"], "repeat": repeat}
                | {"start_ns": clock, "duration_ns": row["duration_ns"] + 2_000 + repeat}
            )
            clock += row["duration_ns"] + 2_000 + repeat
    return rows


def sample_rows(medians: dict[str, float] = MEDIANS, rounds: int = 100) -> Rows:
    """Samples with 0.3 % of noise, of which half is shared by a round."""
    random = np.random.default_rng(7)
    shared = random.normal(1, 0.002, rounds)
    return [
        key(variant) | {"round": i, "duration_ns": value * shared[i] * random.normal(1, 0.002)}
        for variant, value in medians.items()
        for i in range(rounds)
    ]


def check_rows() -> Rows:
    numbers: dict[str, Any] = {
        "seed": 1,
        "elements": ELEMENTS,
        "wrong_elements": 0,
        "max_abs_error": 4.8e-7,
    }
    numbers |= {"relative_error": 3.1e-8, "tolerance_share": 0.21, "rtol": 1e-5, "atol": 1e-6}
    return [key(variant) | {"status": "ok"} | numbers for variant in VARIANTS]


def run_rows() -> Rows:
    tools = {"nsys": "Nsight Systems 2025.3.1", "ncu": "Nsight Compute 2025.3.1"}
    return [
        {
            "operator": "gelu",
            "pass": name,
            "date": "2026-11-30T07:12:00Z",
            "commit": "0123456789abcdef0123456789abcdef01234567",
            "source_sha256": "5e" * 32,
            "roofsnake": "0.1.0",
            "gpu": "NVIDIA H200",
            "compute_capability": "9.0",
            "sm_count": 132,
            "l2_bytes": 62_914_560,
            "memory_bytes": 150_000_000_000,
            "driver": "580.159",
            "sm_clock_max_hz": 1_980_000_000,
            "memory_clock_max_hz": 3_201_000_000,
            "clock_policy": "not locked",
            "python": "3.12.3",
            "torch": "2.11.0",
            "cuda": "13.0",
            "triton": "3.6.0",
            "tool": tools.get(name),
            "settings": '{"rounds": 100}' if name == "time" else "{}",
        }
        for name in PASSES
    ]


def build_rows() -> Rows:
    return [
        key("triton")
        | {"kernel": "gelu_kernel", "arch": arch, "config": '{"block": 1024, "num_warps": 4}'}
        | {"status": "ok", "registers_per_thread": 32, "stack_bytes": 0, "shared_bytes": 0}
        | {"threads_per_block": 128, "spill_loads": 0, "spill_stores": 0, "load_bits": 128}
        | {"store_bits": 128, "tensor_instructions": 0, "sass_instructions": 214}
        | {"triton": "3.6.0"}
        for arch in ("sm_80", "sm_90", "sm_100")
    ]


def all_rows() -> dict[str, Rows]:
    cases: dict[str, Any] = {
        "operator": "gelu",
        "case": CASE,
        "shape": "8192x8192",
        "dtype": "float32",
    }
    cases |= {"axes": "rows columns", "min_read_bytes": SIZE, "min_write_bytes": SIZE}
    return {
        "samples": sample_rows(),
        "ceilings": [
            {"ceiling": "copy", "round": i, "moved_bytes": 2 * 2**31, "duration_ns": 1.008e6 + i}
            for i in range(100)
        ],
        "timeline": timeline_rows(),
        "counters": counter_rows(),
        "coverage": [
            {"operator": "gelu", "column": "duration_ns", "status": "measured", "launches": 12}
        ],
        "flags": [],
        "checks": check_rows(),
        "builds": build_rows(),
        "cases": [cases | {"flops": 9 * ELEMENTS, "summed": 1}],
        "variants": [
            {"operator": "gelu", "variant": v, "summary": f"how {v} does", "baseline": i == 0}
            for i, v in enumerate(VARIANTS)
        ],
        "outcomes": [key(v) | {"pass": p, "status": "ok"} for p in PASSES for v in VARIANTS],
        "runs": run_rows(),
    }


def make(**changes: Rows) -> Frames:
    """Make frames that follow their schemas, with the rows of some of them replaced."""
    rows = all_rows() | changes
    return Frames(operator="gelu", **{name: SCHEMAS[name].conform(rows[name]) for name in NAMES})


def empty(operator: str = "gelu") -> Frames:
    """Make frames without rows."""
    return Frames(operator=operator, **{name: SCHEMAS[name].conform([]) for name in NAMES})
