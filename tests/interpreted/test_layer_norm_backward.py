"""The kernels of layer norm's backward pass under Triton's interpreter, on the CPU."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels import layer_norm, layer_norm_backward
from kernels.harness.spec import Case, Inputs, UnsupportedError
from kernels.layer_norm_backward import LONGEST, OPERATOR, fused, with_statistics
from tests.interpreted.answers import assert_right, draw

DTYPES = ("float32", "bfloat16")
SHAPES = ((1, 1), (2, 31), (9, 32), (5, 33), (1, 127), (37, 13))


def run(*inputs: torch.Tensor, blocks_per_sm: int = 1) -> tuple[torch.Tensor, ...]:
    return fused(*with_statistics(*inputs), blocks_per_sm=blocks_per_sm)


def by_autograd(*inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
    *given, dy = inputs
    leaves = [x.clone().requires_grad_() for x in given]
    return torch.autograd.grad(layer_norm.builtin(*leaves), leaves, dy)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_sizes(shape: tuple[int, int], dtype: str) -> None:
    assert_right(OPERATOR, "triton", Case(shape, dtype))


def test_reference_is_autograd_in_float64() -> None:
    inputs = tuple(x.double() for x in draw(OPERATOR, Case((9, 40), "float32")))
    for actual, expected in zip(OPERATOR.reference(*inputs), by_autograd(*inputs), strict=True):
        torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize("variant", ["naive", "builtin"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_other_variants(variant: str, dtype: str) -> None:
    assert_right(OPERATOR, variant, Case((33, 70), dtype))


@pytest.mark.parametrize("blocks_per_sm", [1, 3])
def test_every_way_to_share_the_rows_gives_the_same(blocks_per_sm: int) -> None:
    inputs = draw(OPERATOR, Case((67, 9), "float32"))
    found = run(*inputs, blocks_per_sm=blocks_per_sm)
    for actual, expected in zip(found, by_autograd(*inputs), strict=True):
        torch.testing.assert_close(actual, expected, rtol=1e-5, atol=5e-5)


def test_the_same_inputs_give_the_same_bits() -> None:
    inputs = draw(OPERATOR, Case((23, 9), "float32"))
    for one, other in zip(run(*inputs), run(*inputs), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("shape", [(0, 5), (3, 0), (0, 0)])
def test_empty(shape: tuple[int, int]) -> None:
    dx, dweight, dbias = run(*draw(OPERATOR, Case(shape, "float32")))
    assert dx.shape == shape
    for gradient in (dweight, dbias):
        assert torch.equal(gradient, torch.zeros(shape[1]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_not_contiguous(dtype: str) -> None:
    whole = torch.randn(6, 12).to(getattr(torch, dtype))
    cuts = ((slice(None), slice(None, None, 3)), (slice(2, None), slice(7, None)))
    views = [whole.t(), *(whole[cut] for cut in cuts), whole[:1].expand(3, -1)]
    for x in views:
        weight = torch.randn(2 * x.shape[1]).to(x.dtype)[::2]
        right((x, weight, weight, x.clone()))
        right((x.contiguous(), weight, weight, x))


def right(inputs: Inputs) -> None:
    x = inputs[0]
    dtype = str(x.dtype).removeprefix("torch.")
    assert_right(OPERATOR, "triton", Case(tuple(x.shape), dtype), inputs)


def test_offset_view() -> None:
    x, weight = torch.randn(5 * 16 + 3)[3:].view(5, 16), torch.randn(17)[1:]
    right((x, weight, weight, torch.randn(5 * 16 + 1)[1:].view(5, 16)))


@pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered")
@pytest.mark.parametrize("where", ["x", "dy"])
@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, 1e25, 1e-40])
def test_special_values_answer_as_torch_does(value: float, where: str) -> None:
    """Except for which elements of a spoilt row are NaN and which infinite."""
    x, weight, bias, dy = draw(OPERATOR, Case((3, 16), "float32"))
    (x if where == "x" else dy)[1, 3] = value
    for actual, expected in zip(
        run(x, weight, bias, dy), by_autograd(x, weight, bias, dy), strict=True
    ):
        finite = expected.isfinite()
        assert torch.equal(actual.isfinite(), finite)
        torch.testing.assert_close(actual[finite], expected[finite], rtol=1e-5, atol=1e-5)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 6), st.integers(0, 20), st.sampled_from(DTYPES))
def test_any_shape(rows: int, columns: int, dtype: str) -> None:
    """With a slope along each row, so that no row of few columns has a variance near 0."""
    x, *others = draw(OPERATOR, Case((rows, columns), dtype))
    right((x + 10 * torch.arange(columns).to(x.dtype), *others))


def test_what_is_not_supported_is_refused_before_a_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layer_norm, "layer_norm_kernel", None)
    monkeypatch.setattr(layer_norm_backward, "rows_kernel", None)
    x, weight, bias, dy = draw(OPERATOR, Case((4, 40), "float32"))
    with pytest.raises(UnsupportedError, match="takes shape and dtype of x"):
        with_statistics(x, weight, bias, dy[:, 1:])
    with pytest.raises(UnsupportedError, match="takes shape and dtype of x"):
        with_statistics(x, weight, bias, dy.bfloat16())
    with pytest.raises(UnsupportedError, match=f"{LONGEST} at most"):
        with_statistics(*draw(OPERATOR, Case((1, LONGEST + 1), "float32")))
    with pytest.raises(UnsupportedError, match="float64"):
        with_statistics(*(tensor.double() for tensor in (x, weight, bias, dy)))
