"""The counters frame from what an export of Nsight Compute prints: launches, and cells of text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd

from parsers import numbers
from parsers.errors import CaptureError
from parsers.metrics import METRICS, OCCUPANCY_LIMITS
from parsers.ncu_log import REMEDY
from parsers.ncu_ranges import attribute
from parsers.schemas import COUNTERS
from parsers.units import factor

LAUNCH = ("name", "capability", "grid", "block")
"""Columns of a launch, as text: what the export prints beside its metrics."""

CELL = ("launch", "section", "metric", "unit", "text")
"""Columns of a cell: position of its launch, then text as printed."""

_CAPABILITY = "device__attribute_compute_capability_"
_BY_NAME = {name: metric for metric in METRICS for name in metric.names}
READ = {*_BY_NAME, *(f"{_CAPABILITY}{part}" for part in ("major", "minor"))}
"""Names of the metrics that are read."""
_INTEGERS = {name for name, metric in _BY_NAME.items() if metric.integer}
_RANKS = {name: rank for metric in METRICS for rank, name in enumerate(metric.names)}
_TOO_LARGE = 2.0**63
"""No value comes near it, and no integer column holds more."""

_EXTENTS = r"\(\s*(\d+),\s*(\d+),\s*(\d+)\s*\)"


def counters(path: Path, launches: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    """Make the counters frame of an export.

    Parameters
    ----------
    path
        The export, for errors.
    launches
        A row a launch in order, index from 0, columns `LAUNCH`; what is not printed is NA. And
        ``open``: the ranges it was in, each a `parsers.ncu_ranges.Open`.
    cells
        A row a value, columns `CELL`, in the order of the file; ``metric`` is NA where the label
        is not known.

    Returns
    -------
    DataFrame
        Schema `parsers.schemas.COUNTERS` in base units. The version that wrote it is not printed,
        and a demangled name is the one that Nsight Compute prints, which it shortens.
        ``attrs["notes"]`` are of `parsers.ncu_ranges.attribute`.

    Raises
    ------
    CaptureError
        When a value is no number or has a unit that cannot be converted, or when the numbers can
        be read in two ways.
    """
    measured = _values(path, cells)
    frame = pd.DataFrame(index=launches.index).join(measured)
    for what in ("grid", "block"):
        extents = launches[what].astype("string").str.extract(_EXTENTS).astype("Int64")
        for axis, extent in zip("xyz", (extents[0], extents[1], extents[2]), strict=True):
            _fill(frame, f"{what}_{axis}", extent)
        _fill(frame, f"{what}_size", extents[0] * extents[1] * extents[2])
    names = launches["name"].fillna("")
    frame["kernel_demangled"] = names
    frame["kernel"] = names.map({name: function_name(name) for name in names.unique()})
    frame["compute_capability"] = launches["capability"].fillna(_capability(cells))
    frame["occupancy_limiter"] = _limiters(frame.reindex(columns=list(OCCUPANCY_LIMITS)))
    ranges, notes = attribute(launches["open"].tolist())
    conformed = COUNTERS.conform(frame.join(ranges))
    conformed.attrs["notes"] = notes
    return conformed


def limiter(row: Mapping[str, Any]) -> str | None:
    """Name the resources that allow the fewest blocks an SM, ties joined by `` + ``."""
    limits = {
        word: row[column]
        for column, word in OCCUPANCY_LIMITS.items()
        if row.get(column) is not None
    }
    if not limits:
        return None
    return " + ".join(word for word, blocks in limits.items() if blocks == min(limits.values()))


def function_name(demangled: str) -> str:
    """Return a kernel's name without return type, scope, template arguments and parameters.

    Examples
    --------
    >>> function_name("void at::Loop<4>::run<f(int)::[lambda() (instance 1)]>(int, T2)")
    'run'
    """
    plain = re.sub(r"(?:<unnamed>|\(anonymous namespace\))::|->", "", demangled)
    while (shorter := re.sub(r"<[^<>]*>", "", plain)) != plain:
        plain = shorter
    words = plain.split("(")[0].split("::")[-1].split()
    return words[-1] if words else demangled


def check_launches(path: Path, cells: pd.DataFrame) -> None:
    """Check that no launch runs into the next, and that the last does not break off.

    Raises
    ------
    CaptureError
        When a launch shows two values of a metric, or when the last one has only the first metrics
        of the one before it, as where the export was cut between two rows.
    """
    shown = cells[cells["metric"].isin(_BY_NAME)].drop_duplicates()
    twice = shown[shown.duplicated(["launch", "section", "title"])]
    if len(twice):
        cause = f"is damaged: one launch shows two values of {twice['title'].iloc[0]!r}"
        raise CaptureError(path, cause, REMEDY)
    last = cells["launch"].max()
    ends = cells["launch"].searchsorted([last - 1, last, last + 1])
    before, now = (
        cells[["section", "title"]].iloc[start:end].reset_index(drop=True)
        for start, end in pairwise(ends)
    )
    if len(now) < len(before) and now.equals(before.head(len(now))):
        cause = f"is truncated: its last launch has {len(now)} metrics, not {len(before)}"
        raise CaptureError(path, cause, REMEDY)


def _limiters(limits: pd.DataFrame) -> list[str | None]:
    rows = limits.astype("object").where(limits.notna(), None)
    return [
        limiter(dict(zip(OCCUPANCY_LIMITS, row, strict=True)))
        for row in rows.itertuples(index=False)
    ]


def _values(path: Path, cells: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of the table of metrics, a row a launch that has any."""
    known = cells["metric"].isin(_BY_NAME) & ~numbers.absent(cells["text"])
    ours = cells[known]
    words = ours[["metric", "unit"]]
    pairs = words.drop_duplicates()
    factors = [factor(path, _BY_NAME[name], unit) for name, unit in pairs.itertuples(index=False)]
    scale = words.merge(pairs.assign(scale=factors), how="left")["scale"].set_axis(ours.index)
    integer = ours["metric"].isin(_INTEGERS)
    whole = (integer & (scale == 1)).reindex(cells.index, fill_value=False)
    try:
        read = numbers.read(cells["text"], known, whole, cells["unit"] == "%")[known]
    except ValueError as error:
        remedy = "export it again in the C locale (LC_ALL=C), or give the report itself"
        raise CaptureError(path, str(error), remedy) from None
    scaled = read * scale
    if (wrong := ~(scaled.abs() < _TOO_LARGE)).any():
        first = ours[wrong].iloc[0]
        cause = f"metric {first['metric']} has the value {first['text']!r}, which is no number"
        raise CaptureError(path, cause, REMEDY)
    ours = ours.assign(
        value=scaled.round().where(integer, scaled),
        column=ours["metric"].map({name: metric.column for name, metric in _BY_NAME.items()}),
        rank=ours["metric"].map(_RANKS),
    )
    ours = ours.sort_values("rank", kind="stable").drop_duplicates(["launch", "column"])
    return ours.set_index(["launch", "column"])["value"].unstack()  # noqa: PD010


def _fill(frame: pd.DataFrame, column: str, values: pd.Series) -> None:
    """Fill what was not measured of a column."""
    frame[column] = frame[column].fillna(values) if column in frame else values


def _capability(cells: pd.DataFrame) -> pd.Series:
    """Return the compute capability by the device's attributes, where they are printed."""
    printed = cells[~numbers.absent(cells["text"])]
    major, minor = (
        printed[printed["metric"] == f"{_CAPABILITY}{part}"]
        .drop_duplicates("launch")
        .set_index("launch")["text"]
        for part in ("major", "minor")
    )
    return major + "." + minor
