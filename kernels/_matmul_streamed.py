"""The matrix product whose blocks come by TMA: a persistent kernel that shares out its last wave.

A multiprocessor computes one tile at a time, so tiles are done in waves. 2048 tiles on 132
multiprocessors are 15 whole waves and one in which 64 of them have nothing to do. `share_out`
decides what to do about that:

- Where little would be won, the tiles are dealt out so that each program gets as many as any other:
  512 tiles need four waves on 132 multiprocessors and on 128, so 128 programs are started.
- Otherwise the tiles of the last wave are shared out along k (Osama et al., "Stream-K", 2023): the
  steps of these tiles, one after the other, are cut in equal ranges, one a program. Ranges end
  in the middle of tiles, so that a tile's sum comes from several programs. Each leaves what it has
  in memory, but for the one that takes the last step: that one adds up and stores.

A program waits for programs of a lower number alone, which the GPU starts earlier, so that the
launch always comes to its end.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from kernels._matmul_tiles import Tile, halves, place, relu, store_masked, store_parts

TMA_BYTES = 16  # what TMA asks of addresses and row strides
LINE_BYTES = 128  # what rows are padded to: whole cache lines; also a step along k
GROUP = 16  # rows of tiles that are walked together

FEWEST_STEPS = 16
"""Steps along k below which a share of a tile is not worth its exchange."""

EXCHANGE_STEPS = 24
"""Steps along k in whose time, about, sums are left in memory, waited for and added up on an H200:
19 where tiles are cut in equal parts, 27 where ranges end anywhere."""


class Shares(NamedTuple):
    """How tiles are dealt out: the last ``shared`` tiles go to ``sharers`` of the programs."""

    programs: int
    shared: int = 0
    sharers: int = 0


def share_out(tiles: int, steps: int, processors: int) -> Shares:
    """Deal out tiles of ``steps`` steps along k to as many programs as multiprocessors, or fewer.

    The last wave is shared out where that saves more steps than the exchange takes. If two programs
    or more can have a part of each of its tiles, all parts are equal: none is of two tiles then.
    """
    waves, rest = divmod(tiles, processors)
    if waves and rest:
        parts = min(processors // rest, max(steps // FEWEST_STEPS, 1))
        sharers = rest * parts if parts > 1 else processors
        if steps - triton.cdiv(rest * steps, sharers) > EXCHANGE_STEPS:
            return Shares(processors, rest, sharers)
    return Shares(triton.cdiv(tiles, waves + (rest > 0)))


@triton.jit
def product(  # noqa: PLR0913, PLR0917 - a kernel has no other way to be told
    a_matrix, b_matrix, row, column, first, end,
    block_m: tl.constexpr, block_n: tl.constexpr, block_k: tl.constexpr, turned: tl.constexpr,
):  # fmt: skip
    """Add up the products of a tile from one step along k to the one before ``end``."""
    total = tl.zeros((block_m, block_n), tl.float32)
    for step in range(first, end):
        a = a_matrix.load([row, step * block_k])
        if turned:
            b = b_matrix.load([column, step * block_k]).T
        else:
            b = b_matrix.load([step * block_k, column])
        total = tl.dot(a, b, total, input_precision="tf32")
    return total


@triton.jit
def kept(sums_ptr, program, left, height: tl.constexpr, width: tl.constexpr, size: tl.constexpr):
    """Point to a part of the ``size`` sums that a program leaves; ``left`` is its first column."""
    at = tl.arange(0, height)[:, None] * width + tl.arange(0, width)[None, :]
    return sums_ptr + program * size + left * height + at


@triton.jit
def leave(sums_ptr, values, left, size: tl.constexpr, strip: tl.constexpr):
    """Leave the sums of a tile in memory, ``strip`` columns at a time."""
    width: tl.constexpr = values.shape[1]
    if width > strip:
        first, second = halves(values)
        leave(sums_ptr, first, left, size, strip)
        leave(sums_ptr, second, left + width // 2, size, strip)
    else:
        at = kept(sums_ptr, tl.program_id(0), left, values.shape[0], width, size)
        tl.store(at, values)


@triton.jit
def finish(  # noqa: PLR0913, PLR0917
    sums_ptr, c_ptr, values, row, column, m, n, left, first_sharer,
    size: tl.constexpr, strip: tl.constexpr,
):  # fmt: skip
    """Add what earlier programs left to the sums of a tile, and store it."""
    width: tl.constexpr = values.shape[1]
    if width > strip:
        one, two = halves(values)
        middle = left + width // 2
        finish(sums_ptr, c_ptr, one, row, column, m, n, left, first_sharer, size, strip)
        finish(sums_ptr, c_ptr, two, row, column, m, n, middle, first_sharer, size, strip)
    else:
        for sharer in range(first_sharer, tl.program_id(0)):
            at = kept(sums_ptr, sharer, left, values.shape[0], width, size)
            values += tl.load(at, cache_modifier=".cg")  # L1 may have what was there before
        store_masked(c_ptr, relu(values), row, column + left, m, n)


@triton.jit
def share_last_wave(  # noqa: PLR0913, PLR0917
    a_matrix, b_matrix, c_ptr, sums_ptr, ready_ptr, m, n, k, shared, sharers,
    block_m: tl.constexpr, block_n: tl.constexpr, block_k: tl.constexpr, group: tl.constexpr,
    turned: tl.constexpr, strip: tl.constexpr,
):  # fmt: skip
    """Compute this program's range of the steps of the last ``shared`` tiles.

    No range is longer than a tile, so it has up to two pieces: the end of one tile, which is added
    up with what others left and stored, and the start or the middle of another, which is left for
    others. The latter comes first, lest anyone wait for it longer than need be.
    """
    tiles_m, tiles_n, steps = tl.cdiv(m, block_m), tl.cdiv(n, block_n), tl.cdiv(k, block_k)
    before = tiles_m * tiles_n - shared
    work = shared * steps
    sharer = tl.program_id(0)
    begin, end = sharer * work // sharers, (sharer + 1) * work // sharers
    cut = end // steps * steps  # where the tile begins in which the range ends
    if end > max(begin, cut):
        tile_m, tile_n = place(before + cut // steps, tiles_m, tiles_n, group)
        first = max(begin, cut) - cut
        sums = product(
            a_matrix, b_matrix, tile_m * block_m, tile_n * block_n, first, end - cut,
            block_m, block_n, block_k, turned,
        )  # fmt: skip
        leave(sums_ptr, sums, 0, block_m * block_n, strip)
        tl.debug_barrier()  # all threads have stored before one says so
        tl.atomic_xchg(ready_ptr + sharer, 1, sem="release")
    if cut > begin:
        start = cut - steps
        tile_m, tile_n = place(before + start // steps, tiles_m, tiles_n, group)
        row, column = tile_m * block_m, tile_n * block_n
        sums = product(
            a_matrix, b_matrix, row, column, begin - start, steps,
            block_m, block_n, block_k, turned,
        )  # fmt: skip
        first_sharer = sharer
        while first_sharer * work // sharers > start:
            first_sharer -= 1
            while tl.atomic_add(ready_ptr + first_sharer, 0, sem="acquire") == 0:
                pass
        tl.debug_barrier()
        finish(sums_ptr, c_ptr, sums, row, column, m, n, 0, first_sharer, block_m * block_n, strip)


@triton.jit
def descriptor_kernel(  # noqa: PLR0913, PLR0917
    a_matrix, b_matrix, c, c_ptr, sums_ptr, ready_ptr, m, n, k, shared, sharers,
    block_m: tl.constexpr, block_n: tl.constexpr, block_k: tl.constexpr, parts: tl.constexpr,
    group: tl.constexpr, aligned: tl.constexpr, turned: tl.constexpr, strip: tl.constexpr,
):  # fmt: skip
    """Compute every so many-th tile of C; ``c`` is a descriptor if ``aligned``, else a pointer.

    ``b_matrix`` is that of B, or if ``turned`` that of its transpose. TMA reads zeros beyond an
    edge, and writes nothing there. The last ``shared`` tiles are shared out, their sums passed on
    in strips of so many columns; ``strip`` is 0 where there are none.
    """
    tiles_m, tiles_n, steps = tl.cdiv(m, block_m), tl.cdiv(n, block_n), tl.cdiv(k, block_k)
    whole = tiles_m * tiles_n
    if strip:
        whole -= shared
    for tile in tl.range(tl.program_id(0), whole, tl.num_programs(0), flatten=aligned):
        tile_m, tile_n = place(tile, tiles_m, tiles_n, group)
        row, column = tile_m * block_m, tile_n * block_n
        total = product(
            a_matrix, b_matrix, row, column, 0, steps, block_m, block_n, block_k, turned
        )
        store_parts(c, relu(total), row, column, m, n, aligned, parts)
    if strip and tl.program_id(0) < sharers:
        share_last_wave(
            a_matrix, b_matrix, c_ptr, sums_ptr, ready_ptr, m, n, k, shared, sharers,
            block_m, block_n, block_k, group, turned, strip,
        )  # fmt: skip


def readable_by_tma(x: torch.Tensor) -> torch.Tensor:
    """Return a matrix whose rows TMA can read: ``x``, or a copy of it in padded rows."""
    row, column = x.stride()
    unit = TMA_BYTES // x.itemsize
    if column == 1 and row >= x.shape[1] and row % unit == 0 and x.data_ptr() % TMA_BYTES == 0:
        return x
    unit = LINE_BYTES // x.itemsize
    padded = x.new_empty((x.shape[0], triton.cdiv(x.shape[1], unit) * unit))
    return padded[:, : x.shape[1]].copy_(x)


def launch_descriptors(
    a: torch.Tensor, b: torch.Tensor, tile: Tile, processors: int, shares: Shares | None = None
) -> torch.Tensor:
    """Launch the persistent kernel on a chip with TMA.

    Parameters
    ----------
    a, b
        Matrices (m, k) and (k, n), neither empty, of a dtype for tensor cores. For float32 ``b`` is
        the transpose (n, k), and products are of TF32. What TMA cannot read is copied.
    tile
        The tile of C that a program computes at a time.
    processors
        The chip's multiprocessors.
    shares
        How tiles are dealt out; by default as `share_out` has it.
    """
    turned = a.itemsize == 4
    m, k, n = *a.shape, b.shape[0 if turned else 1]
    a, b, c = readable_by_tma(a), readable_by_tma(b), a.new_empty((m, n))
    block_m, block_n, num_warps, num_stages, parts = tile
    block_k = LINE_BYTES // a.itemsize
    aligned = n * c.itemsize % TMA_BYTES == 0
    if not aligned:  # the addresses of more columns would spill
        parts = max(block_n // 64, 1)
    tiles = tile.covering(m, n)
    shares = shares or share_out(tiles, triton.cdiv(k, block_k), processors)
    strip = (64 if aligned else 32) if shares.sharers else 0
    sums = c.new_empty(shares.sharers * block_m * block_n, dtype=torch.float32)
    ready = c.new_zeros(shares.sharers, dtype=torch.int32)
    descriptor_kernel[(shares.programs,)](
        TensorDescriptor.from_tensor(a, [block_m, block_k]),
        TensorDescriptor.from_tensor(b, [block_n, block_k] if turned else [block_k, block_n]),
        TensorDescriptor.from_tensor(c, [block_m, block_n // parts]) if aligned else c,
        c, sums, ready, m, n, k, shares.shared, shares.sharers,
        block_m, block_n, block_k, parts, GROUP, aligned, turned, strip,
        num_warps=num_warps, num_stages=num_stages,
    )  # fmt: skip
    return c
