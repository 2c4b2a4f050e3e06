"""The kernels that sum rows under Triton's interpreter, on the CPU."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels import row_sum
from kernels.harness.spec import Case, UnsupportedError
from kernels.row_sum import OPERATOR, split_rows, whole_rows
from tests.interpreted.answers import Unlaunched, assert_right, guarded

DTYPES = ("float32", "bfloat16", "float16")
VARIANTS = ("triton", "triton_split")
Function = Callable[[torch.Tensor], torch.Tensor]
tiled = partial(whole_rows, rows=2, block=64, num_warps=1)
chunked = partial(split_rows, chunk=128, block=64, num_warps=1)
FUNCTIONS = (whole_rows, split_rows, tiled, chunked)


def signs(rows: int, columns: int, dtype: str = "float32") -> torch.Tensor:
    """Draw -1, 0 and 1, whose sums are exact in every dtype: nothing may be off."""
    return torch.randint(-1, 2, (rows, columns)).to(getattr(torch, dtype))


def right(function: Function, x: torch.Tensor) -> None:
    before = x.clone()
    sums = function(x)
    assert sums.dtype == x.dtype
    assert torch.equal(sums.double(), x.double().sum(dim=1))
    assert torch.equal(x, before)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("columns", [1, 2, 4095, 4096, 4097, 33000])
@pytest.mark.parametrize("variant", VARIANTS)
def test_columns(variant: str, columns: int, dtype: str) -> None:
    assert_right(OPERATOR, variant, Case((3, columns), dtype))


@pytest.mark.parametrize("variant", ["naive", "builtin"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("columns", [1, 129, 16384])
def test_tolerance_fits_the_others(columns: int, dtype: str, variant: str) -> None:
    assert_right(OPERATOR, variant, Case((32, columns), dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("columns", [1, 63, 64, 65, 127, 128, 129, 257, 701])
def test_edges_of_tiles_and_chunks(columns: int, dtype: str) -> None:
    for function in (tiled, chunked):
        right(function, signs(2, columns, dtype))


@pytest.mark.parametrize("rows", [1, 2, 31, 32, 33])
@pytest.mark.parametrize("function", [whole_rows, tiled])
def test_rows(function: Function, rows: int) -> None:
    right(function, signs(rows, 37))


@pytest.mark.parametrize("shape", [(0, 5), (0, 0)])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_no_rows(function: Function, shape: tuple[int, int]) -> None:
    assert function(torch.empty(shape)).shape == (0,)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_rows_without_columns_sum_to_zero(function: Function) -> None:
    assert torch.equal(function(torch.empty(3, 0)), torch.zeros(3))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_not_contiguous(function: Function, dtype: str) -> None:
    whole = signs(9, 300, dtype)
    views = (whole.t()[:5], whole[:, ::3], whole[6:, 7:], whole[:1].expand(3, -1), whole[::4])
    for view in views:
        assert not view.is_contiguous()
        right(function, view)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_offset_view(function: Function) -> None:
    right(function, signs(1, 2 * 300 + 3)[0, 3:].view(2, 300))


@pytest.mark.filterwarnings("ignore:(invalid value|overflow):RuntimeWarning")
@pytest.mark.parametrize("function", FUNCTIONS)
def test_special_values_answer_as_torch_does(function: Function) -> None:
    x = torch.randn(8, 300)
    x[0, 7] = math.inf
    x[1, 7] = -math.inf
    x[2, 7], x[2, 299] = math.inf, -math.inf
    x[3, 150] = math.nan
    x[4] = 1e-40
    x[5] = -0.0
    x[6] = 3e38
    x[7] = x[7].abs() * 1e30  # nothing cancels, so the order of addition hardly counts
    expected = x.sum(dim=1)
    assert expected[6] == math.inf
    torch.testing.assert_close(function(x), expected, equal_nan=True, rtol=1e-5, atol=1e-38)


def test_chunks_are_added_in_the_same_order() -> None:
    x = torch.randn(3, 1000)
    assert torch.equal(chunked(x), chunked(x))


def test_accumulates_two_byte_inputs_in_float32() -> None:
    for function in FUNCTIONS:
        assert torch.equal(
            function(torch.ones(2, 4096).bfloat16()), torch.full((2,), 4096).bfloat16()
        )


@pytest.mark.parametrize("rows", [1, 5, 33])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_writes_nothing_else(
    monkeypatch: pytest.MonkeyPatch, function: Function, rows: int
) -> None:
    x = torch.randn(rows, 200)
    buffers = guarded(monkeypatch, "empty")
    function(x)
    monkeypatch.undo()
    assert buffers
    for buffer in buffers:
        assert (buffer[:1000] == 7).all()
        assert (buffer[-1000:] == 7).all()


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 6), st.integers(0, 400), st.sampled_from(DTYPES))
def test_any_shape(rows: int, columns: int, dtype: str) -> None:
    for function in FUNCTIONS:
        right(function, signs(rows, columns, dtype))


@pytest.mark.parametrize("function", [whole_rows, split_rows])
@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.ones(4), r"1 dimensions; a matrix \(rows, columns\) is supported"),
        (torch.ones(2, 3, dtype=torch.float64), "torch.float64; float32, bfloat16, float16 are"),
        (torch.ones(2, 3, dtype=torch.int32), "torch.int32; float32, bfloat16, float16 are"),
    ],
)
def test_refused(
    monkeypatch: pytest.MonkeyPatch, function: Function, x: torch.Tensor, message: str
) -> None:
    for kernel in ("rows_kernel", "chunks_kernel"):
        monkeypatch.setattr(row_sum, kernel, Unlaunched())
    with pytest.raises(AssertionError, match="launched"):
        function(torch.ones(2, 2))
    with pytest.raises(UnsupportedError, match=message):
        function(x)
