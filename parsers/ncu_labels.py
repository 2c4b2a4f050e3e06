"""What Nsight Compute's details page calls a metric: section and label to the metric's name."""

from __future__ import annotations

import pandas as pd

_PEAK = "avg.pct_of_peak_sustained_elapsed"
_ACTIVE = "avg.pct_of_peak_sustained_active"

_SPEED_OF_LIGHT = {
    "Duration": "gpu__time_duration.sum",
    "Elapsed Cycles": "gpc__cycles_elapsed.max",
    "SM Frequency": "gpc__cycles_elapsed.avg.per_second",
    "DRAM Frequency": "dram__cycles_elapsed.avg.per_second",
    "Memory Frequency": "dram__cycles_elapsed.avg.per_second",
    "Compute (SM) Throughput": f"sm__throughput.{_PEAK}",
    "Compute (SM) [%]": f"sm__throughput.{_PEAK}",
    "SM [%]": f"sm__throughput.{_PEAK}",
    "Memory Throughput": f"gpu__compute_memory_throughput.{_PEAK}",
    "Memory [%]": f"gpu__compute_memory_throughput.{_PEAK}",
    "DRAM Throughput": f"gpu__dram_throughput.{_PEAK}",
    "SOL DRAM": f"gpu__dram_throughput.{_PEAK}",
    "SOL FB": f"gpu__dram_throughput.{_PEAK}",
    "L1/TEX Cache Throughput": f"l1tex__throughput.{_ACTIVE}",
    "L2 Cache Throughput": f"lts__throughput.{_PEAK}",
}

LABELS: dict[str, dict[str, str]] = {
    "GPU Speed Of Light Throughput": _SPEED_OF_LIGHT,
    "GPU Speed Of Light": _SPEED_OF_LIGHT,
    "Memory Workload Analysis": {
        "Memory Throughput": "dram__bytes.sum.per_second",
        "L1/TEX Hit Rate": "l1tex__t_sector_hit_rate.pct",
        "L2 Hit Rate": "lts__t_sector_hit_rate.pct",
    },
    "Launch Statistics": {
        "Registers Per Thread": "launch__registers_per_thread",
        "Grid Size": "launch__grid_size",
        "Block Size": "launch__block_size",
        "Static Shared Memory Per Block": "launch__shared_mem_per_block_static",
        "Dynamic Shared Memory Per Block": "launch__shared_mem_per_block_dynamic",
        "Waves Per SM": "launch__waves_per_multiprocessor",
        "# SMs": "launch__sm_count",
        "Cluster Size": "launch__cluster_size",
        "Shared Memory Configuration Size": "launch__shared_mem_config_size",
        "Driver Shared Memory Per Block": "launch__shared_mem_per_block_driver",
    },
    "Occupancy": {
        "Block Limit Registers": "launch__occupancy_limit_registers",
        "Block Limit Shared Mem": "launch__occupancy_limit_shared_mem",
        "Block Limit Warps": "launch__occupancy_limit_warps",
        "Block Limit SM": "launch__occupancy_limit_blocks",
        "Block Limit Barriers": "launch__occupancy_limit_barriers",
        "Theoretical Occupancy": "sm__maximum_warps_per_active_cycle_pct",
        "Achieved Occupancy": f"sm__warps_active.{_ACTIVE}",
    },
    "Scheduler Statistics": {
        "One or More Eligible": f"smsp__issue_active.{_ACTIVE}",
        "Active Warps Per Scheduler": "smsp__warps_active.avg.per_cycle_active",
        "Eligible Warps Per Scheduler": "smsp__warps_eligible.avg.per_cycle_active",
    },
    "Instruction Statistics": {"Executed Instructions": "smsp__inst_executed.sum"},
    "Warp State Statistics": {
        "Avg. Active Threads Per Warp": "smsp__thread_inst_executed_per_inst_executed.ratio",
    },
}
"""By section, since one label means different metrics in two; older sections are beside newer."""

_NAME = r"(\b[a-z]\w*__[\w.]+)"


def metric_names(sections: pd.Series, titles: pd.Series) -> pd.Series:
    """Return the metric that each row is about: the name it shows, else the one its label means.

    ``ncu --print-metric-name`` decides whether a row shows the label, the name or both. A label
    that is not in the table is NA.
    """
    labels = {
        f"{section}\n{label}": name
        for section, table in LABELS.items()
        for label, name in table.items()
    }
    codes, distinct = pd.factorize(sections + "\n" + titles)
    shown = pd.Series(distinct, dtype="str")
    names = shown.str.split("\n").str[-1].str.extract(_NAME, expand=False)
    return names.fillna(shown.map(labels)).iloc[codes].set_axis(titles.index)
