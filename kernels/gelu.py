"""GeLU, tanh form: an element-wise operator that only moves memory.

    gelu(x) = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))

Each element is read once and written once, so a case of N elements needs at least
``2 * N * itemsize`` bytes. Nine FLOPs an element, the tanh counted as one, stay far below what a
GPU does in the time that it takes to move them: a variant is as good as the bytes it moves.

The naive variant writes the formula down term by term. Each of its nine operations is a kernel of
its own that reads its operands from DRAM and writes its result back, 22 crossings in all where
two would do. The others fuse the formula into one kernel.
"""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl

from kernels._supported import require_alike
from kernels.harness.inputs import normal
from kernels.harness.spec import Case, Cost, Inputs, Operator, Tolerance, Variant

SQRT_2_OVER_PI = math.sqrt(2 / math.pi)
CUBIC = 0.044715

BLOCK_BYTES = 4096
"""Bytes that a program reads: two loads of 16 bytes a thread with four warps."""

NUM_WARPS = 4

PIECE = 2**26
"""Elements that the reference takes at a time: in float64, half a gibibyte a temporary."""


def make_inputs(case: Case, device: str, generator: torch.Generator | None) -> Inputs:
    """Draw ``x`` from a normal distribution of spread 3, so that both tails are exercised."""
    return (normal(case.shape, case.dtype, device, generator) * 3,)


def cost(case: Case) -> Cost:
    """Read ``x`` once, write the result once; nine FLOPs an element."""
    size = case.elements * getattr(torch, case.dtype).itemsize
    return Cost(read_bytes=size, write_bytes=size, flops=9 * case.elements)


def tolerance(case: Case) -> Tolerance:
    """Accept rounding in the case's dtype; nothing is summed up, so it does not grow with size.

    Term by term in bfloat16, 1 + tanh is rounded to an error of 2**-8 where x is about -2; in
    float16 of 2**-11.
    """
    return {
        "float32": Tolerance(rtol=1e-5, atol=1e-6),
        "float16": Tolerance(rtol=2e-3, atol=2.5e-3),
        "bfloat16": Tolerance(rtol=1.6e-2, atol=2e-2),
    }[case.dtype]


def naive(x: torch.Tensor) -> torch.Tensor:
    """Write the formula term by term: nine element-wise kernels."""
    return 0.5 * x * (1 + torch.tanh(SQRT_2_OVER_PI * (x + CUBIC * x * x * x)))


def reference(x: torch.Tensor) -> torch.Tensor:
    """Compute the formula in float64, a piece at a time to spare memory."""
    return torch.cat([naive(piece.double()) for piece in x.reshape(-1).split(PIECE)]).view(x.shape)


def builtin(x: torch.Tensor) -> torch.Tensor:
    """Call PyTorch's own fused kernel."""
    return torch.nn.functional.gelu(x, approximate="tanh")


compiled = torch.compile(naive, dynamic=False)


@triton.jit
def gelu_of(x):
    """Compute in float32: x / 2 * (1 + tanh(u)) equals x / (1 + exp(-2u)), exact in both tails."""
    x = x.to(tl.float32)
    u = 0.7978845608028654 * (x + 0.044715 * x * x * x)
    return x / (1.0 + tl.exp(-2.0 * u))


@triton.jit
def gelu_kernel(x_ptr, y_ptr, n_elements, block: tl.constexpr):
    """Compute ``block`` consecutive elements, in float32 whatever the dtype in memory.

    Only the last block may be partial. The others go without a mask: one that ends at an odd
    element would split the 16-byte accesses of every block into single elements.
    """
    start = tl.program_id(0).to(tl.int64) * block
    offsets = start + tl.arange(0, block)
    if start + block <= n_elements:
        y = gelu_of(tl.load(x_ptr + offsets))
        tl.store(y_ptr + offsets, y.to(y_ptr.dtype.element_ty))
    else:
        inside = offsets < n_elements
        y = gelu_of(tl.load(x_ptr + offsets, mask=inside))
        tl.store(y_ptr + offsets, y.to(y_ptr.dtype.element_ty), mask=inside)


def fused(x: torch.Tensor, *, block: int | None = None, num_warps: int = NUM_WARPS) -> torch.Tensor:
    """Fuse the formula into one hand-written Triton kernel.

    A tensor that is not contiguous is copied first; the result is contiguous.

    Raises
    ------
    UnsupportedError
        For dtypes other than float16, bfloat16 and float32.
    """
    require_alike(x)
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel():
        block = block or BLOCK_BYTES // x.itemsize
        grid = (triton.cdiv(x.numel(), block),)
        gelu_kernel[grid](x, y, x.numel(), block=block, num_warps=num_warps)
    return y


OPERATOR = Operator(
    name="gelu",
    summary="GeLU, tanh form: x/2 · (1 + tanh(√(2/π) · (x + 0.044715·x³)))",
    variants=(
        Variant("naive", naive, "the formula term by term in PyTorch"),
        Variant("builtin", builtin, "torch.nn.functional.gelu"),
        Variant("compiled", compiled, "torch.compile of naive"),
        Variant("triton", fused, "one hand-written Triton kernel"),
    ),
    axes=("rows", "columns"),
    cases=(
        Case((67, 129), "float32", first_in="quick"),
        Case((8192, 8192), "float32", first_in="quick"),
        Case((8192, 8192), "bfloat16"),
        Case((16384, 16384), "float32"),
        Case((4099, 2053), "float32"),
        Case((67, 129), "float16", first_in="full"),
        Case((46349, 46349), "bfloat16", first_in="full"),
    ),
    make_inputs=make_inputs,
    reference=reference,
    cost=cost,
    tolerance=tolerance,
)
