"""Nsight Compute reports (``.ncu-rep``) to the counters frame, through NVIDIA's ``ncu_report``."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ncu_report
import pandas as pd
from ncu_report import IMetric

from parsers import ncu_container as container
from parsers.errors import CaptureError
from parsers.files import NCU_MAGIC, check_format
from parsers.metric import Metric
from parsers.metrics import METRICS
from parsers.ncu_frame import limiter
from parsers.ncu_ranges import Domain, Open, attribute
from parsers.schemas import COUNTERS
from parsers.units import factor

REMEDY = "measure it again with `snakemake reports/OPERATOR -R ncu`"
_COUNTS = {IMetric.ValueKind_UINT32, IMetric.ValueKind_UINT64}
_REALS = {IMetric.ValueKind_FLOAT, IMetric.ValueKind_DOUBLE}
"""The kinds of numbers; asked for one, ``IMetric.value`` makes its table of kinds anew."""
_WRITER = "Nsight Compute Target"


def parse(path: Path | str) -> pd.DataFrame:
    """Read every launch of a report, in the order in which they were profiled.

    Parameters
    ----------
    path
        An ``.ncu-rep`` file.

    Returns
    -------
    DataFrame
        Schema `parsers.schemas.COUNTERS`, a row a launch, in base units. ``operator``, ``variant``
        and ``case`` come from the innermost NVTX push/pop range ``operator/variant/case`` of the
        domain ``roofsnake`` that was open on the launching thread, else from a start/end range of
        that name; outside of one they are NA, and so is ``launch``. ``domain``, ``range`` and
        ``range_path`` are of ranges of any domain (`parsers.ncu_ranges.attribute`), whose notes
        are in ``attrs["notes"]``. A metric that was not collected is NA.

    Raises
    ------
    CaptureError
        When the file is missing, empty, a Git LFS pointer, of another format or truncated, when it
        holds no launch, or when a metric has a unit that cannot be converted.
    """
    path = Path(path)
    check_format(path, NCU_MAGIC, "an Nsight Compute report", REMEDY)
    version = _check_whole(path)
    context = ncu_report.load_report(str(path))
    if context.num_ranges() == 0:
        raise CaptureError(path, "the report is truncated or damaged: nothing in it loads", REMEDY)
    rows, domains = [], []
    for action in actions(context):
        rows.append(_row(path, action))
        domains.append(_open(action))
    if not rows:
        raise CaptureError(path, "the report holds no launches", REMEDY)
    ranges, notes = attribute(domains)
    frame = COUNTERS.conform(pd.DataFrame(rows).assign(nsight_compute=version).join(ranges))
    frame.attrs["notes"] = notes
    return frame


def _check_whole(path: Path) -> str | None:
    """Check that no block is cut off, and return the version that wrote the report."""
    try:
        with path.open("rb") as stream:
            found = container.blocks(stream)
        versions = (
            words[1].split(" ")[0]
            for block in found
            for session in container.bytes_of(block.header, container.SESSION)
            for words in _named_versions(session)
            if words[0] == _WRITER
        )
        return next(versions, None)
    except ValueError as error:
        raise CaptureError(path, f"the report is truncated: {error}", REMEDY) from None


def _named_versions(session: bytes) -> Iterator[tuple[str, str]]:
    """Yield the (name, version) pairs of a session, which are its field 8."""
    for pair in container.bytes_of(session, 8):
        name, value = container.bytes_of(pair, 1), container.bytes_of(pair, 2)
        if name and value:
            yield name[0].decode("utf-8", "replace"), value[0].decode("utf-8", "replace")


def actions(context: Any) -> Iterator[Any]:
    """Yield the launches of a loaded report, in the order of the rows of `parse`."""
    for index in range(context.num_ranges()):
        group = context.range_by_idx(index)
        for position in range(group.num_actions()):
            yield group.action_by_idx(position)


def _open(action: Any) -> Open:
    """Return the ranges that a launch was in; ``ncu_report`` lists the outermost first."""
    state = action.nvtx_state()
    if state is None:
        return ()
    domains = (state.domain_by_id(identifier) for identifier in state.domains())
    return tuple(
        Domain(domain.name(), tuple(domain.push_pop_ranges()), tuple(domain.start_end_ranges()))
        for domain in domains
    )


def _row(path: Path, action: Any) -> dict[str, Any]:
    name = action.name(action.NameBase_FUNCTION)
    row: dict[str, Any] = {
        metric.column: _value(path, metric, found)
        for metric in METRICS
        if (found := _collected(action, metric)) is not None
    }
    # To list all names of a launch takes half as long as to read its values.
    if name is None or not (row or action.metric_names()):
        raise CaptureError(
            path, "the report is truncated: a launch has neither name nor metrics", REMEDY
        )
    return row | {
        "kernel": name,
        "kernel_demangled": action.name(action.NameBase_DEMANGLED) or name,
        "compute_capability": _compute_capability(action),
        "occupancy_limiter": limiter(row),
    }


def _collected(action: Any, metric: Metric) -> Any:
    """Return what a launch has under the first of the metric's names that it knows, else None."""
    for name in metric.names:
        found = action.metric_by_name(name)
        if found is not None:
            return found
    return None


def _value(path: Path, metric: Metric, found: Any) -> int | float | None:
    """Return a metric in its base unit; what is not a finite number was not collected."""
    kind = found.kind()
    if kind in _COUNTS:
        value = found.as_uint64()
    elif kind in _REALS and math.isfinite(real := found.as_double()):
        value = real
    else:
        return None
    value = value * factor(path, metric, found.unit() or "")
    # Counts are summed over units of the chip in floating point, which can leave a tiny fraction.
    return round(value) if metric.integer else float(value)


def _compute_capability(action: Any) -> str | None:
    parts = [
        action.metric_by_name(f"device__attribute_compute_capability_{part}")
        for part in ("major", "minor")
    ]
    if any(part is None for part in parts):
        return None
    return ".".join(str(int(part.value())) for part in parts)
