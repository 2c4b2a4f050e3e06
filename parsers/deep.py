"""Deep reports of Nsight Compute (``--set full --import-source yes``) to frames."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ncu_report
import pandas as pd

from parsers import ncu
from parsers.deep_advice import advice_of
from parsers.deep_hotspots import instructions
from parsers.deep_schemas import ADVICE, HOTSPOTS

_LAUNCH = ["operator", "variant", "case", "launch", "kernel"]


def parse(path: Path | str) -> dict[str, pd.DataFrame]:
    """Read every launch of a report: its counters, its instructions and Nsight's advice.

    Parameters
    ----------
    path
        An ``.ncu-rep`` file.

    Returns
    -------
    dict
        ``counters``, as `parsers.ncu.parse` gives it, and the frames of `details`.

    Raises
    ------
    CaptureError
        As `parsers.ncu.parse`.
    """
    counters = ncu.parse(path)
    return {"counters": counters, **details(path, counters)}


def details(path: Path | str, counters: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Read of a report what `parsers.ncu.parse`, which gave ``counters``, leaves out.

    Returns
    -------
    dict
        ``hotspots``, by `parsers.deep_schemas.HOTSPOTS`, without a row of a launch of which nothing
        was counted by instruction; ``advice``, by `parsers.deep_schemas.ADVICE`.
    """
    context = ncu_report.load_report(str(path))
    parts: list[pd.DataFrame] = []
    advice: list[dict[str, Any]] = []
    launches = counters[_LAUNCH].itertuples(index=False)
    for values, action in zip(launches, ncu.actions(context), strict=True):
        launch = dict(zip(_LAUNCH, values, strict=True))
        part = instructions(action)
        if len(part):
            parts.append(part.assign(**launch))
        advice += [launch | result for result in advice_of(action)]
    hotspots = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
    return {"hotspots": HOTSPOTS.conform(hotspots), "advice": ADVICE.conform(advice)}
