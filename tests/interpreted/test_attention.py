"""Attention: the tiled kernel under Triton's interpreter and PyTorch's variants, on the CPU.

The interpreter does not know Gluon, in which the kernel for Hopper GPUs is written:
``test_attention_hopper.py`` runs that one.
"""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels._attention_hopper import hopper
from kernels.attention import (
    BLOCK_M,
    FLEX_BLOCK,
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

BLOCK_N = 64
SIZES = (1, 2, BLOCK_N - 1, BLOCK_N, BLOCK_N + 1, BLOCK_M - 1, BLOCK_M, BLOCK_M + 1, 211)


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
@pytest.mark.parametrize("tokens", SIZES)
def test_sizes(tokens: int, causal: bool) -> None:
    right(*drawn(1, 1, 1, tokens, 16, causal=causal))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("head_dim", [32, 64, 128])
def test_head_dimensions_in_float16(head_dim: int, causal: bool) -> None:
    right(*drawn(1, 1, 1, 67, head_dim, causal=causal, dtype="float16"))


@pytest.mark.parametrize("causal", [False, True])
def test_smaller_tiles(causal: bool) -> None:
    q, k, v, _ = inputs = drawn(1, 1, 1, 131, 16, causal=causal)
    out = tiled(q, k, v, causal, block_n=32)
    torch.testing.assert_close(out.double(), reference(*inputs), rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("heads", [(3, 3), (4, 2), (3, 1)])
def test_shared_keys_and_values(heads: tuple[int, int]) -> None:
    right(*drawn(2, *heads, 5, 16, causal=True))


@pytest.mark.parametrize("shape", [(2, 4, 2, 0, 64), (0, 4, 2, 5, 64), (2, 0, 1, 5, 64)])
def test_empty(shape: tuple[int, ...]) -> None:
    q, k, v, _ = drawn(*shape, causal=True)
    assert tiled(q, k, v, True).shape == q.shape
    assert naive(q, k, v, True).shape == q.shape


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
def test_not_contiguous(how: str) -> None:
    q, k, v, _ = drawn(2, 2, 2, 33, 16, causal=True)
    plain = tiled(q, k, v, True)
    q, k, v = (spread(x, how) for x in (q, k, v))
    assert not any(x.is_contiguous() for x in (q, k, v))
    out = tiled(q, k, v, True)
    assert out.is_contiguous()
    assert torch.equal(out, plain)


def test_batch_of_one_repeated() -> None:
    q, k, v, _ = drawn(1, 2, 1, 33, 16, causal=True)
    right(*(x.expand(2, -1, -1, -1) for x in (q, k, v)), True)


@pytest.mark.parametrize("factor", [0.0, 1e-30, 1e4])
@pytest.mark.parametrize("causal", [False, True])
def test_scores_of_any_size(causal: bool, factor: float) -> None:
    """At 1e4 the scores reach 1e9, whose exponential overflows, and one key has all the weight."""
    q, k, v, _ = drawn(1, 1, 1, 131, 16, causal=causal)
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


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 2), st.integers(1, 2), st.integers(1, 2), st.integers(1, 140), st.booleans())
def test_any_shape(batch: int, kv_heads: int, group: int, tokens: int, causal: bool) -> None:
    right(*drawn(batch, kv_heads * group, kv_heads, tokens, 16, causal=causal))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("variant", ["naive", "sdpa_flash", "sdpa_math"])
def test_pytorch_variants(variant: str, causal: bool) -> None:
    right(*drawn(2, 2, 2, 67, 64, causal=causal), variant=variant)


@pytest.mark.parametrize("causal", [False, True])
def test_flex_attention_sees_the_same_pairs(causal: bool) -> None:
    inputs = drawn(1, 4, 2, 131, 16, causal=causal, dtype="float32")
    with torch.compiler.set_stance("force_eager"):
        out = compiled(*with_block_mask(*inputs))
    torch.testing.assert_close(out.double(), reference(*inputs), rtol=1e-5, atol=1e-5)


def test_flex_attention_takes_a_block_of_tokens_or_more() -> None:
    with_block_mask(*drawn(1, 1, 1, FLEX_BLOCK, 16, causal=True))
    with pytest.raises(UnsupportedError, match="a block of 128 tokens or more, not 127"):
        with_block_mask(*drawn(1, 1, 1, FLEX_BLOCK - 1, 16, causal=True))


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


def is_refused(out: torch.Tensor, inputs: Inputs) -> bool:
    allowed = tolerance(case_of(inputs))
    expected = reference(*inputs)
    return bool(((out - expected).abs() > allowed.atol + allowed.rtol * expected.abs()).any())


def test_tolerance_finds_a_key_left_out() -> None:
    """Of 512 keys, without a mask: what one of them adds is more than what is accepted."""
    q, k, v, _ = inputs = drawn(1, 1, 1, 512, 16, causal=False)
    assert is_refused(reference(q, k[:, :, 1:], v[:, :, 1:], False), inputs)


def test_tolerance_finds_a_key_after_the_query() -> None:
    """In the last rows of 512 too, where each key adds little."""
    q, k, v, _ = inputs = drawn(1, 1, 1, 512, 16, causal=True)
    out = reference(*inputs)
    out[:, :, 384:] = reference(q, k, v, False)[:, :, 384:]
    assert is_refused(out, inputs)


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
