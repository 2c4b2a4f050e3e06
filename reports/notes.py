"""How to read a page: each column's meaning, pass and Nsight metric."""

from __future__ import annotations

import pandas as pd

from parsers.contract import INTENSE
from parsers.metrics import METRICS, OCCUPANCY_LIMITS
from reports.columns import Table
from reports.format import cell, code, escape, listing, short_commit

LIVE, REPLAY = "live", "replay"
"""Where captures are from: taken now on this machine, or recorded."""

_METRIC = {metric.column: metric for metric in METRICS}

_TIMES: tuple[tuple[str, str, str], ...] = (
    (
        "Time",
        "median over the samples, and its 95 % interval by a bootstrap with a fixed seed",
        "time: CUDA events, no profiler",
    ),
    ("Spread", "interquartile range of the samples over their median", "time"),
    (
        "Speed-up",
        "median of the baseline over median of the variant; the interval resamples rounds, for the "
        "samples of one round share the moment",
        "time",
    ),
    (
        "Useful",
        "fewest bytes of the case over the median time: useful bytes a second, not bytes moved",
        "time, model",
    ),
    (
        "Of large copy",
        "useful bytes a second over the bandwidth of a large copy (bytes read plus written) "
        "timed in the same rounds",
        "time",
    ),
    (
        "Of equal copy",
        "the same over the rate of a copy that moves the fewest bytes of the case; above 100 % the "
        "variant beats that copy, as it may where it reads more than it writes; left out where a "
        f"case takes {INTENSE} FLOP or more for each of its fewest bytes",
        "time, model",
    ),
    (
        "Rate",
        f"FLOPs of the case over the median time; shown where a case takes {INTENSE} FLOP or more "
        "for each of its fewest bytes",
        "time, model",
    ),
    ("Launches", "kernels launched in one call", "ncu; nsys where it contradicts"),
    ("Fewest", "each input read once, each output written once", "model"),
)

_COUNTERS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("DRAM read", "bytes read, summed over the launches", ("dram_read_bytes",)),
    (
        "DRAM written",
        "bytes written, summed; what still lies in L2 when a kernel ends is not counted",
        ("dram_write_bytes",),
    ),
    (
        "Moved over fewest",
        "DRAM bytes read plus written over the fewest; below 1 by the writes that are missed, "
        "which may be all of them where the output fits in L2",
        ("dram_read_bytes", "dram_write_bytes"),
    ),
    (
        "Sectors a load, a store",
        "32-byte sectors a warp's request",
        ("global_load_sectors", "global_load_requests"),
    ),
    (
        "Ideal",
        "sectors a request if every byte of a sector were used: sectors times bytes used over 32; "
        "4 for 4 bytes a lane, 16 for 16",
        ("global_load_sectors", "global_load_requests", "load_bytes_per_sector"),
    ),
    (
        "Used of a sector",
        "bytes of each 32-byte sector that the kernel uses; 32 is coalesced in full; those of "
        "cp.async are not counted",
        ("load_bytes_per_sector", "store_bytes_per_sector"),
    ),
    (
        "Occupancy",
        "warps active on an SM, % of what it can hold; launches weighted by duration",
        ("occupancy_achieved_pct",),
    ),
    (
        "Theoretical",
        "warps that fit on an SM, % of what it holds; weighted by duration",
        ("occupancy_theoretical_pct",),
    ),
    (
        "Limiter",
        "the resource that allows the fewest blocks on an SM; + joins ties, a comma launches; "
        "where Theoretical is 100 % it keeps no warp away",
        tuple(OCCUPANCY_LIMITS),
    ),
    ("Registers", "registers a thread; the most of any launch", ("registers_per_thread",)),
    (
        "Local-memory instructions",
        "loads plus stores executed on local memory, which is where registers spill to",
        ("local_load_instructions", "local_store_instructions"),
    ),
    (
        "Tensor pipe, % of peak",
        "tensor pipe active; weighted by duration; shown where Rate is",
        ("tensor_active_pct",),
    ),
    ("SM, % of peak", "throughput of the SMs; weighted by duration", ("sm_throughput_pct",)),
    (
        "Memory, % of peak",
        "busiest part of the memory system; weighted by duration",
        ("memory_throughput_pct",),
    ),
    ("DRAM, % of peak", "throughput of DRAM; weighted by duration", ("dram_throughput_pct",)),
    ("ncu", "duration of the launch under Nsight Compute", ("duration_ns",)),
    ("Waves", "grid over the blocks that the GPU holds at once", ("waves",)),
)

_OTHERS: tuple[tuple[str, str, str], ...] = (
    (
        "Spills in build",
        "local loads plus stores in the SASS of the recorded build for this GPU; Triton only",
        "build",
    ),
    ("nsys", "median duration of the launch over the repeats of the range", "nsys"),
    ("nsys spread", "interquartile range of these durations over their median", "nsys"),
    (
        "Share",
        "of the kernel time of the variant, by the pass that the header names",
        "nsys or ncu",
    ),
    (
        "Summed",
        "elements added up into one of the output; rounding errors grow with it",
        "model",
    ),
    ("Relative error", "norm of the error over the norm of the reference", "check"),
    ("Error over tolerance", "largest of error / (atol + rtol · abs(reference))", "check"),
)


def reading_table() -> Table:
    """Tabulate what each column means, its pass and the Nsight metrics that it is made of."""
    rows = [*_TIMES, *((h, m, f"ncu: {_metrics(names)}") for h, m, names in _COUNTERS), *_OTHERS]
    return Table(
        ("Column", "Meaning", "Pass and source"),
        tuple((cell(header), cell(meaning), source) for header, meaning, source in rows),
        left=3,
    )


def _metrics(columns: tuple[str, ...]) -> str:
    return ", ".join(code(_METRIC[name].names[0]) for name in columns)


def recorded(runs: pd.DataFrame) -> str:
    """Say where, when and at which commit the captures were taken."""
    gpus = [escape(gpu) for gpu in runs["gpu"].dropna().unique()]
    dates = sorted({escape(date[:10]) for date in runs["date"].dropna()})
    commits = [escape(short_commit(commit)) for commit in runs["commit"].dropna().unique()]
    return (
        f"recorded on {listing(gpus or ['an unknown GPU'])}"
        f" on {listing(dates or ['an unknown date'])}"
        f" at commit {listing(commits or ['unknown'])}"
    )
