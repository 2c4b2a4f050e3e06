"""What the samples of the time pass say: medians, ratios and how far to trust them.

A round times each variant once, so samples of one round share the moment: the GPU's clocks and
temperature. Ratios of two variants are therefore resampled by round, which cancels what both share.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pandas as pd

INTERVAL_PCT = (2.5, 97.5)
RESAMPLES = 9_999
SEED = 20_259
"""Any fixed number: the same samples must give the same interval."""

FEWEST_SAMPLES = 6
"""From the smallest to the largest of n samples lies the median with probability 1 - 2 * 0.5**n.
Six is the fewest for which that reaches 95 %; below it no interval is given."""

WIDE_SPREAD = 0.05
"""An interquartile range above 5 % of the median is said. On an idle GPU it is 1 % or less; more
means that clocks moved or that something else ran."""

Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A value and its 95 % interval; the bounds are None where there are too few samples."""

    value: float
    low: float | None = None
    high: float | None = None


@lru_cache(maxsize=16)
def _counts(size: int) -> npt.NDArray[np.unsignedinteger]:
    """Draw resamples of ``size`` rounds: how often (size, RESAMPLES) each takes each round.

    They are the same ones for every variant.
    """
    draws = np.random.default_rng(SEED).integers(0, size, (RESAMPLES, size))
    draws += np.arange(RESAMPLES)[:, None] * size
    taken = np.bincount(draws.ravel(), minlength=draws.size).reshape(draws.shape)
    return np.ascontiguousarray(taken.T.astype(np.min_scalar_type(size)))


@lru_cache(maxsize=256)
def _resampled(raw: bytes) -> Values:
    """Return the median of each resample of the values in a buffer.

    A variant's resamples serve its own interval and all its ratios. ``scipy.stats.bootstrap`` would
    draw them anew for each, which took most of the time that a page took; and to count from the
    smallest value up to the middle takes a fifth of the time that ``numpy.median`` of each takes.
    """
    samples = np.frombuffer(raw, dtype=np.float64)
    order, size = np.argsort(samples), samples.size
    counts = _counts(size)[order]
    upto = counts.cumsum(axis=0, dtype=counts.dtype)
    low, high = ((upto <= at).sum(axis=0) for at in ((size - 1) // 2, size // 2))
    return np.asarray((samples[order[low]] + samples[order[high]]) / 2)


def _bounds(resamples: Values) -> tuple[float, float]:
    """Return the 95 % interval by percentiles.

    BCa would correct the bias with a jackknife, which fails for a median among ties: event timers
    tick in steps, so ties are the rule.
    """
    low, high = np.percentile(resamples, INTERVAL_PCT)
    return float(low), float(high)


def median(values: Values) -> Estimate | None:
    """Return the median of durations, in their unit, with its interval; None without samples."""
    if not values.size:
        return None
    if values.size < FEWEST_SAMPLES:
        return Estimate(float(np.median(values)))
    return Estimate(float(np.median(values)), *_bounds(_resampled(values.tobytes())))


def by_round(samples: pd.DataFrame) -> pd.Series[float]:
    """Return the durations of ``samples`` that are there, in ns, by their round, NaN for none."""
    there = samples.dropna(subset=["duration_ns"])
    rounds = there["round"].to_numpy("float64", na_value=np.nan)
    return pd.Series(there["duration_ns"].to_numpy("float64"), index=rounds)


def ratio(above: pd.Series[float], below: pd.Series[float]) -> Estimate | None:
    """Return the ratio of two medians, resampled by round.

    Parameters
    ----------
    above, below
        Durations of one variant each, in the same case, as `by_round` returns them.

    Returns
    -------
    Estimate or None
        median(above) / median(below) over the rounds that both have. Without common rounds, over
        all samples and without an interval. None where one of them has no samples, or where
        ``below`` took no time that a timer could tell from none.
    """
    tops, bottoms = above.to_numpy(), below.to_numpy()
    if not tops.size or not bottoms.size or bottoms.min() <= 0:
        return None
    rounds, first, second = np.intersect1d(above.index, below.index, return_indices=True)
    if rounds.size < FEWEST_SAMPLES:
        return Estimate(float(np.median(tops) / np.median(bottoms)))
    tops, bottoms = tops[first], bottoms[second]
    resamples = _resampled(tops.tobytes()) / _resampled(bottoms.tobytes())
    return Estimate(float(np.median(tops) / np.median(bottoms)), *_bounds(resamples))


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
