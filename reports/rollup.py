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

from parsers.metric import Rollup
from parsers.metrics import METRICS
from reports.frames import KEY

_WEIGHT = "weight of the launch"


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
    groups = launches.groupby(KEY, sort=False)
    sizes = groups.size().astype("Int64")
    sums, properties = groups[_columns(Rollup.SUM)], groups[_columns(Rollup.LAUNCH)]
    texts = groups[[*_columns(Rollup.LAUNCH), "occupancy_limiter"]].agg(_listed).astype("string")
    parts = [
        sizes.to_frame("launches"),
        sums.sum().where(sums.count().eq(sizes, axis=0)),
        *(_means(launches, weight).reindex(sizes.index) for weight in _weights()),
        properties.max().where(properties.count().eq(sizes, axis=0)),
        texts.rename(columns={name: f"{name}_values" for name in _columns(Rollup.LAUNCH)}),
    ]
    return pd.concat(parts, axis=1).reset_index()


def _columns(kind: Rollup, weight: str | None = None) -> list[str]:
    """Return the columns of one kind, or of one weight where one is given."""
    return [m.column for m in METRICS if m.rollup is kind and weight in {None, m.weight}]


def _weights() -> list[str]:
    return list(dict.fromkeys(m.weight for m in METRICS if m.rollup is Rollup.MEAN))


def _means(launches: pd.DataFrame, weight: str) -> pd.DataFrame:
    """Return sum(value * weight) / sum(weight) of each group, for the columns of a weight."""
    columns = _columns(Rollup.MEAN, weight)
    heavy = launches[launches[weight].gt(0).fillna(value=False).astype(bool)]
    weights = heavy[weight].astype("Float64")
    products = heavy[columns].astype("Float64").mul(weights, axis=0)
    groups = heavy[KEY].assign(**{_WEIGHT: weights}).join(products).groupby(KEY, sort=False)
    known = groups[columns].count().eq(groups.size(), axis=0)
    return groups[columns].sum().div(groups[_WEIGHT].sum(), axis=0).where(known)


def _listed(values: Iterable[Any]) -> Any:
    """Return the distinct values, ascending, as one text; NA where there is none."""
    present = sorted({value for value in values if not pd.isna(value)})
    return ", ".join(f"{v:g}" if isinstance(v, float) else str(v) for v in present) or pd.NA
