"""The kernel of cross entropy's backward pass under Triton's interpreter, on the CPU."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels import cross_entropy, cross_entropy_backward
from kernels.cross_entropy import IGNORED
from kernels.cross_entropy_backward import OPERATOR, fused, with_statistics
from kernels.harness.spec import Case, Inputs, Tolerance, UnsupportedError
from tests.interpreted.answers import assert_right, draw

DTYPES = ("float32", "bfloat16")
BLOCK = 2048
SHAPES = ((1, 1), (3, 2), (9, 131), (2, BLOCK - 1), (2, BLOCK), (2, BLOCK + 1), (1, 2 * BLOCK + 17))


def tight(case: Case) -> Tolerance:
    """What the kernel keeps: one rounding, for it starts from logits and not from log-softmax.

    The interpreter cuts bfloat16 off instead of rounding, which doubles the error. Of few columns
    one may have a softmax near 1, of which 1 is subtracted: then float32's rounding shows.
    """
    rtol = {"float32": 4e-6, "bfloat16": 2**-7}[case.dtype]
    return Tolerance(rtol=rtol, atol=2e-7 if case.shape[1] < 100 else 1e-9)


KERNEL = dataclasses.replace(OPERATOR, tolerance=tight)


def run(*inputs: torch.Tensor) -> torch.Tensor:
    return fused(*with_statistics(*inputs))


def by_autograd(logits: torch.Tensor, target: torch.Tensor, dloss: torch.Tensor) -> torch.Tensor:
    leaf = logits.clone().requires_grad_()
    return torch.autograd.grad(cross_entropy.builtin(leaf, target), leaf, dloss)[0]


def right(inputs: Inputs) -> None:
    logits = inputs[0]
    dtype = str(logits.dtype).removeprefix("torch.")
    assert_right(KERNEL, "triton", Case(tuple(logits.shape), dtype), inputs)


@pytest.mark.parametrize(("dtype", "labels"), [("float32", ()), ("bfloat16", ("ignored",))])
@pytest.mark.parametrize("shape", SHAPES)
def test_sizes(shape: tuple[int, int], dtype: str, labels: tuple[str, ...]) -> None:
    assert_right(KERNEL, "triton", Case(shape, dtype, labels))


@pytest.mark.parametrize("variant", ["naive", "builtin"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_other_variants(variant: str, dtype: str) -> None:
    assert_right(OPERATOR, variant, Case((33, 70), dtype, ("ignored",)))


def test_reference_is_autograd_in_float64() -> None:
    logits, target, dloss = draw(OPERATOR, Case((9, 40), "float32", ("ignored",)))
    expected = by_autograd(logits.double(), target, dloss.double())
    torch.testing.assert_close(OPERATOR.reference(logits, target, dloss), expected)


@pytest.mark.parametrize("block", [16, 128])
def test_every_block_gives_the_same(block: int) -> None:
    inputs = draw(OPERATOR, Case((3, 131), "float32"))
    actual = fused(*with_statistics(*inputs), block=block, num_warps=1)
    torch.testing.assert_close(actual, by_autograd(*inputs))


@pytest.mark.parametrize("shape", [(0, 5), (0, 0)])
def test_empty(shape: tuple[int, int]) -> None:
    dlogits = run(torch.empty(shape), torch.empty(0, dtype=torch.int64), torch.empty(0))
    assert dlogits.shape == shape


@pytest.mark.parametrize("dtype", DTYPES)
def test_not_contiguous(dtype: str) -> None:
    whole = torch.randn(6, 16).to(getattr(torch, dtype))
    for view in (whole.t(), whole[:, ::3], whole[2:, 7:], whole[:1].expand(3, -1)):
        target = torch.randint(view.shape[1], (2 * view.shape[0],))
        right((view, target[::2], torch.randn(2 * view.shape[0]).to(whole.dtype)[1::2]))


def test_offset_view() -> None:
    right((torch.randn(5 * 64 + 3)[3:].view(5, 64), torch.arange(6)[1:], torch.randn(7)[2:]))


@pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered")
@pytest.mark.filterwarnings("ignore:All-NaN")
@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, 3e38, -3e38, 1e4, 1e-40])
def test_special_values_answer_as_torch_does(value: float) -> None:
    logits = torch.randn(4, 100)
    logits[0, 3] = value
    logits[1] = value
    logits[2, :90] = value
    logits[3, 7] = value
    inputs = (logits, torch.tensor([3, 5, 95, 8]), torch.randn(4))
    torch.testing.assert_close(run(*inputs), by_autograd(*inputs), equal_nan=True)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_row_that_is_ignored_is_not_read_and_exactly_0(dtype: str) -> None:
    logits = torch.full((2, 50), math.nan).to(getattr(torch, dtype))
    logits[1] = 0
    dlogits = run(logits, torch.tensor([IGNORED, 7]), torch.ones(2).to(logits.dtype))
    assert torch.equal(dlogits[0], torch.zeros(50).to(logits.dtype))
    assert dlogits[1].isfinite().all()


@pytest.mark.parametrize("target", [-1, 50, 2**32 + 3, -(2**63)])
def test_a_target_beyond_the_row_makes_it_nan(target: int) -> None:
    dlogits = run(torch.zeros(2, 50), torch.tensor([target, 49]), torch.ones(2))
    assert dlogits[0].isnan().all()
    assert dlogits[1].isfinite().all()


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 5), st.integers(1, 40), st.sampled_from(DTYPES), st.booleans())
def test_any_shape(rows: int, columns: int, dtype: str, ignored: bool) -> None:
    assert_right(KERNEL, "triton", Case((rows, columns), dtype, ("ignored",) if ignored else ()))


def test_what_is_not_supported_is_refused_before_a_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cross_entropy, "cross_entropy_kernel", None)
    monkeypatch.setattr(cross_entropy_backward, "cross_entropy_backward_kernel", None)
    logits, target, dloss = draw(OPERATOR, Case((4, 40), "float32"))
    with pytest.raises(UnsupportedError, match="takes one a row"):
        with_statistics(logits, target, dloss[1:])
    with pytest.raises(UnsupportedError, match="takes one a row"):
        with_statistics(logits, target, dloss.bfloat16())
    with pytest.raises(UnsupportedError, match="int32"):
        with_statistics(logits, target.int(), dloss)
    with pytest.raises(UnsupportedError, match="float64"):
        with_statistics(logits.double(), target, dloss.double())
