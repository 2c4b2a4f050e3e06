"""Backward pass of softmax over rows: the gradient of the input from that of the result.

    dx = y * (dy - sum(dy * y))          for each row, with y = softmax(x)

``x`` itself is not needed: a forward pass saves its result ``y``. Both ``y`` and ``dy`` are read
once and ``dx`` is written once, so N elements need at least ``3 * N * itemsize`` bytes. Four FLOPs
an element are few. As in the forward pass, nothing can be written before the row has been read.

The naive variant is what autograd makes of the forward pass step by step: kernels that take back
the quotient, the sum and the exp one after the other. The others fuse them: ``builtin`` is
PyTorch's own backward kernel, ``compiled`` what the compiler derives from the traced graph, and
``triton`` keeps rows of ``y`` and ``dy`` in registers.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels import softmax
from kernels._autograd import compiled as compiled_again
from kernels._autograd import forward_of, gradients
from kernels._rows import rows_of
from kernels.harness.inputs import normal
from kernels.harness.spec import Case, Cost, Inputs, Operator, Tolerance, UnsupportedError, Variant

LONGEST_ROW = 16384
"""Columns of which ``triton`` can keep both inputs in registers."""


def make_inputs(case: Case, device: str, generator: torch.Generator | None) -> Inputs:
    """Draw ``x`` and ``dy`` from the standard normal distribution."""
    x = normal(case.shape, case.dtype, device, generator)
    return x, normal(case.shape, case.dtype, device, generator)


def cost(case: Case) -> Cost:
    """Read ``y`` and ``dy`` once, write ``dx`` once; four FLOPs an element."""
    size = case.elements * getattr(torch, case.dtype).itemsize
    return Cost(
        read_bytes=2 * size, write_bytes=size, flops=4 * case.elements, summed=case.shape[1]
    )


def tolerance(case: Case) -> Tolerance:
    """Accept the relative error of ``y``, and that of the sum where it cancels with ``dy``.

    ``rtol`` is that of the forward pass. The sum is off by an absolute error d, and ``dx`` by
    ``y * d``. The sum's terms have random signs, so that d shrinks with the root of the columns
    while ``y`` shrinks with their number; the largest ``y`` of a row is about ``40 / columns``.
    """
    columns = max(case.shape[1], 1)
    return {
        "float32": Tolerance(rtol=1e-5, atol=4e-4 / columns**1.5),
        "bfloat16": Tolerance(rtol=4e-2, atol=8.0 / columns**1.5),
    }[case.dtype]


def forward(x: torch.Tensor) -> torch.Tensor:
    """Compute softmax step by step, as `kernels.softmax.naive` does.

    No gradient flows through the maximum: the result does not change with it, and what would
    arrive there is rounding noise.
    """
    powers = torch.exp(x - x.amax(dim=1, keepdim=True).detach())
    return powers / powers.sum(dim=1, keepdim=True)


def reference(x: torch.Tensor, dy: torch.Tensor) -> torch.Tensor:
    """Compute the formula in float64 from ``x``."""
    y = softmax.reference(x)
    upstream = dy.double()
    sums = torch.linalg.vecdot(y, upstream, dim=1)
    return y.mul_(upstream.sub_(sums[:, None]))


@triton.jit
def softmax_backward_kernel(  # noqa: PLR0913, PLR0917 - a kernel takes pointers and sizes one by one
    y_ptr, dy_ptr, dx_ptr, n_rows, n_columns, dy_stride,
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
    at = row * n_columns + column
    if full:
        y = tl.load(y_ptr + at)
        dy = tl.load(dy_ptr + row * dy_stride + column)
    else:
        y = tl.load(y_ptr + at, mask=inside, other=0.0)
        dy = tl.load(dy_ptr + row * dy_stride + column, mask=inside, other=0.0)
    y = y.to(tl.float32)
    dy = dy.to(tl.float32)
    dx = y * (dy - tl.sum(y * dy, axis=1, keep_dims=True))
    dx = dx.to(dx_ptr.dtype.element_ty)
    if full:
        tl.store(dx_ptr + at, dx)
    else:
        tl.store(dx_ptr + at, dx, mask=inside)


def saved(x: torch.Tensor, dy: torch.Tensor) -> Inputs:
    """Run the forward pass, whose result is what the backward pass needs of ``x``."""
    return softmax.whole_rows(x), dy


def backward(
    y: torch.Tensor, dy: torch.Tensor, rows: int | None = None, num_warps: int | None = None
) -> torch.Tensor:
    """Keep whole rows of ``y`` and ``dy`` in registers; ``UnsupportedError`` for long rows.

    ``rows`` is the number of rows a program computes, ``num_warps`` its warps; by default a
    program has 1024 elements or one row, and a thread 16 of each input.
    """
    y, dy = rows_of(y).contiguous(), rows_of(dy)
    n_rows, n_columns = y.shape
    if n_columns > LONGEST_ROW:
        raise UnsupportedError(f"rows of {n_columns} columns; up to {LONGEST_ROW} are supported")
    dx = torch.empty_like(y)
    if y.numel():
        block = triton.next_power_of_2(n_columns)
        rows = rows or min(max(1024 // block, 1), 32)
        num_warps = num_warps or min(max(rows * block // 512, 1), 32)
        softmax_backward_kernel[(triton.cdiv(n_rows, rows),)](
            y, dy, dx, n_rows, n_columns, dy.stride(0),
            rows=rows, block=block, full=block == n_columns, num_warps=num_warps,
        )  # fmt: skip
    return dx


OPERATOR = Operator(
    name="softmax_backward",
    summary="backward pass of softmax over rows: y · (dy - sum(dy · y))",
    variants=(
        Variant("naive", gradients, "autograd of the naive forward", forward_of(forward)),
        Variant("builtin", gradients, "autograd of torch.softmax", forward_of(softmax.builtin)),
        Variant(
            "compiled",
            gradients,
            "autograd of torch.compile of naive",
            forward_of(compiled_again(forward)),
        ),
        Variant("triton", backward, "whole rows in registers", saved),
    ),
    axes=("rows", "columns"),
    cases=(
        Case((67, 129), "float32", first_in="quick"),
        Case((8192, 8192), "float32", first_in="quick"),
        Case((65536, 1024), "float32"),
        Case((8192, 8192), "bfloat16"),
    ),
    make_inputs=make_inputs,
    reference=reference,
    cost=cost,
    tolerance=tolerance,
)
