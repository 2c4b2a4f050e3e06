"""The frames of a deep profile: what each instruction cost, and what Nsight advises."""

from __future__ import annotations

from parsers.columns import FLOAT, INTEGER, Column, Schema, text
from parsers.stalls import SAMPLED, STALLS


def _launch() -> dict[str, Column]:
    return {
        "operator": text("what is computed"),
        "variant": text("which implementation"),
        "case": text("which input: shape, dtype, labels"),
        "launch": Column(INTEGER, "position of the launch within its range, from 0", "", "order"),
        "kernel": text("kernel name without arguments", "Nsight", required=True),
    }


def _count(meaning: str, unit: str, source: str) -> Column:
    return Column(INTEGER, meaning, unit, source)


def _samples(reason: str, meaning: str) -> Column:
    name = f"smsp__pcsamp_warps_issue_stalled_{SAMPLED.get(reason, reason)}"
    return _count(f"samples of warps {meaning}", "sample", name)


HOTSPOTS = Schema(
    "hotspots",
    "One row a launch and SASS instruction, in the order of addresses.",
    {
        **_launch(),
        "offset_bytes": Column(
            INTEGER, "address, from the first of the launch's instructions", "B", required=True
        ),
        "sass": text("the instruction; NA where the report has no SASS", "cubin"),
        "ptx": text("the PTX instruction that it was made from", "cubin"),
        "file": text("name of the source file, without its folder", "line information"),
        "line": _count("line of the source file, from 1", "", "line information"),
        "source": text("that line's text, where the report holds it", "--import-source"),
        "samples": _count("samples of warps here", "sample", "smsp__pcsamp_sample_count"),
        "not_issued_samples": _count(
            "samples of warps here when the scheduler issued nothing",
            "sample",
            "sum of smsp__pcsamp_warps_issue_stalled_*_not_issued",
        ),
        **{f"{reason}_samples": _samples(reason, meaning) for reason, meaning in STALLS.items()},
        "warp_instructions": _count("times that a warp executed it", "inst", "inst_executed"),
        "thread_instructions": _count(
            "times that a thread executed it, predicated off or not", "inst", "thread_inst_executed"
        ),
        "active_thread_instructions": _count(
            "times that a thread executed it, not predicated off",
            "inst",
            "thread_inst_executed_true",
        ),
        "memory": text(
            "what it accesses and how, such as `global load`", "memory_type, memory_access_type"
        ),
        "access_bits": _count("width of an access of a thread", "bit", "memory_access_size_type"),
        "global_sectors": _count(
            "sectors of global memory that its addresses ask for, without caches",
            "sector",
            "memory_l2_theoretical_sectors_global",
        ),
        "global_ideal_sectors": _count(
            "the same if the threads of a warp accessed neighbours",
            "sector",
            "memory_l2_theoretical_sectors_global_ideal",
        ),
        "shared_wavefronts": _count(
            "passes over shared memory", "wavefront", "memory_l1_wavefronts_shared"
        ),
        "shared_ideal_wavefronts": _count(
            "the same without bank conflicts", "wavefront", "memory_l1_wavefronts_shared_ideal"
        ),
    },
)

ADVICE = Schema(
    "advice",
    "One row a launch and result of a rule of Nsight Compute, in its order.",
    {
        **_launch(),
        "section": text("section of the report", "Nsight", required=True),
        "rule": text("identifier of the rule", "Nsight", required=True),
        "title": text("what it found, in a few words; else the rule's name", "Nsight"),
        "message": text("what it says, without Nsight's markup", "Nsight", required=True),
        "kind": text("info, optimization, warning or error", "Nsight", required=True),
        "speedup_pct": Column(FLOAT, "estimated gain of following it", "%", "Nsight"),
        "speedup_scope": text("global: of the kernel; local: of the part in question", "Nsight"),
        "metrics": text("metrics that it looks at, with value and info, as JSON", "Nsight"),
    },
)
