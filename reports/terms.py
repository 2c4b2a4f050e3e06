"""What the columns of pages mean beside those that a page itself explains, and their anchors."""

from __future__ import annotations

import re

from parsers.metrics import METRICS
from reports.notes import reading_table

ANALYSIS: tuple[tuple[str, str, str], ...] = (
    (
        "Limit",
        "what limits the variant: launches, latency, a part of the memory system, a pipe of the "
        "SMs; balanced where several are as busy, unknown where the counters do not tell",
        "time, nsys, ncu",
    ),
    (
        "Confidence",
        "high where a unit is at 80 % of its peak or more, or where the time is that of a copy of "
        "as many bytes or mostly that of launches; medium from 60 % on, or where no unit is so "
        "busy; less where passes disagree, or where counters are missing that could say otherwise",
        "",
    ),
    ("Evidence", "what the limit is told by, with the pass of each number", "time, nsys, ncu"),
    (
        "Next",
        "faster variants of the case, the least effort first, with how many times as fast each is; "
        "of the fastest, what its limit asks for",
        "time, ncu",
    ),
    (
        "Asked over fewest",
        "bytes of all sectors and TMA accesses that kernels ask for, before any cache, over the "
        "fewest; what chained operations move in theory, such as 4 for softmax in five kernels",
        "ncu",
    ),
    (
        "L2 read",
        "sectors read from L2; on an H200 a copy has 1.5 times its bytes, for what lies in the far "
        "half of L2 counts in both halves",
        "ncu",
    ),
    ("L2 written", "sectors written to L2; as for L2 read", "ncu"),
    ("By TMA", "share of the bytes asked for that the tensor memory accelerator moves", "ncu"),
    (
        "Sectors used",
        "whether accesses use the 32 bytes of each sector that they touch; not judged where TMA "
        "moves most bytes",
        "ncu",
    ),
    (
        "Achieved occupancy",
        "warps on an SM, and how many of one kernel its resources allow, in % of what an SM holds",
        "ncu",
    ),
    (
        "Would more help",
        "whether more warps on an SM would: only where latency is the limit, there is a block for "
        "each SM, and fewer than half of the warps fit",
        "ncu",
    ),
    (
        "One block more",
        "what the longest launch would have to give up, registers a thread and shared memory a "
        "block, for one block more on an SM; it matters only where latency is the limit",
        "ncu",
    ),
    (
        "Lost to the tail",
        "share of the SMs' time that the last wave of the longest launch leaves unused, or the "
        "share of SMs without a block where all fit at once",
        "ncu",
    ),
    ("L2", "throughput of L2; weighted by duration", "ncu"),
    ("Shared memory", "wavefronts of shared memory; weighted by duration", "ncu"),
    ("FMA pipe", "float32 instructions; weighted by duration", "ncu"),
    ("Special functions", "special functions and conversions; weighted by duration", "ncu"),
    ("Issue slots", "cycles in which a scheduler issues; weighted by duration", "ncu"),
    ("Eligible warps", "warps of a scheduler that could issue, of at most 16", "ncu"),
    ("Most wait for", "the reason for which most of the waiting warps wait", "ncu"),
    ("Type", "the type and unit whose FLOPs take longest at their peak", "ncu"),
    ("Counted", "FLOPs of that type that were executed", "ncu"),
    ("Declared", "FLOPs of the cost model", "model"),
    ("Intensity", "FLOPs counted for each byte through DRAM", "ncu"),
    ("Ridge", "intensity from which on the peak is the roof, not DRAM", "data sheet"),
    ("Attainable", "FLOPs a second that the roof allows at that intensity", "ncu, data sheet"),
    ("Of roof", "least time by the data sheet over the time taken", "ncu, data sheet"),
    (
        "Of measured roof",
        "the same of the fewest bytes and declared FLOPs, by the large copy and the matrix product "
        "timed in the same rounds",
        "time, model",
    ),
    ("Opcodes", "tensor-core instructions in the build for this GPU; Triton only", "build"),
    ("Span", "from the start of the first launch to the end of the last; median", "nsys"),
    ("Busy", "of that, time in which a kernel ran", "nsys"),
    ("Idle", "share of the span in which none ran; tracing lengthens it", "nsys"),
    ("Median gap", "time between launches in which none ran", "nsys"),
    ("CPU launching", "time of the CPU's launching calls, added up", "nsys"),
)
"""Columns of the tables of `reports.analysis`."""

OTHERS: tuple[tuple[str, str, str], ...] = (
    *ANALYSIS,
    ("Operator", "what is computed; a page for each", "source"),
    ("Variant", "one implementation of it; one is the baseline", "source"),
    (
        "Case",
        "one input: extents, dtype and what else sets it apart, such as `causal`",
        "source",
    ),
    (
        "Fastest",
        "the variant with the least median time, then those that cannot be told from it",
        "time",
    ),
    ("Samples", "times that the median is taken of", "time"),
    (
        "Status",
        "ok; wrong: outside the tolerance; failed: it raised or died; unsupported: it refuses the "
        "case before any launch; unchecked: nothing says that it is right; not measured",
        "check, time",
    ),
    ("Triton variant", "the fastest one whose kernels are Triton's", "time, build"),
    ("Best other", "the fastest variant without such kernels", "time, build"),
    (
        "Time over it",
        "median of the Triton variant over that of the best other; below 1 Triton is the faster",
        "time",
    ),
    ("#", "place of the launch within one call", "ncu; nsys where it contradicts"),
    ("Kernel", "name of the kernel, without its template arguments", "ncu, nsys, build"),
    ("Grid × block", "blocks of the grid × threads of a block", "ncu, nsys"),  # noqa: RUF001
    ("Metric", "column of the frame `counters`; see below", "ncu"),
    ("Value", "what was measured", ""),
    ("Reason", "why, as the tool or the program says it", ""),
    ("Elements", "elements compared", "check"),
    ("Outside", "elements outside the tolerance atol + rtol · abs(reference)", "check"),
    ("Largest error", "largest absolute difference from the reference", "check"),
    ("atol", "absolute tolerance", "check"),
    ("rtol", "relative tolerance", "check"),
    ("Arch", "the architecture that the kernel was compiled for", "build"),
    ("Stack", "bytes of stack a thread", "build: cuobjdump"),
    ("Shared", "bytes of shared memory a block, static and dynamic", "build: Triton"),
    ("Threads", "threads of a block", "build: Triton"),
    ("Spill loads", "loads from local memory in the SASS", "build: nvdisasm"),
    ("Spill stores", "stores to local memory in the SASS", "build: nvdisasm"),
    ("Load", "widest global load of a thread, in bits", "build: nvdisasm"),
    ("Store", "widest global store of a thread, in bits", "build: nvdisasm"),
    ("Tensor", "tensor-core instructions in the SASS", "build: nvdisasm"),
    ("SASS", "instructions in the SASS", "build: nvdisasm"),
)
"""Columns beside those of `reading_table`: header, meaning, and pass and source."""

_SAME = {
    "Sectors a load": "Sectors a load, a store",
    "Sectors a store": "Sectors a load, a store",
    "Used of a sector loaded": "Used of a sector",
    "Used of a sector stored": "Used of a sector",
    "Share by nsys": "Share",
    "Share by ncu": "Share",
}
"""Headers that a row of the reference explains under another name."""


class Anchors:
    """The anchors of the reference, by what a page shows."""

    def __init__(self) -> None:
        explained = [row[0] for row in (*reading_table().rows, *OTHERS)]
        self._columns = {name: anchor(name) for name in explained}
        self._columns |= {header: self._columns[name] for header, name in _SAME.items()}
        self._metrics = {
            name: anchor(metric.column)
            for metric in METRICS
            for name in (metric.column, *metric.names)
        }

    def column(self, header: str) -> str | None:
        """Return the anchor of a table's header, whatever its unit; None where none explains it."""
        bare = header.removesuffix(" [95 %]")
        return self._columns.get(bare) or self._columns.get(bare.split(", ")[0])

    def metric(self, name: str) -> str | None:
        """Return the anchor of a metric, by its column or by Nsight Compute's name."""
        return self._metrics.get(name)


def anchor(name: str) -> str:
    """Return the anchor of the row that explains a column, such as ``column-of-equal-copy``."""
    return "column-" + (re.sub(r"\W+", "-", name.lower()).strip("-") or "number")
