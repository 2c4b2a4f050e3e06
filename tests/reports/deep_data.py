"""A small deep profile: two launches of one case, made up so that sums are easy."""

from __future__ import annotations

from typing import Any

import pandas as pd

from parsers.schemas import SCHEMAS
from reports.deep import DEEP_FRAMES, Deep

Rows = list[dict[str, Any]]
CASE = "64x64-float32"
KEY = {"operator": "gelu", "variant": "naive", "case": CASE}
UNCOALESCED = {"global_sectors": 320, "global_ideal_sectors": 80, "memory": "global load"}
CONFLICTING = {"shared_wavefronts": 64, "shared_ideal_wavefronts": 32, "memory": "shared store"}


def launch(number: int, **changes: Any) -> dict[str, Any]:
    return {
        **KEY,
        "launch": number,
        "kernel": f"kernel_{number}",
        "kernel_demangled": f"kernel_{number}",
        "duration_ns": 1000 * (number + 1),
        "instructions": 100 * (number + 1),
        "stall_long_scoreboard_cycles": 8.0 - 3 * number,
        "dram_throughput_pct": 40.0,
        "l2_throughput_pct": 30.0,
        "tensor_active_pct": 0.0,
        "tma_load_bytes": 0,
        "tma_store_bytes": 0,
        "global_load_sectors": 320,
        "global_store_sectors": 0,
        "grid_size": 132,
        "sm_count": 132,
        "limit_registers_blocks": 1,
        "limit_warps_blocks": 4,
    } | changes


def instruction(number: int, offset: int, sass: str, **changes: Any) -> dict[str, Any]:
    return {
        **KEY,
        "launch": number,
        "kernel": f"kernel_{number}",
        "offset_bytes": offset,
        "sass": sass,
        "ptx": f"ptx of {sass}",
        "file": "gelu.py",
        "line": 10 + offset // 16,
        "source": f"line of {sass}",
        "samples": 0,
        "warp_instructions": 8,
        "active_thread_instructions": 128,
    } | changes


def hotspot_rows() -> Rows:
    return [
        instruction(0, 0, "LDG R1, [R2]", samples=10, selected_samples=10, **UNCOALESCED),
        instruction(0, 16, "FMUL R1, R1", samples=60, long_scoreboard_samples=60),
        instruction(0, 32, "STS [R3], R1", samples=5, barrier_samples=5, **CONFLICTING),
        instruction(1, 0, "LDG R1, [R2]", samples=5, wait_samples=3, barrier_samples=2),
        instruction(1, 16, "EXIT", samples=20, drain_samples=15, wait_samples=5),
    ]


def advice_row(rule: str, title: str = "", **changes: Any) -> dict[str, Any]:
    return {
        **KEY,
        "launch": 0,
        "kernel": "kernel_0",
        "section": "S",
        "rule": rule,
        "title": title or rule,
        "message": f"{rule} says so.",
        "kind": "optimization",
    } | changes


def case_row(name: str) -> dict[str, Any]:
    shape, dtype = name.split("-")
    least: dict[str, Any] = {"min_read_bytes": 1, "min_write_bytes": 1, "flops": 1}
    return {"operator": "gelu", "case": name, "shape": shape, "dtype": dtype} | least


def frame(name: str, rows: Rows) -> pd.DataFrame:
    return SCHEMAS[name].conform(rows)


def deep(**changes: Rows) -> Deep:
    rows: dict[str, Rows] = {
        "counters": [launch(0), launch(1)],
        "hotspots": hotspot_rows(),
        "advice": [advice_row("CPIStall", "Long Stalls", speedup_pct=12.5, speedup_scope="global")],
        "runs": [
            {"operator": "gelu", "pass": "deep", "date": "2026-01-02T03:04:05Z"}
            | {"source_sha256": "a", "gpu": "NVIDIA H200", "commit": "0123456789abcdef"}
        ],
        "cases": [case_row(CASE)],
        "variants": [
            {"operator": "gelu", "variant": "naive", "summary": "term by term", "baseline": True}
        ],
        "outcomes": [{"pass": "deep", **KEY, "status": "ok"}],
    } | changes
    return Deep("gelu", "naive", **{name: frame(name, rows[name]) for name in DEEP_FRAMES})
