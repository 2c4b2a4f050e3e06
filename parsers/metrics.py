"""The one table of Nsight Compute metrics: our column, its meaning, its unit and its Nsight names.

The table drives what ``ncu`` is asked for, what is read back, the schema of the counters frame and
how launches roll up into a variant. Names were collected on compute capability 9.0 with Nsight
Compute 2025.3.1; the names after the first are what other chips or versions call the same thing.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Rollup(Enum):
    """How the launches of one range make one value.

    ``SUM``: counters and durations add up. ``MEAN``: percentages, rates and ratios are averaged
    with a weight column (the ratio's own denominator where there is one, else the duration).
    ``LAUNCH``: a property of a launch, never averaged; it is listed, or its largest is named.
    """

    SUM = "sum"
    MEAN = "mean"
    LAUNCH = "launch"


@dataclass(frozen=True)
class Metric:
    """One column of the counters frame and where Nsight Compute keeps it.

    ``most`` is the largest value that is taken for one; ``since`` the compute capability from which
    chips have it; ``formula`` what it is made of where none of its names was collected.
    """

    column: str
    meaning: str
    unit: str
    names: tuple[str, ...]
    rollup: Rollup = Rollup.SUM
    weight: str = "duration_ns"
    integer: bool = False
    most: float | None = None
    since: str | None = None
    formula: str | None = None


EXACT, APART = 1.001, 1.05
"""How far above the most that can be a value may be read: by rounding alone; and by what differs
between passes over a kernel, where a ratio's two counters come from two (102.6 % of L2 hits seen on
an H200)."""


def _sum(column: str, meaning: str, unit: str, *names: str, since: str | None = None) -> Metric:
    return Metric(column, meaning, unit, names, Rollup.SUM, integer=True, since=since)


def _mean(
    column: str,
    meaning: str,
    unit: str,
    *names: str,
    weight: str = "duration_ns",
    most: float | None = None,
    formula: str | None = None,
) -> Metric:
    if unit == "%" and most is None:
        most = 100 * EXACT
    return Metric(column, meaning, unit, names, Rollup.MEAN, weight, most=most, formula=formula)


def _launch(
    column: str,
    meaning: str,
    unit: str,
    *names: str,
    integer: bool = True,
    since: str | None = None,
    formula: str | None = None,
) -> Metric:
    return Metric(
        column, meaning, unit, names, Rollup.LAUNCH, integer=integer, since=since, formula=formula
    )


_PEAK = "avg.pct_of_peak_sustained_elapsed"
_LSU = "pipe_lsu_mem_global_op"
_LD_RATIO = "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld"
_ST_RATIO = "smsp__sass_average_data_bytes_per_sector_mem_global_op_st"

METRICS: tuple[Metric, ...] = (
    _sum("duration_ns", "time the kernel ran", "ns", "gpu__time_duration.sum"),
    _sum(
        "sm_cycles",
        "cycles of the longest-running SM",
        "cycle",
        "sm__cycles_elapsed.max",
        "gpc__cycles_elapsed.max",
    ),
    _mean(
        "sm_clock_hz",
        "SM clock",
        "Hz",
        "gpc__cycles_elapsed.avg.per_second",
        formula="sm_cycles / duration_ns * 1e9",
    ),
    _mean("dram_clock_hz", "DRAM clock", "Hz", "dram__cycles_elapsed.avg.per_second"),
    _mean("sm_throughput_pct", "SM throughput, share of peak", "%", f"sm__throughput.{_PEAK}"),
    _mean(
        "memory_throughput_pct",
        "throughput of the busiest part of the memory system, share of peak",
        "%",
        f"gpu__compute_memory_throughput.{_PEAK}",
    ),
    _mean(
        "dram_throughput_pct",
        "DRAM throughput, share of peak",
        "%",
        f"gpu__dram_throughput.{_PEAK}",
        f"dram__throughput.{_PEAK}",
    ),
    _sum(
        "dram_read_bytes",
        "bytes read from DRAM",
        "B",
        "dram__bytes_read.sum",
        "dram__bytes_op_read.sum",
    ),
    _sum(
        "dram_write_bytes",
        "bytes written to DRAM; what still lies in L2 when the kernel ends is not counted",
        "B",
        "dram__bytes_write.sum",
        "dram__bytes_op_write.sum",
    ),
    _mean(
        "dram_rate_bytes_per_s",
        "DRAM bytes a second",
        "B/s",
        "dram__bytes.sum.per_second",
        formula="(dram_read_bytes + dram_write_bytes) / duration_ns * 1e9",
    ),
    _launch(
        "dram_peak_bytes_per_cycle",
        "DRAM bytes a DRAM cycle at peak",
        "B/cycle",
        "dram__bytes.sum.peak_sustained",
        integer=False,
    ),
    _mean(
        "l1_hit_pct",
        "L1 sector hit rate",
        "%",
        "l1tex__t_sector_hit_rate.pct",
        most=100 * APART,
    ),
    _mean("l2_hit_pct", "L2 sector hit rate", "%", "lts__t_sector_hit_rate.pct", most=100 * APART),
    _sum("l2_bytes", "bytes through L2", "B", "lts__t_bytes.sum"),
    _sum(
        "global_load_requests",
        "global load requests",
        "request",
        f"l1tex__t_requests_{_LSU}_ld.sum",
    ),
    _sum(
        "global_store_requests",
        "global store requests",
        "request",
        f"l1tex__t_requests_{_LSU}_st.sum",
    ),
    _sum("global_load_sectors", "sectors loaded", "sector", f"l1tex__t_sectors_{_LSU}_ld.sum"),
    _sum("global_store_sectors", "sectors stored", "sector", f"l1tex__t_sectors_{_LSU}_st.sum"),
    _mean(
        "load_bytes_per_sector",
        "bytes used of each 32-byte sector loaded",
        "B/sector",
        f"{_LD_RATIO}.ratio",
        weight="global_load_sectors",
    ),
    _mean(
        "store_bytes_per_sector",
        "bytes used of each 32-byte sector stored",
        "B/sector",
        f"{_ST_RATIO}.ratio",
        weight="global_store_sectors",
    ),
    _sum(
        "tma_load_bytes",
        "bytes loaded by the tensor memory accelerator",
        "B",
        "l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum",
        since="9.0",
    ),
    _sum(
        "shared_load_conflicts",
        "bank conflicts of shared-memory loads",
        "conflict",
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    ),
    _sum(
        "shared_store_conflicts",
        "bank conflicts of shared-memory stores",
        "conflict",
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    ),
    _sum(
        "shared_load_wavefronts",
        "wavefronts of shared-memory loads",
        "wavefront",
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    ),
    _sum(
        "shared_store_wavefronts",
        "wavefronts of shared-memory stores",
        "wavefront",
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    ),
    _mean(
        "occupancy_achieved_pct",
        "warps active on an SM, share of what an SM can hold",
        "%",
        "sm__warps_active.avg.pct_of_peak_sustained_active",
    ),
    _mean(
        "occupancy_theoretical_pct",
        "warps that fit on an SM, share of what an SM can hold",
        "%",
        "sm__maximum_warps_per_active_cycle_pct",
    ),
    _launch(
        "limit_registers_blocks",
        "blocks an SM can hold by registers",
        "block",
        "launch__occupancy_limit_registers",
    ),
    _launch(
        "limit_shared_mem_blocks",
        "blocks an SM can hold by shared memory",
        "block",
        "launch__occupancy_limit_shared_mem",
    ),
    _launch(
        "limit_warps_blocks",
        "blocks an SM can hold by warps",
        "block",
        "launch__occupancy_limit_warps",
    ),
    _launch(
        "limit_blocks_blocks",
        "blocks an SM can hold at most",
        "block",
        "launch__occupancy_limit_blocks",
    ),
    _launch(
        "limit_barriers_blocks",
        "blocks an SM can hold by barriers",
        "block",
        "launch__occupancy_limit_barriers",
        since="9.0",
    ),
    _launch(
        "registers_per_thread",
        "registers a thread",
        "register",
        "launch__registers_per_thread",
    ),
    _launch("grid_x", "blocks along x", "block", "launch__grid_dim_x"),
    _launch("grid_y", "blocks along y", "block", "launch__grid_dim_y"),
    _launch("grid_z", "blocks along z", "block", "launch__grid_dim_z"),
    _launch("block_x", "threads of a block along x", "thread", "launch__block_dim_x"),
    _launch("block_y", "threads of a block along y", "thread", "launch__block_dim_y"),
    _launch("block_z", "threads of a block along z", "thread", "launch__block_dim_z"),
    *(
        _launch(
            f"{part}_size",
            meaning,
            unit,
            f"launch__{part}_size",
            formula=f"{part}_x * {part}_y * {part}_z",
        )
        for part, meaning, unit in (
            ("grid", "blocks of the grid", "block"),
            ("block", "threads of a block", "thread"),
        )
    ),
    _launch(
        "static_shared_bytes",
        "static shared memory a block",
        "B",
        "launch__shared_mem_per_block_static",
    ),
    _launch(
        "dynamic_shared_bytes",
        "dynamic shared memory a block",
        "B",
        "launch__shared_mem_per_block_dynamic",
    ),
    _launch(
        "waves",
        "grid size over the blocks that the GPU holds at once",
        "wave",
        "launch__waves_per_multiprocessor",
        integer=False,
    ),
    _launch("sm_count", "SMs of the GPU", "SM", "launch__sm_count"),
    _mean(
        "tensor_active_pct",
        "tensor pipe active, share of peak",
        "%",
        f"sm__pipe_tensor_cycles_active.{_PEAK}",
    ),
    _sum(
        "tensor_instructions",
        "tensor instructions executed",
        "instruction",
        "sm__inst_executed_pipe_tensor.sum",
    ),
    *(
        _sum(f"tensor_{kind}_flops", f"tensor FLOPs, {kind} sources", "FLOP", *names)
        for kind, names in {
            "fp16": (
                "sm__ops_path_tensor_src_fp16.sum",
                "sm__ops_path_tensor_src_fp16_sparsity_off.sum",
            ),
            "bf16": (
                "sm__ops_path_tensor_src_bf16_dst_fp32.sum",
                "sm__ops_path_tensor_src_bf16_dst_fp32_sparsity_off.sum",
            ),
            "tf32": (
                "sm__ops_path_tensor_src_tf32_dst_fp32.sum",
                "sm__ops_path_tensor_src_tf32_dst_fp32_sparsity_off.sum",
            ),
        }.items()
    ),
    *(
        _sum(
            f"{op}_thread_instructions",
            f"{op.upper()} instructions of threads whose predicate is on",
            "instruction",
            f"smsp__sass_thread_inst_executed_op_{op}_pred_on.sum",
        )
        for op in ("fadd", "fmul", "ffma", "hadd", "hmul", "hfma", "dadd", "dmul", "dfma")
    ),
    _sum(
        "local_load_instructions",
        "loads from local memory, which is where registers spill to",
        "instruction",
        "smsp__sass_inst_executed_op_local_ld.sum",
    ),
    _sum(
        "local_store_instructions",
        "stores to local memory, which is where registers spill to",
        "instruction",
        "smsp__sass_inst_executed_op_local_st.sum",
    ),
    _mean(
        "threads_per_instruction",
        "threads active in an executed warp instruction, of 32",
        "thread",
        "smsp__thread_inst_executed_per_inst_executed.ratio",
        weight="instructions",
        most=32 * APART,
    ),
    _sum("instructions", "warp instructions executed", "instruction", "smsp__inst_executed.sum"),
)

OCCUPANCY_LIMITS: dict[str, str] = {
    "limit_registers_blocks": "registers",
    "limit_shared_mem_blocks": "shared memory",
    "limit_warps_blocks": "warps",
    "limit_blocks_blocks": "blocks",
    "limit_barriers_blocks": "barriers",
}
"""The resources that limit how many blocks an SM holds: column and the word for it."""


def requested() -> tuple[str, ...]:
    """Return every metric name to ask ``ncu --metrics`` for, in table order, without repeats.

    Aliases are asked for too: ``ncu`` skips a name that the chip does not know.
    """
    return tuple(dict.fromkeys(name for metric in METRICS for name in metric.names))
