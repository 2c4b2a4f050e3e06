"""Cross entropy of rows of logits: the loss of each token of a language model.

    loss = log(sum of exp(x)) - x[target], or 0 where the target is -100 ("ignored")

A row has as many logits as the vocabulary has tokens, say 131072, and gives one number. So this
operator only reads: ``N * itemsize`` bytes for N logits. A row that is ignored need not be read,
so the least bytes of a case count the other rows. Three FLOPs a logit, the exponential counted as
one: subtract, exponentiate, add up.

exp(x) overflows in float32 for x above 88, so the largest logit of the row is subtracted first and
added to the logarithm at the end. That costs another pass: the naive variant, and the builtin one
as well, write log-softmax for all N logits to memory, of which one a row is then picked. The Triton
variant makes one pass, with the online form of Milakov & Gimelshein 2018 (arXiv:1805.02867): where
a larger logit comes up, the sum so far is scaled down by exp(old maximum - new maximum). Each
thread keeps a maximum and a sum of its own, so that threads need not wait for each other until the
row is read. One rescaling serves all the logits that a thread loads at a time.

A block reads a whole row. Fewer rows than a GPU holds blocks leave part of it idle: a language
model has thousands.
"""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl

from kernels.harness.inputs import integers, normal
from kernels.harness.spec import Case, Cost, Inputs, Operator, Tolerance, UnsupportedError, Variant

IGNORED = -100
"""The target of a row that has no loss, as in torch.nn.functional.cross_entropy."""

IGNORE_EVERY = 3
"""With the label ``ignored``, one row in so many is: the first, the fourth and so on."""

DTYPES = (torch.float32, torch.bfloat16)

LOG2_E = tl.constexpr(1.4426950408889634)
"""exp(x) is exp2(x * LOG2_E), which is what the hardware computes. Written so, Triton leaves out
the steps for results below 2**-126, which make no difference to a sum whose largest term is 1."""


def make_inputs(case: Case, device: str, generator: torch.Generator | None) -> Inputs:
    """Draw logits and an int64 target a row."""
    rows, columns = case.shape
    logits = normal(case.shape, case.dtype, device, generator) * 2
    target = integers(columns, (rows,), device, generator)
    if "ignored" in case.labels:
        target[::IGNORE_EVERY] = IGNORED
    return logits, target


def rows_read(case: Case) -> int:
    """Return how many rows are not ignored."""
    rows = case.shape[0]
    return rows - math.ceil(rows / IGNORE_EVERY) if "ignored" in case.labels else rows


def cost(case: Case) -> Cost:
    """Read the logits of rows that count and all targets, write the loss; three FLOPs a logit."""
    rows, columns = case.shape
    itemsize = getattr(torch, case.dtype).itemsize
    logits = rows_read(case) * columns
    return Cost(
        read_bytes=logits * itemsize + rows * 8,
        write_bytes=rows * itemsize,
        flops=3 * logits,
        summed=columns,
    )


def tolerance(case: Case) -> Tolerance:
    """Accept rounding in the case's dtype: of the loss, and where stored, of log-softmax.

    The sum has positive terms only, so its relative error is at most the length times 2**-24 and in
    practice far less, as it is added up in many parts; its logarithm makes that an absolute error.
    """
    return {
        "float32": Tolerance(rtol=1e-6, atol=1e-5),
        "bfloat16": Tolerance(rtol=8e-3, atol=1e-2),
    }[case.dtype]


def naive(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Take log-softmax of all logits, then pick one a row."""
    ignored = target == IGNORED
    picks = torch.where(ignored, 0, target)
    loss = -torch.log_softmax(logits, dim=-1).gather(1, picks[:, None])[:, 0]
    return torch.where(ignored, 0.0, loss)


def reference(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Compute the formula in float64; two copies of the logits in that dtype are alive."""
    return naive(logits.double(), target)


def builtin(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Call PyTorch's own function: a log-softmax kernel, then one that picks."""
    return torch.nn.functional.cross_entropy(logits, target, ignore_index=IGNORED, reduction="none")


compiled = torch.compile(naive, dynamic=False)


@triton.jit
def absorb(tiles, largest, total):
    """Fold tiles of [threads, logits] into each thread's maximum and scaled sum.

    All tiles are needed for the maximum before the first exponential, so that all their loads are
    on their way at the same time. A thread that has met only -inf has no finite maximum; it
    subtracts 0 instead, as -inf - -inf would be NaN.
    """
    higher = largest
    for i in tl.static_range(len(tiles)):
        higher = tl.maximum(higher, tl.max(tiles[i].to(tl.float32), axis=1))
    origin = tl.where(higher == float("-inf"), 0.0, higher)
    total *= tl.exp2((largest - origin) * LOG2_E)
    for i in tl.static_range(len(tiles)):
        terms = tl.exp2((tiles[i].to(tl.float32) - origin[:, None]) * LOG2_E)
        total += tl.sum(terms, axis=1)
    return higher, total


@triton.jit
def cross_entropy_kernel(  # noqa: PLR0913, PLR0917 - Triton passes pointers and extents one by one
    logits_ptr, target_ptr, loss_ptr, top_ptr, log_sum_ptr, columns, row_stride,
    ignored: tl.constexpr, rounds: tl.constexpr, threads: tl.constexpr, width: tl.constexpr,
):  # fmt: skip
    """Compute a row's loss, and keep its maximum and the logarithm of its sum.

    A thread reads ``width`` adjacent logits at a time, ``rounds`` times before it uses any. Only
    the rest of the row that is less than all rounds needs a mask. A target beyond the row is not
    loaded: it counts as NaN.
    """
    row = tl.program_id(0).to(tl.int64)
    target = tl.load(target_ptr + row)
    if target == ignored:
        tl.store(loss_ptr + row, 0.0)
        tl.store(top_ptr + row, 0.0)
        tl.store(log_sum_ptr + row, 0.0)
    else:
        logits_ptr += row * row_stride
        within = (target >= 0) & (target < columns)
        picked = tl.load(logits_ptr + target, mask=within, other=0.0).to(tl.float32)
        step: tl.constexpr = threads * width
        offsets = tl.arange(0, threads)[:, None] * width + tl.arange(0, width)[None, :]
        largest = tl.full((threads,), float("-inf"), tl.float32)
        total = tl.zeros((threads,), tl.float32)
        whole = columns // (rounds * step) * (rounds * step)
        for start in range(0, whole, rounds * step):
            tiles = ()
            for i in tl.static_range(rounds):
                tiles += (tl.load(logits_ptr + start + i * step + offsets),)  # type: ignore[assignment]
            largest, total = absorb(tiles, largest, total)
        for start in range(whole, columns, step):
            inside = start + offsets < columns
            last = tl.load(logits_ptr + start + offsets, mask=inside, other=float("-inf"))
            largest, total = absorb((last,), largest, total)
        top = tl.max(largest, axis=0)
        log_sum = tl.log(tl.sum(total * tl.exp(largest - top), axis=0))
        log_sum = tl.where(within, log_sum, float("nan"))
        tl.store(loss_ptr + row, (log_sum + (top - picked)).to(loss_ptr.dtype.element_ty))
        tl.store(top_ptr + row, top)
        tl.store(log_sum_ptr + row, log_sum)


def forward(
    logits: torch.Tensor, target: torch.Tensor, *, num_warps: int = 8, rounds: int = 2
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return loss, maximum and log(sum of exp(x - maximum)) of each row, the last two in float32.

    All three are 0 where the row is ignored. A matrix whose columns are not adjacent is copied
    first. A target that is neither a column nor ignored makes the loss NaN, where PyTorch stops
    with an assertion; to refuse it would take a look at the values.

    Parameters
    ----------
    num_warps
        Warps that read a row.
    rounds
        Loads of 16 bytes that a thread makes before it uses the first.
    """
    refuse(logits, target)
    logits = logits if logits.stride(1) == 1 else logits.contiguous()
    rows, columns = logits.shape
    loss = logits.new_empty(rows)
    top, log_sum = logits.new_empty((2, rows), dtype=torch.float32)
    if rows:
        cross_entropy_kernel[(rows,)](
            logits, target.contiguous(), loss, top, log_sum, columns, logits.stride(0),
            ignored=IGNORED, rounds=rounds, threads=32 * num_warps, width=16 // logits.itemsize,
            num_warps=num_warps,
        )  # fmt: skip
    return loss, top, log_sum


def refuse(logits: torch.Tensor, target: torch.Tensor) -> None:
    """Raise UnsupportedError for what the kernel does not take."""
    if logits.ndim != 2 or target.shape != logits.shape[:1]:
        raise UnsupportedError(
            f"shapes {tuple(logits.shape)}, {tuple(target.shape)}: takes a matrix, a target a row"
        )
    if logits.dtype not in DTYPES or target.dtype != torch.int64:
        raise UnsupportedError(
            f"dtypes {logits.dtype}, {target.dtype}: takes logits in float32 or bfloat16"
            " and targets in int64"
        )


def fused(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Read each logit once, with a running maximum and sum; see `forward`."""
    return forward(logits, target)[0]


OPERATOR = Operator(
    name="cross_entropy",
    summary="cross entropy of rows: log(Σ exp(x)) - x[target], 0 where ignored",
    variants=(
        Variant("naive", naive, "log-softmax of all logits, then one picked"),
        Variant("builtin", builtin, "torch.nn.functional.cross_entropy"),
        Variant("compiled", compiled, "torch.compile of naive"),
        Variant("triton", fused, "one pass with a running maximum and sum a thread"),
    ),
    axes=("rows", "vocabulary"),
    cases=(
        Case((67, 1031), "float32", first_in="quick"),
        Case((8192, 131072), "bfloat16", first_in="quick"),
        Case((8192, 131072), "float32"),
        Case((8192, 32768), "bfloat16", ("ignored",)),
        Case((67, 1031), "bfloat16", ("ignored",), first_in="quick"),
        Case((16400, 131072), "bfloat16", first_in="full"),
    ),
    make_inputs=make_inputs,
    reference=reference,
    cost=cost,
    tolerance=tolerance,
)
