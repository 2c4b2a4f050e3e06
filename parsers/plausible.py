"""Values that cannot be: they are taken out of a frame, and told."""

from __future__ import annotations

import pandas as pd

from parsers.metric import EXACT
from parsers.metrics import METRICS
from parsers.schemas import FLAGS, conform

_TOLD = ("operator", "variant", "case", "launch", "kernel")
_PEAK = "dram_peak_bytes_per_cycle * dram_clock_hz"


def flag(frame: pd.DataFrame, name: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Part a frame from the values in it that cannot be.

    Parameters
    ----------
    frame
        Launches by the schema ``counters``, ``timeline`` or ``launches``.
    name
        Which of them.

    Returns
    -------
    tuple
        The frame with NA in place of such values, and a row of the schema ``flags`` for each: of
        counters what is negative, more than can be (`parsers.metrics.Metric`) or more bytes a
        second than DRAM has at its clock; of a timeline a kernel that takes less than no time, or
        starts before its launch.
    """
    wrong = _counters(frame) if name == "counters" else _timeline(frame)
    clean, rows = frame.copy(), []
    for column, mask, reason in wrong:
        hit = mask.fillna(value=False).astype(bool)
        if hit.any():
            part = frame.loc[hit, frame.columns.isin(_TOLD)]
            value = frame.loc[hit, column].astype("Float64")
            rows.append(part.assign(frame=name, column=column, value=value, reason=reason))
            clean.loc[hit, column] = pd.NA
    return clean, conform(pd.concat(rows) if rows else [], FLAGS).reset_index(drop=True)


def _counters(frame: pd.DataFrame) -> list[tuple[str, pd.Series, str]]:
    found = []
    for metric in METRICS:
        values = frame[metric.column]
        found.append((metric.column, values < 0, "is negative"))
        if metric.most is not None:
            reason = f"is over {metric.most:g} {metric.unit}"
            found.append((metric.column, values > metric.most, reason))
    peak = pd.Series(frame.eval(_PEAK)).astype("Float64")
    over = frame["dram_rate_bytes_per_s"] > peak * EXACT
    return [*found, ("dram_rate_bytes_per_s", over, "is over DRAM's peak at its clock")]


def _timeline(frame: pd.DataFrame) -> list[tuple[str, pd.Series, str]]:
    early = frame["start_ns"] < frame["api_start_ns"]
    return [
        ("start_ns", early, "is before the launching call"),
        ("duration_ns", frame["duration_ns"] < 0, "is negative"),
    ]
