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
are twice as much traffic as x. So they are fetched when the row's statistics are known, and until
then take no registers that more rows on their way could use; and L1 is asked to keep them.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels.harness.inputs import normal
from kernels.harness.spec import Case, Cost, Inputs, Operator, Tolerance, UnsupportedError, Variant

EPS = 1e-5
DTYPES = (torch.float32, torch.bfloat16)
LONGEST = 16384
"""Columns that a block can keep in registers: 16 elements for each of 1024 threads."""


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
def layer_norm_kernel(  # noqa: PLR0913, PLR0917 - Triton passes pointers and extents one by one
    x_ptr, weight_ptr, bias_ptr, y_ptr, mean_ptr, rstd_ptr, n_rows, columns, row_stride, eps,
    rows: tl.constexpr, block: tl.constexpr, full: tl.constexpr,
):  # fmt: skip
    """Normalise ``rows`` rows at once; keep their statistics for the backward pass.

    ``full`` says that rows are exactly ``block`` long, so that the compiler can drop all masks. In
    place of rows past the end the last row is computed again. Columns that are not inside hold 0,
    so that they do not count in the mean. The caches are asked to keep ``x``, which nobody reads
    again, because an H200 then takes 1 % less time (16384 rows of 4096 columns, float32).
    """
    row = tl.program_id(0).to(tl.int64) * rows + tl.arange(0, rows)[:, None]
    row = tl.minimum(row, n_rows - 1)
    column = tl.arange(0, block)[None, :]
    inside = column < (block if full else columns)
    x = tl.load(
        x_ptr + row * row_stride + column, mask=inside, other=0.0, eviction_policy="evict_last"
    ).to(tl.float32)
    mean = tl.sum(x, axis=1, keep_dims=True) / columns
    centred = tl.where(inside, x - mean, 0.0)
    variance = tl.sum(centred * centred, axis=1, keep_dims=True) / columns
    rstd = tl.rsqrt(variance + eps)
    weight = tl.load(weight_ptr + column, mask=inside, eviction_policy="evict_last").to(tl.float32)
    bias = tl.load(bias_ptr + column, mask=inside, eviction_policy="evict_last").to(tl.float32)
    y = centred * rstd * weight + bias
    tl.store(y_ptr + row * columns + column, y.to(y_ptr.dtype.element_ty), mask=inside)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)


def forward(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    *,
    num_warps: int | None = None,
    rows: int | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the result, and mean and inverse deviation of each row in float32.

    A matrix whose columns are not adjacent is copied first; the result is contiguous.

    Parameters
    ----------
    num_warps
        Warps of a program; by default a thread gets two loads of float32, or four of two bytes.
    rows
        Rows that a program normalises; by default 16 KiB of them, up to 8.
    """
    refuse(x, weight, bias)
    x = x if x.stride(1) == 1 else x.contiguous()
    n_rows, columns = x.shape
    y = torch.empty_like(x, memory_format=torch.contiguous_format)
    mean, rstd = x.new_empty((2, n_rows), dtype=torch.float32)
    block = triton.next_power_of_2(max(columns, 1))
    size = block * x.itemsize
    rows = rows or min(max(16384 // size, 1), 8)
    num_warps = num_warps or min(max(rows * size * x.itemsize // 4096, 1), 16)
    if x.numel():
        layer_norm_kernel[(triton.cdiv(n_rows, rows),)](
            x, weight.contiguous(), bias.contiguous(), y, mean, rstd,
            n_rows, columns, x.stride(0), EPS,
            rows=rows, block=block, full=block == columns, num_warps=num_warps,
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
        Variant("triton", fused, "rows in registers, one read"),
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
