"""The layer norm kernel under Triton's interpreter, on the CPU."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels import layer_norm
from kernels.harness.spec import Case, UnsupportedError
from kernels.layer_norm import LONGEST, OPERATOR, forward, fused
from tests.interpreted.answers import assert_right

DTYPES = ("float32", "bfloat16")
SHAPES = ((1, 1), (2, 127), (9, 128), (5, 129), (1, 2039), (1, 2048))


def right(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> None:
    dtype = str(x.dtype).removeprefix("torch.")
    assert_right(OPERATOR, "triton", Case(tuple(x.shape), dtype), (x, weight, bias))


def parameters(columns: int, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(columns).to(dtype), torch.randn(columns).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_sizes(shape: tuple[int, int], dtype: str) -> None:
    assert_right(OPERATOR, "triton", Case(shape, dtype))


@pytest.mark.parametrize("columns", [LONGEST - 1, LONGEST])
def test_long_rows(columns: int) -> None:
    assert_right(OPERATOR, "triton", Case((2, columns), "float32"))


@pytest.mark.parametrize("columns", [64, 70])
@pytest.mark.parametrize("rows", [1, 2, 8, 16])
def test_every_number_of_rows_a_program_gives_the_same(rows: int, columns: int) -> None:
    x, (weight, bias) = torch.randn(11, columns), parameters(columns, torch.float32)
    expected = torch.nn.functional.layer_norm(x, (columns,), weight, bias)
    torch.testing.assert_close(forward(x, weight, bias, rows=rows)[0], expected)


@pytest.mark.parametrize("shape", [(0, 5), (3, 0), (0, 0)])
def test_empty(shape: tuple[int, int]) -> None:
    assert fused(torch.empty(shape), *parameters(shape[1], torch.float32)).shape == shape


@pytest.mark.parametrize("dtype", DTYPES)
def test_not_contiguous(dtype: str) -> None:
    whole = torch.randn(11, 46).to(getattr(torch, dtype))
    for x in (whole.t(), whole[:, ::3], whole[5:, 7:], whole[:1].expand(4, -1), whole.flip(0)[::2]):
        weight, bias = parameters(2 * x.shape[1], x.dtype)
        right(x, weight[::2], bias[1::2])


def test_offset_view() -> None:
    right(torch.randn(5 * 64 + 3)[3:].view(5, 64), *parameters(64, torch.float32))


def test_statistics_of_the_rows() -> None:
    x = torch.randn(7, 100) * 3 + 5
    _, mean, rstd = forward(x, *parameters(100, torch.float32))
    variance, expected = torch.var_mean(x.double(), dim=1, correction=0)
    torch.testing.assert_close(mean.double(), expected, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(
        rstd.double(), (variance + layer_norm.EPS).rsqrt(), rtol=1e-6, atol=0
    )


def test_a_large_mean_does_not_cancel_the_variance() -> None:
    x = torch.randn(4, 256) + 3000
    expected = layer_norm.reference(x, torch.ones(256), torch.zeros(256))
    y = fused(x, torch.ones(256), torch.zeros(256))
    torch.testing.assert_close(y.double(), expected, rtol=0, atol=1e-3)


@pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered")
@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, 1e30, -1e30, 1e-40, 0.0])
def test_special_values_answer_as_torch_does(value: float) -> None:
    one, rows = torch.randn(1, 40), torch.full((1, 40), value)
    one[0, 3] = value
    x, (weight, bias) = torch.cat([one, rows]), parameters(40, torch.float32)
    expected = layer_norm.naive(x, weight, bias)
    actual = fused(x, weight, bias)
    torch.testing.assert_close(actual, expected, equal_nan=True, rtol=1e-5, atol=1e-5)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 12), st.integers(0, 40), st.sampled_from(DTYPES))
def test_any_shape(rows: int, columns: int, dtype: str) -> None:
    """With a slope along each row, so that no row of few columns has a variance near 0."""
    x = (torch.randn(rows, columns) + 10 * torch.arange(columns)).to(getattr(torch, dtype))
    right(x, *parameters(columns, x.dtype))


@pytest.mark.parametrize(
    ("x", "weight", "bias", "message"),
    [
        (torch.empty(2, 3, 4), torch.empty(4), torch.empty(4), "takes a matrix"),
        (torch.empty(4), torch.empty(4), torch.empty(4), "takes a matrix"),
        (torch.empty(3, 4), torch.empty(3), torch.empty(4), "a weight and bias a column"),
        (torch.empty(3, 4), torch.empty(4), torch.empty(5), "a weight and bias a column"),
        (torch.empty(3, 4).double(), torch.empty(4).double(), torch.empty(4).double(), "float64"),
        (torch.empty(3, 4), torch.empty(4).bfloat16(), torch.empty(4), "bfloat16"),
        (torch.empty(1, LONGEST + 1), *parameters(LONGEST + 1, torch.float32), "at most"),
    ],
)
def test_what_is_not_supported_is_refused_before_a_launch(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(layer_norm, "layer_norm_kernel", None)
    with pytest.raises(UnsupportedError, match=message):
        fused(x, weight, bias)
