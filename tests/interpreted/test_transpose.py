"""The transposing kernels under Triton's interpreter, on the CPU."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels import transpose
from kernels.harness.spec import Case, UnsupportedError
from kernels.transpose import OPERATOR, TILE_BYTES, tiled, uncoalesced
from tests.interpreted.answers import assert_right

KERNELS = {"triton": tiled, "triton_uncoalesced": uncoalesced}
DTYPES = ("float16", "bfloat16", "float32")
ROWS = COLUMNS = TILE_BYTES // 4
SHAPES = (
    (1, 1),
    (1, 1031),
    (257, 1),
    (ROWS - 1, COLUMNS + 1),
    (ROWS, COLUMNS),
    (ROWS + 1, COLUMNS - 1),
    (3 * ROWS, 2 * COLUMNS),
    (67, 131),
)


def right(variant: str, x: torch.Tensor) -> None:
    dtype = str(x.dtype).removeprefix("torch.")
    assert_right(OPERATOR, variant, Case(tuple(x.shape), dtype), (x,))
    assert KERNELS[variant](x).is_contiguous()


@pytest.mark.parametrize("variant", KERNELS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_shapes(shape: tuple[int, int], dtype: str, variant: str) -> None:
    assert_right(OPERATOR, variant, Case(shape, dtype))


@pytest.mark.parametrize("tile", [(16, 32), (32, 16), (64, 32)])
def test_any_tile_covers_all(tile: tuple[int, int]) -> None:
    x = torch.randn(7 * 16, 5 * 16 + 3)
    assert torch.equal(tiled(x, tile=tile), x.t())


@pytest.mark.parametrize("variant", KERNELS)
@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (3, 0)])
def test_empty(shape: tuple[int, int], variant: str) -> None:
    assert KERNELS[variant](torch.empty(shape)).shape == shape[::-1]


@pytest.mark.parametrize("variant", KERNELS)
def test_not_contiguous(variant: str) -> None:
    whole = torch.randn(67, 130)
    views = (whole.t(), whole[:, ::3], whole[::2, 7:], whole[:1].expand(9, -1), whole.t()[::5])
    for view in views:
        right(variant, view)


@pytest.mark.parametrize("variant", KERNELS)
def test_offset_view(variant: str) -> None:
    right(variant, torch.randn(64 * 64 + 3)[3:].view(64, 64))


@pytest.mark.parametrize("variant", KERNELS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_values_are_moved_to_the_bit(dtype: str, variant: str) -> None:
    some = [0.0, -0.0, math.inf, -math.inf, math.nan, 3e38, -3e38, 6e4, 1e-40, 6e-8]
    x = torch.tensor(some).to(getattr(torch, dtype)).repeat(7).view(7, 10)
    bits = {2: torch.int16, 4: torch.int32}[x.itemsize]
    assert torch.equal(KERNELS[variant](x).view(bits), x.t().contiguous().view(bits))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 150), st.integers(0, 150), st.sampled_from(DTYPES))
def test_any_shape(rows: int, columns: int, dtype: str) -> None:
    right("triton", torch.randn(rows, columns).to(getattr(torch, dtype)))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 20), st.integers(0, 2000), st.sampled_from(DTYPES))
def test_any_shape_uncoalesced(rows: int, columns: int, dtype: str) -> None:
    right("triton_uncoalesced", torch.randn(rows, columns).to(getattr(torch, dtype)))


@pytest.mark.parametrize("variant", KERNELS)
@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.ones(3), "1 dimensions are not supported, only matrices"),
        (torch.ones(2, 3, 4), "3 dimensions are not supported, only matrices"),
        (torch.ones(3, 3).double(), "float64 is not supported, only float16"),
        (torch.ones(3, 3).int(), "int32 is not supported"),
    ],
)
def test_refused_before_any_launch(
    x: torch.Tensor, message: str, variant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kernel in ("tiled_kernel", "uncoalesced_kernel"):
        monkeypatch.setattr(transpose, kernel, None)
    with pytest.raises(UnsupportedError, match=message):
        KERNELS[variant](x)
