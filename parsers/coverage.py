"""Which counters were measured, which follow from others by formula, and which are not there."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from parsers.metric import Metric
from parsers.metrics import METRICS
from parsers.schemas import COVERAGE

Flags = npt.NDArray[np.bool_]

MEASURED, DERIVED, PARTLY, ABSENT = "measured", "derived", "in part", "absent"


def cover(counters: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Fill in by formula what was not collected, and say of each metric where it comes from.

    Parameters
    ----------
    counters
        Launches by the schema ``counters``, as they were collected.

    Returns
    -------
    tuple
        The frame with derived values, and the frame ``coverage``, a row a metric in the order of
        the table of metrics. A metric is ``measured`` or ``derived`` where every launch has it so,
        ``in part`` where only some launches have a value, or some of each, and ``absent`` where
        none has.
    """
    frame, rows = counters.copy(), []
    operators = counters["operator"].dropna().unique()
    chips = counters["compute_capability"].to_numpy(object)
    collected = counters[[metric.column for metric in METRICS]].notna().to_numpy()
    for metric, measured in zip(METRICS, collected.T, strict=True):
        known = measured
        if metric.formula is not None and not measured.all():
            derived = pd.Series(counters.eval(metric.formula)).astype("Float64")
            values = derived.round().astype("Int64") if metric.integer else derived
            frame[metric.column] = counters[metric.column].fillna(values)
            known = frame[metric.column].notna().to_numpy()
        row = _row(metric, measured, known & ~measured, chips)
        rows.append({"operator": operators[0] if len(operators) == 1 else None} | row)
    return frame, COVERAGE.conform(rows)


def _row(
    metric: Metric, measured: Flags, derived: Flags, chips: npt.NDArray[np.object_]
) -> dict[str, object]:
    row = {"column": metric.column, "launches": int((measured | derived).sum())}
    if len(measured) and measured.all():
        return row | {"status": MEASURED, "reason": None}
    if len(measured) and derived.all():
        return row | {"status": DERIVED, "reason": metric.formula}
    reasons = [metric.formula] if derived.any() else []
    lacking = chips[~(measured | derived)]
    if len(lacking) or not len(measured):
        reasons.append(_why_absent(metric, lacking))
    status = PARTLY if (measured | derived).any() else ABSENT
    return row | {"status": status, "reason": "; ".join(map(str, reasons))}


def _why_absent(metric: Metric, chips: npt.NDArray[np.object_]) -> str:
    """Say why launches on chips of these compute capabilities have no value."""
    known = [_ordered(chip) for chip in {*chips} if not pd.isna(chip)]
    if metric.since and known and max(known) < _ordered(metric.since):
        return f"chips have it from compute capability {metric.since}"
    if metric.until and known and min(known) > _ordered(metric.until):
        return f"chips have it up to compute capability {metric.until}"
    return f"none of {', '.join(metric.names)} was collected"


def _ordered(capability: str) -> tuple[int, ...]:
    return tuple(map(int, capability.split(".")))
