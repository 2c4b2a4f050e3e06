"""Layer normalisation of the rows of a matrix (Ba, Kiros & Hinton 2016, arXiv:1607.06450).

    y = (x - mean) / sqrt(variance + 1e-5) * weight + bias

Mean and variance (the biased one, over all columns) are those of a row; weight and bias have an
element a column. Reading x once and writing y once takes ``2 * N * itemsize`` bytes for N elements;
weight and bias add one row each. Seven FLOPs an element (add up, subtract, square, add up, times
the deviation's inverse, times weight, plus bias) are far too few to take longer than that.

The catch is that a row is needed three times: for its mean, for its variance, for its result. The
naive variant fetches it, or what became of it, from DRAM each time. The variance could be had in
the same pass as the mean, as the mean square less the squared mean, but where the mean is large
that difference cancels. The Triton variant keeps a row in registers instead: one read, and the
variance is summed from differences that are already there.

Weight and bias are the second catch. They stay in the caches, but fetched anew for each row they
are as much traffic between L2 and the SMs as x and y themselves. So a program keeps them in
registers as well and normalises one row after the other, while the next row is on its way.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels._persistent import multiprocessors
from kernels.harness.inputs import normal
from kernels.harness.spec import Case, Cost, Inputs, Operator, Tolerance, UnsupportedError, Variant

EPS = 1e-5
DTYPES = (torch.float32, torch.bfloat16)
LONGEST = 16384
"""Columns that a block can keep in registers: 16 elements for each of 1024 threads."""

LONGEST_PERSISTENT = 8192
"""Columns up to which weight, bias and the next row fit beside the row."""


def make_inputs(case: Case, device: str, generator: torch.Generator | None) -> Inputs:
    """Draw x, weight and bias; a mean of x unlike 0 exposes a variance that cancels."""
    columns = (case.shape[1],)
    x = normal(case.shape, case.dtype, device, generator) * 2 + 3
    weight = normal(columns, case.dtype, device, generator)
    bias = normal(columns, case.dtype, device, generator)
    return x, weight, bias


def cost(case: Case) -> Cost:
    """Read x, weight and bias once, write the result once; seven FLOPs an element."""
    itemsize = getattr(torch, case.dtype).itemsize
    columns = case.shape[1]
    return Cost(
        read_bytes=(case.elements + 2 * columns) * itemsize,
        write_bytes=case.elements * itemsize,
        flops=7 * case.elements,
        summed=columns,
    )


def tolerance(case: Case) -> Tolerance:
    """Accept the rounding of each step in the case's dtype, for terms of up to about 5 times 4.

    Term by term in bfloat16, the mean of about 3 is rounded by up to 2**-7, which shifts a whole
    row; the difference, the factor and two products are rounded by 2**-9 of their size each. In
    float32, sums over a row are added up as trees: their error grows as the logarithm of its
    length, and the mean of a million elements would still be right to 1e-6.
    """
    return {
        "float32": Tolerance(rtol=1e-5, atol=2e-5),
        "bfloat16": Tolerance(rtol=2e-2, atol=8e-2),
    }[case.dtype]


def naive(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Write the formula term by term: nine kernels, two of them reductions."""
    centred = x - x.mean(dim=-1, keepdim=True)
    variance = (centred * centred).mean(dim=-1, keepdim=True)
    return centred * torch.rsqrt(variance + EPS) * weight + bias


def reference(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Compute the formula in float64; two copies of x in that dtype at most are alive."""
    y = x.to(torch.float64, copy=True)
    y -= y.mean(dim=-1, keepdim=True)
    y *= torch.rsqrt(y.square().mean(dim=-1, keepdim=True) + EPS)
    return y.mul_(weight.double()).add_(bias.double())


def builtin(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Call PyTorch's own kernel."""
    return torch.nn.functional.layer_norm(x, (x.shape[1],), weight, bias, EPS)


compiled = torch.compile(naive, dynamic=False)


@triton.jit
def write_row(  # noqa: PLR0913, PLR0917 - Triton passes pointers and extents one by one
    row, x, weight, bias, inside, y_ptr, mean_ptr, rstd_ptr, columns, eps, block: tl.constexpr
):
    """Normalise a row that is in registers; keep its statistics for the backward pass.

    Columns that are not ``inside`` must hold 0, so that they do not count in the mean.
    """
    x = x.to(tl.float32)
    mean = tl.sum(x, axis=0) / columns
    centred = tl.where(inside, x - mean, 0.0)
    rstd = tl.rsqrt(tl.sum(centred * centred, axis=0) / columns + eps)
    y = centred * rstd * weight.to(tl.float32) + bias.to(tl.float32)
    column = tl.arange(0, block)
    tl.store(y_ptr + row * columns + column, y.to(y_ptr.dtype.element_ty), mask=inside)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)


@triton.jit
def layer_norm_kernel(  # noqa: PLR0913, PLR0917 - as above
    x_ptr, weight_ptr, bias_ptr, y_ptr, mean_ptr, rstd_ptr, rows, columns, row_stride, eps,
    block: tl.constexpr, persistent: tl.constexpr,
):  # fmt: skip
    """Normalise rows of up to ``block`` columns: one, or with ``persistent`` each n-th of n.

    A row is loaded before weight and bias, and the next one before this one is worked on: loads
    from DRAM take longest and are asked for first.
    """
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, block)
    inside = column < columns
    x = tl.load(x_ptr + row * row_stride + column, mask=inside, other=0.0)
    weight = tl.load(weight_ptr + column, mask=inside)
    bias = tl.load(bias_ptr + column, mask=inside)
    if persistent:
        for _ in range(tl.program_id(0), rows, tl.num_programs(0)):
            following = row + tl.num_programs(0)
            ahead = column < tl.where(following < rows, columns, 0)
            next_x = tl.load(x_ptr + following * row_stride + column, mask=ahead, other=0.0)
            write_row(row, x, weight, bias, inside, y_ptr, mean_ptr, rstd_ptr, columns, eps, block)
            x = next_x
            row = following
    else:
        write_row(row, x, weight, bias, inside, y_ptr, mean_ptr, rstd_ptr, columns, eps, block)


def forward(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    *,
    num_warps: int | None = None,
    blocks_per_sm: int | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the result, and mean and inverse deviation of each row in float32.

    A matrix whose columns are not adjacent is copied first; the result is contiguous.

    Parameters
    ----------
    num_warps
        Warps of a block; by default a thread gets 16 elements of a row, or more of a long row.
    blocks_per_sm
        Blocks that share the rows, for each SM; 0 for a block a row.
    """
    refuse(x, weight, bias)
    x = x if x.stride(1) == 1 else x.contiguous()
    rows, columns = x.shape
    y = torch.empty_like(x, memory_format=torch.contiguous_format)
    mean, rstd = x.new_empty((2, rows), dtype=torch.float32)
    block = triton.next_power_of_2(max(columns, 1))
    warps = num_warps or min(max(block // 512, 1), 32)
    if blocks_per_sm is None:
        blocks_per_sm = max(32 // warps, 1) if block <= LONGEST_PERSISTENT else 0
    programs = min(rows, blocks_per_sm * multiprocessors(x.device)) if blocks_per_sm else rows
    if x.numel():
        layer_norm_kernel[(programs,)](
            x, weight.contiguous(), bias.contiguous(), y, mean, rstd,
            rows, columns, x.stride(0), EPS,
            block=block, persistent=blocks_per_sm > 0, num_warps=warps,
        )  # fmt: skip
    return y, mean, rstd


def refuse(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> None:
    """Raise UnsupportedError for what the kernel does not take."""
    if x.ndim != 2 or weight.shape != x.shape[1:] or bias.shape != x.shape[1:]:
        shapes = ", ".join(str(tuple(tensor.shape)) for tensor in (x, weight, bias))
        raise UnsupportedError(f"shapes {shapes}: takes a matrix, and a weight and bias a column")
    if x.dtype not in DTYPES or {weight.dtype, bias.dtype} != {x.dtype}:
        found = ", ".join(str(tensor.dtype) for tensor in (x, weight, bias))
        raise UnsupportedError(f"dtypes {found}: takes one of float32 and bfloat16 for all")
    if x.shape[1] > LONGEST:
        raise UnsupportedError(
            f"{x.shape[1]} columns: a row must fit into registers, {LONGEST} columns at most"
        )


def fused(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Keep a row in registers between its statistics and its result; see `forward`."""
    return forward(x, weight, bias)[0]


OPERATOR = Operator(
    name="layer_norm",
    summary="layer norm of rows: (x - mean) / √(variance + 1e-5) · weight + bias",
    variants=(
        Variant("naive", naive, "mean, variance, normalise, scale and shift term by term"),
        Variant("builtin", builtin, "torch.nn.functional.layer_norm"),
        Variant("compiled", compiled, "torch.compile of naive"),
        Variant("triton", fused, "a row in registers, one read; weight and bias stay there"),
    ),
    axes=("rows", "columns"),
    cases=(
        Case((67, 129), "float32", first_in="quick"),
        Case((16384, 4096), "float32", first_in="quick"),
        Case((16384, 4096), "bfloat16"),
        Case((8192, 8192), "float32"),
        Case((8192, 8192), "bfloat16"),
        Case((131104, 16384), "bfloat16", first_in="full"),
    ),
    make_inputs=make_inputs,
    reference=reference,
    cost=cost,
    tolerance=tolerance,
)
