"""The GeLU kernel under Triton's interpreter, on the CPU."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.gelu import OPERATOR, fused
from kernels.harness.spec import Case
from tests.interpreted.answers import assert_right

BLOCK = 1024
SIZES = (1, 2, 127, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK, 7919)
DTYPES = ("float32", "bfloat16")


def right(x: torch.Tensor) -> None:
    dtype = str(x.dtype).removeprefix("torch.")
    assert_right(OPERATOR, "triton", Case(tuple(x.shape), dtype), (x,))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", SIZES)
def test_sizes(size: int, dtype: str) -> None:
    assert_right(OPERATOR, "triton", Case((1, size), dtype))


@pytest.mark.parametrize("shape", [(0,), (0, 5), (3, 0)])
def test_empty(shape: tuple[int, ...]) -> None:
    y = fused(torch.empty(shape))
    assert y.shape == shape


@pytest.mark.parametrize("dtype", DTYPES)
def test_not_contiguous(dtype: str) -> None:
    whole = torch.randn(67, 130).mul(3).to(getattr(torch, dtype))
    for view in (whole.t(), whole[:, ::3], whole[5:, 7:], whole.unsqueeze(1).expand(-1, 2, -1)):
        assert not view.is_contiguous()
        right(view)


def test_offset_view() -> None:
    right(torch.randn(BLOCK + 8)[3:])


def test_special_values_answer_as_torch_does() -> None:
    x = torch.tensor([0.0, -0.0, math.inf, -math.inf, math.nan, 1e30, -1e30, 1e-40, -20.0, 20.0])
    expected = torch.nn.functional.gelu(x, approximate="tanh")
    torch.testing.assert_close(fused(x), expected, equal_nan=True, rtol=1e-6, atol=1e-6)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=3))
def test_any_shape(shape: list[int]) -> None:
    right(torch.randn(shape) * 3)


def test_input_is_left_alone() -> None:
    x = torch.randn(100)
    before = x.clone()
    fused(x)
    assert torch.equal(x, before)
