"""Softmax over the rows of a matrix: a reduction whose result every element needs.

    m = max(x),  y = exp(x - m) / sum(exp(x - m))          for each row x

Each element is read once and written once, so N elements need at least ``2 * N * itemsize`` bytes.
Five FLOPs an element (maximum, subtraction, exp, addition, division, each counted as one) are far
fewer than a GPU could do meanwhile. The difficulty is that nothing can be written before the whole
row has been read: a row must stay on the chip from its first element to its last, or be read again.

The naive variant writes each step to memory: five kernels, 8 crossings of DRAM instead of 2. The
Triton variants differ in where a row waits:

- ``triton`` keeps whole rows in registers. That ends at 32768 columns, where the 64 registers that
  each of 1024 threads may have are half full of data.
- ``triton_online`` reads a row in tiles, and keeps a running maximum and a running sum: when the
  maximum grows, the sum so far is scaled down (Milakov and Gimelshein, "Online normalizer
  calculation for softmax", 2018). A second pass writes. It reads the tiles again in reverse order,
  so that what was read last, and may still lie in L1 or L2, comes first; the end of the row never
  left the registers.
- ``triton_split`` cuts a row in pieces for many programs, so that it waits in L2, in
  `kernels._softmax_split`.
- ``triton_resident`` cuts it so that it waits in the registers of many SMs, and nothing is read
  twice, in `kernels._softmax_resident`.

A row that is -inf throughout gives NaN, as do rows that hold NaN or +inf.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels._rows import rows_of
from kernels._softmax_resident import power, resident
from kernels._softmax_split import split
from kernels.harness.inputs import normal
from kernels.harness.spec import Case, Cost, Inputs, Operator, Tolerance, UnsupportedError, Variant

LONGEST_ROW = 32768
"""Columns that ``triton`` can keep in registers."""

NEAR_BYTES = 192 * 1024
"""What L1 can keep of a row while the rest passes it by; an SM has 256 KiB with shared memory."""


def make_inputs(case: Case, device: str, generator: torch.Generator | None) -> Inputs:
    """Draw ``x`` from the standard normal distribution.

    With the label ``minus_inf``, as masked scores have it: a tenth of the elements is -inf, every
    other row begins with a stretch of -inf of random length, and every 64th is -inf throughout.
    """
    x = normal(case.shape, case.dtype, device, generator)
    if "minus_inf" in case.labels and generator is not None:
        rows, columns = case.shape
        draws = torch.rand((rows, columns), device=device, generator=generator)
        x.masked_fill_(draws < 0.1, -torch.inf)
        lengths = draws[:, :1] * columns
        lengths[::2] = 0
        lengths[63::64] = columns
        x.masked_fill_(torch.arange(columns, device=device) < lengths, -torch.inf)
    return (x,)


def cost(case: Case) -> Cost:
    """Read ``x`` once, write the result once; five FLOPs an element."""
    size = case.elements * getattr(torch, case.dtype).itemsize
    return Cost(read_bytes=size, write_bytes=size, flops=5 * case.elements, summed=case.shape[1])


def tolerance(case: Case) -> Tolerance:
    """Accept the rounding of ``x - m``, which exp turns into a relative error of the result.

    With ``|x - m|`` up to 12, float32 rounds ``(x - m) * log2(e)`` by 1e-6. The sum, of positive
    terms, adds about ``2**-24 * sqrt(columns)``, 2e-5 at 131072 columns if it were one chain of
    additions; no variant has one that long. Step by step in bfloat16, ``x - m`` is rounded by
    2**-5, and exp, sum and quotient by 2**-9 each; in float16 by an eighth of that. Results of
    float16 below 6e-5 are spaced by 6e-8.
    """
    return {
        "float32": Tolerance(rtol=1e-5, atol=1e-30),
        "bfloat16": Tolerance(rtol=6e-2, atol=1e-30),
        "float16": Tolerance(rtol=5e-3, atol=6e-8),
    }[case.dtype]


def naive(x: torch.Tensor) -> torch.Tensor:
    """Compute maximum, difference, exp, sum and quotient, each in a kernel of its own."""
    shifted = x - x.amax(dim=1, keepdim=True)
    powers = torch.exp(shifted)
    return powers / powers.sum(dim=1, keepdim=True)


def reference(x: torch.Tensor) -> torch.Tensor:
    """Compute the formula in float64, in place where it can be."""
    powers = x.double()
    powers.sub_(powers.amax(dim=1, keepdim=True)).exp_()
    return powers.div_(powers.sum(dim=1, keepdim=True))


def builtin(x: torch.Tensor) -> torch.Tensor:
    """Call PyTorch's own fused kernel."""
    return torch.softmax(x, dim=1)


compiled = torch.compile(naive, dynamic=False)


@triton.jit
def softmax_kernel(  # noqa: PLR0913, PLR0917 - a kernel takes pointers and sizes one by one
    x_ptr, y_ptr, n_rows, n_columns, x_stride,
    rows: tl.constexpr, block: tl.constexpr, full: tl.constexpr,
):  # fmt: skip
    """Compute ``rows`` rows at once, each in one piece of ``block`` columns, in float32.

    ``full`` says that rows are exactly ``block`` long, so that no mask narrows the accesses. In
    place of rows past the end the last row is computed again.
    """
    row = tl.program_id(0).to(tl.int64) * rows + tl.arange(0, rows)[:, None]
    row = tl.minimum(row, n_rows - 1)
    column = tl.arange(0, block)[None, :]
    inside = column < n_columns
    if full:
        x = tl.load(x_ptr + row * x_stride + column).to(tl.float32)
    else:
        x = tl.load(x_ptr + row * x_stride + column, mask=inside, other=-float("inf"))
        x = x.to(tl.float32)
    powers = tl.exp(x - tl.max(x, axis=1, keep_dims=True))
    y = powers * (1.0 / tl.sum(powers, axis=1, keep_dims=True))
    y = y.to(y_ptr.dtype.element_ty)
    if full:
        tl.store(y_ptr + row * n_columns + column, y)
    else:
        tl.store(y_ptr + row * n_columns + column, y, mask=inside)


def whole_rows(
    x: torch.Tensor, rows: int | None = None, num_warps: int | None = None
) -> torch.Tensor:
    """Keep whole rows in registers: one read, one write; ``UnsupportedError`` for long rows.

    ``rows`` is the number of rows a program computes, ``num_warps`` its warps; by default a
    program has 1024 elements or one row, and a thread 16 of them, or 32 in the longest rows.
    """
    x = rows_of(x)
    n_rows, n_columns = x.shape
    if n_columns > LONGEST_ROW:
        raise UnsupportedError(f"rows of {n_columns} columns; up to {LONGEST_ROW} are supported")
    y = torch.empty((n_rows, n_columns), dtype=x.dtype, device=x.device)
    if y.numel():
        block = triton.next_power_of_2(n_columns)
        rows = rows or min(max(1024 // block, 1), 32)
        num_warps = num_warps or min(max(rows * block // 512, 1), 32)
        softmax_kernel[(triton.cdiv(n_rows, rows),)](
            x, y, n_rows, n_columns, x.stride(0),
            rows=rows, block=block, full=block == n_columns, num_warps=num_warps,
        )  # fmt: skip
    return y


@triton.jit
def absorb(top, total, x):
    """Take a tile into the running maximum and the running sum that each of its columns has.

    ``top`` is never below the lowest finite number, so that -inf minus -inf does not come up and
    elements of -inf add exp(-inf) = 0. NaN and +inf turn ``total`` into NaN for good.
    """
    x = x.to(tl.float32)
    higher = tl.maximum(top, tl.max(x, axis=0))
    return higher, total * power(top - higher) + tl.sum(power(x - higher[None, :]), axis=0)


@triton.jit
def online_kernel(  # noqa: PLR0913, PLR0917
    x_ptr, y_ptr, n_rows, n_columns, x_stride, far, tiles,
    depth: tl.constexpr, held: tl.constexpr, width: tl.constexpr,
):  # fmt: skip
    """Compute row after row, each in ``tiles`` tiles that are read twice and a held end.

    A tile is ``depth`` pieces of ``width`` columns, which is what all threads of the program read
    in one access each; the end is up to ``held`` such pieces. Maximum and sum are kept by column of
    a tile, so that threads exchange data once a row and not once a tile. The first ``far`` tiles
    and the end bypass L1, so that it still has the tiles between them when they are read again.
    """
    piece = tl.arange(0, width)[None, :]
    tile = tl.arange(0, depth)[:, None] * width + piece
    end = tiles * (depth * width) + tl.arange(0, held)[:, None] * width + piece
    inside = end < n_columns
    for row in range(tl.program_id(0).to(tl.int64), n_rows, tl.num_programs(0)):
        source = x_ptr + row * x_stride
        target = y_ptr + row * n_columns
        top = tl.full([width], -3.4028234663852886e38, tl.float32)
        total = tl.zeros([width], tl.float32)
        for t in range(far):
            x = tl.load(source + t * (depth * width) + tile, cache_modifier=".cg")
            top, total = absorb(top, total, x)
        for t in range(far, tiles):
            x = tl.load(source + t * (depth * width) + tile)
            top, total = absorb(top, total, x)
        kept = tl.load(source + end, mask=inside, other=-float("inf"), cache_modifier=".cg")
        top, total = absorb(top, total, kept)
        highest = tl.max(top, axis=0)
        scale = 1.0 / tl.sum(total * power(top - highest), axis=0)
        last = power(kept.to(tl.float32) - highest) * scale
        tl.store(target + end, last.to(y_ptr.dtype.element_ty), mask=inside, cache_modifier=".cs")
        for t in range(tiles):
            start = (tiles - 1 - t) * (depth * width)
            x = tl.load(source + start + tile, eviction_policy="evict_first")
            y = power(x.to(tl.float32) - highest) * scale
            tl.store(target + start + tile, y.to(y_ptr.dtype.element_ty), cache_modifier=".cs")


def online(
    x: torch.Tensor,
    depth: int | None = None,
    held: int | None = None,
    num_warps: int | None = None,
    programs: int | None = None,
    near: int = NEAR_BYTES,
) -> torch.Tensor:
    """Read rows in tiles with a running maximum and sum, then again, in reverse order, to write.

    ``depth`` and ``held`` are the accesses of 16 bytes by each thread in a tile and in the end of
    a row that stays in registers: by default 32 and 64 elements, or 32 and 32 of two bytes, since
    their conversion to float32 takes registers too. ``near`` is the bytes of a row that L1 is to
    keep. ``programs`` bounds the rows that are under way at once and so wait in L2; by default
    every row has a program, of which an SM has room for one where rows are long.
    """
    x = rows_of(x)
    n_rows, n_columns = x.shape
    y = torch.empty((n_rows, n_columns), dtype=x.dtype, device=x.device)
    if y.numel():
        num_warps = num_warps or min(max(triton.next_power_of_2(n_columns) // 512, 1), 16)
        width = num_warps * 32 * 16 // x.element_size()
        pieces = triton.next_power_of_2(triton.cdiv(n_columns, width))
        held = min(held or (16 if x.element_size() == 4 else 4), pieces)
        depth = min(depth or 2 * x.element_size(), held)
        tiles = triton.cdiv(max(n_columns - held * width, 0), depth * width)
        far = max(tiles - near // (depth * width * x.element_size()), 0)
        online_kernel[(min(programs or n_rows, n_rows),)](
            x, y, n_rows, n_columns, x.stride(0), far, tiles,
            depth=depth, held=held, width=width, num_warps=num_warps,
        )  # fmt: skip
    return y


OPERATOR = Operator(
    name="softmax",
    summary="softmax over rows: exp(x - max) / sum(exp(x - max))",
    variants=(
        Variant("naive", naive, "maximum, difference, exp, sum and quotient, a kernel each"),
        Variant("builtin", builtin, "torch.softmax"),
        Variant("compiled", compiled, "torch.compile of naive"),
        Variant("triton", whole_rows, "whole rows in registers"),
        Variant("triton_online", online, "rows in tiles, running maximum and sum, two passes"),
        Variant("triton_split", split, "rows in pieces, summarised and then written from L2"),
        Variant("triton_resident", resident, "rows in pieces, in registers of many SMs, one read"),
    ),
    axes=("rows", "columns"),
    cases=(
        Case((67, 129), "float32", first_in="quick"),
        Case((37, 20011), "float32", first_in="quick"),
        Case((8192, 8192), "float32", first_in="quick"),
        Case((65536, 1024), "float32"),
        Case((4096, 131072), "float32"),
        Case((8192, 8192), "bfloat16"),
        Case((8192, 8192), "float32", ("minus_inf",)),
        Case((16400, 131072), "bfloat16", first_in="full"),
    ),
    make_inputs=make_inputs,
    reference=reference,
    cost=cost,
    tolerance=tolerance,
)
