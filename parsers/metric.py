"""What a metric of Nsight Compute is to us: its column, its unit, its names and how it rolls up."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Rollup(Enum):
    """How the launches of one range make one value.

    ``SUM``: counters and durations add up. ``MEAN``: percentages, rates and ratios are averaged
    with a weight column (the ratio's own denominator where there is one, else the duration).
    ``LAUNCH``: a property of a launch, never averaged; it is listed, or its largest is named.
    """

    SUM = "sum"
    MEAN = "mean"
    LAUNCH = "launch"


@dataclass(frozen=True)
class Metric:
    """One column of the counters frame and where Nsight Compute keeps it.

    ``most`` is the largest value that is taken for one; ``since`` and ``until`` the compute
    capabilities from and up to which chips have it; ``formula`` what it is made of where none of
    its names was collected.
    """

    column: str
    meaning: str
    unit: str
    names: tuple[str, ...]
    rollup: Rollup = Rollup.SUM
    weight: str = "duration_ns"
    integer: bool = False
    most: float | None = None
    since: str | None = None
    until: str | None = None
    formula: str | None = None


EXACT, APART = 1.001, 1.05
"""How far above the most that can be a value may be read: by rounding alone; and by what differs
between passes over a kernel, where a ratio's two counters come from two (102.6 % of L2 hits seen on
an H200)."""


def summed(
    column: str,
    meaning: str,
    unit: str,
    *names: str,
    since: str | None = None,
    formula: str | None = None,
) -> Metric:
    """Return a whole number that adds up over launches."""
    return Metric(
        column, meaning, unit, names, Rollup.SUM, integer=True, since=since, formula=formula
    )


def mean(
    column: str,
    meaning: str,
    unit: str,
    *names: str,
    weight: str = "duration_ns",
    most: float | None = None,
    formula: str | None = None,
) -> Metric:
    """Return a share, rate or ratio, averaged over launches; a share may be 100 % at most."""
    if unit == "%" and most is None:
        most = 100 * EXACT
    return Metric(
        column,
        meaning,
        unit,
        names,
        Rollup.MEAN,
        weight,
        most=most,
        formula=formula,
    )


def launch(
    column: str,
    meaning: str,
    unit: str,
    *names: str,
    integer: bool = True,
    since: str | None = None,
    formula: str | None = None,
) -> Metric:
    """Return a property of a launch."""
    return Metric(
        column, meaning, unit, names, Rollup.LAUNCH, integer=integer, since=since, formula=formula
    )
