"""Attention, forward: scores of all pairs, a softmax, and a weighted mean, without the scores.

    out = softmax(q k^T / sqrt(d)) v        q: (batch, heads, tokens, d)
                                            k, v: (batch, kv_heads, tokens, d)

With fewer key/value heads, ``heads / kv_heads`` neighbouring query heads share one. In a causal
case a query sees the keys up to its own place, half of all pairs.

Each pair of a query and a key costs ``4 * d`` FLOPs, a product and a sum in each of two matrix
products. The pairs are ``tokens**2`` a head, causal ``tokens * (tokens + 1) / 2``; exponentials are
not counted. At the least q, k, v are read once and out is written once. For 4096 tokens that makes
2048 FLOPs a byte: tensor cores are the limit, far from memory.

That holds only while the scores stay on the chip. The naive variant writes ``tokens**2`` of them a
head to DRAM and reads them back for each step of the softmax. The others walk over the keys in
tiles. A query's running maximum and sum rescale what was added up so far, so that the result is the
softmax over all keys ("Online normalizer calculation for softmax", Milakov and Gimelshein, 2018;
"FlashAttention", Dao et al., 2022).

In each tile the softmax stands between two matrix products, and needs one to feed the other. In
``triton`` every warp does all of this in turn, so that tensor cores wait for exponentials, except
where another warp happens to be at another place. ``triton_hopper`` leaves that less to chance.
One warp only copies tiles (by TMA, which needs no registers and computes the addresses itself), far
ahead of use. The others start products that run asynchronously, and compute the softmax of one tile
while the tensor cores work on the one before. Triton's language has no words for roles of warps,
and so it is written in the language below, Gluon.

A value that the causal mask hides has weight 0. Where it is NaN or infinite it may reach the result
all the same, for 0 times NaN is NaN; which tokens it reaches differs between variants.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import torch
import triton
import triton.language as tl
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from kernels._attention_hopper import hopper
from kernels.harness.inputs import normal
from kernels.harness.spec import Case, Cost, Inputs, Operator, Tolerance, UnsupportedError, Variant

REFERENCE_PAIRS = 2**26
"""Scores that the reference holds at a time: half a gibibyte in float64."""


def make_inputs(case: Case, device: str, generator: torch.Generator | None) -> Inputs:
    """Draw q, k and v from a standard normal distribution; the scores then have spread 1."""
    batch, heads, kv_heads, tokens, head_dim = case.shape
    q = normal((batch, heads, tokens, head_dim), case.dtype, device, generator)
    k = normal((batch, kv_heads, tokens, head_dim), case.dtype, device, generator)
    v = normal((batch, kv_heads, tokens, head_dim), case.dtype, device, generator)
    return q, k, v, "causal" in case.labels


def cost(case: Case) -> Cost:
    """Read q, k and v once, write out once; ``4 * d`` FLOPs a pair that the mask lets through."""
    batch, heads, kv_heads, tokens, head_dim = case.shape
    size = batch * tokens * head_dim * getattr(torch, case.dtype).itemsize
    pairs = tokens * (tokens + 1) // 2 if "causal" in case.labels else tokens * tokens
    return Cost(
        read_bytes=(heads + 2 * kv_heads) * size,
        write_bytes=heads * size,
        flops=4 * batch * heads * pairs * head_dim,
        summed=tokens,
    )


def tolerance(case: Case) -> Tolerance:
    """Accept weights rounded to the case's dtype, and for ``naive`` scores rounded to it twice.

    A score of size s is then off by up to s units, and its weight by as many in relation. Sizes
    reach 6 and more, with a long query. Where such a key outweighs the others, the result has its
    error: a dozen units of itself. What the other keys add has errors that are independent, and in
    a mean over n keys shrink as the mean itself does, with the square root of n. A causal case has
    rows of few keys, and no such help. The factors are twice or more the worst of 64 heads of 4096
    tokens, 33 million elements.

    The check keeps its teeth: an output is the square root of e / n in size, 1.65 / sqrt(n), and
    ``atol`` without a mask a quarter of that in bfloat16, 3 % in float16. With a causal mask it is
    3 % of what the first rows hold, in bfloat16, but as much as a typical output of 2800 keys:
    there it finds what is wrong by the largest of many errors.
    """
    unit = {"float32": 2.0**-20, "float16": 2.0**-11, "bfloat16": 2.0**-8}[case.dtype]
    keys = 1 if "causal" in case.labels else max(1, case.shape[3])
    return Tolerance(rtol=12 * unit, atol=unit * min(8, 96 / math.sqrt(keys)))


def seen(tokens: int, device: torch.device) -> torch.Tensor:
    """Return which keys (columns) a query (row) sees in a causal case."""
    return torch.ones(tokens, tokens, dtype=torch.bool, device=device).tril()


def naive(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> torch.Tensor:
    """Write the formula step by step: the scores of all pairs go through memory."""
    group = q.shape[1] // max(1, k.shape[1])
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if causal:
        scores = torch.where(seen(q.shape[2], q.device), scores, -math.inf)
    return torch.softmax(scores, -1) @ v


def reference(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> torch.Tensor:
    """Compute the formula in float64, head by head and a few sequences at a time."""
    out = torch.empty(q.shape, dtype=torch.float64, device=q.device)
    batch, heads, tokens, _ = q.shape
    step = max(1, REFERENCE_PAIRS // max(1, tokens * tokens))
    for head in range(heads):
        kv_head = head * k.shape[1] // heads
        for start in range(0, batch, step):
            some = slice(start, start + step)
            keys = k[some, kv_head : kv_head + 1].double()
            values = v[some, kv_head : kv_head + 1].double()
            out[some, head : head + 1] = naive(
                q[some, head : head + 1].double(), keys, values, causal
            )
    return out


BACKENDS: dict[str, tuple[SDPBackend, Callable[..., bool] | None]] = {
    "flash": (SDPBackend.FLASH_ATTENTION, torch.backends.cuda.can_use_flash_attention),
    "cudnn": (SDPBackend.CUDNN_ATTENTION, torch.backends.cuda.can_use_cudnn_attention),
    "efficient": (SDPBackend.EFFICIENT_ATTENTION, torch.backends.cuda.can_use_efficient_attention),
    "math": (SDPBackend.MATH, None),
}
"""Backends of scaled_dot_product_attention, and what says whether they take an input on CUDA."""


def sdpa(
    backend: str, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool
) -> torch.Tensor:
    """Call PyTorch's attention with one backend alone.

    Raises
    ------
    UnsupportedError
        When the backend does not take these inputs on CUDA.
    """
    chosen, takes = BACKENDS[backend]
    grouped = q.shape[1] != k.shape[1]
    if takes is not None and q.is_cuda:
        asked = torch.backends.cuda.SDPAParams(q, k, v, None, 0.0, causal, grouped)
        if not takes(asked):
            raise UnsupportedError(
                f"the {backend} backend of scaled_dot_product_attention does not take"
                f" {q.dtype}, {q.shape[1]} heads on {k.shape[1]}, head dimension {q.shape[3]}"
            )
    with sdpa_kernel(chosen):
        return torch.nn.functional.scaled_dot_product_attention(
            q, k, v, is_causal=causal, enable_gqa=grouped
        )


FLEX_BLOCK = 128
"""Rows and columns of a block of FlexAttention's mask, unless asked for another."""


def not_after(_batch: Any, _head: Any, query: Any, key: Any) -> Any:
    """Say which pairs a causal mask lets through, as FlexAttention asks for it."""
    return query >= key


def with_block_mask(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> Inputs:
    """Replace the flag by FlexAttention's mask: which tiles to skip and which to mask.

    Raises
    ------
    UnsupportedError
        For fewer than 128 tokens: FlexAttention has another kernel for less than a block of
        queries, for which Inductor of PyTorch 2.11 finds no configuration at some shapes.
    """
    tokens = q.shape[2]
    if tokens < FLEX_BLOCK:
        raise UnsupportedError(
            f"compiled FlexAttention takes a block of {FLEX_BLOCK} tokens or more, not {tokens}"
        )
    mask = (
        create_block_mask(not_after, None, None, tokens, tokens, device=str(q.device))
        if causal
        else None
    )
    return q, k, v, mask


flex = torch.compile(flex_attention, dynamic=False)


def compiled(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: Any) -> torch.Tensor:
    """Let Inductor generate a fused kernel: the compiled form of FlexAttention."""
    out: torch.Tensor = flex(q, k, v, block_mask=mask, enable_gqa=q.shape[1] != k.shape[1])
    return out


@triton.jit
def load_rows(base, first, tokens, stride, rows: tl.constexpr, columns: tl.constexpr):
    """Load a tile of whole rows; those past the end are zeros, for 0 times NaN would be NaN."""
    places = first + tl.arange(0, rows)
    pointers = base + places.to(tl.int64)[:, None] * stride + tl.arange(0, columns)[None, :]
    return tl.load(pointers, mask=places[:, None] < tokens, other=0.0)


@triton.jit
def add_tiles(  # noqa: PLR0913, PLR0917
    acc, total, highest, q, k_base, v_base, k_token, v_token, row, first, end, tokens, scale,
    masked: tl.constexpr, causal: tl.constexpr, block_n: tl.constexpr, stages: tl.constexpr,
):  # fmt: skip
    """Add the keys from ``first`` up to ``end`` to the sums of a block of rows.

    ``scale`` holds the factor of the scores and log2(e), for exp2 is the instruction that there is.
    Only ``masked`` tiles look at which pairs count.
    """
    rows = row + tl.arange(0, q.shape[0])
    for start in tl.range(first, end, block_n, num_stages=stages):
        k = load_rows(k_base, start, tokens, k_token, block_n, q.shape[1])
        scores = tl.dot(q, k.T)
        if masked:
            keys = start + tl.arange(0, block_n)
            last = rows if causal else tl.full(rows.shape, tokens - 1, tl.int32)
            scores = tl.where(keys[None, :] <= last[:, None], scores, float("-inf"))
        risen = tl.maximum(highest, tl.max(scores, 1) * scale)
        weights = tl.exp2(scores * scale - risen[:, None])
        shrink = tl.exp2(highest - risen)
        total = total * shrink + tl.sum(weights, 1)
        highest = risen
        v = load_rows(v_base, start, tokens, v_token, block_n, q.shape[1])
        acc = tl.dot(weights.to(v.dtype), v, acc * shrink[:, None])
    return acc, total, highest


@triton.jit
def attention_kernel(  # noqa: PLR0913, PLR0917
    q_ptr, k_ptr, v_ptr, out_ptr,
    q_batch, q_head, q_token, k_batch, k_head, k_token, v_batch, v_head, v_token,
    heads, group, tokens, scale,
    causal: tl.constexpr, head_dim: tl.constexpr, block_m: tl.constexpr, block_n: tl.constexpr,
    stages: tl.constexpr,
):  # fmt: skip
    """Compute ``block_m`` rows of one head, its scores in registers.

    The blocks of a head start from its last, which in a causal case has the most tiles, so that the
    programs that start last, and have the GPU to themselves, are short. The maximum starts at the
    least finite float32: minus infinity minus itself would be NaN.
    """
    blocks = tl.cdiv(tokens, block_m)
    which = tl.program_id(0) // blocks
    row = (blocks - 1 - tl.program_id(0) % blocks) * block_m
    batch, head = (which // heads).to(tl.int64), (which % heads).to(tl.int64)
    q = load_rows(q_ptr + batch * q_batch + head * q_head, row, tokens, q_token, block_m, head_dim)
    k_base = k_ptr + batch * k_batch + head // group * k_head
    v_base = v_ptr + batch * v_batch + head // group * v_head
    acc = tl.zeros([block_m, head_dim], tl.float32)
    total = tl.zeros([block_m], tl.float32)
    highest = tl.full([block_m], -3.4028234e38, tl.float32)
    if causal:
        whole = row
        end = tl.minimum(row + block_m, tokens)
    else:
        whole = tokens // block_n * block_n
        end = tokens
    acc, total, highest = add_tiles(
        acc, total, highest, q, k_base, v_base, k_token, v_token, row, 0, whole, tokens, scale,
        False, causal, block_n, stages,
    )  # fmt: skip
    acc, total, highest = add_tiles(
        acc, total, highest, q, k_base, v_base, k_token, v_token, row, whole, end, tokens, scale,
        True, causal, block_n, stages,
    )  # fmt: skip
    rows = row + tl.arange(0, block_m)
    out = out_ptr + (which.to(tl.int64) * tokens + rows)[:, None] * head_dim
    result = (acc / total[:, None]).to(out_ptr.dtype.element_ty)
    tl.store(out + tl.arange(0, head_dim)[None, :], result, mask=rows[:, None] < tokens)


BLOCK_M = 128
"""Rows of a block, each walk over the keys serving all of them."""


def tiled(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool, block_n: int | None = None
) -> torch.Tensor:
    """Walk over the keys in tiles, in one hand-written kernel for any GPU.

    Rows must be contiguous; a tensor whose rows are not is copied first. Batches, heads and tokens
    may have any strides. The result is contiguous. ``block_n`` is 64 unless said. Before Hopper,
    whose tensor cores take their operands from shared memory, it is 32: registers hold them. They
    hold the sums of the rows too, so that rows of 128 elements need eight warps and not four.

    Raises
    ------
    UnsupportedError
        For a dtype other than float16 and bfloat16, or a head dimension that is none of 16, 32, 64
        and 128.
    """
    if q.dtype not in {torch.float16, torch.bfloat16}:
        raise UnsupportedError(f"the Triton kernel takes float16 and bfloat16, not {q.dtype}")
    batch, heads, tokens, head_dim = q.shape
    if head_dim not in {16, 32, 64, 128}:
        raise UnsupportedError(
            f"the Triton kernel takes head dimensions 16, 32, 64 and 128, not {head_dim}"
        )
    if block_n is None:
        block_n = 32 if q.device.type != "cpu" and torch.cuda.get_device_capability()[0] < 9 else 64
    q, k, v = (x if x.stride(3) == 1 else x.contiguous() for x in (q, k, v))
    out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    if out.numel():
        attention_kernel[(triton.cdiv(tokens, BLOCK_M) * batch * heads,)](
            q, k, v, out, *q.stride()[:3], *k.stride()[:3], *v.stride()[:3],
            heads, heads // k.shape[1], tokens, math.log2(math.e) / math.sqrt(head_dim),
            causal=causal, head_dim=head_dim, block_m=BLOCK_M, block_n=block_n,
            stages=3, num_warps=8 if head_dim == 128 else 4,
        )  # fmt: skip
    return out


OPERATOR = Operator(
    name="attention",
    summary="Attention, forward: softmax(q·kᵀ/√d)·v",
    variants=(
        Variant("naive", naive, "scores in memory: two products, mask and softmax in PyTorch"),
        Variant("sdpa_flash", functools.partial(sdpa, "flash"), "PyTorch's FlashAttention-2"),
        Variant("sdpa_cudnn", functools.partial(sdpa, "cudnn"), "PyTorch's attention by cuDNN"),
        Variant("sdpa_efficient", functools.partial(sdpa, "efficient"), "xFormers' kernel"),
        Variant("sdpa_math", functools.partial(sdpa, "math"), "PyTorch's own unfused attention"),
        Variant("compiled", compiled, "torch.compile of FlexAttention", setup=with_block_mask),
        Variant("triton", tiled, "tiles of keys and an online softmax, one kernel for any GPU"),
        Variant("triton_hopper", hopper, "the same by warps with roles: TMA and two consumers"),
    ),
    axes=("batch", "heads", "kv_heads", "tokens", "head_dim"),
    cases=(
        Case((1, 2, 1, 67, 64), "bfloat16", ("causal",), first_in="quick"),
        Case((4, 16, 16, 4096, 128), "bfloat16", ("causal",), first_in="quick"),
        Case((4, 16, 16, 4096, 128), "bfloat16"),
        Case((4, 16, 16, 4096, 64), "bfloat16", ("causal",)),
        Case((4, 16, 16, 4096, 64), "bfloat16"),
        Case((4, 16, 4, 4096, 128), "bfloat16", ("causal",)),
        Case((2, 6, 2, 521, 128), "float16", first_in="full"),
        Case((1, 2, 2, 257, 64), "float32", ("causal",), first_in="full"),
        Case((4097, 32, 32, 128, 128), "bfloat16", first_in="full"),
    ),
    make_inputs=make_inputs,
    reference=reference,
    cost=cost,
    tolerance=tolerance,
)
