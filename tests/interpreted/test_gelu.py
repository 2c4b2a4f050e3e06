"""The GeLU kernel under Triton's interpreter, on the CPU."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels import gelu
from kernels.gelu import BLOCK_BYTES, OPERATOR, fused, reference
from kernels.harness.spec import Case, UnsupportedError
from tests.interpreted.answers import assert_right, draw

BLOCK = BLOCK_BYTES // 4
SIZES = (1, 2, 127, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK, 7919)
DTYPES = ("float16", "bfloat16", "float32")


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


@pytest.mark.parametrize("dtype", DTYPES)
def test_special_values_answer_as_torch_does(dtype: str) -> None:
    some = [0.0, -0.0, math.inf, -math.inf, math.nan, 1e30, -1e30, 3e38, -3e38]
    x = torch.tensor([*some, 6e4, -6e4, 1e-40, 6e-8, -20.0, 20.0]).to(getattr(torch, dtype))
    expected = torch.nn.functional.gelu(x, approximate="tanh")
    rtol = torch.finfo(x.dtype).eps
    torch.testing.assert_close(fused(x), expected, equal_nan=True, rtol=rtol, atol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_rounded_once(dtype: str) -> None:
    (x,) = draw(OPERATOR, Case((64, 1024), dtype))
    eps = torch.finfo(x.dtype).eps
    torch.testing.assert_close(fused(x).double(), reference(x), rtol=2 * eps, atol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_term_by_term_is_within_tolerance(dtype: str) -> None:
    assert_right(OPERATOR, "naive", Case((257, 1023), dtype))


def test_reference_over_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gelu, "PIECE", 100)
    x = torch.randn(67, 129)
    expected = torch.nn.functional.gelu(x.double(), approximate="tanh")
    torch.testing.assert_close(reference(x.t()), expected.t())


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=3), st.sampled_from(DTYPES))
def test_any_shape(shape: list[int], dtype: str) -> None:
    right(torch.randn(shape).mul(3).to(getattr(torch, dtype)))


@pytest.mark.parametrize("dtype", [torch.float64, torch.int32, torch.complex64])
def test_refused_before_any_launch(dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gelu, "gelu_kernel", None)
    with pytest.raises(UnsupportedError, match=f"{dtype} is not supported, only float16"):
        fused(torch.ones(3, dtype=dtype))
