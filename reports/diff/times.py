"""Whether a change of time is real: its size against the noise, and a rank test."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from reports.timing import Estimate, ratio

ALPHA = 0.01
"""Share of changes called real that may be none, over all rows of a comparison."""


class Change(StrEnum):
    """What became of a time."""

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "same"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Noise:
    """How far two measurements of the same code differ: a share of the time, and so many ns."""

    share: float
    least_ns: float
    source: str

    def of(self, duration_ns: float) -> float:
        """Return the noise of a duration as a share of it."""
        return self.share + self.least_ns / duration_ns


SESSIONS = Noise(0.04, 2_500.0, "captures of one source in different sessions on an H200")
"""Of captures that were taken in different sessions. `docs/diff.md` has what it comes from."""

ALTERNATING = Noise(0.01, 1_000.0, "processes that alternated on an H200")
"""Of two processes that measured in alternating rounds. `docs/diff.md` has what it comes from."""

CLEAR = 10
"""A change beyond so many times the noise is told by one session; others are measured again."""

KNOWN = {"sessions": SESSIONS, "alternating": ALTERNATING}


class NoiseError(Exception):
    """A noise that cannot be read. The message is one line: ``PATH: CAUSE; REMEDY``."""


def noise_of(text: str) -> Noise:
    """Return the noise of a name in `KNOWN`, or the one that a file holds as JSON.

    Raises
    ------
    NoiseError
        When there is no such file, or it holds no noise.
    """
    if text in KNOWN:
        return KNOWN[text]
    remedy = f"measure it with `snakemake reports/noise`, or say {' or '.join(KNOWN)}"
    try:
        content = json.loads(Path(text).read_text(encoding="utf-8"))
        share, least_ns = float(content["share"]), float(content["least_ns"])
        return Noise(share, least_ns, str(content["source"]))
    except FileNotFoundError:
        raise NoiseError(f"{text}: no such file; {remedy}") from None
    except (OSError, ValueError, KeyError, TypeError):
        raise NoiseError(f"{text}: holds no noise; {remedy}") from None


@dataclass(frozen=True)
class Timed:
    """A variant's change of time in a case.

    Attributes
    ----------
    change
        The verdict.
    ratio
        Median of head over that of base. Its interval holds that of each session, so that it lies
        to one side of no change where all sessions agree. None where one has no samples.
    noise
        The change, as a share, below which nothing is told from noise.
    p
        Of the rank test, corrected for the number of rows; NaN where there was none.
    """

    change: Change
    ratio: Estimate | None
    noise: float
    p: float

    @property
    def settled(self) -> bool:
        """Whether another session would decide nothing: the same, or clearly another time."""
        if self.change in {Change.SAME, Change.UNDECIDED} or self.ratio is None:
            return self.change is Change.SAME
        least = 1 + CLEAR * self.noise
        low, high = self.ratio.low, self.ratio.high
        return low is not None and high is not None and (low > least or high < 1 / least)


Row = tuple[str, str]
"""Variant and case."""

Pair = tuple["pd.Series[float]", "pd.Series[float]"]
"""Durations of base and head in ns by round, as `reports.timing.by_round` returns them."""


def across(pair: Pair, starts: Sequence[int]) -> Estimate | None:
    """Return the ratio of head to base, with an interval that holds that of each session.

    What two processes differ by, such as where their memory lies, is the same in all rounds of a
    session: no interval of one session knows of it. That of several does.

    Parameters
    ----------
    starts
        The first round of each session, in order.
    """
    base, head = pair
    if len(starts) < 2:
        return ratio(head, base)
    if base.empty or head.empty or base.min() <= 0:
        return None
    value = float(head.median() / base.median())
    each = [ratio(*(_between(part, *ends) for part in (head, base))) for ends in _ends(starts)]
    lows = [one.low for one in each if one is not None and one.low is not None]
    highs = [one.high for one in each if one is not None and one.high is not None]
    if len(lows) < len(each) or len(highs) < len(each):
        return Estimate(value)
    return Estimate(value, min(lows), max(highs))


def _ends(starts: Sequence[int]) -> Iterable[tuple[float, float]]:
    return pairwise([*starts, math.inf])


def _between(times: pd.Series[float], first: float, last: float) -> pd.Series[float]:
    return times[(times.index >= first) & (times.index < last)]


def drifts(
    pairs: Mapping[Row, Pair], steady: Collection[Row], starts: Sequence[int] = (0,)
) -> dict[str, float]:
    """Return by case how far the times of rows moved that run the same code in both, as a share.

    They share the moment with the others of their case, and so what moved them: clocks, power.
    """
    found: dict[str, float] = {}
    for variant, case in steady:
        moved = across(pairs[variant, case], starts)
        if moved is not None and moved.value > 0:
            share = max(moved.value, 1 / moved.value) - 1
            found[case] = max(found.get(case, 0.0), share)
    return found


def judge(
    pairs: Mapping[Row, Pair],
    noise: Noise,
    drift: Mapping[str, float],
    starts: Sequence[int] = (0,),
) -> dict[Row, Timed]:
    """Say of each row what became of its time.

    A time changed where its whole interval, that of each session, lies beyond the noise and the
    samples differ by a rank test (Mann-Whitney), corrected for many comparisons by Benjamini and
    Hochberg. It is the same where its whole interval lies within the noise. Anything else is
    undecided.

    Parameters
    ----------
    pairs
        By row, the durations of base and head.
    noise
        What the same code differs by.
    drift
        By case, what the same code did differ by here: a change must be beyond both.
    starts
        The first round of each session.
    """
    ratios = {key: across(pair, starts) for key, pair in pairs.items()}
    raw = {key: _rank_test(*pairs[key]) for key, found in ratios.items() if found is not None}
    corrected = dict(zip(raw, _corrected(list(raw.values())), strict=True))
    judged = {}
    for key, found in ratios.items():
        if found is None:
            judged[key] = Timed(Change.UNDECIDED, None, np.nan, np.nan)
        else:
            least = noise.of(float(pairs[key][0].median()))
            margin = max(least, drift.get(key[1], 0.0))
            change = _change(found, least, margin, corrected[key])
            judged[key] = Timed(change, found, margin, corrected[key])
    return judged


def _rank_test(base: pd.Series[float], head: pd.Series[float]) -> float:
    return float(stats.mannwhitneyu(head, base, method="asymptotic").pvalue)


def _corrected(values: list[float]) -> list[float]:
    # Where all samples are equal, there is nothing to rank, and no p.
    known = np.nan_to_num(np.asarray(values, dtype=np.float64), nan=1.0)
    return list(stats.false_discovery_control(known)) if len(known) else []


def _change(found: Estimate, least: float, margin: float, p: float) -> Change:
    """Tell a change beyond the margin from none, within the noise; between them nothing is told."""
    low, high = found.low, found.high
    if low is None or high is None:
        return Change.UNDECIDED
    if 1 / (1 + least) <= low and high <= 1 + least:
        return Change.SAME
    if p >= ALPHA:
        return Change.UNDECIDED
    if low > 1 + margin:
        return Change.SLOWER
    return Change.FASTER if high < 1 / (1 + margin) else Change.UNDECIDED
