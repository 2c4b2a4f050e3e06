# mypy: disallow-untyped-decorators=False, disallow-untyped-defs=False
# mypy: disallow-untyped-calls=False, disallow-incomplete-defs=False
"""Small kernels, each with one property that a build must show."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from kernels.harness.spec import Case, Cost, Inputs, Operator, Tolerance, Variant

VECTOR = Case((4096,), "float32")
MATRIX = Case((1024, 1024), "float16")


def make_inputs(case: Case, device: str, generator: torch.Generator | None) -> Inputs:
    del generator
    return (torch.empty(case.shape, dtype=getattr(torch, case.dtype), device=device),)


def operator(
    *variants: tuple[str, Callable[..., torch.Tensor]], cases: Sequence[Case] = (VECTOR,)
) -> Operator:
    return Operator(
        name="toy",
        summary="for tests",
        variants=tuple(Variant(name, run, "for tests") for name, run in variants),
        axes=("n",) * len(cases[0].shape),
        cases=tuple(cases),
        make_inputs=make_inputs,
        reference=lambda x: x.double(),
        cost=lambda case: Cost(case.elements, case.elements, 0),
        tolerance=lambda _: Tolerance(0, 0),
        baseline=variants[0][0],
    )


@triton.jit
def copy_kernel(x_ptr, y_ptr, n, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def copy(x: torch.Tensor, **options: int) -> torch.Tensor:
    y = torch.empty_like(x)
    n = x.numel()
    copy_kernel[lambda meta: (triton.cdiv(n, meta["block"]),)](x, y, n, block=512, **options)
    return y


def copy_from_second(x: torch.Tensor) -> torch.Tensor:
    return copy(x[1:])


def copy_twice(x: torch.Tensor) -> torch.Tensor:
    return copy(copy(x))


def copy_in_a_cluster(x: torch.Tensor) -> torch.Tensor:
    return copy(x, num_ctas=2)


def copy_after_failure(x: torch.Tensor) -> torch.Tensor:
    if x.sum().item() > 0:
        return x
    return copy(x)


def copy_before_failure(x: torch.Tensor) -> torch.Tensor:
    return x if copy(x).sum().item() > 0 else -x


def fails_without_kernel(x: torch.Tensor) -> torch.Tensor:
    return x if x.sum().item() > 0 else -x


def misspelled_argument(x: torch.Tensor) -> torch.Tensor:
    copy_kernel[(1,)](x, x, x.numel(), blok=512)
    return x


def persistent(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    count = torch.cuda.get_device_properties(x.device).multi_processor_count
    copy_kernel[(count,)](x, y, x.numel(), block=512)
    return y


compiled_copy = torch.compile(copy)
wide_copy = functools.partial(copy, num_warps=8)


@triton.autotune(
    configs=[
        triton.Config({"block": 256}, num_warps=2),
        triton.Config({"block": 1024}, num_warps=4),
        triton.Config({"block": 1 << 20}, num_warps=4),
    ],
    key=["n"],
    prune_configs_by={
        "early_config_prune": lambda configs, named, **_: [
            config for config in configs if config.kwargs["block"] <= named["n"]
        ]
    },
)
@triton.heuristics({"even": lambda given: given["n"] % given["block"] == 0})
@triton.jit
def tuned_kernel(x_ptr, y_ptr, n, block: tl.constexpr, even: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    if even:
        tl.store(y_ptr + at, tl.load(x_ptr + at))
    else:
        tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def tuned(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    n = x.numel()
    tuned_kernel[lambda meta: (triton.cdiv(n, meta["block"]),)](x, y, n)
    return y


@triton.jit
def spill_kernel(x_ptr, y_ptr, block: tl.constexpr):
    at = tl.arange(0, block)
    x = tl.load(x_ptr + at)
    tl.store(y_ptr + at, x / tl.sum(x))


def spill(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    spill_kernel[(1,)](x, y, block=4096, num_warps=1, maxnreg=32)
    return y


@triton.jit
def dot_kernel(x_ptr, y_ptr, size, m: tl.constexpr, n: tl.constexpr, k: tl.constexpr):
    rows, columns, inner = tl.arange(0, m), tl.arange(0, n), tl.arange(0, k)
    total = tl.zeros((m, n), tl.float32)
    for start in range(0, size, k):
        a = tl.load(x_ptr + rows[:, None] * size + start + inner[None, :])
        b = tl.load(x_ptr + (start + inner[:, None]) * size + columns[None, :])
        total = tl.dot(a, b, total)
    tl.store(y_ptr + rows[:, None] * size + columns[None, :], total.to(tl.float16))


def dot(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    dot_kernel[(1,)](x, y, x.shape[0], m=64, n=64, k=64)
    return y


def dot_in_much_memory(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    dot_kernel[(1,)](x, y, x.shape[0], m=128, n=128, k=64, num_warps=8, num_stages=7)
    return y


@triton.jit
def broken_kernel(x_ptr, block: tl.constexpr):
    tl.static_assert(block < 8, "the block is too large")
    tl.store(x_ptr + tl.arange(0, block), 0.0)


def broken(x: torch.Tensor) -> torch.Tensor:
    broken_kernel[(1,)](x, block=16)
    return x


def set_tile(named: dict[str, Any]) -> None:
    named["source"].block_shape = named["target"].block_shape = [named["tile"], named["tile"]]


@triton.autotune(
    configs=[triton.Config({"tile": tile}, pre_hook=set_tile) for tile in (16, 64)], key=[]
)
@triton.jit
def tile_kernel(source, target, tile: tl.constexpr):
    row, column = tl.program_id(0) * tile, tl.program_id(1) * tile
    target.store([row, column], source.load([row, column]))


def tiles(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    source, target = (TensorDescriptor.from_tensor(one, [1, 8]) for one in (x, y))
    tile_kernel[lambda meta: (x.shape[0] // meta["tile"], x.shape[1] // meta["tile"])](
        source, target
    )
    return y
