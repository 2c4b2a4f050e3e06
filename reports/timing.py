"""What the samples of the time pass say: medians, ratios and how far to trust them.

A round times each variant once, so samples of one round share the moment: the GPU's clocks and
temperature. Ratios of two variants are therefore resampled by round, which cancels what both share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

CONFIDENCE = 0.95
RESAMPLES = 9_999
SEED = 20_259
"""Any fixed number: the same samples must give the same interval."""

FEWEST_SAMPLES = 6
"""From the smallest to the largest of n samples lies the median with probability 1 - 2 * 0.5**n.
Six is the fewest for which that reaches 95 %; below it no interval is given."""

WIDE_SPREAD = 0.05
"""An interquartile range above 5 % of the median is said. On an idle GPU it is 1 % or less; more
means that clocks moved or that something else ran."""

BATCH = 2_000
"""Resamples held in memory at once."""

Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A value and its 95 % interval; the bounds are None where there are too few samples."""

    value: float
    low: float | None = None
    high: float | None = None


def _median(values: Values, axis: int = -1) -> Any:
    return np.median(values, axis=axis)


def _ratio_of_medians(above: Values, below: Values, axis: int = -1) -> Any:
    return np.median(above, axis=axis) / np.median(below, axis=axis)


def _bounds(data: tuple[Values, ...], statistic: Any) -> tuple[float, float]:
    """Bootstrap a 95 % interval by percentiles.

    BCa would correct the bias with a jackknife, which fails for a median among ties: event timers
    tick in steps, so ties are the rule.
    """
    result = stats.bootstrap(
        data,
        statistic,
        n_resamples=RESAMPLES,
        batch=BATCH,
        paired=len(data) > 1,
        vectorized=True,
        confidence_level=CONFIDENCE,
        method="percentile",
        random_state=np.random.default_rng(SEED),
    )
    return float(result.confidence_interval.low), float(result.confidence_interval.high)


def median(values: Values) -> Estimate | None:
    """Return the median of durations, in their unit, with its interval; None without samples."""
    if not values.size:
        return None
    if values.size < FEWEST_SAMPLES:
        return Estimate(float(np.median(values)))
    return Estimate(float(np.median(values)), *_bounds((values,), _median))


def ratio(above: pd.DataFrame, below: pd.DataFrame) -> Estimate | None:
    """Return the ratio of two medians, resampled by round.

    Parameters
    ----------
    above, below
        Rows of ``samples`` of one variant each, in the same case.

    Returns
    -------
    Estimate or None
        median(above) / median(below) over the rounds that both have. Without common rounds, over
        all samples and without an interval. None where one of them has no samples, or where
        ``below`` took no time that a timer could tell from none.
    """
    if above.empty or below.empty or values(below["duration_ns"]).min() <= 0:
        return None
    pairs = above.dropna(subset=["round"]).merge(below.dropna(subset=["round"]), on="round")
    if len(pairs) >= FEWEST_SAMPLES:
        data = (values(pairs["duration_ns_x"]), values(pairs["duration_ns_y"]))
        return Estimate(float(_ratio_of_medians(*data)), *_bounds(data, _ratio_of_medians))
    tops, bottoms = values(above["duration_ns"]), values(below["duration_ns"])
    return Estimate(float(_ratio_of_medians(tops, bottoms)))


def values(durations: pd.Series[float]) -> Values:
    """Return the durations that are there as an array."""
    return np.asarray(durations.dropna(), dtype=np.float64)


def spread(durations: Values) -> float | None:
    """Return the interquartile range over the median; None below two samples."""
    if durations.size < 2:
        return None
    first, middle, third = np.percentile(durations, [25, 50, 75])
    return float((third - first) / middle) if middle > 0 else None


def distinguishable(estimate: Estimate | None) -> bool | None:
    """Say whether the interval of a ratio leaves 1 out; None where there is no interval."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return None
    return not estimate.low <= 1 <= estimate.high


def copy_bandwidth(ceilings: pd.DataFrame) -> float | None:
    """Return the copy bandwidth in B/s: bytes read plus written over the median duration.

    Where copies of several sizes were timed, the fastest counts: it is what the GPU reaches.
    """
    copies = ceilings[ceilings["ceiling"] == "copy"]
    if copies.empty:
        return None
    medians = copies.groupby("moved_bytes")["duration_ns"].median()
    medians = medians[medians > 0]
    rates = medians.index.to_numpy(dtype=np.float64) / values(medians) * 1e9
    return float(rates.max()) if rates.size else None


def equal_copy_rates(ceilings: pd.DataFrame) -> dict[str, float]:
    """Return, by case, the rate in B/s of a copy that moves the case's fewest bytes."""
    copies = ceilings[ceilings["ceiling"] == "equal_copy"]
    medians = copies.groupby("case")[["moved_bytes", "duration_ns"]].median()
    medians = medians[medians["duration_ns"] > 0]
    rates = medians["moved_bytes"] / medians["duration_ns"] * 1e9
    return {str(case): float(rate) for case, rate in rates.items()}


def floor(ceilings: pd.DataFrame) -> float | None:
    """Return what the timer reads for nothing, in ns: the median of two events around no call."""
    nothing = ceilings.loc[ceilings["ceiling"] == "empty", "duration_ns"]
    return None if nothing.empty else float(nothing.median())
