"""Backward pass of cross entropy: the gradient of the logits.

    dlogits = (softmax(logits) - [column is target]) * dloss, or 0 where the target is -100

At least the logits are read and their gradient is written: ``2 * N * itemsize`` bytes for N logits,
of which a row that is ignored needs only the writing. Three FLOPs a logit, the exponential counted
as one: subtract, exponentiate, multiply.

Maximum and sum of a row are known from the forward pass, which is not measured. So softmax needs no
further sum, and the Triton variant is an element-wise kernel: many blocks work on a row, as
none depends on another. The naive and the builtin variant keep log-softmax of all logits from the
forward pass, in the dtype of the logits: in bfloat16 a log-softmax of -20 is rounded by up to
0.0625, and the gradient is off by 6 %. The Triton variant starts from the logits.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels import cross_entropy
from kernels._autograd import compiled, forward_of, gradients
from kernels.cross_entropy import IGNORED, LOG2_E
from kernels.harness.inputs import normal
from kernels.harness.spec import Case, Cost, Inputs, Operator, Tolerance, UnsupportedError, Variant


def make_inputs(case: Case, device: str, generator: torch.Generator | None) -> Inputs:
    """Draw what the forward pass takes, and the gradient of each row's loss."""
    forward = cross_entropy.make_inputs(case, device, generator)
    return *forward, normal(case.shape[:1], case.dtype, device, generator)


def cost(case: Case) -> Cost:
    """Read rows that count, targets and dloss, write dlogits; three FLOPs a logit that counts."""
    rows, columns = case.shape
    itemsize = getattr(torch, case.dtype).itemsize
    logits = cross_entropy.rows_read(case) * columns
    return Cost(
        read_bytes=logits * itemsize + rows * (8 + itemsize),
        write_bytes=case.elements * itemsize,
        flops=3 * logits,
    )


def tolerance(case: Case) -> Tolerance:
    """Accept an error relative to each element, for most of them are tiny.

    It is that of the exponent: of log-softmax, down to about -30 here, rounded to the case's dtype,
    in bfloat16 by up to 0.0625; the factors' roundings add to that.
    """
    return {
        "float32": Tolerance(rtol=1e-5, atol=1e-9),
        "bfloat16": Tolerance(rtol=0.1, atol=1e-9),
    }[case.dtype]


def reference(logits: torch.Tensor, target: torch.Tensor, dloss: torch.Tensor) -> torch.Tensor:
    """Compute the formula in float64; two copies of the logits in that dtype are alive."""
    counts = target != IGNORED
    gradient = torch.softmax(logits.double(), dim=-1)
    picks = torch.where(counts, target, 0)[:, None]
    gradient.scatter_add_(1, picks, gradient.new_full((1, 1), -1.0).expand_as(picks))
    gradient *= dloss.double()[:, None]
    return gradient.masked_fill_(~counts[:, None], 0.0)


@triton.jit
def cross_entropy_backward_kernel(  # noqa: PLR0913, PLR0917 - pointers and extents one by one
    logits_ptr, target_ptr, top_ptr, log_sum_ptr, dloss_ptr, dlogits_ptr,
    columns, row_stride, tiles, ignored: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """Compute ``block`` adjacent elements of a row, of which ``tiles`` blocks make one."""
    row = (tl.program_id(0) // tiles).to(tl.int64)
    column = tl.program_id(0) % tiles * block + tl.arange(0, block)
    inside = column < columns
    dlogits_ptr += row * columns
    target = tl.load(target_ptr + row)
    if target == ignored:
        zero = tl.zeros((block,), dlogits_ptr.dtype.element_ty)
        tl.store(dlogits_ptr + column, zero, mask=inside)
    else:
        x = tl.load(logits_ptr + row * row_stride + column, mask=inside).to(tl.float32)
        log_softmax = (x - tl.load(top_ptr + row)) - tl.load(log_sum_ptr + row)
        softmax = tl.exp2(log_softmax * LOG2_E)
        dloss = tl.load(dloss_ptr + row).to(tl.float32)
        gradient = tl.where(column == target.to(tl.int32), softmax - 1.0, softmax) * dloss
        tl.store(dlogits_ptr + column, gradient.to(dlogits_ptr.dtype.element_ty), mask=inside)


def with_statistics(logits: torch.Tensor, target: torch.Tensor, dloss: torch.Tensor) -> Inputs:
    """Run the forward pass for maximum and sum of each row: what `fused` takes."""
    refuse(logits, dloss)
    _, top, log_sum = cross_entropy.forward(logits, target)
    return logits, target, top, log_sum, dloss


def refuse(logits: torch.Tensor, dloss: torch.Tensor) -> None:
    """Raise UnsupportedError for what the kernel does not take, besides what forward refuses."""
    if dloss.shape != logits.shape[:1] or dloss.dtype != logits.dtype:
        raise UnsupportedError(
            f"dloss of {tuple(dloss.shape)} {dloss.dtype}: takes one a row of"
            f" {tuple(logits.shape)}, in {logits.dtype}"
        )


def fused(
    logits: torch.Tensor,
    target: torch.Tensor,
    top: torch.Tensor,
    log_sum: torch.Tensor,
    dloss: torch.Tensor,
    *,
    num_warps: int = 4,
    block: int = 2048,
) -> torch.Tensor:
    """Return dlogits from one read of the logits; rows that are ignored are not read.

    A matrix whose columns are not adjacent is copied first; the result is contiguous. A target that
    is neither a column nor ignored makes its row NaN.

    Parameters
    ----------
    num_warps
        Warps of a block.
    block
        Adjacent elements that a block computes.
    """
    refuse(logits, dloss)
    logits = logits if logits.stride(1) == 1 else logits.contiguous()
    rows, columns = logits.shape
    dlogits = torch.empty_like(logits, memory_format=torch.contiguous_format)
    tiles = triton.cdiv(columns, block)
    if logits.numel():
        cross_entropy_backward_kernel[(rows * tiles,)](
            logits, target.contiguous(), top, log_sum, dloss.contiguous(), dlogits,
            columns, logits.stride(0), tiles, ignored=IGNORED, block=block, num_warps=num_warps,
        )  # fmt: skip
    return dlogits


OPERATOR = Operator(
    name="cross_entropy_backward",
    summary="gradient of the logits: (softmax - [column is target]) · dloss, 0 where ignored",
    variants=(
        Variant(
            "naive", gradients, "autograd of the formula", setup=forward_of(cross_entropy.naive)
        ),
        Variant(
            "builtin",
            gradients,
            "autograd of torch.nn.functional.cross_entropy",
            setup=forward_of(cross_entropy.builtin),
        ),
        Variant(
            "compiled",
            gradients,
            "autograd of torch.compile of naive",
            setup=forward_of(compiled(cross_entropy.naive)),
        ),
        Variant(
            "triton",
            fused,
            "softmax anew from logits, maximum and sum: one read, one write",
            setup=with_statistics,
        ),
    ),
    axes=("rows", "vocabulary"),
    cases=(
        Case((67, 1031), "float32", first_in="quick"),
        Case((8192, 32768), "bfloat16", first_in="quick"),
        Case((4096, 131072), "float32"),
        Case((8192, 32768), "bfloat16", ("ignored",)),
        Case((67, 1031), "bfloat16", ("ignored",), first_in="quick"),
        Case((16400, 131072), "bfloat16", first_in="full"),
    ),
    make_inputs=make_inputs,
    reference=reference,
    cost=cost,
    tolerance=tolerance,
)
