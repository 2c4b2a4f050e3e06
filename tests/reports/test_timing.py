from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from parsers.schemas import CEILINGS, SAMPLES
from reports import timing
from tests.reports.data import key, sample_rows


def samples(durations: list[float], rounds: list[int | None] | None = None) -> pd.Series[float]:
    named = range(len(durations)) if rounds is None else rounds
    rows = [
        key("a") | {"round": i, "duration_ns": d} for i, d in zip(named, durations, strict=True)
    ]
    return timing.by_round(SAMPLES.conform(rows))


def test_median_and_interval() -> None:
    data = np.arange(1.0, 102.0)
    estimate = timing.median(data)
    assert estimate is not None
    assert estimate.value == 51
    assert estimate.low is not None
    assert estimate.high is not None
    assert 35 < estimate.low < 51 < estimate.high < 67
    assert estimate == timing.median(data)


def test_few_samples_have_no_interval() -> None:
    assert timing.median(np.array([])) is None
    assert timing.median(np.array([1.0, 2.0])) == timing.Estimate(1.5)
    assert timing.ratio(samples([2, 2]), samples([1, 1])) == timing.Estimate(2.0)
    assert timing.ratio(samples([]), samples([1])) is None


def test_ties_are_no_trouble() -> None:
    assert timing.median(np.full(20, 3.0)) == timing.Estimate(3.0, 3.0, 3.0)
    same = samples([3.0] * 20)
    assert timing.distinguishable(timing.ratio(same, same)) is False


def test_rounds_are_paired() -> None:
    """A drift that both share does not blur their ratio."""
    drift = np.linspace(1, 2, 50)
    estimate = timing.ratio(samples(list(1.02 * drift)), samples(list(drift)))
    assert estimate is not None
    assert estimate.low == pytest.approx(1.02)
    assert timing.distinguishable(estimate) is True


def test_rounds_that_one_lacks_do_not_count() -> None:
    whole, part = samples([1.0] * 10 + [100.0] * 10), samples([1.0] * 10)
    estimate = timing.ratio(whole, part)
    assert estimate is not None
    assert estimate.value == 1


def test_samples_without_a_round_are_not_paired() -> None:
    unknown = samples([2.0] * 10, [None] * 10)
    assert timing.ratio(unknown, unknown) == timing.Estimate(1.0)


def test_rounds_are_paired_in_any_order() -> None:
    up, down = [float(i) for i in range(1, 11)], [float(i) for i in range(10, 0, -1)]
    assert timing.ratio(samples(up), samples(down, [*range(9, -1, -1)])) == timing.Estimate(1, 1, 1)


def test_resampled_medians_are_those_of_the_samples() -> None:
    for size in (7, 8, 300):
        data = np.random.default_rng(1).integers(0, 9, size) + 0.5
        drawn = np.random.default_rng(timing.SEED).integers(0, size, (timing.RESAMPLES, size))
        plain = np.median(data[drawn], axis=1)
        assert np.array_equal(timing._resampled(data.tobytes()), plain)


def test_no_interval_says_nothing() -> None:
    assert timing.distinguishable(None) is None
    assert timing.distinguishable(timing.Estimate(2.0)) is None


def test_spread() -> None:
    assert timing.spread(np.array([1.0])) is None
    assert timing.spread(np.array([9.0, 10.0, 11.0])) == pytest.approx(0.1)


def test_copy_bandwidth() -> None:
    rows = [
        {"ceiling": "copy", "round": i, "moved_bytes": size, "duration_ns": time}
        for size, time in ((4_000, 1.0), (1_000, 1.0))
        for i in range(3)
    ]
    assert timing.copy_bandwidth(CEILINGS.conform(rows)) == 4e12
    assert timing.copy_bandwidth(CEILINGS.conform([])) is None
    other = [{"ceiling": "matmul", "moved_bytes": 1, "duration_ns": 1.0}]
    assert timing.copy_bandwidth(CEILINGS.conform(other)) is None


def test_a_zero_duration_is_no_bandwidth() -> None:
    rows = [{"ceiling": "copy", "moved_bytes": 1, "duration_ns": 0.0}]
    assert timing.copy_bandwidth(CEILINGS.conform(rows)) is None


def test_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    random = np.random.default_rng(0)
    hits = 0
    for _ in range(40):
        estimate = timing.median(random.normal(10, 1, 60))
        assert estimate is not None
        assert estimate.low is not None
        assert estimate.high is not None
        hits += estimate.low <= 10 <= estimate.high
    assert hits >= 34


def test_sample_rows_look_like_the_medians() -> None:
    frame = SAMPLES.conform(sample_rows({"a": 100.0}))
    assert float(frame["duration_ns"].median()) == pytest.approx(100, rel=0.01)
