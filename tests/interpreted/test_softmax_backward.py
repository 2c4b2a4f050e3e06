"""The kernel of softmax's backward pass under Triton's interpreter, on the CPU."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels import softmax_backward
from kernels.harness.spec import Case, UnsupportedError
from kernels.softmax_backward import OPERATOR, backward
from tests.interpreted.answers import Unlaunched, assert_right, guarded

DTYPES = ("float32", "bfloat16", "float16")


def expected(y: torch.Tensor, dy: torch.Tensor) -> torch.Tensor:
    y64, dy64 = y.double(), dy.double()
    return (y64 * (dy64 - (y64 * dy64).sum(dim=1, keepdim=True))).to(y.dtype)


def right(y: torch.Tensor, dy: torch.Tensor) -> None:
    """Compare with one rounding of the dtype; the interpreter cuts off what bfloat16 has not."""
    before = y.clone(), dy.clone()
    rtol = {torch.float32: 1e-5, torch.bfloat16: 2**-7, torch.float16: 2**-10}[y.dtype]
    atol = 2**-24 if y.dtype == torch.float16 else 1e-5 / y.shape[1]
    torch.testing.assert_close(backward(y, dy), expected(y, dy), rtol=rtol, atol=atol)
    assert torch.equal(y, before[0])
    assert torch.equal(dy, before[1])


def pair(rows: int, columns: int, dtype: str = "float32") -> tuple[torch.Tensor, torch.Tensor]:
    chosen = getattr(torch, dtype)
    y = torch.randn(rows, columns).softmax(dim=1)
    return y.to(chosen), torch.randn(rows, columns).to(chosen)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("columns", [1, 2, 255, 256, 257, 1021, 4099])
def test_against_autograd_in_float64(columns: int, dtype: str) -> None:
    assert_right(OPERATOR, "triton", Case((5, columns), dtype))


@pytest.mark.parametrize("variant", ["naive", "builtin"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("columns", [1, 129, 8192])
def test_tolerance_fits_the_others(columns: int, dtype: str, variant: str) -> None:
    assert_right(OPERATOR, variant, Case((16, columns), dtype))


def test_reference_is_the_gradient() -> None:
    x = torch.randn(6, 50, dtype=torch.float64, requires_grad=True)
    dy = torch.randn(6, 50, dtype=torch.float64)
    (gradient,) = torch.autograd.grad(x.softmax(dim=1), x, dy)
    torch.testing.assert_close(OPERATOR.reference(x.detach(), dy), gradient)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [1, 2, 31, 32, 33, 67])
def test_rows(rows: int, dtype: str) -> None:
    right(*pair(rows, 37, dtype))


@pytest.mark.parametrize("shape", [(0, 5), (3, 0), (0, 0)])
def test_empty(shape: tuple[int, int]) -> None:
    assert backward(torch.empty(shape), torch.empty(shape)).shape == shape


@pytest.mark.parametrize("dtype", DTYPES)
def test_not_contiguous(dtype: str) -> None:
    y, dy = pair(9, 780, dtype)
    for cut in ((slice(5, None), slice(7, None)), (slice(None), slice(None, None, 3))):
        assert not y[cut].is_contiguous()
        right(y[cut], dy[cut])
    right(y.t(), dy.t())
    right(y, dy[:1].expand(9, -1))
    right(y, dy[:, :1].expand(-1, 780))


def test_offset_view() -> None:
    y, dy = pair(5, 800)
    right(y, torch.cat((torch.zeros(3), dy.flatten()))[3:].view(5, 800))


@pytest.mark.filterwarnings("ignore:(invalid value|overflow):RuntimeWarning")
def test_special_values_answer_as_torch_does() -> None:
    # Where a gradient almost cancels, a tolerance that is a share of it fails for some draws.
    torch.manual_seed(0)
    y, dy = pair(7, 300)
    y[0] = math.nan
    y[1, :200] = 0
    dy[2, 5] = math.nan
    dy[3, 5] = math.inf
    dy[4, 5] = -math.inf
    y[4, 5] = 0
    dy[5] *= 1e30
    dy[6] *= 1e-38
    gradient = torch._softmax_backward_data(dy, y, 1, torch.float32)
    torch.testing.assert_close(backward(y, dy), gradient, equal_nan=True, rtol=1e-4, atol=0)
    assert (gradient[1, :200] == 0).all()


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_masked_scores_have_no_gradient() -> None:
    x, dy = torch.randn(3, 100), torch.randn(3, 100)
    x[:, :50] = -math.inf
    assert_right(OPERATOR, "triton", Case((3, 100), "float32"), (x, dy))


@pytest.mark.parametrize("rows", [1, 5, 33])
def test_writes_nothing_else(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    y, dy = pair(rows, 29)
    buffers = guarded(monkeypatch, "empty_like")
    backward(y, dy)
    monkeypatch.undo()
    assert buffers
    for buffer in buffers:
        assert (buffer[:1000] == 7).all()
        assert (buffer[-1000:] == 7).all()


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 40), st.integers(1, 1200), st.sampled_from(DTYPES))
def test_any_shape(rows: int, columns: int, dtype: str) -> None:
    right(*pair(rows, columns, dtype))


@pytest.mark.parametrize(
    ("shape", "dtype", "message"),
    [
        ((4,), torch.float32, r"1 dimensions; a matrix \(rows, columns\) is supported"),
        ((2, 3), torch.float64, "torch.float64; float32, bfloat16, float16 are supported"),
        ((1, 16385), torch.float32, "rows of 16385 columns; up to 16384 are supported"),
    ],
)
def test_refused(
    monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...], dtype: torch.dtype, message: str
) -> None:
    monkeypatch.setattr(softmax_backward, "softmax_backward_kernel", Unlaunched())
    with pytest.raises(AssertionError, match="launched"):
        backward(torch.ones(2, 2), torch.ones(2, 2))
    with pytest.raises(UnsupportedError, match=message):
        backward(torch.ones(shape, dtype=dtype), torch.ones(shape, dtype=dtype))


def test_longest_row() -> None:
    right(*pair(2, 16384))
