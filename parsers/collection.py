"""What ``ncu`` is asked for: of each metric the name that the chip knows."""

from __future__ import annotations

from collections.abc import Collection
from itertools import islice

from parsers.metric import Metric
from parsers.metrics import METRICS


def requested(known: Collection[str] | None = None) -> tuple[str, ...]:
    """Return the metric names to ask ``ncu --metrics`` for, in table order, without repeats.

    Parameters
    ----------
    known
        Counters of the chip, without suffix, as ``ncu --query-metrics`` lists them. Of each metric
        the first name of a known counter is asked for, and none where there is none. Names without
        a suffix are ``ncu``'s own and the same on every chip. Without it every name is asked for:
        ``ncu`` skips what the chip does not know, but only says so in its output.
    """
    names = (name for metric in METRICS for name in _chosen(metric, known))
    return tuple(dict.fromkeys(names))


def unknown(known: Collection[str]) -> tuple[str, ...]:
    """Return the columns that a chip of these counters cannot give, in table order."""
    return tuple(metric.column for metric in METRICS if not _chosen(metric, known))


def _chosen(metric: Metric, known: Collection[str] | None) -> tuple[str, ...]:
    if known is None:
        return metric.names
    counted = (name for name in metric.names if "." not in name or name.split(".")[0] in known)
    return tuple(islice(counted, 1))
