"""Values that cannot be: they are taken out of a frame, and told."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from parsers.metric import EXACT
from parsers.metrics import METRICS
from parsers.schemas import FLAGS

_TOLD = ("operator", "variant", "case", "launch", "kernel")
_Doubt = tuple[str, npt.NDArray[np.bool_], str]
"""A column, which of its values cannot be, and why."""


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
    for column, hit, reason in wrong:
        if hit.any():
            part = frame.loc[hit, frame.columns.isin(_TOLD)]
            value = frame.loc[hit, column].astype("Float64")
            rows.append(part.assign(frame=name, column=column, value=value, reason=reason))
            clean.loc[hit, column] = pd.NA
    return clean, FLAGS.conform(pd.concat(rows) if rows else []).reset_index(drop=True)


def _counters(frame: pd.DataFrame) -> list[_Doubt]:
    found = []
    values = {m.column: frame[m.column].to_numpy("float64", na_value=np.nan) for m in METRICS}
    for metric in METRICS:
        own = values[metric.column]
        found.append((metric.column, own < 0, "is negative"))
        if metric.most is not None:
            reason = f"is over {metric.most:g} {metric.unit}"
            found.append((metric.column, own > metric.most, reason))
    rate, peak = values["dram_rate_bytes_per_s"], values["dram_peak_bytes_per_cycle"]
    over = rate > peak * values["dram_clock_hz"] * EXACT
    return [*found, ("dram_rate_bytes_per_s", over, "is over DRAM's peak at its clock")]


def _timeline(frame: pd.DataFrame) -> list[_Doubt]:
    early = frame["start_ns"] < frame["api_start_ns"]
    return [
        ("start_ns", early.to_numpy(bool, na_value=False), "is before the launching call"),
        (
            "duration_ns",
            (frame["duration_ns"] < 0).to_numpy(bool, na_value=False),
            "is negative",
        ),
    ]
