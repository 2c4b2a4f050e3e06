"""The kernel of vector addition under Triton's interpreter, on the CPU."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels import vector_add
from kernels.harness.spec import Case, UnsupportedError
from kernels.vector_add import BLOCK, OPERATOR, fused
from tests.interpreted.answers import assert_right

SIZES = (1, 2, 127, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK, 7919)
DTYPES = ("float16", "bfloat16", "float32")


def right(x: torch.Tensor, y: torch.Tensor) -> None:
    dtype = str(x.dtype).removeprefix("torch.")
    assert_right(OPERATOR, "triton", Case((x.numel(),), dtype), (x, y))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", SIZES)
def test_sizes(size: int, dtype: str) -> None:
    assert_right(OPERATOR, "triton", Case((size,), dtype))


@pytest.mark.parametrize("variant", [v.name for v in OPERATOR.variants if v.name != "compiled"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_strided_case(variant: str, dtype: str) -> None:
    assert_right(OPERATOR, variant, Case((BLOCK + 7,), dtype, ("strided",)))


def test_strided_inputs_are_views_and_their_gaps_count_as_read() -> None:
    case = Case((10,), "float32", ("strided",))
    x, y = OPERATOR.make_inputs(case, "meta", None)
    assert x.stride() == y.stride() == (2,)
    assert OPERATOR.cost(case).bytes == 5 * OPERATOR.cost(Case((10,), "float32")).bytes // 3


@pytest.mark.parametrize("shape", [(0,), (0, 5), (3, 0)])
def test_empty(shape: tuple[int, ...]) -> None:
    assert fused(torch.empty(shape), torch.empty(shape)).shape == shape


@pytest.mark.parametrize("dtype", DTYPES)
def test_not_contiguous(dtype: str) -> None:
    whole = torch.randn(67, 130).to(getattr(torch, dtype))
    rows = whole[:, :67]
    for view in (whole.t(), rows, whole[:, ::3], whole[::2], whole[:1].expand(9, -1)):
        right(view, torch.randn(view.shape).to(view.dtype))
        right(torch.randn(view.shape).to(view.dtype), view)
    right(rows, rows.t())


def test_last_element_of_a_strided_view_may_end_its_memory() -> None:
    whole = torch.randn(2 * BLOCK + 1)
    right(whole[::2], whole[: BLOCK + 1])


def test_steps_differ() -> None:
    whole = torch.randn(3 * BLOCK)
    right(whole[::3], whole[: 2 * BLOCK : 2])


def test_one_repeated_element() -> None:
    right(torch.randn(1).expand(BLOCK + 1), torch.randn(BLOCK + 1))


def test_offset_views() -> None:
    whole = torch.randn(BLOCK + 8)
    right(whole[3:], whole[:-3])


@pytest.mark.parametrize("dtype", DTYPES)
def test_special_values_answer_as_torch_does(dtype: str) -> None:
    some = [0.0, -0.0, math.inf, -math.inf, math.nan, 3e38, -3e38, 6e4, 1e-40, 6e-8, 1.0, -1.0]
    values = torch.tensor(some).to(getattr(torch, dtype))
    x, y = torch.cartesian_prod(values, values).unbind(1)
    expected = x + y
    actual = fused(x, y)
    # The interpreter truncates to bfloat16, where a GPU rounds, and flushes its subnormal numbers.
    rtol, atol = (2**-7, 1e-38) if dtype == "bfloat16" else (0, 0)
    torch.testing.assert_close(actual, expected, equal_nan=True, rtol=rtol, atol=atol)
    assert torch.equal(actual.signbit()[expected == 0], expected.signbit()[expected == 0])


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=3), st.sampled_from(DTYPES))
def test_any_shape(shape: list[int], dtype: str) -> None:
    x, y = (torch.randn(shape).to(getattr(torch, dtype)) for _ in range(2))
    right(x, y)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (torch.ones(3), torch.ones(4), r"\(3,\) and \(4,\) differ"),
        (torch.ones(3), torch.ones(1), r"\(3,\) and \(1,\) differ"),
        (torch.ones(3), torch.ones(3).half(), "float32 and torch.float16 differ"),
        (torch.ones(3), torch.ones(3, device="meta"), "cpu and meta differ"),
        (torch.ones(3).double(), torch.ones(3).double(), "float64 is not supported, only float16"),
        (torch.ones(3).int(), torch.ones(3).int(), "int32 is not supported"),
    ],
)
def test_refused_before_any_launch(
    x: torch.Tensor, y: torch.Tensor, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_add, "add_kernel", None)
    with pytest.raises(UnsupportedError, match=message):
        fused(x, y)
