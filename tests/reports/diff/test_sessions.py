"""Times of several sessions: only where all agree is a change told."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from reports.diff.times import (
    ALTERNATING,
    CLEAR,
    Change,
    Noise,
    NoiseError,
    Timed,
    across,
    judge,
    noise_of,
)
from reports.timing import ratio

ROW = ("triton", "8x8-float32")
QUIET = Noise(0.01, 0.0, "a test")
ROUNDS = 20


def times(*medians: float) -> pd.Series[float]:
    """Return one side's durations in ns: sessions of `ROUNDS` rounds, each with its median."""
    random = np.random.default_rng(len(medians))
    drawn = [median * random.normal(1, 0.001, ROUNDS) for median in medians]
    return pd.Series(np.concatenate(drawn), index=np.arange(ROUNDS * len(medians), dtype=float))


def told(*ratios: float, noise: Noise = QUIET) -> Timed:
    """Judge a row whose head took so many times as long as its base in each session."""
    base = times(*[1e6] * len(ratios))
    head = times(*(1e6 * one for one in ratios))
    starts = [ROUNDS * session for session in range(len(ratios))]
    return judge({ROW: (base, head)}, noise, {}, starts)[ROW]


@pytest.mark.parametrize(
    ("ratios", "change"),
    [
        ((1.02,), Change.SLOWER),
        ((1.02, 1.02, 1.02), Change.SLOWER),
        ((0.97, 0.98, 0.96), Change.FASTER),
        ((1.03, 1.0, 1.03), Change.UNDECIDED),
        ((1.03, 0.97), Change.UNDECIDED),
        ((1.001, 0.999, 1.002), Change.SAME),
        ((1.05, 1.05, 1.0), Change.UNDECIDED),
    ],
)
def test_a_change_is_one_that_every_session_shows(
    ratios: tuple[float, ...], change: Change
) -> None:
    assert told(*ratios).change is change


def test_the_interval_holds_that_of_each_session() -> None:
    base, head = times(1e6, 1e6), times(1.02e6, 1.05e6)
    found = across((base, head), [0, ROUNDS])
    each = [
        ratio(head.iloc[part], base.iloc[part])
        for part in (slice(None, ROUNDS), slice(ROUNDS, None))
    ]
    assert found is not None
    assert found.low == min(one.low for one in each if one and one.low)
    assert found.high == max(one.high for one in each if one and one.high)
    assert found.value == pytest.approx(1.035, abs=0.002)


def test_a_session_without_samples_leaves_no_interval() -> None:
    base, head = times(1e6, 1e6), times(1e6, 1e6)
    found = across((base, head.iloc[:ROUNDS]), [0, ROUNDS])
    assert found is not None
    assert (found.low, found.high) == (None, None)


@pytest.mark.parametrize(
    ("ratio", "settled"),
    [
        (1.0, True),
        (1.02, False),
        (1.0 + 0.9 * CLEAR * QUIET.share, False),
        (1.0 + 1.1 * CLEAR * QUIET.share, True),
        (1 / (1.0 + 1.1 * CLEAR * QUIET.share), True),
    ],
)
def test_what_another_session_could_not_change_is_settled(ratio: float, *, settled: bool) -> None:
    assert told(ratio).settled is settled


def test_what_is_undecided_is_not_settled() -> None:
    found = told(1.3, 0.9)
    assert found.change is Change.UNDECIDED
    assert not found.settled


def test_noise_is_read_by_name_or_from_a_file(tmp_path: Path) -> None:
    assert noise_of("alternating") is ALTERNATING
    kept = tmp_path / "noise.json"
    kept.write_text(json.dumps({"share": 0.015, "least_ns": 1500, "source": "here"}))
    assert noise_of(str(kept)) == Noise(0.015, 1500.0, "here")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"share": "much", "least_ns": 1, "source": ""}'])
def test_a_file_without_noise_is_one_line(tmp_path: Path, text: str) -> None:
    kept = tmp_path / "noise.json"
    kept.write_text(text)
    with pytest.raises(NoiseError, match=r"noise\.json: holds no noise; measure it"):
        noise_of(str(kept))
    with pytest.raises(NoiseError, match=r"none\.json: no such file; measure it"):
        noise_of(str(tmp_path / "none.json"))
