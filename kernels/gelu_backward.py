"""The backward pass of GeLU, tanh form: an element-wise operator with two inputs.

With ``s = sigmoid(2u)`` and ``u = sqrt(2 / pi) * (x + 0.044715 * x**3)``, gelu(x) is ``x * s``, so

    dx = dy * (s + x * s * (1 - s) * 2u'),    u' = sqrt(2 / pi) * (1 + 3 * 0.044715 * x**2)

Each element of ``x`` and ``dy`` is read once and one of ``dx`` is written, so a case of N elements
needs at least ``3 * N * itemsize`` bytes. Fifteen FLOPs an element, the sigmoid counted as one, are
far fewer than a GPU does in the time that it takes to move them.

The naive variant is what autograd makes of the formula written term by term: it goes back through
those operations one kernel at a time, with the intermediate results that the forward pass kept.
Those cost memory as well as time. The others keep ``x`` alone and compute the rest anew in one
kernel, for FLOPs are cheaper than bytes here.

The slope tends to 0 and 1 in the tails, yet an ``x`` that is infinite, or whose square overflows
float32, gives NaN: zero times infinity in the formula. PyTorch answers so too.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels import _autograd, gelu
from kernels._autograd import forward_of, gradients
from kernels._supported import require_alike
from kernels.harness.inputs import normal
from kernels.harness.spec import Case, Cost, Inputs, Operator, Tolerance, Variant

BLOCK_BYTES = 4096
"""Bytes of each input that a program reads: two loads of 16 bytes a thread with four warps."""

NUM_WARPS = 4

PIECE = 2**26
"""Elements that the reference takes at a time: in float64, half a gibibyte a temporary."""


def make_inputs(case: Case, device: str, generator: torch.Generator | None) -> Inputs:
    """Draw ``x`` with spread 3, so that both tails are exercised, and ``dy`` with spread 1."""
    x, dy = (normal(case.shape, case.dtype, device, generator) for _ in range(2))
    return x * 3, dy


def cost(case: Case) -> Cost:
    """Read ``x`` and ``dy`` once, write ``dx`` once; fifteen FLOPs an element."""
    size = case.elements * getattr(torch, case.dtype).itemsize
    return Cost(read_bytes=2 * size, write_bytes=size, flops=15 * case.elements)


def tolerance(case: Case) -> Tolerance:
    """Accept rounding in the case's dtype; nothing is summed up, so it does not grow with size.

    Where x is about -3, term by term, 1 - tanh**2 has lost all digits but a few and is multiplied
    by x * u', about 5, and by dy, up to 6: an absolute error of about 20 roundings.
    """
    return {
        "float32": Tolerance(rtol=1e-5, atol=1e-5),
        "float16": Tolerance(rtol=4e-3, atol=1.5e-2),
        "bfloat16": Tolerance(rtol=3e-2, atol=1e-1),
    }[case.dtype]


def reference(x: torch.Tensor, dy: torch.Tensor) -> torch.Tensor:
    """Let autograd walk the formula back in float64, a piece at a time to spare memory."""
    pieces = zip(x.reshape(-1).split(PIECE), dy.reshape(-1).split(PIECE), strict=True)
    return torch.cat([_exact(a.double(), b.double()) for a, b in pieces]).view(x.shape)


def _exact(x: torch.Tensor, dy: torch.Tensor) -> torch.Tensor:
    leaf = x.detach().requires_grad_()
    return torch.autograd.grad(gelu.naive(leaf), leaf, dy)[0]


@triton.jit
def slope_of(x):
    """Compute gelu'(x) in float32.

    With e = exp(-2|u|), s * (1 - s) is e / (1 + e)**2 on either side of zero: no digits are lost to
    a difference from one. It is multiplied by x before 2u': so a large x times zero stays zero.
    """
    x = x.to(tl.float32)
    u = 0.7978845608028654 * (x + 0.044715 * x * x * x)
    e = tl.exp(-2.0 * tl.abs(u))
    larger = 1.0 / (1.0 + e)
    smaller = e * larger
    s = tl.where(x < 0, smaller, larger)
    twice_du = 1.5957691216057308 * (1.0 + 0.134145 * x * x)
    return s + x * (smaller * larger) * twice_du


@triton.jit
def gelu_backward_kernel(x_ptr, dy_ptr, dx_ptr, n_elements, block: tl.constexpr):
    """Compute ``block`` consecutive elements, in float32 whatever the dtype in memory.

    Only the last block may be partial, and only that one is masked: a mask that ends at an odd
    element would split the 16-byte accesses of every block.
    """
    start = tl.program_id(0).to(tl.int64) * block
    offsets = start + tl.arange(0, block)
    if start + block <= n_elements:
        dx = tl.load(dy_ptr + offsets).to(tl.float32) * slope_of(tl.load(x_ptr + offsets))
        tl.store(dx_ptr + offsets, dx.to(dx_ptr.dtype.element_ty))
    else:
        inside = offsets < n_elements
        dy = tl.load(dy_ptr + offsets, mask=inside).to(tl.float32)
        dx = dy * slope_of(tl.load(x_ptr + offsets, mask=inside))
        tl.store(dx_ptr + offsets, dx.to(dx_ptr.dtype.element_ty), mask=inside)


def fused(
    x: torch.Tensor, dy: torch.Tensor, *, block: int | None = None, num_warps: int = NUM_WARPS
) -> torch.Tensor:
    """Compute ``dx`` from ``x`` and ``dy``, of one shape and dtype, in one Triton kernel.

    A tensor that is not contiguous is copied first; the result is contiguous.

    Raises
    ------
    UnsupportedError
        For shapes or dtypes that differ, and dtypes other than float16, bfloat16 and float32.
    """
    require_alike(x, dy)
    x, dy = x.contiguous(), dy.contiguous()
    dx = torch.empty_like(x)
    if x.numel():
        block = block or BLOCK_BYTES // x.itemsize
        grid = (triton.cdiv(x.numel(), block),)
        gelu_backward_kernel[grid](x, dy, dx, x.numel(), block=block, num_warps=num_warps)
    return dx


OPERATOR = Operator(
    name="gelu_backward",
    summary="Backward pass of GeLU, tanh form: dx = dy · gelu'(x)",
    variants=(
        Variant("naive", gradients, "autograd of the formula term by term", forward_of(gelu.naive)),
        Variant(
            "builtin", gradients, "autograd of torch.nn.functional.gelu", forward_of(gelu.builtin)
        ),
        Variant(
            "compiled",
            gradients,
            "autograd of torch.compile of naive",
            forward_of(_autograd.compiled(gelu.naive)),
        ),
        Variant("triton", fused, "one hand-written Triton kernel"),
    ),
    axes=("rows", "columns"),
    cases=(
        Case((67, 129), "float32", first_in="quick"),
        Case((8192, 8192), "float32", first_in="quick"),
        Case((8192, 8192), "bfloat16"),
        Case((67, 129), "float16", first_in="full"),
        Case((46349, 46349), "bfloat16", first_in="full"),
    ),
    make_inputs=make_inputs,
    reference=reference,
    cost=cost,
    tolerance=tolerance,
)
