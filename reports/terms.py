"""What the columns of pages mean beside those that a page itself explains, and their anchors."""

from __future__ import annotations

import re

from parsers.metrics import METRICS
from reports.notes import reading_table

OTHERS: tuple[tuple[str, str, str], ...] = (
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
