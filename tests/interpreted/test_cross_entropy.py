"""The cross entropy kernel under Triton's interpreter, on the CPU."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels import cross_entropy
from kernels.cross_entropy import IGNORED, OPERATOR, forward, fused
from kernels.harness.spec import Case, UnsupportedError
from tests.interpreted.answers import assert_right

DTYPES = ("float32", "bfloat16")
TILE = 2 * 256 * 4
"""Float32 logits that a block reads in one go: two rounds, 256 threads, 16 bytes."""

SHAPES = ((1, 1), (3, 2), (9, 131), (2, TILE - 1), (2, TILE), (2, TILE + 1), (1, 2 * TILE + 17))


def right(logits: torch.Tensor, target: torch.Tensor) -> None:
    dtype = str(logits.dtype).removeprefix("torch.")
    assert_right(OPERATOR, "triton", Case(tuple(logits.shape), dtype), (logits, target))


@pytest.mark.parametrize(("dtype", "labels"), [("float32", ()), ("bfloat16", ("ignored",))])
@pytest.mark.parametrize("shape", SHAPES)
def test_sizes(shape: tuple[int, int], dtype: str, labels: tuple[str, ...]) -> None:
    assert_right(OPERATOR, "triton", Case(shape, dtype, labels))


@pytest.mark.parametrize(("num_warps", "rounds"), [(1, 1), (2, 8), (4, 2)])
def test_every_tile_gives_the_same(num_warps: int, rounds: int) -> None:
    logits, target = torch.randn(4, 1031), torch.tensor([0, 1030, 17, IGNORED])
    expected = torch.nn.functional.cross_entropy(logits, target, reduction="none")
    loss, _, _ = forward(logits, target, num_warps=num_warps, rounds=rounds)
    torch.testing.assert_close(loss, expected)


@pytest.mark.parametrize("shape", [(0, 5), (0, 0)])
def test_empty(shape: tuple[int, int]) -> None:
    assert fused(torch.empty(shape), torch.empty(0, dtype=torch.int64)).shape == (0,)


@pytest.mark.parametrize("dtype", DTYPES)
def test_not_contiguous(dtype: str) -> None:
    whole = torch.randn(6, 16).to(getattr(torch, dtype))
    for view in (whole.t(), whole[:, ::3], whole[2:, 7:], whole[:1].expand(3, -1)):
        target = torch.randint(view.shape[1], (2 * view.shape[0],))
        right(view, target[::2])


def test_offset_view() -> None:
    right(torch.randn(5 * 64 + 3)[3:].view(5, 64), torch.arange(6)[1:])


def test_statistics_of_the_rows() -> None:
    logits, target = torch.randn(3, 100), torch.tensor([5, IGNORED, 99])
    _, top, log_sum = forward(logits, target)
    read = torch.tensor([True, False, True])
    expected = logits.logsumexp(dim=1)
    torch.testing.assert_close((top + log_sum)[read], expected[read])
    torch.testing.assert_close(top[read], logits.amax(dim=1)[read], rtol=0, atol=0)
    assert top[1] == log_sum[1] == 0


@pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered")
@pytest.mark.filterwarnings("ignore:All-NaN")
@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, 3e38, -3e38, 1e4, 1e-40])
def test_special_values_answer_as_torch_does(value: float) -> None:
    logits = torch.randn(4, 2100)
    logits[0, 3] = value
    logits[1] = value
    logits[2, :2000] = value
    logits[3, 7] = value
    target = torch.tensor([3, 5, 2050, 8])
    expected = torch.nn.functional.cross_entropy(logits, target, reduction="none")
    actual = fused(logits, target)
    torch.testing.assert_close(actual, expected, equal_nan=True, rtol=1e-6, atol=1e-5)


def test_a_row_that_is_ignored_is_not_read() -> None:
    logits = torch.full((2, 50), math.nan)
    logits[1] = 0
    loss = fused(logits, torch.tensor([IGNORED, 7]))
    torch.testing.assert_close(loss, torch.tensor([0.0, math.log(50)]))


@pytest.mark.parametrize("target", [-1, -99, -101, 50, 2**32 + 3, -(2**63), 2**63 - 1])
def test_a_target_beyond_the_row_makes_its_loss_nan(target: int) -> None:
    loss = fused(torch.zeros(2, 50), torch.tensor([target, 49]))
    assert loss[0].isnan()
    assert not loss[1].isnan()


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 5), st.integers(1, 40), st.sampled_from(DTYPES), st.booleans())
def test_any_shape(rows: int, columns: int, dtype: str, ignored: bool) -> None:
    assert_right(OPERATOR, "triton", Case((rows, columns), dtype, ("ignored",) if ignored else ()))


def test_the_label_ignores_as_many_rows_as_the_cost_says() -> None:
    for rows in range(8):
        case = Case((rows, 5), "float32", ("ignored",))
        _, target = OPERATOR.make_inputs(case, "cpu", torch.Generator())
        assert int((target != IGNORED).sum()) == cross_entropy.rows_read(case)


@pytest.mark.parametrize(
    ("logits", "target", "message"),
    [
        (torch.empty(2, 3, 4), torch.zeros(2, dtype=torch.int64), "takes a matrix"),
        (torch.empty(4), torch.tensor(3), "takes a matrix"),
        (torch.empty(3, 4), torch.zeros(4, dtype=torch.int64), "a target a row"),
        (torch.empty(3, 4), torch.zeros(3, 4), "a target a row"),
        (torch.empty(3, 4), torch.zeros(3, dtype=torch.int32), "int32"),
        (torch.empty(3, 4).double(), torch.zeros(3, dtype=torch.int64), "float64"),
    ],
)
def test_what_is_not_supported_is_refused_before_a_launch(
    logits: torch.Tensor, target: torch.Tensor, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cross_entropy, "cross_entropy_kernel", None)
    with pytest.raises(UnsupportedError, match=message):
        fused(logits, target)
