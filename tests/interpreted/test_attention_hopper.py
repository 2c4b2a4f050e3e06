"""The Hopper attention kernel on threads: is it right, and do its barriers let everyone finish?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels import _attention_hopper
from kernels.attention import OPERATOR, naive
from kernels.harness.check import judge
from kernels.harness.spec import Case
from tests.interpreted import gluon_threads
from tests.interpreted.answers import draw

launch = gluon_threads.load(Path(_attention_hopper.__file__)).launch


@pytest.fixture(autouse=True)
def _one_thread_a_product() -> Iterator[None]:
    """The parts of a program are threads already."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def right(
    *shape: int, causal: bool, dtype: str = "bfloat16", section: int = 3, programs: int = 3
) -> None:
    case = Case(shape, dtype, ("causal",) if causal else ())
    q, k, v, _ = inputs = draw(OPERATOR, case)
    out = launch(q, k, v, causal, section, programs)
    result = judge(OPERATOR, case, inputs, out)
    assert result["status"] == "ok", result["reason"]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("tokens", [1, 2, 63, 64, 65, 127, 128, 129, 257, 521])
def test_sizes(tokens: int, causal: bool) -> None:
    right(1, 1, 1, tokens, 64, causal=causal)


@pytest.mark.parametrize("programs", [1, 5, 7, 1000])
@pytest.mark.parametrize("section", [1, 4, 5])
def test_every_block_has_a_program(section: int, programs: int) -> None:
    right(1, 5, 5, 200, 64, causal=True, section=section, programs=programs)


@pytest.mark.parametrize("causal", [False, True])
def test_head_dimension_128_in_float16(causal: bool) -> None:
    right(1, 4, 2, 200, 128, causal=causal, dtype="float16")


@pytest.mark.parametrize("shape", [(2, 4, 2, 0, 64), (0, 4, 2, 5, 64), (2, 0, 1, 5, 64)])
def test_empty(shape: tuple[int, ...]) -> None:
    right(*shape, causal=True)


@pytest.mark.parametrize("causal", [False, True])
def test_not_contiguous(causal: bool) -> None:
    q, k, v, _ = draw(OPERATOR, Case((1, 4, 2, 67, 64), "bfloat16"))
    expected = launch(q, k, v, causal, 3, 3)
    turned = (x.transpose(1, 2).contiguous().transpose(1, 2) for x in (q, k, v))
    odd = (torch.nn.functional.pad(x, (3, 0, 1, 0))[:, :, 1:, 3:] for x in (q, k, v))
    repeated = (x.transpose(2, 3).contiguous().transpose(2, 3) for x in (q, k, v))
    for views in (turned, odd, repeated):
        a, b, c = views
        assert not a.is_contiguous()
        assert torch.equal(launch(a, b, c, causal, 3, 3), expected)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("factor", [0.0, 1e4])
def test_scores_of_any_size(factor: float, causal: bool) -> None:
    q, k, v, _ = draw(OPERATOR, Case((1, 1, 1, 300, 64), "bfloat16"))
    q, k = q * factor, k * factor
    out = launch(q, k, v, causal, 1, 2).float()
    expected = naive(q.float(), k.float(), v.float(), causal)
    torch.testing.assert_close(out, expected, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("causal", [False, True])
def test_not_finite_as_torch_does(causal: bool) -> None:
    q, k, v, _ = draw(OPERATOR, Case((1, 1, 1, 300, 64), "bfloat16"))
    q[0, 0, 70, 3], q[0, 0, 71, 3], k[0, 0, 150, 3] = math.nan, math.inf, math.nan
    out = launch(q, k, v, causal, 1, 2).float()
    expected = naive(q.float(), k.float(), v.float(), causal)
    assert bool(expected.isnan().any())
    torch.testing.assert_close(out, expected, equal_nan=True, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("causal", [False, True])
def test_tiles_of_minus_infinity_weigh_nothing(causal: bool) -> None:
    """The last tile, which is the first to be walked, as well as one in the middle."""
    q, k, v, _ = draw(OPERATOR, Case((1, 1, 1, 512, 64), "bfloat16"))
    q = q.abs()
    k[0, 0, 384:] = k[0, 0, 128:256] = -math.inf
    out = launch(q, k, v, causal, 1, 2).float()
    expected = naive(q.float(), k.float(), v.float(), causal)
    torch.testing.assert_close(out, expected, rtol=2e-2, atol=2e-2)


@settings(max_examples=15, deadline=None)
@given(
    st.integers(1, 2), st.integers(1, 2), st.integers(1, 2), st.integers(1, 400), st.booleans(),
    st.integers(1, 9),
)  # fmt: skip
def test_any_shape(
    batch: int, kv_heads: int, group: int, tokens: int, causal: bool, programs: int
) -> None:
    right(batch, kv_heads * group, kv_heads, tokens, 64, causal=causal, programs=programs)
