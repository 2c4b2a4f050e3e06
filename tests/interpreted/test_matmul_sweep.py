"""The sweep's cases are what their labels say, and Triton answers right on a shape of each kind."""

from __future__ import annotations

import pytest

from kernels._matmul_tiles import choose
from kernels.harness.spec import Case
from kernels.matmul_sweep import MULTIPROCESSORS, OPERATOR
from tests.interpreted.answers import assert_right


def test_each_case_belongs_to_one_sweep() -> None:
    assert {case.labels for case in OPERATOR.cases} == {("cubic",), ("waves",)}
    cubic = [case.shape for case in OPERATOR.cases if case.labels == ("cubic",)]
    assert cubic == [(n, n, n) for n in (256, 512, 1024, 2048, 4096, 8192)]


def test_waves_are_whole_or_one_tile_more() -> None:
    found = []
    for case in OPERATOR.cases:
        m, n, _k = case.shape
        if case.labels == ("waves",) and m != n:
            tile = choose(m, n, 2, MULTIPROCESSORS)
            found.append((tile.block_m, tile.block_n, tile.covering(m, n)))
    assert found == [(128, 256, count) for count in (132, 133, 528, 529)] + [(64, 64, 133)]


def test_waves_hold_both_sides_of_the_alignment() -> None:
    waves = {case.shape for case in OPERATOR.cases if case.labels == ("waves",)}
    assert {(4096, 4096, 4096), (4097, 4097, 4097)} <= waves


@pytest.mark.parametrize("variant", [variant.name for variant in OPERATOR.variants])
@pytest.mark.parametrize("shape", [(128, 64, 72), (129, 65, 73)])
def test_small_shapes_are_right(shape: tuple[int, ...], variant: str) -> None:
    assert_right(OPERATOR, variant, Case(shape, "bfloat16", ("waves",)))
