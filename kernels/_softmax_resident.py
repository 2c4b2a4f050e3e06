"""Softmax of long rows that stay in registers, those of all multiprocessors taken together.

A row of 131072 float32 elements is twice what an SM can hold, but 132 SMs hold sixty such rows.
Here a row is cut in pieces, one a program, and a piece stays where it was read: its program leaves
the piece's maximum and sum in memory, waits until those of the row's other pieces are there, scales
what it has kept, and writes it. Each element is read once and written once.

That a program waits costs nothing as long as it has something to do. So it takes piece after piece,
and works on three of them at a time: while the next one is on its way from memory, the present one
is summed up, and the last one, whose row is complete by now, is written.

Maximum and sum of a piece are one word of 64 bits, so that whoever sees it sees both: no flag, no
fence. A word of zero says that nothing is there yet: no piece has a maximum of 0 and a sum of 0.

Programs wait for each other in both directions, so all of them must be on the chip at once. The
launch is a cooperative one: where they do not fit, it fails instead of waiting for ever.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels._persistent import multiprocessors
from kernels._rows import rows_of
from kernels._softmax_split import LOWEST
from kernels.harness.spec import UnsupportedError


@triton.jit
def power(x):
    """Compute exp(x) in three instructions, an addition before it included: no subnormal results.

    ``tl.exp`` scales small arguments to keep results below 1e-38, which cost as much again.
    """
    return tl.exp2(x * 1.4426950408889634)


@triton.jit
def load_piece(x_ptr, index, n_columns, x_stride, pieces, block: tl.constexpr, full: tl.constexpr):
    """Load a piece of a row as it is; -inf stands beyond the row's end."""
    column = index % pieces * block + tl.arange(0, block)
    pointers = x_ptr + (index // pieces).to(tl.int64) * x_stride + column
    if full:
        return tl.load(pointers, eviction_policy="evict_last")
    return tl.load(
        pointers, mask=column < n_columns, other=-float("inf"), eviction_policy="evict_last"
    )


@triton.jit
def summarise(x):
    """Return a piece's maximum, and exp of each element less that."""
    x = x.to(tl.float32)
    top = tl.maximum(tl.max(x, axis=0), LOWEST)
    return top, power(x - top)


@triton.jit
def leave(word_ptr, index, top, total):
    """Leave a piece's maximum and sum in memory, as the halves of one word."""
    high = top.to(tl.int32, bitcast=True).to(tl.int64) << 32
    low = total.to(tl.int32, bitcast=True).to(tl.int64) & 0xFFFFFFFF
    tl.store(word_ptr + index, high | low)


@triton.jit
def row_scale(word_ptr, row, top, pieces, most: tl.constexpr):
    """Wait for the words of a row; return what exp(x - top) is to be multiplied with."""
    piece = tl.arange(0, most)
    pointers = word_ptr + row * pieces + piece
    words = tl.load(pointers, mask=piece < pieces, other=-1, volatile=True)
    while tl.min(tl.where(words == 0, 0, 1), axis=0) == 0:
        words = tl.load(pointers, mask=piece < pieces, other=-1, volatile=True)
    tops = (words >> 32).to(tl.int32).to(tl.float32, bitcast=True)
    totals = words.to(tl.int32).to(tl.float32, bitcast=True)
    tops = tl.where(piece < pieces, tops, LOWEST)
    totals = tl.where(piece < pieces, totals, 0.0)
    highest = tl.max(tops, axis=0)
    return power(top - highest) / tl.sum(totals * power(tops - highest), axis=0)


@triton.jit
def write_piece(  # noqa: PLR0913, PLR0917
    y_ptr, word_ptr, index, top, powers, n_columns, pieces,
    block: tl.constexpr, most: tl.constexpr, full: tl.constexpr,
):  # fmt: skip
    """Scale a piece by what its row has come to, and write it."""
    row = (index // pieces).to(tl.int64)
    y = (powers * row_scale(word_ptr, row, top, pieces, most)).to(y_ptr.dtype.element_ty)
    column = index % pieces * block + tl.arange(0, block)
    pointers = y_ptr + row * n_columns + column
    if full:
        tl.store(pointers, y, cache_modifier=".cs")
    else:
        tl.store(pointers, y, mask=column < n_columns, cache_modifier=".cs")


@triton.jit
def resident_kernel(  # noqa: PLR0913, PLR0917
    x_ptr, y_ptr, word_ptr, n_columns, x_stride, pieces, all_pieces,
    block: tl.constexpr, most: tl.constexpr, full: tl.constexpr,
):  # fmt: skip
    """Take every so many-th piece: load one, sum up the one before, write the one before that.

    A row has no more pieces than there are programs. So each word that a program waits for is left
    by another before that one waits for a word of the next round.
    """
    step = tl.num_programs(0)
    last = tl.program_id(0)
    x = load_piece(x_ptr, last, n_columns, x_stride, pieces, block, full)
    last_top, kept = summarise(x)
    ahead = min(last + step, all_pieces - 1)
    x = load_piece(x_ptr, ahead, n_columns, x_stride, pieces, block, full)
    leave(word_ptr, last, last_top, tl.sum(kept, axis=0))
    for present in range(last + step, all_pieces, step):
        top, powers = summarise(x)
        leave(word_ptr, present, top, tl.sum(powers, axis=0))
        ahead = min(present + step, all_pieces - 1)
        x = load_piece(x_ptr, ahead, n_columns, x_stride, pieces, block, full)
        write_piece(y_ptr, word_ptr, last, last_top, kept, n_columns, pieces, block, most, full)
        last, last_top, kept = present, top, powers
    write_piece(y_ptr, word_ptr, last, last_top, kept, n_columns, pieces, block, most, full)


def resident(
    x: torch.Tensor, *, block: int | None = None, programs: int | None = None
) -> torch.Tensor:
    """Keep rows in registers, in pieces that programs of one launch have between them.

    Parameters
    ----------
    x
        Matrix (rows, columns) of float32, bfloat16 or float16. One whose columns do not lie side
        by side is copied first.
    block
        Columns of a piece, a power of two; by default up to 8192 of float32, or 4096 of two bytes,
        whose powers take twice the registers that they do themselves.
    programs
        Programs to launch, and most pieces of a row; by default as many as the chip holds.

    Raises
    ------
    UnsupportedError
        For what is no matrix, or of another dtype, or has rows of more pieces than programs.
    """
    x = rows_of(x)
    n_rows, n_columns = x.shape
    longest, at_once, registers = (8192, 2, 128) if x.itemsize == 4 else (4096, 3, 168)
    block = block or min(triton.next_power_of_2(max(n_columns, 1)), longest)
    programs = programs or multiprocessors(x.device) * at_once
    pieces = triton.cdiv(n_columns, block)
    if pieces > programs:
        raise UnsupportedError(
            f"rows of {n_columns} columns; up to {programs * block} are supported on this device"
        )
    y = torch.empty((n_rows, n_columns), dtype=x.dtype, device=x.device)
    if y.numel():
        words = torch.zeros(n_rows * pieces, dtype=torch.int64, device=x.device)
        resident_kernel[(min(programs, len(words)),)](
            x, y, words, n_columns, x.stride(0), pieces, len(words),
            block=block, most=triton.next_power_of_2(pieces), full=n_columns % block == 0,
            num_warps=max(block // 1024, 1), maxnreg=registers, launch_cooperative_grid=True,
        )  # fmt: skip
    return y
