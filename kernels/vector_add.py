"""Vector addition: the least that a kernel can do for the bytes that it moves.

    z = x + y

Two elements are read and one is written, so a case of N elements needs at least
``3 * N * itemsize`` bytes, for one FLOP an element: a variant is as good as the bytes it moves.

The naive variant copies ``x``, then adds ``y`` to the copy in place. Its two kernels read and write
five times N elements where three would do, so it takes about 5/3 of the time of the others. (The
copy is written as a product with one: a plain ``clone`` of contiguous memory is a copy by the
driver, which the profilers' lists of kernels leave out.)

In the case labelled ``strided`` both inputs are every second element of a longer vector. DRAM is
read in sectors of 32 bytes, half of which are gaps, so its least bytes hold the gaps of the inputs
too: five times N elements. To copy such inputs first would cost more than to read them in place.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels._supported import require_alike
from kernels.harness.inputs import normal
from kernels.harness.spec import Case, Cost, Inputs, Operator, Tolerance, Variant

BLOCK = 1024
"""Elements a program: two loads of 16 bytes a thread and input in float32 with four warps."""

NUM_WARPS = 4

STEP = 2
"""Distance in elements between neighbours of an input in the case labelled ``strided``."""


def make_inputs(case: Case, device: str, generator: torch.Generator | None) -> Inputs:
    """Draw ``x`` and ``y`` from the standard normal distribution."""
    step = _step(case)
    x, y = (normal((step * case.elements,), case.dtype, device, generator) for _ in range(2))
    return x[::step], y[::step]


def _step(case: Case) -> int:
    return STEP if "strided" in case.labels else 1


def cost(case: Case) -> Cost:
    """Read the sectors that hold ``x`` and ``y`` once, write the sum once; one FLOP an element."""
    size = case.elements * getattr(torch, case.dtype).itemsize
    return Cost(read_bytes=2 * _step(case) * size, write_bytes=size, flops=case.elements)


def tolerance(case: Case) -> Tolerance:
    """Accept the one rounding of a sum, at most half a unit in the last place, twice over."""
    chosen: torch.dtype = getattr(torch, case.dtype)
    return Tolerance(rtol=torch.finfo(chosen).eps, atol=0.0)


def naive(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Copy ``x``, then add ``y`` to the copy in place: two kernels."""
    z = x * 1
    z += y
    return z


def reference(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Add in float64, in place: one float64 tensor is all the memory it takes."""
    return x.double().add_(y)


def builtin(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Call PyTorch's own kernel."""
    return torch.add(x, y)


compiled = torch.compile(naive, dynamic=False)


@triton.jit
def sum_of(x, y):
    """Add in float32: a sum of narrower numbers, rounded to their dtype, is rounded right."""
    return x.to(tl.float32) + y.to(tl.float32)


@triton.jit
def add_kernel(x_ptr, y_ptr, z_ptr, n_elements, x_step, y_step, block: tl.constexpr):
    """Add ``block`` elements; neighbours of ``x`` and ``y`` lie ``x_step`` and ``y_step`` apart.

    Triton compiles a step of one as a constant, which makes accesses 16 bytes wide. Only the last
    block may be partial, and only that one is masked: a mask that ends at an odd element would
    split the wide accesses of every block.
    """
    start = tl.program_id(0).to(tl.int64) * block
    offsets = start + tl.arange(0, block)
    x_ptrs = x_ptr + offsets * x_step
    y_ptrs = y_ptr + offsets * y_step
    if start + block <= n_elements:
        z = sum_of(tl.load(x_ptrs), tl.load(y_ptrs))
        tl.store(z_ptr + offsets, z.to(z_ptr.dtype.element_ty))
    else:
        inside = offsets < n_elements
        z = sum_of(tl.load(x_ptrs, mask=inside), tl.load(y_ptrs, mask=inside))
        tl.store(z_ptr + offsets, z.to(z_ptr.dtype.element_ty), mask=inside)


def fused(
    x: torch.Tensor, y: torch.Tensor, *, block: int = BLOCK, num_warps: int = NUM_WARPS
) -> torch.Tensor:
    """Add two tensors of one shape and dtype in one hand-written Triton kernel.

    Elements that lie at even distances, as in ``x[::2]``, are read in place. Any other view, such
    as a transposed one, is copied first. The result is contiguous.

    Raises
    ------
    UnsupportedError
        For shapes or dtypes that differ, and dtypes other than float16, bfloat16 and float32.
    """
    require_alike(x, y)
    z = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    if z.numel():
        flat_x, flat_y = x.reshape(-1), y.reshape(-1)
        steps = flat_x.stride(0), flat_y.stride(0)
        grid = (triton.cdiv(z.numel(), block),)
        add_kernel[grid](flat_x, flat_y, z, z.numel(), *steps, block=block, num_warps=num_warps)
    return z


OPERATOR = Operator(
    name="vector_add",
    summary="Vector addition: z = x + y",
    variants=(
        Variant("naive", naive, "copy x, then add y to the copy in place"),
        Variant("builtin", builtin, "torch.add"),
        Variant("compiled", compiled, "torch.compile of naive"),
        Variant("triton", fused, "one hand-written Triton kernel"),
    ),
    axes=("elements",),
    cases=(
        Case((100_003,), "float32", first_in="quick"),
        Case((2**28,), "float32", first_in="quick"),
        Case((2**28,), "bfloat16"),
        Case((2**28,), "float32", ("strided",)),
        Case((100_003,), "float16", first_in="full"),
        Case((2**31 + 11,), "bfloat16", first_in="full"),
    ),
    make_inputs=make_inputs,
    reference=reference,
    cost=cost,
    tolerance=tolerance,
)
