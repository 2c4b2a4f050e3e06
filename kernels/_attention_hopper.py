"""Attention for Hopper GPUs: one kernel whose warps have different roles.

A warp that waits for its tensor cores computes no exponentials, and one that computes exponentials
feeds no tensor core. In Triton's own language all warps of a program do the same at the same time.
Gluon, the language below it, names layouts, copies and barriers, and so lets them differ:

- one warp only copies tiles from global to shared memory (the tensor memory accelerator, TMA);
- two warpgroups of four warps consume them, each for half of the rows of a block.

Within a warpgroup, the product of tile j - 1 of the values runs on the tensor cores while the
softmax of tile j runs on the other units (``step_tiles``). Between the warpgroups nothing is in
step, so that one's exponentials fall into the other's products. The design is that of
FlashAttention-3 (Shah et al., 2024).

The programs stay for the whole launch. They share out the blocks of rows by rule, and the copying
warp runs ahead into the next block while the last one is finished.

The tiles are walked from the last to the first: only the last one has pairs to mask, and so it is
the one outside of the loop.
"""

from __future__ import annotations

import math

import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

from kernels.harness.spec import UnsupportedError

BLOCK = gl.constexpr(128)
"""Rows of a block, and keys of a tile; each warpgroup has half of the rows, one wgmma high."""

HALF = gl.constexpr(64)

STAGES = gl.constexpr(2)
"""Tiles of keys, and as many of values, in shared memory: one in use while the next arrives."""

# Later Triton calls them so; 3.6 names them after the direction.
start_load = getattr(tma, "async_load", None) or tma.async_copy_global_to_shared
start_store = getattr(tma, "async_store", None) or tma.async_copy_shared_to_global


@gluon.jit
def items_here(items):
    """Count the items of this program: each gets one a round, of the last round perhaps none."""
    programs = gl.num_programs(0)
    rounds = items // programs
    place = gl.program_id(0)
    if rounds % 2 == 1:
        place = programs - 1 - place
    if place < items - rounds * programs:
        rounds += 1
    return rounds


@gluon.jit
def item_at(turn, heads, all_heads, tokens, section, causal: gl.constexpr):
    """Return batch, head, first row and number of tiles of the item in a round.

    Heads are taken ``section`` at a time, so that their keys and values stay in L2. Within a
    section the blocks with the most tiles come first. Every other round is dealt out backwards:
    the program that got the longest item of one gets the shortest of the next.
    """
    place = gl.program_id(0)
    if turn % 2 == 1:
        place = gl.num_programs(0) - 1 - place
    item = turn * gl.num_programs(0) + place
    blocks = (tokens + BLOCK - 1) // BLOCK
    first_head = item // (section * blocks) * section
    heads_here = min(section, all_heads - first_head)
    within = item - first_head * blocks
    block = blocks - 1 - within // heads_here
    head = first_head + within % heads_here
    tiles = blocks
    if causal:
        tiles = block + 1
    return head // heads, head % heads, block * BLOCK, tiles


@gluon.jit
def load_tile(rows, coordinates, free, phase, full, tile):
    """Wait until a tile is free, then have it filled; ``full`` completes when the data is there."""
    mbarrier.wait(free, phase)
    mbarrier.expect(full, rows.block_type.nbytes)
    start_load(rows, coordinates, full, tile)


@gluon.jit
def produce(  # noqa: PLR0913, PLR0917
    q_rows, k_rows, v_rows, q_tiles, k_tiles, v_tiles, q_bars, k_bars, v_bars,
    heads, group, all_heads, tokens, section, causal: gl.constexpr,
):  # fmt: skip
    """Copy what the consumers need, in the order in which they need it.

    Of each set of barriers, the first half says that a tile is full, the second that it is free. A
    fresh barrier counts as having completed the phase before its first: all tiles start free.
    """
    loaded = 0
    blocks = (tokens + BLOCK - 1) // BLOCK
    for turn in range(items_here(all_heads * blocks)):
        batch, head, row, tiles = item_at(turn, heads, all_heads, tokens, section, causal)
        kv_head = head // group
        for step in range(tiles):
            slot = loaded % STAGES
            phase = ((loaded // STAGES) & 1) ^ 1
            at = [batch, kv_head, (tiles - 1 - step) * BLOCK, 0]
            load_tile(k_rows, at, k_bars.index(STAGES + slot), phase, k_bars.index(slot),
                      k_tiles.index(slot))  # fmt: skip
            if step == 0:
                for i in gl.static_range(2):
                    load_tile(q_rows, [batch, head, row + i * HALF, 0], q_bars.index(2 + i),
                              (turn & 1) ^ 1, q_bars.index(i), q_tiles.index(i))  # fmt: skip
            load_tile(v_rows, at, v_bars.index(STAGES + slot), phase, v_bars.index(slot),
                      v_tiles.index(slot))  # fmt: skip
            loaded += 1


@gluon.jit
def update_softmax(scores, highest, total, scale):
    """Return weights, and what the running maximum, sum and results become.

    ``scale`` holds the factor of the scores and log2(e), for exp2 is the instruction that there is.
    """
    risen = gl.maximum(highest, gl.max(scores, 1) * scale)
    weights = gl.exp2(scores * scale - risen[:, None])
    shrink = gl.exp2(highest - risen)
    return weights, risen, total * shrink + gl.sum(weights, 1), shrink


@gluon.jit
def start_scores(q, k_tiles, used, layout: gl.constexpr):
    """Start the product of the rows with a tile of keys."""
    nothing = gl.zeros([HALF, BLOCK], gl.float32, layout)
    keys = k_tiles.index(used % STAGES).permute((1, 0))
    return warpgroup_mma(q, keys, nothing, use_acc=False, is_async=True)


@gluon.jit
def mask_pairs(scores, row, start, tokens, causal: gl.constexpr, layout: gl.constexpr):
    """Set the scores of pairs that do not count to minus infinity."""
    keys = start + gl.arange(0, BLOCK, gl.SliceLayout(0, layout))
    if causal:
        rows = row + gl.arange(0, HALF, gl.SliceLayout(1, layout))
        scores = gl.where(keys[None, :] <= rows[:, None], scores, float("-inf"))
    else:
        scores = gl.where(keys[None, :] < tokens, scores, float("-inf"))
    return scores


@gluon.jit
def step_tiles(  # noqa: PLR0913, PLR0917
    q, k_tiles, v_tiles, k_bars, v_bars, weights, highest, total, used, tiles, scale,
    s_layout: gl.constexpr, o_layout: gl.constexpr,
):  # fmt: skip
    """Go through the tiles after the first, each step with the values of the tile before.

    The wait for the next keys stands before the one for the product of the values because it ends
    a basic block: within one, ptxas moves the second wait up, before the softmax that should hide
    the product.
    """
    head_dim: gl.constexpr = v_tiles.shape[2]
    acc = gl.zeros([HALF, head_dim], gl.float32, o_layout)
    following = used + 1
    mbarrier.wait(k_bars.index(following % STAGES), (following // STAGES) & 1, pred=tiles > 1)
    for step in range(1, tiles):
        v_slot = used % STAGES
        v_phase = (used // STAGES) & 1
        used += 1
        started = start_scores(q, k_tiles, used, s_layout)
        mbarrier.wait(v_bars.index(v_slot), v_phase)
        summed = warpgroup_mma(weights, v_tiles.index(v_slot), acc, is_async=True)
        scores, acc = warpgroup_mma_wait(1, deps=[started, summed])
        mbarrier.arrive(k_bars.index(STAGES + used % STAGES), count=1)
        fresh, highest, total, shrink = update_softmax(scores, highest, total, scale)
        following = used + 1
        mbarrier.wait(
            k_bars.index(following % STAGES), (following // STAGES) & 1, pred=step + 1 < tiles
        )
        acc = warpgroup_mma_wait(0, deps=[acc])
        mbarrier.arrive(v_bars.index(STAGES + v_slot), count=1)
        acc = acc * gl.convert_layout(shrink, gl.SliceLayout(1, o_layout))[:, None]
        weights = gl.convert_layout(fresh.to(v_tiles.dtype), gl.DotOperandLayout(0, o_layout, 2))
    return acc, weights, total, used


@gluon.jit
def attend(  # noqa: PLR0913, PLR0917
    q, k_tiles, v_tiles, q_bars, k_bars, v_bars, row, tiles, tokens, used, scale,
    mine: gl.constexpr, causal: gl.constexpr,
):  # fmt: skip
    """Return the result of a warpgroup's rows, in registers, and how many tiles were used."""
    head_dim: gl.constexpr = v_tiles.shape[2]
    s_layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BLOCK, 16])
    o_layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, head_dim, 16])
    mbarrier.wait(k_bars.index(used % STAGES), (used // STAGES) & 1)
    started = start_scores(q, k_tiles, used, s_layout)
    scores = warpgroup_mma_wait(0, deps=[started])
    mbarrier.arrive(k_bars.index(STAGES + used % STAGES), count=1)
    scores = mask_pairs(scores, row, (tiles - 1) * BLOCK, tokens, causal, s_layout)
    # The least finite float32, since minus infinity minus itself would be NaN.
    highest = gl.full([HALF], -3.4028234e38, gl.float32, gl.SliceLayout(1, s_layout))
    total = gl.zeros([HALF], gl.float32, gl.SliceLayout(1, s_layout))
    weights, highest, total, _ = update_softmax(scores, highest, total, scale)
    weights = gl.convert_layout(weights.to(v_tiles.dtype), gl.DotOperandLayout(0, o_layout, 2))
    acc, weights, total, used = step_tiles(
        q, k_tiles, v_tiles, k_bars, v_bars, weights, highest, total, used, tiles, scale,
        s_layout, o_layout,
    )  # fmt: skip
    mbarrier.arrive(q_bars.index(2 + mine), count=1)
    slot = used % STAGES
    mbarrier.wait(v_bars.index(slot), (used // STAGES) & 1)
    summed = warpgroup_mma(weights, v_tiles.index(slot), acc, is_async=True)
    share = gl.convert_layout(1.0 / total, gl.SliceLayout(1, o_layout))
    acc = warpgroup_mma_wait(0, deps=[summed])
    mbarrier.arrive(v_bars.index(STAGES + slot), count=1)
    return acc * share[:, None], used + 1


@gluon.jit
def consume(  # noqa: PLR0913, PLR0917
    out_rows, q_tiles, k_tiles, v_tiles, out_tiles, q_bars, k_bars, v_bars,
    heads, all_heads, tokens, section, scale, mine: gl.constexpr, causal: gl.constexpr,
):  # fmt: skip
    """Compute one half of the rows of every block of this program, and have them stored."""
    used = 0
    out = out_tiles.index(mine)
    blocks = (tokens + BLOCK - 1) // BLOCK
    for turn in range(items_here(all_heads * blocks)):
        batch, head, row, tiles = item_at(turn, heads, all_heads, tokens, section, causal)
        row += mine * HALF
        mbarrier.wait(q_bars.index(mine), turn & 1)
        result, used = attend(
            q_tiles.index(mine), k_tiles, v_tiles, q_bars, k_bars, v_bars, row, tiles, tokens,
            used, scale, mine, causal,
        )  # fmt: skip
        tma.store_wait(0)
        out.store(result.to(out_tiles.dtype))
        fence_async_shared()
        start_store(out_rows, [batch, head, row, 0], out)
    tma.store_wait(0)


@gluon.jit
def attention_hopper_kernel(  # noqa: PLR0913, PLR0917
    q_rows, k_rows, v_rows, out_rows, heads, group, all_heads, tokens, section, scale,
    causal: gl.constexpr, head_dim: gl.constexpr,
):  # fmt: skip
    """Set up tiles and barriers in shared memory, then part ways: two consumers, one producer.

    Registers are dealt out anew: the producer needs few, so each consumer's thread may have 240.
    """
    dtype: gl.constexpr = q_rows.dtype
    layout: gl.constexpr = gl.NVMMASharedLayout.get_default_for([BLOCK, head_dim], dtype)
    one: gl.constexpr = mbarrier.MBarrierLayout()
    q_tiles = gl.allocate_shared_memory(dtype, [2, HALF, head_dim], layout)
    k_tiles = gl.allocate_shared_memory(dtype, [STAGES, BLOCK, head_dim], layout)
    v_tiles = gl.allocate_shared_memory(dtype, [STAGES, BLOCK, head_dim], layout)
    out_tiles = gl.allocate_shared_memory(dtype, [2, HALF, head_dim], layout)
    q_bars = gl.allocate_shared_memory(gl.int64, [4, 1], one)
    k_bars = gl.allocate_shared_memory(gl.int64, [2 * STAGES, 1], one)
    v_bars = gl.allocate_shared_memory(gl.int64, [2 * STAGES, 1], one)
    for i in gl.static_range(2):
        mbarrier.init(q_bars.index(i), count=1)
        mbarrier.init(q_bars.index(2 + i), count=1)
    for i in gl.static_range(STAGES):
        mbarrier.init(k_bars.index(i), count=1)
        mbarrier.init(v_bars.index(i), count=1)
        mbarrier.init(k_bars.index(STAGES + i), count=2)
        mbarrier.init(v_bars.index(STAGES + i), count=2)
    fence_async_shared()
    gl.warp_specialize(
        [
            (consume, (out_rows, q_tiles, k_tiles, v_tiles, out_tiles, q_bars, k_bars, v_bars,
                       heads, all_heads, tokens, section, scale, gl.constexpr(0), causal)),
            (consume, (out_rows, q_tiles, k_tiles, v_tiles, out_tiles, q_bars, k_bars, v_bars,
                       heads, all_heads, tokens, section, scale, gl.constexpr(1), causal)),
            (produce, (q_rows, k_rows, v_rows, q_tiles, k_tiles, v_tiles, q_bars, k_bars, v_bars,
                       heads, group, all_heads, tokens, section, causal)),
        ],
        [4, 1],
        [240, 24],
    )  # fmt: skip


def _descriptor(x: torch.Tensor, rows: int) -> TensorDescriptor:
    """Describe tiles of ``rows`` tokens of one head; tokens past the end read as zeros."""
    layout = gl.NVMMASharedLayout(min(128, x.shape[3] * x.itemsize), 8 * x.itemsize, rank=4)
    return TensorDescriptor(x, list(x.shape), list(x.stride()), [1, 1, rows, x.shape[3]], layout)


def _copyable(x: torch.Tensor) -> torch.Tensor:
    """Return a tensor that TMA can copy from: the same, or a contiguous copy."""
    steps = [x.stride(i) * x.itemsize % 16 == 0 and x.stride(i) > 0 for i in range(3)]
    whole = x.stride(3) == 1 and all(steps) and x.data_ptr() % 16 == 0
    return x if whole else x.clone(memory_format=torch.contiguous_format)


def launch(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool, section: int, programs: int
) -> torch.Tensor:  # fmt: skip
    """Launch ``programs`` programs on inputs that the kernel takes, ``section`` heads at a time."""
    batch, heads, tokens, head_dim = q.shape
    out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    if not out.numel():
        return out
    q, k, v = _copyable(q), _copyable(k), _copyable(v)
    half, block = HALF.value, BLOCK.value
    items = triton.cdiv(tokens, block) * batch * heads
    attention_hopper_kernel[(min(items, programs),)](
        _descriptor(q, half), _descriptor(k, block), _descriptor(v, block), _descriptor(out, half),
        heads, heads // k.shape[1], batch * heads, tokens, section,
        math.log2(math.e) / math.sqrt(head_dim),
        causal=causal, head_dim=head_dim, num_warps=4, maxnreg=168,
    )  # fmt: skip
    return out


def hopper(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> torch.Tensor:
    """Walk over the keys in tiles, in a kernel of warps with roles, for Hopper GPUs.

    Arguments and result are those of `kernels.attention.tiled`. A tensor whose rows are not
    contiguous, or do not start at multiples of 16 bytes, is copied first.

    Raises
    ------
    UnsupportedError
        For a dtype other than float16 and bfloat16, a head dimension other than 64 and 128, or a
        GPU that is not of compute capability 9.0.
    """
    if q.dtype not in {torch.float16, torch.bfloat16}:
        raise UnsupportedError(f"the Hopper kernel takes float16 and bfloat16, not {q.dtype}")
    if q.shape[3] not in {64, 128}:
        raise UnsupportedError(
            f"the Hopper kernel takes head dimensions 64 and 128, not {q.shape[3]}"
        )
    if q.device.type == "cpu" or torch.cuda.get_device_capability() != (9, 0):
        raise UnsupportedError("the Hopper kernel needs a GPU of compute capability 9.0")
    programs = torch.cuda.get_device_properties(q.device).multi_processor_count
    # Without a mask all blocks take as long, and the fewer heads are at work, the more their keys
    # and values are shared in L2. Under a causal mask long blocks come before short ones only
    # within a section, so it holds many heads, but no more than L2 does at 4096 tokens.
    return launch(q, k, v, causal, 22 if causal else 2, programs)
