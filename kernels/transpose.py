"""Transpose of a matrix: nothing is computed, so all that counts is how memory is accessed.

    y[j, i] = x[i, j]

Each element is read once and written once, so R rows of C columns need at least
``2 * R * C * itemsize`` bytes and no FLOPs: the bound is a copy of as many bytes. No variant stands
for it: the harness times such a copy in the same rounds as the variants.

A row of ``x`` becomes a column of ``y``, whose elements lie a whole row of ``y`` apart. DRAM and
caches move sectors of 32 bytes, and a warp is at its best when its 32 threads access a few whole
ones. Code that goes through ``x`` and ``y`` element by element can have that on one side only.

- ``naive`` stores rows of ``y`` and loads down columns of ``x``: 4 bytes of each sector are used.
- ``triton_uncoalesced`` does the opposite: it loads rows and stores down columns. Stores do not
  wait, and the L2 cache joins neighbouring ones to whole sectors if they meet there in time; yet
  each warp still asks the cache for 32 sectors at a time instead of four.
- ``triton`` takes a tile at a time and turns it on chip: threads load the tile along its rows,
  exchange elements through shared memory, and store it along its columns, 16 bytes a thread on both
  sides. Triton lays the tile out in shared memory so that no two threads of a warp meet in a bank;
  16-bit elements are turned in blocks of 8x8 by the instruction that loads matrices (ldmatrix).

A row whose length is no multiple of 16 elements starts at an address of which Triton knows too
little for wide accesses: it then takes single elements, still side by side.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels._supported import require_alike
from kernels.harness.inputs import normal
from kernels.harness.spec import (
    Case,
    Cost,
    Inputs,
    Operator,
    Tolerance,
    UnsupportedError,
    Variant,
)

TILE_BYTES = 256
"""Height and width of a tile in bytes: 16 KiB of float32 or 32 KiB of 16-bit elements."""

NUM_WARPS = 8

NARROW_TILE = (64, 32)
NARROW_WARPS = 4
"""Where accesses are narrow, each element has an address in registers, and a tile is smaller."""

ROW_BLOCK = 1024
"""Elements of a row that a program of the uncoalesced variant moves."""


def make_inputs(case: Case, device: str, generator: torch.Generator | None) -> Inputs:
    """Draw ``x`` from the standard normal distribution."""
    return (normal(case.shape, case.dtype, device, generator),)


def cost(case: Case) -> Cost:
    """Read ``x`` once, write ``y`` once."""
    size = case.elements * getattr(torch, case.dtype).itemsize
    return Cost(read_bytes=size, write_bytes=size, flops=0)


def tolerance(case: Case) -> Tolerance:  # noqa: ARG001 - the same for all
    """Accept no error: elements are moved, not computed."""
    return Tolerance(rtol=0.0, atol=0.0)


def naive(x: torch.Tensor) -> torch.Tensor:
    """Let PyTorch copy the transposed view to contiguous memory."""
    return x.t().contiguous()


def reference(x: torch.Tensor) -> torch.Tensor:
    """Return a transposed view in float64."""
    return x.double().t()


compiled = torch.compile(naive, dynamic=False)


@triton.jit
def uncoalesced_kernel(  # noqa: PLR0913, PLR0917 - pointers, extents and strides
    x_ptr, y_ptr, rows, columns, x_row, x_column, blocks_across, block: tl.constexpr
):
    """Move ``block`` elements of one row of ``x`` to a column of ``y``."""
    program = tl.program_id(0).to(tl.int64)
    row = program // blocks_across
    column = program % blocks_across * block + tl.arange(0, block)
    inside = column < columns
    values = tl.load(x_ptr + row * x_row + column * x_column, mask=inside)
    tl.store(y_ptr + column * rows + row, values, mask=inside)


def uncoalesced(x: torch.Tensor) -> torch.Tensor:
    """Load rows and store down columns; any strides. Raises as `tiled` does."""
    y = _empty_transposed(x)
    rows, columns = x.shape
    if x.numel():
        across = triton.cdiv(columns, ROW_BLOCK)
        uncoalesced_kernel[(rows * across,)](
            x, y, rows, columns, *x.stride(), across, block=ROW_BLOCK, num_warps=4
        )
    return y


def _empty_transposed(x: torch.Tensor) -> torch.Tensor:
    """Return memory for the result, or raise `UnsupportedError`."""
    if x.dim() != 2:
        raise UnsupportedError(f"{x.dim()} dimensions are not supported, only matrices, with two")
    require_alike(x)
    return torch.empty(x.shape[1], x.shape[0], dtype=x.dtype, device=x.device)


@triton.jit
def tiled_kernel(  # noqa: PLR0913, PLR0917 - pointers, extents and strides
    x_ptr,
    y_ptr,
    rows,
    columns,
    x_row,
    x_column,
    tiles_down,
    block_rows: tl.constexpr,
    block_columns: tl.constexpr,
):
    """Turn one tile. Only tiles at the edge are masked, for masks may split wide accesses.

    Programs go down ``x``: those that run at a time write long pieces of rows of ``y``.
    """
    program = tl.program_id(0).to(tl.int64)
    first_row = program % tiles_down * block_rows
    first_column = program // tiles_down * block_columns
    row = first_row + tl.arange(0, block_rows)
    column = first_column + tl.arange(0, block_columns)
    x_ptrs = x_ptr + row[:, None] * x_row + column[None, :] * x_column
    y_ptrs = y_ptr + column[:, None] * rows + row[None, :]
    if first_row + block_rows <= rows and first_column + block_columns <= columns:
        tl.store(y_ptrs, tl.trans(tl.load(x_ptrs)))
    else:
        tile = tl.load(x_ptrs, mask=(row[:, None] < rows) & (column[None, :] < columns))
        inside = (column[:, None] < columns) & (row[None, :] < rows)
        tl.store(y_ptrs, tl.trans(tile), mask=inside)


def tiled(
    x: torch.Tensor, *, tile: tuple[int, int] | None = None, num_warps: int | None = None
) -> torch.Tensor:
    """Transpose a matrix of any strides in one hand-written kernel; the result is contiguous.

    Tile and warps follow, unless they are given, from whether Triton can make accesses wide.

    Raises
    ------
    UnsupportedError
        Unless ``x`` has two dimensions and is float16, bfloat16 or float32.
    """
    y = _empty_transposed(x)
    rows, columns = x.shape
    if x.numel():
        wide = rows % 16 == 0 and x.stride(0) % 16 == 0
        side = TILE_BYTES // x.itemsize
        tile = tile or ((side, side) if wide else NARROW_TILE)
        warps = num_warps or (NUM_WARPS if wide else NARROW_WARPS)
        down, across = triton.cdiv(rows, tile[0]), triton.cdiv(columns, tile[1])
        tiled_kernel[(down * across,)](
            x, y, rows, columns, *x.stride(), down, *tile, num_warps=warps
        )
    return y


OPERATOR = Operator(
    name="transpose",
    summary="Transpose of a matrix: y = xᵀ, contiguous",
    variants=(
        Variant("naive", naive, "x.t().contiguous()"),
        Variant("compiled", compiled, "torch.compile of naive"),
        Variant(
            "triton_uncoalesced", uncoalesced, "a Triton kernel that loads rows, stores columns"
        ),
        Variant("triton", tiled, "a Triton kernel that turns tiles on chip"),
    ),
    axes=("rows", "columns"),
    cases=(
        Case((67, 129), "float32", first_in="quick"),
        Case((8192, 8192), "float32", first_in="quick"),
        Case((8192, 8192), "bfloat16"),
        Case((8192, 4096), "float32"),
        Case((4099, 2053), "float32"),
        Case((67, 129), "float16", first_in="full"),
        Case((46349, 46349), "bfloat16", first_in="full"),
    ),
    make_inputs=make_inputs,
    reference=reference,
    cost=cost,
    tolerance=tolerance,
)
