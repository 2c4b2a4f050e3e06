"""Launches → one row a variant and case, by the kind of each metric.

Counters and durations add up. Percentages, rates and ratios never do: they are averaged with the
weight that :class:`parsers.metrics.Metric` names. Properties of a launch are listed and their
largest is kept.

Missing stays missing: a sum, or a largest value, over launches of which one was not collected is
not known, so it is NA. A mean leaves out launches that weigh nothing (no weight, or weight 0: a
kernel without loads has no bytes used of each sector loaded), and is NA where a launch that does
weigh has no value, or where no launch weighs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd

from parsers.metrics import METRICS, Metric, Rollup
from reports.frames import KEY


def roll_up(counters: pd.DataFrame) -> pd.DataFrame:
    """Roll the frame ``counters`` up.

    Returns
    -------
    pandas.DataFrame
        ``operator``, ``variant``, ``case``; ``launches``: number of launches; a column a metric,
        of the metric's unit; for properties of a launch the largest, and ``<column>_values``: the
        distinct values in ascending order, joined by ``", "``; ``occupancy_limiter``: the distinct
        limiters. Launches outside every range are left out.
    """
    launches = counters.dropna(subset=KEY)
    sizes = launches.groupby(KEY, sort=False).size()
    columns: dict[str, Any] = {"launches": sizes.astype("Int64")}
    for metric in METRICS:
        if metric.rollup is Rollup.MEAN:
            columns[metric.column] = _mean(launches, metric).reindex(sizes.index)
            continue
        grouped = launches.groupby(KEY, sort=False)[metric.column]
        complete = grouped.count() == sizes
        if metric.rollup is Rollup.SUM:
            columns[metric.column] = grouped.sum().where(complete)
        else:
            columns[metric.column] = grouped.max().where(complete)
            columns[f"{metric.column}_values"] = grouped.agg(_listed).astype("string")
    limiters = launches.groupby(KEY, sort=False)["occupancy_limiter"]
    columns["occupancy_limiter"] = limiters.agg(_listed).astype("string")
    return pd.DataFrame(columns, index=sizes.index).reset_index()


def _mean(launches: pd.DataFrame, metric: Metric) -> pd.Series[float]:
    """Return sum(value * weight) / sum(weight) of each group."""
    weighs = launches[metric.weight].gt(0).fillna(value=False).astype(bool)
    heavy = launches.loc[weighs, [*KEY, metric.column, metric.weight]]
    weight = heavy[metric.weight].astype("Float64")
    parts = heavy[KEY].assign(weight=weight, product=heavy[metric.column] * weight)
    groups = parts.groupby(KEY, sort=False)
    known = groups["product"].count() == groups.size()
    return (groups["product"].sum() / groups["weight"].sum()).where(known)


def _listed(values: Iterable[Any]) -> Any:
    """Return the distinct values, ascending, as one text; NA where there is none."""
    present = sorted({value for value in values if not pd.isna(value)})
    return ", ".join(f"{v:g}" if isinstance(v, float) else str(v) for v in present) or pd.NA
