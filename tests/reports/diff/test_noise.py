"""What the same code differs by: of made processes, and of those that were recorded."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from parsers.__main__ import main as parse
from reports.diff.noise import (
    COMPARISONS,
    LEAST,
    compare_alike,
    fitted,
    judge_alike,
    main,
    times_of,
)
from reports.diff.times import ALTERNATING, Change, Row
from tests.captured import RECORDED

ROWS = [("naive", "8x8-float32"), ("triton", "8x8-float32")]


def processes(*biases: float, spread: float = 0.001) -> list[dict[Row, pd.Series[float]]]:
    """Return the times of processes of which each has a bias of its own."""
    random = np.random.default_rng(5)
    return [
        {row: pd.Series(1e6 * bias * random.normal(1, spread, 30)) for row in ROWS}
        for bias in biases
    ]


def test_quiet_processes_are_the_same_by_the_least_noise() -> None:
    judged = judge_alike("gelu", processes(*[1.0] * 7), ALTERNATING)
    assert judged.changes == {Change.SAME: COMPARISONS * len(ROWS)}
    assert fitted([judged], "a test").share == LEAST.share


def test_what_one_process_is_off_by_does_not_pass_for_a_change() -> None:
    judged = judge_alike("gelu", processes(1, 1, 1, 1.03, 1, 1, 1), ALTERNATING)
    assert not judged.changes[Change.SLOWER] + judged.changes[Change.FASTER]
    assert judged.changes[Change.UNDECIDED]


def test_noise_is_the_least_by_which_nothing_is_called_changed() -> None:
    """With two processes a comparison is one session, so that a bias passes for a change."""
    times = processes(1.0, 1.032)
    judged = judge_alike("gelu", times, ALTERNATING)
    assert judged.changes[Change.SLOWER] + judged.changes[Change.FASTER]
    noise = fitted([judged], "a test")
    assert noise.share == pytest.approx(6 * LEAST.share)
    again = judge_alike("gelu", times, noise)
    assert not again.changes[Change.SLOWER] + again.changes[Change.FASTER]


def test_each_two_processes_are_compared() -> None:
    found = compare_alike("gelu", processes(1.0, 1.1, 1.0))
    assert len(found) == 3 * len(ROWS)
    assert sorted(round(one.moved, 1) for one in found) == [0.0, 0.0, 0.1, 0.1, 0.1, 0.1]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The frames of the recorded processes of two operators."""
    folder = tmp_path_factory.mktemp("noise")
    for operator in ("transpose", "vector_add"):
        for process in sorted((RECORDED / operator / "noise/0").iterdir()):
            out = folder / operator / process.name
            assert parse(["frames", str(process / "time"), "--out", str(out)]) == 0
    return folder


def test_nothing_recorded_of_one_source_is_called_faster_or_slower(
    recorded: Path, tmp_path: Path
) -> None:
    folders = [str(recorded / name) for name in ("transpose", "vector_add")]
    kept = tmp_path / "kept/noise.json"
    assert main([*folders, "--out", str(tmp_path), "--keep", str(kept)]) == 0
    page = (tmp_path / "noise.md").read_text()
    assert "20 of each of 16 variants and cases: 0 faster, 0 slower, " in page
    assert "on NVIDIA H200" in page
    noise = json.loads(kept.read_text())
    assert LEAST.share <= noise["share"] <= ALTERNATING.share


def test_one_process_is_too_few(
    recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = tmp_path / "transpose"
    alone.mkdir()
    (alone / "0").symlink_to(recorded / "transpose/0")
    assert main([str(alone), "--out", str(tmp_path), "--keep", str(tmp_path / "n.json")]) == 2
    assert "transpose: fewer than two processes; measure at least two" in capsys.readouterr().err
    assert not (tmp_path / "n.json").exists()


def test_times_are_by_variant_and_case(recorded: Path) -> None:
    samples = pd.read_parquet(recorded / "vector_add/0/samples.parquet")
    times = times_of(samples)
    assert len(times) == 8
    assert sum(map(len, times.values())) == len(samples)
