"""The kernel of GeLU's backward pass under Triton's interpreter, on the CPU."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels import gelu_backward
from kernels.gelu_backward import BLOCK_BYTES, OPERATOR, PIECE, fused, reference
from kernels.harness.spec import Case, UnsupportedError
from tests.interpreted.answers import assert_right, draw

BLOCK = BLOCK_BYTES // 4
SIZES = (1, 2, 127, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK, 7919)
DTYPES = ("float16", "bfloat16", "float32")


def right(x: torch.Tensor, dy: torch.Tensor) -> None:
    dtype = str(x.dtype).removeprefix("torch.")
    assert_right(OPERATOR, "triton", Case(tuple(x.shape), dtype), (x, dy))


def torchs(x: torch.Tensor, dy: torch.Tensor) -> torch.Tensor:
    """Answer as PyTorch's own kernel does."""
    answer: torch.Tensor = torch.ops.aten.gelu_backward(dy, x, approximate="tanh")
    return answer


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", SIZES)
def test_sizes(size: int, dtype: str) -> None:
    assert_right(OPERATOR, "triton", Case((1, size), dtype))


@pytest.mark.parametrize("variant", ["naive", "builtin"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_autograd_is_right(variant: str, dtype: str) -> None:
    assert_right(OPERATOR, variant, Case((257, 1023), dtype))


def test_reference_is_torchs_in_float64_over_pieces_too(monkeypatch: pytest.MonkeyPatch) -> None:
    assert PIECE >= 2**20
    monkeypatch.setattr(gelu_backward, "PIECE", 100)
    x, dy = draw(OPERATOR, Case((67, 129), "float32"))
    torch.testing.assert_close(reference(x.t(), dy.t()), torchs(x.double(), dy.double()).t())


@pytest.mark.parametrize("dtype", DTYPES)
def test_rounded_once(dtype: str) -> None:
    x, dy = draw(OPERATOR, Case((64, 1024), dtype))
    eps = torch.finfo(x.dtype).eps
    exact = reference(x, dy)
    torch.testing.assert_close(fused(x, dy).double(), exact, rtol=2 * eps, atol=1e-6)


@pytest.mark.parametrize("shape", [(0,), (0, 5), (3, 0)])
def test_empty(shape: tuple[int, ...]) -> None:
    assert fused(torch.empty(shape), torch.empty(shape)).shape == shape


@pytest.mark.parametrize("dtype", DTYPES)
def test_not_contiguous(dtype: str) -> None:
    whole = torch.randn(67, 130).to(getattr(torch, dtype))
    for view in (whole.t(), whole[:, ::3], whole[5:, 7:], whole.unsqueeze(1).expand(-1, 2, -1)):
        assert not view.is_contiguous()
        other = torch.randn(view.shape).to(view.dtype)
        right(view, other)
        right(other, view)


def test_offset_views() -> None:
    whole = torch.randn(BLOCK + 8)
    right(whole[3:], whole[:-3])


@pytest.mark.parametrize("dtype", DTYPES)
def test_special_values_answer_as_torch_does(dtype: str) -> None:
    some = [0.0, -0.0, math.inf, -math.inf, math.nan, 6e4, -6e4, 1e-40, 6e-8, -20.0, 20.0]
    large = [1e15, -1e15, 1e19, -1e19, 1e30, -1e30, 3e38, -3e38]  # infinite in float16
    x = torch.tensor(some + large).to(getattr(torch, dtype))
    for upstream in (1.0, -3.0, 0.0, 1e-40, math.nan):
        dy = torch.full_like(x, upstream)
        torch.testing.assert_close(
            fused(x, dy),
            torchs(x, dy),
            equal_nan=True,
            rtol=torch.finfo(x.dtype).eps,
            atol=1e-6,
        )


def test_infinite_gradients_answer_as_torch_does() -> None:
    x = torch.tensor([0.0, 1.0, -1.0, 20.0, -20.0, math.inf, -math.inf, math.nan])
    for upstream in (math.inf, -math.inf):
        dy = torch.full_like(x, upstream)
        torch.testing.assert_close(fused(x, dy), torchs(x, dy), equal_nan=True)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=3), st.sampled_from(DTYPES))
def test_any_shape(shape: list[int], dtype: str) -> None:
    x, dy = (torch.randn(shape).to(getattr(torch, dtype)) for _ in range(2))
    right(x * 3, dy)


@pytest.mark.parametrize(
    ("x", "dy", "message"),
    [
        (torch.ones(3), torch.ones(4), r"\(3,\) and \(4,\) differ"),
        (torch.ones(3), torch.ones(3).half(), "float32 and torch.float16 differ"),
        (torch.ones(3).double(), torch.ones(3).double(), "float64 is not supported, only float16"),
        (torch.ones(3).int(), torch.ones(3).int(), "int32 is not supported"),
    ],
)
def test_refused_before_any_launch(
    x: torch.Tensor, dy: torch.Tensor, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gelu_backward, "gelu_backward_kernel", None)
    with pytest.raises(UnsupportedError, match=message):
        fused(x, dy)
