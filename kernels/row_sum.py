"""Sums of the rows of a matrix: the plainest reduction.

Each element is read once; what is written is small. N elements need at least ``N * itemsize``
bytes and N additions, so a variant is as good as the bandwidth it reads with.

The naive variant multiplies the matrix with a vector of ones. That is right and reads the matrix
once too, but the library's kernel for such a product has been made for other shapes, and the ones
are written and read as well. (``torch.compile`` knows the trick and turns the product back into a
sum.) The Triton variants differ in how many programs share a row:

- ``triton`` gives a program whole rows. It adds tile after tile onto accumulators, one a column of
  the tile, so that threads exchange data once, at the end. With fewer rows than a GPU has SMs,
  most of it has nothing to do.
- ``triton_split`` cuts rows into chunks of a fixed length, a program each, whatever the shape. A
  second kernel adds the sums of the chunks, always in the same order: where atomic additions would
  save that kernel, the result would change from run to run.

Errors. Added up in one float32 accumulator, N normal terms give a random walk whose rounding
errors reach about ``2**-24 * N / 2.4``; K accumulators in parallel, added up at the end, divide
that by about ``sqrt(K)``.
"""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl

from kernels._rows import rows_of
from kernels.harness.inputs import normal
from kernels.harness.spec import Case, Cost, Inputs, Operator, Tolerance, Variant

CHUNK = 32768
"""Elements of a row that a program of ``triton_split`` adds up."""


def make_inputs(case: Case, device: str, generator: torch.Generator | None) -> Inputs:
    """Draw ``x`` from the standard normal distribution: its sums cancel, so errors show."""
    return (normal(case.shape, case.dtype, device, generator),)


def cost(case: Case) -> Cost:
    """Read ``x`` once, write a sum a row; an addition an element."""
    size = getattr(torch, case.dtype).itemsize
    return Cost(
        read_bytes=size * case.elements,
        write_bytes=size * case.shape[0],
        flops=case.elements,
        summed=case.shape[1],
    )


def tolerance(case: Case) -> Tolerance:
    """Accept half the error of a single float32 accumulator, which grows with the columns.

    Large sums of many rows reach 4 times the error of a typical one, so this asks for some 100
    accumulators or more: 1e-3 at 16384 columns, 1 at 2**24. Short rows are summed in pairs or less,
    with the error of a few roundings. Sums in two bytes are rounded once in the result, and once
    more in partial sums of about the same size where a library keeps those in two bytes.
    """
    columns = case.shape[1]
    float32 = 2.0**-24 * (columns / 5 + 8 * math.sqrt(columns))
    bits = {"float32": 24, "bfloat16": 8, "float16": 11}[case.dtype]
    if case.dtype == "float32":
        return Tolerance(rtol=1e-6, atol=float32)
    return Tolerance(rtol=2.0 ** (1 - bits), atol=2.0**-bits * math.sqrt(columns) + float32)


def naive(x: torch.Tensor) -> torch.Tensor:
    """Multiply with a vector of ones."""
    return torch.mv(x, torch.ones(x.shape[1], dtype=x.dtype, device=x.device))


def reference(x: torch.Tensor) -> torch.Tensor:
    """Sum in float64."""
    return x.sum(dim=1, dtype=torch.float64)


def builtin(x: torch.Tensor) -> torch.Tensor:
    """Call PyTorch's own reduction."""
    return x.sum(dim=1)


compiled = torch.compile(naive, dynamic=False)


@triton.jit
def tiles_of(pointers, n_columns, rows: tl.constexpr, block: tl.constexpr):
    """Return the sums over ``n_columns`` columns of ``rows`` rows that begin at ``pointers``.

    Only the last tile may be partial. The others go without a mask, so that their accesses are as
    wide as the distance of the rows allows.
    """
    column = tl.arange(0, block)[None, :]
    sums = tl.zeros([rows, block], tl.float32)
    whole = n_columns // block * block
    for start in range(0, whole, block):
        sums += tl.load(pointers + (start + column)).to(tl.float32)
    if whole < n_columns:
        inside = whole + column < n_columns
        sums += tl.load(pointers + (whole + column), mask=inside, other=0.0).to(tl.float32)
    return tl.sum(sums, axis=1)


@triton.jit
def rows_kernel(
    x_ptr, sum_ptr, n_rows, n_columns, x_stride, rows: tl.constexpr, block: tl.constexpr
):
    """Sum ``rows`` rows at once, in tiles of ``block`` columns.

    In place of rows past the end the last row is read again, and not written.
    """
    row = tl.program_id(0).to(tl.int64) * rows + tl.arange(0, rows)
    pointers = x_ptr + tl.minimum(row, n_rows - 1)[:, None] * x_stride
    sums = tiles_of(pointers, n_columns, rows, block)
    tl.store(sum_ptr + row, sums.to(sum_ptr.dtype.element_ty), mask=row < n_rows)


@triton.jit
def chunks_kernel(
    x_ptr, partial_ptr, n_columns, x_stride, chunks, chunk: tl.constexpr, block: tl.constexpr
):
    """Sum one chunk of one row; chunks of a row follow each other in the grid."""
    program = tl.program_id(0).to(tl.int64)
    start = program % chunks * chunk
    pointers = x_ptr + program // chunks * x_stride + start + tl.zeros([1, 1], tl.int32)
    sums = tiles_of(pointers, tl.minimum(n_columns - start, chunk), 1, block)
    tl.store(partial_ptr + program + tl.arange(0, 1), sums)


def whole_rows(
    x: torch.Tensor,
    rows: int | None = None,
    block: int | None = None,
    num_warps: int | None = None,
) -> torch.Tensor:
    """Give each program whole rows.

    ``rows`` rows of a program are read together in tiles of ``block`` columns; by default a tile
    has 1024 elements, or up to 8192 of one row, and a thread 16 to 32 of them.
    """
    x = rows_of(x)
    n_rows, n_columns = x.shape
    sums = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    if n_rows:
        block = block or min(triton.next_power_of_2(max(n_columns, 1)), 8192)
        rows = rows or min(max(1024 // block, 1), 32)
        num_warps = num_warps or min(max(rows * block // 512, 1), 8)
        rows_kernel[(triton.cdiv(n_rows, rows),)](
            x, sums, n_rows, n_columns, x.stride(0), rows=rows, block=block, num_warps=num_warps
        )
    return sums


def split_rows(
    x: torch.Tensor, chunk: int = CHUNK, block: int = 4096, num_warps: int = 8
) -> torch.Tensor:
    """Give each program a chunk of ``chunk`` elements of a row, then add the chunks' sums."""
    x = rows_of(x)
    n_rows, n_columns = x.shape
    chunks = max(triton.cdiv(n_columns, chunk), 1)
    partial = torch.empty((n_rows, chunks), dtype=torch.float32, device=x.device)
    sums = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    if n_rows:
        chunks_kernel[(n_rows * chunks,)](
            x, partial, n_columns, x.stride(0), chunks,
            chunk=chunk, block=block, num_warps=num_warps,
        )  # fmt: skip
        width = min(triton.next_power_of_2(chunks), 1024)
        rows = max(256 // width, 1)
        rows_kernel[(triton.cdiv(n_rows, rows),)](
            partial, sums, n_rows, chunks, chunks, rows=rows, block=width, num_warps=4
        )
    return sums


OPERATOR = Operator(
    name="row_sum",
    summary="sums of rows",
    variants=(
        Variant("naive", naive, "matrix times a vector of ones"),
        Variant("builtin", builtin, "Tensor.sum"),
        Variant("compiled", compiled, "torch.compile of naive"),
        Variant("triton", whole_rows, "whole rows a program, tile by tile onto accumulators"),
        Variant(
            "triton_split", split_rows, "rows cut into chunks, whose sums a second kernel adds"
        ),
    ),
    axes=("rows", "columns"),
    cases=(
        Case((67, 129), "float32", first_in="quick"),
        Case((16384, 16384), "float32", first_in="quick"),
        Case((65536, 1024), "float32"),
        Case((16, 2**24), "float32"),
        Case((16400, 131072), "bfloat16", first_in="full"),
    ),
    make_inputs=make_inputs,
    reference=reference,
    cost=cost,
    tolerance=tolerance,
)
