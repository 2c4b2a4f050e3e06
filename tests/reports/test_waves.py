from __future__ import annotations

from dataclasses import asdict

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.captures import parse_pass
from parsers.schemas import COUNTERS
from reports.frames import records
from reports.waves import COLUMNS, Tiles, Waves, of_launches, tiles, waves
from tests.checkouts import ROOT
from tests.reports.data import launch

CAPTURES = ROOT / "captures" / "h200"
OPERATORS = sorted(folder.name for folder in CAPTURES.iterdir())

counts = st.integers(1, 10_000)
LIMITS = {
    "limit_registers_blocks": 3,
    "limit_shared_mem_blocks": 7,
    "limit_warps_blocks": 16,
    "limit_blocks_blocks": 32,
    "limit_barriers_blocks": None,
}


def test_a_tail_wastes_half_of_the_gpu() -> None:
    """160 = 148 + 12; the second wave has 12 of 148; 160 / (2 x 148) = 54 %."""
    found = waves(160, 148, 1)
    assert found.waves == pytest.approx(1.0811, abs=1e-4)
    assert (found.full_waves, found.tail_blocks, found.idle_sms) == (1, 12, 136)
    assert found.tail_share == pytest.approx(0.0811, abs=1e-4)
    assert found.efficiency == pytest.approx(0.5405, abs=1e-4)


@pytest.mark.parametrize(
    ("blocks", "sms", "held", "expected"),
    [
        # Two full waves.
        (528, 132, 2, (2.0, 2, 0, 0.0, 0, 1.0)),
        # 1024 = 3 x 264 + 232; 232 blocks are more than there are SMs; 1024 / (4 x 264).
        (1024, 132, 2, (1024 / 264, 3, 232, 232 / 264, 0, 1024 / 1056)),
        # One wave of a persistent kernel: 12 of 132 SMs have nothing to do.
        (120, 132, 1, (120 / 132, 0, 120, 120 / 132, 12, 120 / 132)),
        # Half of the capacity, but a block on each SM.
        (132, 132, 2, (0.5, 0, 132, 0.5, 0, 1.0)),
        (1, 132, 16, (1 / 2112, 0, 1, 1 / 2112, 131, 1 / 132)),
    ],
)
def test_worked_examples(blocks: int, sms: int, held: int, expected: tuple[float, ...]) -> None:
    assert waves(blocks, sms, held) == Waves(blocks, sms, held, *expected)  # type: ignore[arg-type]


@pytest.mark.parametrize("counted", [(0, 132, 1), (1, 0, 1), (1, 132, 0)])
def test_nothing_fills_nothing(counted: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="counts are from 1"):
        waves(*counted)


@settings(deadline=None)
@given(counts, counts, st.integers(1, 32))
def test_every_block_is_in_a_wave(blocks: int, sms: int, held: int) -> None:
    found = waves(blocks, sms, held)
    assert found.full_waves * sms * held + found.tail_blocks == blocks
    assert 0 < found.efficiency <= 1
    assert 0 <= found.tail_share < 1
    assert 0 <= found.idle_sms < sms
    # A last block more costs nothing while it fits into the last wave.
    if found.full_waves and found.tail_blocks:
        assert waves(blocks + 1, sms, held).efficiency > found.efficiency


@pytest.mark.parametrize("operator", OPERATORS)
def test_waves_are_those_of_nsight(operator: str) -> None:
    counters = parse_pass(CAPTURES / operator / "ncu")["counters"]
    found = of_launches(counters)
    assert found.notna().all(axis=None)
    assert found["waves"].tolist() == pytest.approx(counters["waves"].tolist())


def test_launches() -> None:
    rows = [
        launch("naive", 0) | LIMITS | {"grid_size": 1024, "sm_count": 132},
        launch("naive", 1) | LIMITS | {"grid_size": None, "sm_count": 132},
        launch("naive", 2) | LIMITS | {"sm_count": 132, "limit_registers_blocks": None},
    ]
    counters = COUNTERS.conform(rows).set_index(pd.Index([5, 6, 7]))
    found = of_launches(counters)
    assert found.dtypes.astype(str).to_dict() == COLUMNS
    assert found.index.tolist() == [5, 6, 7]
    assert records(found)[0] == asdict(waves(1024, 132, 3))
    assert found.loc[[6, 7]].isna().all(axis=None)
    assert of_launches(counters.iloc[:0]).empty


def test_tiles_at_the_edge() -> None:
    """4097 = 32 x 128 + 1: 33 tiles a side, 4224 elements; (4097 / 4224)^2 = 94 %."""
    found = tiles(4097, 4097, 128, 128)
    assert (found.down, found.across, found.count) == (33, 33, 1089)
    assert found.useful == pytest.approx(0.9408, abs=1e-4)
    assert tiles(4096, 4096, 128, 256) == Tiles(32, 16, 1.0)
    # One row of a tile of 64: 8 / 64.
    assert tiles(8, 1024, 64, 128).useful == 0.125


@settings(deadline=None)
@given(counts, counts, st.integers(1, 512), st.integers(1, 512))
def test_tiles_cover(m: int, n: int, tile_m: int, tile_n: int) -> None:
    found = tiles(m, n, tile_m, tile_n)
    assert (found.down - 1) * tile_m < m <= found.down * tile_m
    assert (found.across - 1) * tile_n < n <= found.across * tile_n
    assert 0 < found.useful <= 1
    assert tiles(m, n, 1, 1).useful == 1


def test_no_matrix() -> None:
    with pytest.raises(ValueError, match="extents are from 1"):
        tiles(0, 1, 1, 1)
