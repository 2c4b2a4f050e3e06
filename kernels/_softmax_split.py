"""Softmax of long rows, split over programs: a row is read from DRAM once and written once.

A row of 131072 float32 elements is twice what an SM can hold. Here it waits in L2 instead, which
holds a hundred such rows: a row is cut in pieces, and each piece has two programs. The first reads
it and leaves its maximum and its sum; the second merges those of all pieces as a running maximum
and sum would, reads the piece again, by now from L2, and writes the result.

All programs are of one launch. The second ones come ``lag`` rows behind the first ones, so that
what they wait for is nearly always there. They wait for programs of a lower number alone, which the
GPU starts earlier, so that the launch always comes to its end.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels._rows import rows_of

BLOCK = 8192
"""Columns of a piece, where a row has no more than a thousand of them."""

LAG_BYTES = 12 * 2**20
"""Bytes that are read ahead of what is written: much less than L2 holds."""

MOST_PIECES = 1024

LOWEST = tl.constexpr(-3.4028234663852886e38)
"""The lowest finite float32 stands for a maximum of -inf: -inf minus -inf must never come up."""


@triton.jit
def load_piece(pointers, inside, full: tl.constexpr, policy: tl.constexpr):
    """Load a piece of a row as float32; -inf stands beyond its end."""
    if full:
        x = tl.load(pointers, eviction_policy=policy)
    else:
        x = tl.load(pointers, mask=inside, other=-float("inf"), eviction_policy=policy)
    return x.to(tl.float32)


@triton.jit
def task_of(program, n_rows, pieces, lag):
    """Return row, piece and whether to write it, by the number of a program.

    Summaries of ``lag`` rows come first; then rows of summaries and rows of writing take turns;
    then the last ``lag`` rows are written.
    """
    line = program // pieces
    paired = line - lag
    writes = paired % 2 == 1
    row = tl.where(writes, paired // 2, paired // 2 + lag)
    rest = paired - 2 * (n_rows - lag)
    row = tl.where(paired < 0, line, tl.where(rest >= 0, n_rows - lag + rest, row))
    writes = (paired >= 0) & (writes | (rest >= 0))
    return row.to(tl.int64), program % pieces, writes


@triton.jit
def split_kernel(  # noqa: PLR0913, PLR0917 - a kernel takes pointers and sizes one by one
    x_ptr, y_ptr, summary_ptr, done_ptr, n_rows, n_columns, x_stride, pieces, lag,
    block: tl.constexpr, most: tl.constexpr, full: tl.constexpr,
):  # fmt: skip
    """Summarise or write one piece of ``block`` columns, by the number of the program."""
    row, piece, writes = task_of(tl.program_id(0), n_rows, pieces, lag)
    column = piece * block + tl.arange(0, block)
    inside = column < n_columns
    x_ptrs = x_ptr + row * x_stride + column
    summaries = summary_ptr + row * pieces * 2
    if writes:
        while tl.atomic_add(done_ptr + row, 0, sem="acquire") < pieces:
            pass
        tl.debug_barrier()
        each = tl.arange(0, most)
        tops = tl.load(summaries + 2 * each, mask=each < pieces, other=LOWEST, cache_modifier=".cg")
        sums = tl.load(
            summaries + 2 * each + 1, mask=each < pieces, other=0.0, cache_modifier=".cg"
        )
        top = tl.max(tops, axis=0)
        scale = 1.0 / tl.sum(sums * tl.exp(tops - top), axis=0)
        y = tl.exp(load_piece(x_ptrs, inside, full, "evict_first") - top) * scale
        y = y.to(y_ptr.dtype.element_ty)
        if full:
            tl.store(y_ptr + row * n_columns + column, y, cache_modifier=".cs")
        else:
            tl.store(y_ptr + row * n_columns + column, y, mask=inside, cache_modifier=".cs")
    else:
        x = load_piece(x_ptrs, inside, full, "evict_last")
        top = tl.maximum(tl.max(x, axis=0), LOWEST)
        tl.store(summaries + 2 * piece, top)
        tl.store(summaries + 2 * piece + 1, tl.sum(tl.exp(x - top), axis=0))
        tl.debug_barrier()
        tl.atomic_add(done_ptr + row, 1, sem="release")


def split(
    x: torch.Tensor,
    *,
    block: int | None = None,
    lag: int | None = None,
    num_warps: int | None = None,
) -> torch.Tensor:
    """Split rows over programs that summarise their piece, and others that write it.

    Parameters
    ----------
    x
        Matrix (rows, columns) of float32, bfloat16 or float16. One whose columns do not lie side
        by side is copied first.
    block
        Columns of a piece, a power of two; by default 8192 of them, or more where a row would
        have over a thousand pieces.
    lag
        Rows that are summarised before the first is written; by default 12 MiB of them.
    num_warps
        Warps of a program; by default a thread has 16 elements of float32, or 64 of two bytes.

    Raises
    ------
    UnsupportedError
        For what is no matrix, or of another dtype.
    """
    x = rows_of(x)
    n_rows, n_columns = x.shape
    y = torch.empty((n_rows, n_columns), dtype=x.dtype, device=x.device)
    if y.numel():
        block = block or max(BLOCK, triton.next_power_of_2(triton.cdiv(n_columns, MOST_PIECES)))
        warps = num_warps or min(max(block // (512 if x.itemsize == 4 else 2048), 1), 32)
        pieces = triton.cdiv(n_columns, block)
        lag = min(lag or max(LAG_BYTES // (n_columns * x.itemsize), 1), n_rows)
        summary = torch.empty((n_rows, pieces, 2), dtype=torch.float32, device=x.device)
        done = torch.zeros(n_rows, dtype=torch.int32, device=x.device)
        split_kernel[(2 * n_rows * pieces,)](
            x, y, summary, done, n_rows, n_columns, x.stride(0), pieces, lag,
            block=block, most=triton.next_power_of_2(pieces), full=n_columns % block == 0,
            num_warps=warps,
        )  # fmt: skip
    return y
