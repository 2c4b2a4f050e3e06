"""Backward pass of layer normalisation: the gradients of x, weight and bias.

With n = (x - mean) / sqrt(variance + 1e-5), the normalised row, and s = dy * weight:

    dx = (s - mean(s) - n * mean(s * n)) / sqrt(variance + 1e-5)    (means over the row)
    dweight = sum of dy * n, dbias = sum of dy                       (sums over all rows)

At least x and dy are read and dx is written, ``3 * N * itemsize`` bytes for N elements; the other
tensors have one row or one column. Fourteen FLOPs an element: 2 for n, 1 for s, 3 for the means,
4 for dx, 3 for the sums, and 1 to spare for the two factors that a row shares.

Sums along rows and sums across rows in one pass: that is what sets this operator apart. The naive
variant, by autograd, walks back through each step of the forward pass, with many passes over DRAM.
The Triton variant gives each program its share of the rows. A row is in registers for its means,
and what it adds to dweight and dbias is added up in registers too, an element a column. At the end
each program writes one row of partial sums, and a second, small kernel adds those up in a fixed
order, so that the result is the same on each call; atomic additions would come in any order.

Mean and inverse deviation of a row are kept from the forward pass, which is not measured.
"""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl

from kernels import layer_norm
from kernels._autograd import compiled, forward_of, gradients
from kernels._persistent import multiprocessors
from kernels.harness.inputs import normal
from kernels.harness.spec import Case, Cost, Inputs, Operator, Tolerance, UnsupportedError, Variant

LONGEST = 8192
"""Columns up to which two rows, weight and both sums fit into the registers of a block."""


def make_inputs(case: Case, device: str, generator: torch.Generator | None) -> Inputs:
    """Draw what the forward pass takes, and the gradient of its result."""
    forward = layer_norm.make_inputs(case, device, generator)
    return *forward, normal(case.shape, case.dtype, device, generator)


def cost(case: Case) -> Cost:
    """Read x, dy and weight, write dx, dweight and dbias; fourteen FLOPs an element."""
    itemsize = getattr(torch, case.dtype).itemsize
    rows, columns = case.shape
    return Cost(
        read_bytes=(2 * case.elements + columns) * itemsize,
        write_bytes=(case.elements + 2 * columns) * itemsize,
        flops=14 * case.elements,
        summed=max(rows, columns),
    )


def tolerance(case: Case) -> tuple[Tolerance, ...]:
    """Accept rounding in the case's dtype; that of dweight and dbias grows with the rows.

    The terms of those sums are of size 1, and their errors have random signs. So the error of a sum
    grows as the root of the number of terms; the largest of thousands of columns is several times
    that. Term by term in bfloat16 each term is off by a few 2**-9.
    """
    root = math.sqrt(case.shape[0])
    dx, summed = {
        "float32": (Tolerance(rtol=1e-5, atol=2e-5), Tolerance(rtol=1e-5, atol=4e-6 * root)),
        "bfloat16": (Tolerance(rtol=2e-2, atol=8e-2), Tolerance(rtol=1e-2, atol=3e-2 * root)),
    }[case.dtype]
    return dx, summed, summed


def reference(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, dy: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    """Compute the formula in float64; three copies of x in that dtype at most are alive."""
    del bias
    n = x.to(torch.float64, copy=True)
    n -= n.mean(dim=-1, keepdim=True)
    rstd = torch.rsqrt(n.square().mean(dim=-1, keepdim=True) + layer_norm.EPS)
    n *= rstd
    s = dy.to(torch.float64, copy=True)
    dweight, dbias = (s * n).sum(dim=0), s.sum(dim=0)
    s *= weight.double()
    n *= (s * n).mean(dim=-1, keepdim=True)
    dx = s.sub_(s.mean(dim=-1, keepdim=True)).sub_(n).mul_(rstd)
    return dx, dweight, dbias


@triton.jit
def add_pairs(a, b, c, d):
    """Add two pairs: with ``tl.reduce``, two sums for the barriers of one."""
    return a + c, b + d


@triton.jit
def rows_kernel(  # noqa: PLR0913, PLR0917 - Triton passes pointers and extents one by one
    x_ptr, dy_ptr, weight_ptr, mean_ptr, rstd_ptr, dx_ptr, partial_ptr,
    rows, columns, x_stride, dy_stride, block: tl.constexpr,
):  # fmt: skip
    """Write dx of each n-th row, of n programs, and the sums of dy * n and dy over these rows.

    The next row is asked for before this one is worked on, its statistics too.
    """
    programs = tl.num_programs(0)
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, block)
    inside = column < columns
    x = tl.load(x_ptr + row * x_stride + column, mask=inside, other=0.0)
    dy = tl.load(dy_ptr + row * dy_stride + column, mask=inside, other=0.0)
    mean = tl.load(mean_ptr + row)
    rstd = tl.load(rstd_ptr + row)
    weight = tl.load(weight_ptr + column, mask=inside, other=0.0)
    dweight = tl.zeros((block,), tl.float32)
    dbias = tl.zeros((block,), tl.float32)
    for _ in range(tl.program_id(0), rows, programs):
        following = row + programs
        more = following < rows
        ahead = column < tl.where(more, columns, 0)
        next_x = tl.load(x_ptr + following * x_stride + column, mask=ahead, other=0.0)
        next_dy = tl.load(dy_ptr + following * dy_stride + column, mask=ahead, other=0.0)
        next_mean = tl.load(mean_ptr + following, mask=more)
        next_rstd = tl.load(rstd_ptr + following, mask=more)

        n = tl.where(inside, (x.to(tl.float32) - mean) * rstd, 0.0)
        up = dy.to(tl.float32)
        s = up * weight.to(tl.float32)
        sum_s, sum_sn = tl.reduce((s, s * n), 0, add_pairs)
        dx = (s - sum_s / columns - n * (sum_sn / columns)) * rstd
        tl.store(dx_ptr + row * columns + column, dx.to(dx_ptr.dtype.element_ty), mask=inside)
        dweight += up * n
        dbias += up

        row = following
        x, dy, mean, rstd = next_x, next_dy, next_mean, next_rstd
    mine = partial_ptr + tl.program_id(0).to(tl.int64) * columns + column
    tl.store(mine, dweight, mask=inside)
    tl.store(mine + programs.to(tl.int64) * columns, dbias, mask=inside)


@triton.jit
def add_up_kernel(
    partial_ptr, dweight_ptr, dbias_ptr, programs, columns,
    block_rows: tl.constexpr, block_columns: tl.constexpr,
):  # fmt: skip
    """Add up the partial sums of the programs, for ``block_columns`` columns."""
    column = tl.program_id(0) * block_columns + tl.arange(0, block_columns)
    inside = column < columns
    dweight = tl.zeros((block_rows, block_columns), tl.float32)
    dbias = tl.zeros((block_rows, block_columns), tl.float32)
    for start in range(0, programs, block_rows):
        row = start + tl.arange(0, block_rows)
        known = (row < programs)[:, None] & inside[None, :]
        theirs = partial_ptr + row.to(tl.int64)[:, None] * columns + column[None, :]
        dweight += tl.load(theirs, mask=known, other=0.0)
        dbias += tl.load(theirs + programs.to(tl.int64) * columns, mask=known, other=0.0)
    out = dweight_ptr.dtype.element_ty
    tl.store(dweight_ptr + column, tl.sum(dweight, axis=0).to(out), mask=inside)
    tl.store(dbias_ptr + column, tl.sum(dbias, axis=0).to(out), mask=inside)


def with_statistics(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, dy: torch.Tensor
) -> Inputs:
    """Run the forward pass for mean and inverse deviation of each row: what `fused` takes."""
    refuse(x, dy)
    _, mean, rstd = layer_norm.forward(x, weight, bias)
    return x, weight, mean, rstd, dy


def refuse(x: torch.Tensor, dy: torch.Tensor) -> None:
    """Raise UnsupportedError for what the kernels do not take, besides what forward refuses."""
    if dy.shape != x.shape or dy.dtype != x.dtype:
        raise UnsupportedError(
            f"dy of {tuple(dy.shape)} {dy.dtype}: takes shape and dtype of x,"
            f" {tuple(x.shape)} {x.dtype}"
        )
    if x.shape[-1] > LONGEST:
        raise UnsupportedError(
            f"{x.shape[-1]} columns: row and sums must fit into registers, {LONGEST} at most"
        )


def fused(
    x: torch.Tensor,
    weight: torch.Tensor,
    mean: torch.Tensor,
    rstd: torch.Tensor,
    dy: torch.Tensor,
    *,
    num_warps: int | None = None,
    blocks_per_sm: int | None = None,
) -> tuple[torch.Tensor, ...]:
    """Return dx, dweight and dbias from one pass over x and dy, and one over partial sums.

    A matrix whose columns are not adjacent is copied first; the results are contiguous.

    Parameters
    ----------
    num_warps
        Warps of a block of the first kernel; by default one for each KiB of a row, 16 at most.
    blocks_per_sm
        Blocks that share the rows, for each SM; by default as many as have 16 warps.
    """
    refuse(x, dy)
    x = x if x.stride(1) == 1 else x.contiguous()
    dy = dy if dy.stride(1) == 1 else dy.contiguous()
    rows, columns = x.shape
    dx = torch.empty_like(x, memory_format=torch.contiguous_format)
    dweight, dbias = x.new_empty(columns), x.new_empty(columns)
    block = triton.next_power_of_2(max(columns, 1))
    warps = num_warps or min(max(block * x.itemsize // 1024, 1), 16)
    blocks_per_sm = blocks_per_sm or max(16 // warps, 1)
    programs = min(rows, blocks_per_sm * multiprocessors(x.device))
    partial = x.new_empty((2, programs, columns), dtype=torch.float32)
    if x.numel():
        rows_kernel[(programs,)](
            x, dy, weight.contiguous(), mean, rstd, dx, partial,
            rows, columns, x.stride(0), dy.stride(0), block=block, num_warps=warps,
        )  # fmt: skip
    if columns:
        block_columns = 32  # 128 bytes of float32, and as many blocks as possible
        add_up_kernel[(triton.cdiv(columns, block_columns),)](
            partial, dweight, dbias, programs, columns,
            block_rows=64, block_columns=block_columns, num_warps=8,
        )  # fmt: skip
    return dx, dweight, dbias


OPERATOR = Operator(
    name="layer_norm_backward",
    summary="gradients of x, weight and bias of a layer norm of rows",
    variants=(
        Variant("naive", gradients, "autograd of the formula", setup=forward_of(layer_norm.naive)),
        Variant(
            "builtin",
            gradients,
            "autograd of torch.nn.functional.layer_norm",
            setup=forward_of(layer_norm.builtin),
        ),
        Variant(
            "compiled",
            gradients,
            "autograd of torch.compile of naive",
            setup=forward_of(compiled(layer_norm.naive)),
        ),
        Variant(
            "triton",
            fused,
            "one pass with partial sums in registers, then a small sum of these",
            setup=with_statistics,
        ),
    ),
    axes=("rows", "columns"),
    cases=(
        Case((67, 129), "float32", first_in="quick"),
        Case((16384, 4096), "float32", first_in="quick"),
        Case((16384, 4096), "bfloat16"),
        Case((524352, 4096), "bfloat16", first_in="full"),
    ),
    make_inputs=make_inputs,
    reference=reference,
    cost=cost,
    tolerance=tolerance,
)
