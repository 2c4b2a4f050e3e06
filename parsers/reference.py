"""The reference of the metrics, as Markdown: ``python -m parsers.reference > docs/metrics.md``."""

from __future__ import annotations

import sys

from parsers.metric import Metric, Rollup
from parsers.metrics import METRICS

_ROLLUPS = {
    Rollup.SUM: "sum",
    Rollup.LAUNCH: "listed",
}

_COUNTERS = """\
The columns of the frame `counters`: a row a launch profiled by Nsight Compute, in base units.
Written by `python -m parsers.reference` from the one table of metrics in `parsers/metrics.py`,
which also says what is collected.

- **Names** are Nsight Compute's, in order of preference: the first that a report holds is read. A
  metric that was not collected under any of them is derived where there is a formula, and missing
  otherwise, never 0.
- **Launches of a variant** make one value: counters and durations add up; rates, shares and ratios
  are means weighted by a column, for a ratio its own denominator; properties of a launch are
  listed, and the largest is kept.
- **(from 9.0)**: chips of this compute capability and later have it.
- **Most** is the largest value that is taken for one; what is above, or negative, is left out and
  told.

| Column | Meaning | Unit | Launches of a variant | Most | Nsight Compute names | Else |
| :-- | :-- | :-- | :-- | --: | :-- | :-- |
"""


def reference() -> str:
    """Return the reference as a document of its own."""
    return f"# Metrics\n\n{counters()}"


def counters() -> str:
    """Return what the columns of ``counters`` are: a row a metric, in the order of the table."""
    return _COUNTERS + "".join(f"| {' | '.join(_cells(metric))} |\n" for metric in METRICS)


def _cells(metric: Metric) -> tuple[str, ...]:
    meaning = metric.meaning
    bounds = [f"{word} {at}" for word, at in (("from", metric.since), ("to", metric.until)) if at]
    if bounds:
        meaning += f" ({' '.join(bounds)})"
    return (
        f"`{metric.column}`",
        meaning,
        metric.unit,
        _ROLLUPS.get(metric.rollup, f"mean by `{metric.weight}`"),
        "" if metric.most is None else f"{metric.most:g}",
        ", ".join(f"`{name}`" for name in metric.names),
        "" if metric.formula is None else f"`{metric.formula}`",
    )


if __name__ == "__main__":
    sys.stdout.write(reference())
