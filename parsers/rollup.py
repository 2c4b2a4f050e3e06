"""Launches → one row a group of them, by the kind of each column.

Counters and durations add up. Percentages, rates and ratios never do: they are averaged with the
weight that :class:`parsers.metrics.Metric` names. Properties of a launch are listed and their
largest is kept.

Missing stays missing: a sum, or a largest value, over launches of which one was not collected is
not known, so it is NA. A mean leaves out launches that weigh nothing (no weight, or weight 0: a
kernel without loads has no bytes used of each sector loaded), and is NA where a launch that does
weigh has no value, or where no launch weighs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from parsers.metric import Rollup
from parsers.metrics import METRICS

SUMS = (*(m.column for m in METRICS if m.rollup is Rollup.SUM), "bytes")
PROPERTIES = (*(m.column for m in METRICS if m.rollup is Rollup.LAUNCH), "local_bytes_per_thread")
TEXTS = ("occupancy_limiter", "kind")
_MEANS = [m for m in METRICS if m.rollup is Rollup.MEAN]
_WEIGHT = "weight of the launch"
_TEXT = pd.StringDtype()
_TOO_LARGE = 2.0**63
"""No integer column holds as much."""

Integers = npt.NDArray[np.int64]


def roll_up(launches: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Roll launches up to one row for each combination of values of the columns ``by``.

    Parameters
    ----------
    launches
        A row a launch: `parsers.schemas.COUNTERS`, `LAUNCHES` or `TIMELINE`, in base units, with
        any columns besides; those that do not roll up are left out.
    by
        Columns, at least one. NA is a value like others: launches outside of every range make a
        row of their own.

    Returns
    -------
    DataFrame
        In the order of each group's first launch: the columns ``by``; ``launches``: number of
        launches; a column a counter, of its unit, NA where the sum is 2**63 or more; for properties
        of a launch the largest, and ``<column>_values``: the distinct values in ascending order,
        joined by ``", "``; ``occupancy_limiter`` and ``kind``: the distinct ones; and where
        launches have starts, ``busy_ns``: how long any of them ran, added up over the GPUs.
    """
    group, keys = _groups(launches[[*by]])
    sizes = pd.Series(np.bincount(group, minlength=len(keys)), dtype="Int64")
    sums, properties, texts = (
        [column for column in columns if column in launches and column not in by]
        for columns in (SUMS, PROPERTIES, TEXTS)
    )
    listed = {f"{column}_values": launches[column] for column in properties}
    listed |= {column: launches[column].astype("string") for column in texts}
    parts = [
        keys,
        sizes.rename("launches"),
        _sums(launches[sums], group, sizes),
        *(_means(launches, group, weight).reindex(sizes.index) for weight in _weights(launches)),
        _largest(launches[properties], group, sizes),
        *(_listed(values, group, len(keys), name) for name, values in listed.items()),
    ]
    if "start_ns" in launches:
        parts.append(_busy(launches, group, sizes))
    return pd.concat(parts, axis=1)


def busy_ns(launches: pd.DataFrame) -> pd.Series:
    """Return how long each GPU was busy: the length of the union of its launches' intervals.

    What ran at the same time on several streams, or for several processes, counts once. A launch
    whose start or duration is not known is left out.

    Parameters
    ----------
    launches
        `parsers.schemas.LAUNCHES`, or rows of it.

    Returns
    -------
    Series
        ns, ``Int64``, by ``machine`` and ``gpu``, or by ``machine`` and ``device`` where the
        report does not tell the GPU of every row.
    """
    timed = launches.dropna(subset=["start_ns", "duration_ns"])
    place = _place(timed)
    rolled = roll_up(timed[[*place, "start_ns", "duration_ns"]], place)
    return rolled.set_index(place)["busy_ns"].sort_index()


def _groups(keys: pd.DataFrame) -> tuple[Integers, pd.DataFrame]:
    """Return the group of each row, numbered by their first rows, and the keys of each group."""
    group = np.zeros(len(keys), dtype=np.int64)
    for column in keys:
        codes, distinct = pd.factorize(keys[column])
        group = pd.factorize(group * (len(distinct) + 1) + codes + 1)[0].astype(np.int64)
    first = keys[~pd.Series(group, index=keys.index).duplicated()].reset_index(drop=True)
    categories = first.select_dtypes("category").columns
    return group, first.astype(dict.fromkeys(categories, "string"))


def _sums(counted: pd.DataFrame, group: Integers, sizes: pd.Series) -> pd.DataFrame:
    groups = counted.groupby(group, sort=False)
    known = groups.count().eq(sizes, axis=0)
    return groups.sum().where(known & (groups.mean().mul(sizes, axis=0).abs() < _TOO_LARGE))


def _largest(properties: pd.DataFrame, group: Integers, sizes: pd.Series) -> pd.DataFrame:
    groups = properties.groupby(group, sort=False)
    return groups.max().where(groups.count().eq(sizes, axis=0))


def _weights(launches: pd.DataFrame) -> list[str]:
    return list(dict.fromkeys(m.weight for m in _MEANS if m.column in launches))


def _means(launches: pd.DataFrame, group: Integers, weight: str) -> pd.DataFrame:
    """Return sum(value * weight) / sum(weight) of each group, for the columns of a weight."""
    columns = [m.column for m in _MEANS if m.weight == weight and m.column in launches]
    weighs = launches[weight].gt(0).fillna(value=False).to_numpy(bool)
    heavy = launches[weighs]
    weights = heavy[weight].astype("Float64")
    products = heavy[columns].astype("Float64").mul(weights, axis=0)
    groups = products.assign(**{_WEIGHT: weights}).groupby(group[weighs], sort=False)
    known = groups[columns].count().eq(groups.size(), axis=0)
    return groups[columns].sum().div(groups[_WEIGHT].sum(), axis=0).where(known)


def _listed(values: pd.Series, group: Integers, size: int, name: str) -> pd.Series:
    """Return the distinct values of each group, ascending, as one text; NA where there is none."""
    codes, distinct = pd.factorize(values, sort=True)
    known = codes >= 0
    pairs = np.sort(pd.unique(group[known] * max(len(distinct), 1) + codes[known]))
    owner, code = np.divmod(pairs, max(len(distinct), 1))
    words = [f"{v:g}" if isinstance(v, float) else str(v) for v in distinct]
    lists = pa.ListArray.from_arrays(
        np.searchsorted(owner, np.arange(size + 1)).astype(np.int32),
        pa.array(words, type=pa.string()).take(pa.array(code)),
    )
    joined = pc.binary_join(lists, ", ").to_pandas(types_mapper={pa.string(): _TEXT}.get)
    texts: pd.Series = joined.rename(name)
    return texts.where(np.bincount(owner, minlength=size) > 0)


def _busy(launches: pd.DataFrame, group: Integers, sizes: pd.Series) -> pd.Series:
    """Return the busy time of each group; NA where a launch has no start or duration."""
    known = launches[["start_ns", "duration_ns"]].notna().all(axis=1).to_numpy(bool)
    timed, group = launches[known], group[known]
    place = _groups(timed[_place(timed)])[0]
    order = np.lexsort((timed["start_ns"].to_numpy("int64"), place, group))
    group, place = group[order], place[order]
    start = timed["start_ns"].to_numpy("int64")[order]
    end = start + timed["duration_ns"].to_numpy("int64")[order]
    latest = pd.Series(end).groupby([group, place]).cummax()
    before = latest.groupby([group, place]).shift(fill_value=np.iinfo(np.int64).min).to_numpy()
    gained = pd.Series(np.maximum(end - np.maximum(start, before), 0))
    busy = gained.groupby(group).sum().reindex(sizes.index).astype("Int64")
    complete = np.bincount(group, minlength=len(sizes)) == sizes
    return busy.where(complete).rename("busy_ns")


def _place(launches: pd.DataFrame) -> list[str]:
    """Return the columns that tell the GPU of a launch."""
    number = "gpu" if "gpu" in launches and launches["gpu"].notna().all() else "device"
    return [column for column in ("machine", number) if column in launches]
