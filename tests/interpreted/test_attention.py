"""Attention: the tiled kernel under Triton's interpreter and PyTorch's variants, on the CPU.

The interpreter does not know Gluon, in which the kernel for Hopper GPUs is written:
``test_attention_hopper.py`` runs that one.
"""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import triton.language as tl
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels._attention_hopper import hopper
from kernels.attention import (
    OPERATOR,
    compiled,
    cost,
    naive,
    reference,
    tiled,
    tolerance,
    with_block_mask,
)
from kernels.harness.spec import Case, Inputs, UnsupportedError
from tests.interpreted.answers import assert_right, draw

interpreter = pytest.importorskip("triton.runtime.interpreter")

BLOCK_M, BLOCK_N = 128, 64
SIZES = (1, 2, BLOCK_N - 1, BLOCK_N, BLOCK_N + 1, BLOCK_M - 1, BLOCK_M, BLOCK_M + 1, 211)
DTYPES = ("float16", "bfloat16")


@pytest.fixture(autouse=True)
def _products_of_bfloat16(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the interpreter multiply bfloat16: it keeps them as bits, and would multiply those."""
    builder = interpreter.InterpreterBuilder
    real = builder.create_dot

    def create_dot(self: Any, a: Any, b: Any, *rest: Any) -> Any:
        a, b = (x if x.dtype != tl.bfloat16 else self.create_fp_ext(x, tl.float32) for x in (a, b))
        return real(self, a, b, *rest)

    monkeypatch.setattr(builder, "create_dot", create_dot)


def case_of(inputs: Inputs) -> Case:
    q, k, _, causal = inputs
    batch, heads, tokens, head_dim = q.shape
    shape = (batch, heads, k.shape[1], tokens, head_dim)
    dtype = str(q.dtype).removeprefix("torch.")
    return Case(shape, dtype, ("causal",) if causal else ())


def right(*inputs: object, variant: str = "triton") -> None:
    assert_right(OPERATOR, variant, case_of(inputs), inputs)


def drawn(*shape: int, causal: bool, dtype: str = "bfloat16") -> Inputs:
    return draw(OPERATOR, Case(shape, dtype, ("causal",) if causal else ()))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("tokens", SIZES)
def test_sizes(tokens: int, dtype: str, causal: bool) -> None:
    right(*drawn(1, 1, 1, tokens, 16, causal=causal, dtype=dtype))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("head_dim", [16, 32, 64, 128])
def test_head_dimensions(head_dim: int, causal: bool) -> None:
    right(*drawn(1, 2, 1, 67, head_dim, causal=causal))


@pytest.mark.parametrize("blocks", [(128, 32), (64, 64), (64, 16)])
@pytest.mark.parametrize("causal", [False, True])
def test_other_tiles(causal: bool, blocks: tuple[int, int]) -> None:
    q, k, v, _ = inputs = drawn(1, 2, 1, 131, 16, causal=causal)
    out = tiled(q, k, v, causal, block_m=blocks[0], block_n=blocks[1])
    torch.testing.assert_close(out.double(), reference(*inputs), rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("heads", [(1, 1), (6, 6), (6, 3), (6, 2), (6, 1)])
@pytest.mark.parametrize("causal", [False, True])
def test_shared_keys_and_values(causal: bool, heads: tuple[int, int]) -> None:
    right(*drawn(1, *heads, 19, 16, causal=causal))


@pytest.mark.parametrize("shape", [(2, 4, 2, 0, 64), (0, 4, 2, 5, 64), (2, 0, 1, 5, 64)])
@pytest.mark.parametrize("causal", [False, True])
def test_empty(causal: bool, shape: tuple[int, ...]) -> None:
    q, k, v, _ = drawn(*shape, causal=causal)
    assert tiled(q, k, v, causal).shape == q.shape
    assert naive(q, k, v, causal).shape == q.shape


def spread(x: torch.Tensor, how: str) -> torch.Tensor:
    """Return the same values with other strides."""
    batch, heads, tokens, head_dim = x.shape
    if how == "tokens first":
        return x.transpose(1, 2).contiguous().transpose(1, 2)
    if how == "rows are columns":
        return x.transpose(2, 3).contiguous().transpose(2, 3)
    if how == "one tensor":
        packed = x.new_full((batch, tokens, heads, 3 * head_dim), math.nan)
        packed[..., head_dim : 2 * head_dim] = x.transpose(1, 2)
        return packed[..., head_dim : 2 * head_dim].transpose(1, 2)
    odd = x.new_full((batch, heads, tokens + 1, head_dim + 3), math.nan)
    odd[:, :, 1:, 3:] = x
    return odd[:, :, 1:, 3:]


@pytest.mark.parametrize("how", ["tokens first", "rows are columns", "one tensor", "odd"])
@pytest.mark.parametrize("causal", [False, True])
def test_not_contiguous(causal: bool, how: str) -> None:
    q, k, v, _ = drawn(1, 4, 2, 33, 16, causal=causal)
    q, k, v = (spread(x, how) for x in (q, k, v))
    assert not any(x.is_contiguous() for x in (q, k, v))
    right(q, k, v, causal)
    assert tiled(q, k, v, causal).is_contiguous()


@pytest.mark.parametrize("causal", [False, True])
def test_batch_of_one_repeated(causal: bool) -> None:
    q, k, v, _ = drawn(1, 2, 1, 33, 16, causal=causal)
    right(*(x.expand(3, -1, -1, -1) for x in (q, k, v)), causal)


@pytest.mark.parametrize("factor", [0.0, 1e-30, 1e4])
@pytest.mark.parametrize("causal", [False, True])
def test_scores_of_any_size(causal: bool, factor: float) -> None:
    """At 1e4 the scores reach 1e9, whose exponential overflows, and one key has all the weight."""
    q, k, v, _ = drawn(1, 2, 2, 131, 16, causal=causal)
    q, k = q * factor, k * factor
    out = tiled(q, k, v, causal)
    assert bool(out.isfinite().all())
    torch.testing.assert_close(out.double(), reference(q, k, v, causal), rtol=2e-2, atol=2e-2)


def answers_as_torch(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> None:
    expected = naive(q.float(), k.float(), v.float(), causal)
    out = tiled(q, k, v, causal).float()
    assert bool(expected.isnan().any())
    torch.testing.assert_close(out, expected, equal_nan=True, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_query_that_is_not_finite_spoils_its_row(value: float, causal: bool) -> None:
    q, k, v, _ = drawn(1, 1, 1, 131, 16, causal=causal)
    q[0, 0, 70, 3] = value
    answers_as_torch(q, k, v, causal)


@pytest.mark.parametrize("causal", [False, True])
def test_a_nan_key_spoils_the_rows_that_see_it(causal: bool) -> None:
    q, k, v, _ = drawn(1, 1, 1, 131, 16, causal=causal)
    k[0, 0, 70, 3] = math.nan
    answers_as_torch(q, k, v, causal)


def test_scores_of_minus_infinity_weigh_nothing() -> None:
    """A whole tile of them, the first, must not spoil the maximum of the tiles that follow."""
    q, k, v, _ = drawn(1, 1, 1, 131, 16, causal=False)
    q, k = q.abs(), k.clone()
    k[0, 0, :BLOCK_N] = -math.inf
    right(q, k, v, False)


@pytest.mark.parametrize("causal", [False, True])
def test_scores_of_nothing_but_minus_infinity_are_nan(causal: bool) -> None:
    q, k, v, _ = drawn(1, 1, 1, 67, 16, causal=causal)
    answers_as_torch(q.abs(), torch.full_like(k, -math.inf), v, causal)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 2), st.integers(1, 2), st.integers(1, 2), st.integers(1, 140), st.booleans())
def test_any_shape(batch: int, kv_heads: int, group: int, tokens: int, causal: bool) -> None:
    right(*drawn(batch, kv_heads * group, kv_heads, tokens, 16, causal=causal))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("variant", ["naive", "sdpa_flash", "sdpa_math"])
def test_pytorch_variants(variant: str, causal: bool) -> None:
    right(*drawn(2, 4, 4, 67, 64, causal=causal), variant=variant)


@pytest.mark.parametrize("causal", [False, True])
def test_flex_attention_sees_the_same_pairs(causal: bool) -> None:
    inputs = drawn(1, 4, 2, 131, 16, causal=causal, dtype="float32")
    with torch.compiler.set_stance("force_eager"):
        out = compiled(*with_block_mask(*inputs))
    torch.testing.assert_close(out.double(), reference(*inputs), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("causal", [False, True])
def test_reference_is_the_formula(causal: bool) -> None:
    q, k, v, _ = drawn(2, 4, 2, 5, 16, causal=causal, dtype="float32")
    out = reference(q, k, v, causal)
    for batch, head, row in ((0, 0, 0), (1, 1, 2), (1, 2, 4), (0, 3, 3)):
        last = row + 1 if causal else 5
        keys, values = k[batch, head // 2, :last].double(), v[batch, head // 2, :last].double()
        weights = (keys @ q[batch, head, row].double() / 4).exp()
        torch.testing.assert_close(out[batch, head, row], weights @ values / weights.sum())


def test_cost_counts_the_pairs_that_are_seen() -> None:
    whole = Case((2, 6, 3, 5, 16), "bfloat16")
    causal = Case((2, 6, 3, 5, 16), "bfloat16", ("causal",))
    assert cost(whole).flops == 4 * 2 * 6 * 25 * 16
    assert cost(causal).flops == 4 * 2 * 6 * 15 * 16
    assert cost(whole).read_bytes == 2 * (6 + 3 + 3) * 5 * 16 * 2
    assert cost(whole).write_bytes == 2 * 6 * 5 * 16 * 2


def test_tolerance_finds_a_key_left_out() -> None:
    """Of 512 keys, without a mask: what one of them adds is more than what is accepted."""
    q, k, v, _ = inputs = drawn(1, 1, 1, 512, 16, causal=False)
    allowed = tolerance(case_of(inputs))
    right_one = reference(*inputs)
    error = (reference(q, k[:, :, 1:], v[:, :, 1:], False) - right_one).abs()
    assert bool((error > allowed.atol + allowed.rtol * right_one.abs()).any())


@pytest.mark.parametrize(
    ("run", "dtype", "head_dim", "message"),
    [
        (tiled, torch.float32, 64, "takes float16 and bfloat16, not torch.float32"),
        (tiled, torch.bfloat16, 256, "takes head dimensions 16, 32, 64 and 128, not 256"),
        (tiled, torch.bfloat16, 80, "takes head dimensions 16, 32, 64 and 128, not 80"),
        (hopper, torch.float32, 64, "takes float16 and bfloat16, not torch.float32"),
        (hopper, torch.bfloat16, 32, "takes head dimensions 64 and 128, not 32"),
        (hopper, torch.bfloat16, 64, "needs a GPU of compute capability 9.0"),
    ],
)
def test_refused(run, dtype: torch.dtype, head_dim: int, message: str) -> None:  # type: ignore[no-untyped-def]
    x = torch.empty((1, 1, 3, head_dim), dtype=dtype)
    with pytest.raises(UnsupportedError, match=message):
        run(x, x, x, False)
