from __future__ import annotations

from typing import Any

import pytest

from reports.advice import set_aside
from tests.reports.deep_data import advice_row, frame, instruction, launch

TMA = {"tma_load_bytes": 10_000_000, "global_load_sectors": 8}
DRAM = {"dram_throughput_pct": 91.25}
TENSOR = {"tensor_active_pct": 85.0}
UNCOMPRESSED = "Out of the 1.0 bytes sent only 0.00% were successfully compressed."
ROLES = "USETMAXREG.DEALLOC.CTAPOOL 0x18"


def reason(
    rule: str,
    title: str = "",
    counted: dict[str, Any] | None = None,
    sass: str = "FMUL",
    **changes: Any,
) -> str | None:
    """Return why a piece of advice for a launch with these counters is set aside."""
    said = frame("advice", [advice_row(rule, title, **changes)])
    judged = set_aside(
        said,
        frame("counters", [launch(0, **(counted or {})), launch(1)]),
        frame("hotspots", [instruction(0, 0, sass, **SHARED)]),
    )
    assert len(judged) == 1
    value = judged["set_aside"].astype(object).where(judged["set_aside"].notna(), None)[0]
    return None if value is None else str(value)


SHARED = {"shared_wavefronts": 1000, "shared_ideal_wavefronts": 1000}
OCCUPANCY = ("AchievedOccupancy", "TheoreticalOccupancy", "IssueSlotUtilization")


@pytest.mark.parametrize("rule", OCCUPANCY)
def test_more_warps_do_not_help_what_is_busy_or_has_roles(rule: str) -> None:
    said = "of its peak, which this does not relieve"
    assert reason(rule, counted=DRAM) == f"DRAM is at 91.2 % {said}"
    assert reason(rule, counted=TENSOR) == f"the tensor pipe is at 85.0 % {said}"
    assert reason(rule, counted={"l2_throughput_pct": 80.0}) == f"L2 is at 80.0 % {said}"
    assert "its warps have roles" in (reason(rule, sass=ROLES) or "")


@pytest.mark.parametrize("rule", OCCUPANCY)
def test_more_warps_may_help_what_is_idle(rule: str) -> None:
    assert reason(rule, counted={"dram_throughput_pct": 79.9}) is None
    absent = dict.fromkeys(("dram_throughput_pct", "l2_throughput_pct", "tensor_active_pct"))
    assert reason(rule, counted=absent) is None


def test_idle_pipes_are_no_fault_where_memory_is_busy() -> None:
    assert reason("HighPipeUtilization", "Low Utilization", DRAM) is not None
    assert reason("HighPipeUtilization", "Low Utilization") is None
    assert reason("HighPipeUtilization", "Low Utilization", sass=ROLES) is None
    assert reason("HighPipeUtilization", "Very High Utilization", DRAM) is None


@pytest.mark.parametrize("rule", ["FPInstructions", "ThreadDivergence"])
def test_fewer_instructions_do_not_help_where_memory_is_busy(rule: str) -> None:
    assert reason(rule, counted=DRAM) is not None
    assert reason(rule) is None
    assert reason(rule, sass=ROLES) is None


@pytest.mark.parametrize("rule", ["UncoalescedGlobalAccess", "MemoryCacheAccessPattern"])
def test_accesses_of_threads_do_not_matter_beside_tma(rule: str) -> None:
    assert (reason(rule, counted=TMA) or "").startswith("100.0 % of its bytes go by TMA")
    stored = {"tma_store_bytes": 9 * 32 * 320, "global_load_sectors": 320}
    assert (reason(rule, counted=stored) or "").startswith("90.0 % of its bytes go by TMA")
    assert reason(rule, counted={"tma_load_bytes": 8 * 32 * 320}) is None
    assert reason(rule, counted={"tma_load_bytes": None, "global_load_sectors": None}) is None


def test_a_small_grid_is_whole_where_a_block_fills_an_sm() -> None:
    rule = ("LaunchConfiguration", "Small Grid")
    assert reason(*rule) == "a block fills an SM, and 132 of 132 SMs have one"
    assert reason(*rule, {"grid_size": 119}) is not None
    assert reason(*rule, {"grid_size": 118}) is None
    assert reason(*rule, {"grid_size": 264}) is None
    assert reason(*rule, {"limit_registers_blocks": 2}) is None
    assert reason(*rule, {"sm_count": None}) is None
    assert reason("LaunchConfiguration", "Block Size") is None


def test_the_roofline_of_cuda_cores_is_not_that_of_tensor_cores() -> None:
    assert reason("SOLFPRoofline", counted=TENSOR) is not None
    assert reason("SOLFPRoofline", counted={"tensor_active_pct": 0.88}) is None
    assert reason("SOLFPRoofline", counted={"tensor_active_pct": None}) is None


def test_compression_is_set_aside_where_nothing_was_compressed() -> None:
    assert reason("MemoryL2Compression", message=UNCOMPRESSED) is not None
    some = UNCOMPRESSED.replace("0.00%", "10.00%")
    assert reason("MemoryL2Compression", message=some) is None


def test_conflicts_that_no_instruction_has() -> None:
    said = reason("SharedMemoryConflicts")
    assert said == "no instruction has them: 1,000 wavefronts by address, 1,000 without conflicts"
    conflicts = frame(
        "hotspots", [instruction(0, 0, "STS", **SHARED | {"shared_wavefronts": 2000})]
    )
    said_too = set_aside(
        frame("advice", [advice_row("SharedMemoryConflicts")]),
        frame("counters", [launch(0)]),
        conflicts,
    )
    assert said_too["set_aside"].isna().all()


def test_without_instructions_what_needs_them_stands() -> None:
    judged = set_aside(
        frame("advice", [advice_row("SharedMemoryConflicts"), advice_row("CPIStall")]),
        frame("counters", [launch(0)]),
        frame("hotspots", []),
    )
    assert judged["set_aside"].isna().tolist() == [True, True]


def test_advice_outside_of_ranges_is_left_out() -> None:
    outside: dict[str, Any] = {"operator": None, "variant": None, "case": None, "launch": None}
    judged = set_aside(
        frame("advice", [advice_row("CPIStall", **outside)]),
        frame("counters", [launch(0), launch(0) | outside]),
        frame("hotspots", []),
    )
    assert judged.empty
