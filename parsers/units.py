"""Units of Nsight Compute to base units: the one table that every reader of its reports uses."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from parsers.errors import CaptureError
from parsers.metric import Metric

_PREFIXES = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_SECONDS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
_LONG_SECONDS = {"nsecond": 1, "usecond": 10**3, "msecond": 10**6, "second": 10**9}


def _prefixed(*names: str) -> dict[str, int]:
    return {f"{p}{name}": factor for p, factor in _PREFIXES.items() for name in names}


FACTORS: dict[str, dict[str, int]] = {
    "ns": _SECONDS | _LONG_SECONDS,
    "Hz": {
        **_prefixed("hz", "Hz", "cycle/s", "cycle/second"),
        "cycle/ms": 10**3,
        "cycle/msecond": 10**3,
        "cycle/us": 10**6,
        "cycle/usecond": 10**6,
        "cycle/ns": 10**9,
        "cycle/nsecond": 10**9,
    },
    "B": _prefixed("byte", "byte/block"),
    "B/s": _prefixed("byte/s", "byte/second"),
    "B/cycle": _prefixed("byte/cycle"),
    "B/sector": {"byte/sector": 1},
    "%": {"%": 1},
}
"""Our unit, then Nsight's word for it: what to multiply by. Nsight's prefixes are decimal."""


def factor(path: Path, metric: Metric, unit: str) -> int:
    """Return what turns a value in Nsight's unit into the metric's base unit.

    Raises
    ------
    CaptureError
        When the unit is unknown, or a count carries a prefix.
    """
    found = _factor(metric.unit, unit)
    if found is None:
        raise CaptureError(
            path,
            f"metric {metric.names[0]} has the unit {unit!r}, which does not convert to "
            f"{metric.unit!r}",
            "add the unit to FACTORS in parsers/units.py",
        )
    return found


@lru_cache(maxsize=1024)
def _factor(ours: str, unit: str) -> int | None:
    if ours in FACTORS:
        return FACTORS[ours].get(unit)
    # A plain count: Nsight's word for what is counted varies, but a prefix would scale it.
    return None if re.match(r"[KMGT][a-z]", unit) else 1
