"""The one table of Nsight Compute metrics: our column, its meaning, its unit and its Nsight names.

The table drives what ``ncu`` is asked for, what is read back, the schema of the counters frame and
how launches roll up into a variant. Names were collected on compute capability 9.0 with Nsight
Compute 2025.3.1; the names after the first are what other chips or versions call the same thing.
"""

from __future__ import annotations

from dataclasses import replace

from parsers.metric import APART, Metric, launch, mean, summed
from parsers.stalls import STALLS, UNTIL_HOPPER

_PEAK = "avg.pct_of_peak_sustained_elapsed"
_ACTIVE = "avg.pct_of_peak_sustained_active"
_LSU = "pipe_lsu_mem_global_op"
_LD_RATIO = "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld"
_ST_RATIO = "smsp__sass_average_data_bytes_per_sector_mem_global_op_st"

_PARTS = (("grid", "blocks", "block"), ("block", "threads of a block", "thread"))
_WHOLES = (("grid", "blocks of the grid", "block"), ("block", "threads of a block", "thread"))

METRICS: tuple[Metric, ...] = (
    summed("duration_ns", "time the kernel ran", "ns", "gpu__time_duration.sum"),
    summed(
        "sm_cycles",
        "cycles of the longest-running SM",
        "cycle",
        "sm__cycles_elapsed.max",
        "gpc__cycles_elapsed.max",
    ),
    mean(
        "sm_clock_hz",
        "SM clock",
        "Hz",
        "gpc__cycles_elapsed.avg.per_second",
        formula="sm_cycles / duration_ns * 1e9",
    ),
    mean("dram_clock_hz", "DRAM clock", "Hz", "dram__cycles_elapsed.avg.per_second"),
    mean("sm_throughput_pct", "SM throughput, share of peak", "%", f"sm__throughput.{_PEAK}"),
    mean(
        "memory_throughput_pct",
        "throughput of the busiest part of the memory system, share of peak",
        "%",
        f"gpu__compute_memory_throughput.{_PEAK}",
    ),
    mean(
        "dram_throughput_pct",
        "DRAM throughput, share of peak",
        "%",
        f"gpu__dram_throughput.{_PEAK}",
        f"dram__throughput.{_PEAK}",
    ),
    summed(
        "dram_read_bytes",
        "bytes read from DRAM",
        "B",
        "dram__bytes_read.sum",
        "dram__bytes_op_read.sum",
    ),
    summed(
        "dram_write_bytes",
        "bytes written to DRAM; what still lies in L2 when the kernel ends is not counted",
        "B",
        "dram__bytes_write.sum",
        "dram__bytes_op_write.sum",
    ),
    mean(
        "dram_rate_bytes_per_s",
        "DRAM bytes a second",
        "B/s",
        "dram__bytes.sum.per_second",
        formula="(dram_read_bytes + dram_write_bytes) / duration_ns * 1e9",
    ),
    launch(
        "dram_peak_bytes_per_cycle",
        "DRAM bytes a DRAM cycle at peak",
        "B/cycle",
        "dram__bytes.sum.peak_sustained",
        integer=False,
    ),
    mean(
        "l1_hit_pct",
        "L1 sector hit rate",
        "%",
        "l1tex__t_sector_hit_rate.pct",
        most=100 * APART,
    ),
    mean("l2_hit_pct", "L2 sector hit rate", "%", "lts__t_sector_hit_rate.pct", most=100 * APART),
    summed("l2_bytes", "bytes through L2", "B", "lts__t_bytes.sum"),
    summed(
        "global_load_requests",
        "global load requests",
        "request",
        f"l1tex__t_requests_{_LSU}_ld.sum",
    ),
    summed(
        "global_store_requests",
        "global store requests",
        "request",
        f"l1tex__t_requests_{_LSU}_st.sum",
    ),
    summed("global_load_sectors", "sectors loaded", "sector", f"l1tex__t_sectors_{_LSU}_ld.sum"),
    summed("global_store_sectors", "sectors stored", "sector", f"l1tex__t_sectors_{_LSU}_st.sum"),
    mean(
        "load_bytes_per_sector",
        "bytes used of each 32-byte sector loaded",
        "B/sector",
        f"{_LD_RATIO}.ratio",
        weight="global_load_sectors",
    ),
    mean(
        "store_bytes_per_sector",
        "bytes used of each 32-byte sector stored",
        "B/sector",
        f"{_ST_RATIO}.ratio",
        weight="global_store_sectors",
    ),
    summed(
        "tma_load_bytes",
        "bytes loaded by the tensor memory accelerator",
        "B",
        "l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum",
        since="9.0",
    ),
    summed(
        "shared_load_conflicts",
        "bank conflicts of shared-memory loads",
        "conflict",
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    ),
    summed(
        "shared_store_conflicts",
        "bank conflicts of shared-memory stores",
        "conflict",
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    ),
    summed(
        "shared_load_wavefronts",
        "wavefronts of shared-memory loads",
        "wavefront",
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    ),
    summed(
        "shared_store_wavefronts",
        "wavefronts of shared-memory stores",
        "wavefront",
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    ),
    mean(
        "occupancy_achieved_pct",
        "warps active on an SM, share of what an SM can hold",
        "%",
        f"sm__warps_active.{_ACTIVE}",
    ),
    mean(
        "occupancy_theoretical_pct",
        "warps that fit on an SM, share of what an SM can hold",
        "%",
        "sm__maximum_warps_per_active_cycle_pct",
    ),
    launch(
        "limit_registers_blocks",
        "blocks an SM can hold by registers",
        "block",
        "launch__occupancy_limit_registers",
    ),
    launch(
        "limit_shared_mem_blocks",
        "blocks an SM can hold by shared memory",
        "block",
        "launch__occupancy_limit_shared_mem",
    ),
    launch(
        "limit_warps_blocks",
        "blocks an SM can hold by warps",
        "block",
        "launch__occupancy_limit_warps",
    ),
    launch(
        "limit_blocks_blocks",
        "blocks an SM can hold at most",
        "block",
        "launch__occupancy_limit_blocks",
    ),
    launch(
        "limit_barriers_blocks",
        "blocks an SM can hold by barriers",
        "block",
        "launch__occupancy_limit_barriers",
        since="9.0",
    ),
    launch(
        "registers_per_thread",
        "registers a thread",
        "register",
        "launch__registers_per_thread",
    ),
    *(
        launch(f"{part}_{axis}", f"{what} along {axis}", unit, f"launch__{part}_dim_{axis}")
        for part, what, unit in _PARTS
        for axis in "xyz"
    ),
    *(
        launch(
            f"{part}_size",
            meaning,
            unit,
            f"launch__{part}_size",
            formula=f"{part}_x * {part}_y * {part}_z",
        )
        for part, meaning, unit in _WHOLES
    ),
    launch(
        "static_shared_bytes",
        "static shared memory a block",
        "B",
        "launch__shared_mem_per_block_static",
    ),
    launch(
        "dynamic_shared_bytes",
        "dynamic shared memory a block",
        "B",
        "launch__shared_mem_per_block_dynamic",
    ),
    launch(
        "waves",
        "grid size over the blocks that the GPU holds at once",
        "wave",
        "launch__waves_per_multiprocessor",
        integer=False,
    ),
    launch("sm_count", "SMs of the GPU", "SM", "launch__sm_count"),
    mean(
        "tensor_active_pct",
        "tensor pipe active, share of peak",
        "%",
        f"sm__pipe_tensor_cycles_active.{_PEAK}",
    ),
    summed(
        "tensor_instructions",
        "tensor instructions executed",
        "instruction",
        "sm__inst_executed_pipe_tensor.sum",
    ),
    summed(
        "tensor_fp16_flops",
        "tensor FLOPs, fp16 sources",
        "FLOP",
        "sm__ops_path_tensor_src_fp16.sum",
        "sm__ops_path_tensor_src_fp16_sparsity_off.sum",
        formula="tensor_fp16_to_fp16_flops + tensor_fp16_to_fp32_flops",
    ),
    *(
        summed(f"tensor_{kind}_flops", f"tensor FLOPs, {kind} sources", "FLOP", *names)
        for kind, names in {
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
        summed(
            f"{op}_thread_instructions",
            f"{op.upper()} instructions of threads whose predicate is on",
            "instruction",
            f"smsp__sass_thread_inst_executed_op_{op}_pred_on.sum",
        )
        for op in ("fadd", "fmul", "ffma", "hadd", "hmul", "hfma", "dadd", "dmul", "dfma")
    ),
    summed(
        "local_load_instructions",
        "loads from local memory, which is where registers spill to",
        "instruction",
        "smsp__sass_inst_executed_op_local_ld.sum",
    ),
    summed(
        "local_store_instructions",
        "stores to local memory, which is where registers spill to",
        "instruction",
        "smsp__sass_inst_executed_op_local_st.sum",
    ),
    mean(
        "threads_per_instruction",
        "threads active in an executed warp instruction, of 32",
        "thread",
        "smsp__thread_inst_executed_per_inst_executed.ratio",
        weight="instructions",
        most=32 * APART,
    ),
    summed("instructions", "warp instructions executed", "instruction", "smsp__inst_executed.sum"),
    *(
        summed(
            f"tensor_fp16_to_{kind}_flops",
            f"tensor FLOPs, fp16 sources, added up in {kind}",
            "FLOP",
            f"sm__ops_path_tensor_src_fp16_dst_{kind}.sum",
        )
        for kind in ("fp16", "fp32")
    ),
    summed("l2_read_sectors", "sectors read from L2", "sector", "lts__t_sectors_op_read.sum"),
    summed("l2_write_sectors", "sectors written to L2", "sector", "lts__t_sectors_op_write.sum"),
    summed(
        "tma_store_bytes",
        "bytes stored by the tensor memory accelerator",
        "B",
        "l1tex__m_l1tex2xbar_write_bytes_mem_global_op_tma_st.sum",
        since="9.0",
    ),
    mean("l1_throughput_pct", "L1 throughput, share of peak", "%", f"l1tex__throughput.{_ACTIVE}"),
    mean("l2_throughput_pct", "L2 throughput, share of peak", "%", f"lts__throughput.{_PEAK}"),
    mean(
        "shared_throughput_pct",
        "wavefronts of shared memory, share of peak",
        "%",
        f"l1tex__data_pipe_lsu_wavefronts_mem_shared.{_PEAK}",
    ),
    *(
        mean(
            f"{pipe}_pipe_pct",
            f"instructions through the pipe for {what}, share of peak",
            "%",
            f"sm__inst_executed_pipe_{pipe}.{_ACTIVE}",
        )
        for pipe, what in {
            "alu": "integers and logic",
            "fma": "float32",
            "fp64": "float64",
            "lsu": "loads and stores",
            "xu": "special functions and conversions",
        }.items()
    ),
    mean(
        "issue_active_pct",
        "cycles in which a scheduler issues an instruction, of those with a warp",
        "%",
        f"smsp__issue_active.{_ACTIVE}",
    ),
    mean(
        "warps_per_scheduler",
        "warps resident on a scheduler",
        "warp",
        "smsp__warps_active.avg.per_cycle_active",
    ),
    mean(
        "eligible_warps_per_scheduler",
        "warps of a scheduler that could issue their next instruction",
        "warp",
        "smsp__warps_eligible.avg.per_cycle_active",
    ),
    *(
        replace(
            mean(
                f"stall_{reason}_cycles",
                f"cycles of warps that are {meaning}, for each instruction issued",
                "cycle/instruction",
                f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio",
                weight="instructions",
            ),
            since="9.0" if reason == "gmma" else None,
            until="9.0" if reason in UNTIL_HOPPER else None,
        )
        for reason, meaning in STALLS.items()
    ),
    launch("barriers", "barriers of a block", "barrier", "launch__barrier_count"),
    launch(
        "shared_config_bytes",
        "shared memory that an SM is set up with",
        "B",
        "launch__shared_mem_config_size",
    ),
    launch(
        "driver_shared_bytes",
        "shared memory a block that the driver keeps for itself",
        "B",
        "launch__shared_mem_per_block_driver",
    ),
    launch(
        "cluster_size",
        "blocks of a cluster; 0 without",
        "block",
        "launch__cluster_size",
        since="9.0",
    ),
)

OCCUPANCY_LIMITS: dict[str, str] = {
    "limit_registers_blocks": "registers",
    "limit_shared_mem_blocks": "shared memory",
    "limit_warps_blocks": "warps",
    "limit_blocks_blocks": "blocks",
    "limit_barriers_blocks": "barriers",
}
"""The resources that limit how many blocks an SM holds: column and the word for it."""
