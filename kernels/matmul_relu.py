"""Matrix product with a ReLU behind it: the operator that lives on the tensor cores.

    C = relu(A @ B)        A is (m, k), B is (k, n), C is (m, n), all row-major

``2 * m * n * k`` FLOPs stand against ``(m*k + k*n + m*n) * itemsize`` bytes. At 4096**3 in
bfloat16 that is 1365 FLOPs a byte, far right of any GPU's ridge: what counts is to keep the tensor
cores fed, and to spend no time on anything else.

The naive variant runs a second kernel for the ReLU, which reads C and writes it again: about a
tenth of the time at 4096**3. The others apply it to the accumulators while they are in registers.

``triton_basic`` gives each program one tile of C. Its threads compute an address for every 16
bytes they load, and wait for the tile's store before the next tile's first loads. ``triton``

- lets the copy engine (TMA) fetch whole blocks by a descriptor of the matrix: one instruction a
  block, no addresses, no masks, and the tensor cores read what arrived from shared memory;
- takes tiles of 128 x 256: each element of A serves 256 products, each of B 128;
- walks the tiles in groups of rows, so that programs that run at one time share rows of A and
  columns of B in L2;
- starts one program a multiprocessor, which takes every so many-th tile, in one flat loop over
  tiles and steps: the next tile's first blocks are on their way while this one is stored;
- shares out the tiles of the last wave, which is seldom a full one, along k.

Its kernel is in `kernels._matmul_streamed`.

TMA wants rows that start at multiples of 16 bytes. Those of 4097 columns do not; ``triton`` first
copies such a matrix into padded rows, n**2 work that buys n**3 work at full speed.

Float32 comes in two precisions, the cases' labels: ``tf32`` keeps 11 bits of each operand and runs
on tensor cores, ``ieee`` computes in float32 throughout, on the ordinary units. Hopper's tensor
cores read TF32 from shared memory only along k, and B's rows run along n: left as it is, each
block would be turned through registers, at a third of the library's speed. ``triton`` transposes
B first, by the kernel of `kernels.transpose`, n**2 work again. For ``ieee`` the ordinary units,
not the loads, set the pace: there ``triton`` is the pointer kernel too, in grouped order.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Iterator

import torch
import triton
import triton.language as tl

from kernels._matmul_streamed import GROUP, LINE_BYTES, Shares, launch_descriptors
from kernels._matmul_tiles import Tile, choose, place, relu, store_parts
from kernels.harness.inputs import normal
from kernels.harness.spec import Case, Cost, Inputs, Operator, Tolerance, UnsupportedError, Variant
from kernels.transpose import tiled

STAGES = {9: 4, 10: 3}
"""Blocks of A and of B that 227 KiB of shared memory hold, by major capability: on 10 a tile's sums
pass through too. Older chips have no TMA, others less shared memory: they take pointers."""


def make_inputs(case: Case, device: str, generator: torch.Generator | None) -> Inputs:
    """Draw A and B from the standard normal distribution; add the precision of float32 products."""
    m, n, k = case.shape
    a = normal((m, k), case.dtype, device, generator)
    b = normal((k, n), case.dtype, device, generator)
    return a, b, precision_of(case)


def precision_of(case: Case) -> str:
    """Return ``"tf32"`` for cases of that label, else ``"ieee"``; only float32 heeds it."""
    return "tf32" if "tf32" in case.labels else "ieee"


def cost(case: Case) -> Cost:
    """Read A and B once, write C once; one multiplication and one addition a product."""
    m, n, k = case.shape
    size = getattr(torch, case.dtype).itemsize
    return Cost(
        read_bytes=(m * k + k * n) * size,
        write_bytes=m * n * size,
        flops=2 * m * n * k,
        summed=k,
    )


def tolerance(case: Case) -> Tolerance:
    """Accept what rounding does to sums of k products of standard normal numbers.

    Such a sum is about sqrt(k), and so are its partial sums: k additions in float32 err by about
    ``k * 2**-24`` together. The worst of 2**24 elements errs 4.4 times as much on an H200; 8 times
    is allowed.

    16-bit results are rounded once more. PyTorch also lets cuBLAS split k, round each part's sum
    to 16 bits and add those: parts of several times sqrt(k) may cancel, and each errs by up to
    half a unit of its size. Of the allowance for that, cuBLAS uses 0.6 at 4097**3 in bfloat16.

    TF32 chops both operands to 10 bits behind the point: products err by up to ``2**-9``.
    """
    k = case.shape[2]
    scale = math.sqrt(k)
    summing = 8 * k * 2**-24
    if precision_of(case) == "tf32":
        return Tolerance(rtol=2**-9, atol=6 * scale * 2**-10 + summing)
    unit = {"float32": 2**-23, "bfloat16": 2**-7, "float16": 2**-10}[case.dtype]
    return Tolerance(rtol=2 * unit, atol=3 * scale * unit + summing)


def reference(a: torch.Tensor, b: torch.Tensor, _precision: str = "ieee") -> torch.Tensor:
    """Compute the product in float64, whatever the precision."""
    return (a.double() @ b.double()).relu_()


@contextlib.contextmanager
def float32_products(precision: str) -> Iterator[None]:
    """Let PyTorch multiply float32 matrices in ``"tf32"`` or in ``"ieee"`` within this context."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def two_steps(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Write the formula down."""
    return torch.relu(a @ b)


@functools.cache
def fused_by_compiler() -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """Return `two_steps` under ``torch.compile``; asked for when needed, as this loads Inductor."""
    return torch.compile(two_steps, dynamic=False, mode="max-autotune-no-cudagraphs")


def naive(a: torch.Tensor, b: torch.Tensor, precision: str = "ieee") -> torch.Tensor:
    """Run the library's matrix product, then a kernel for the ReLU."""
    with float32_products(precision):
        return two_steps(a, b)


def compiled(a: torch.Tensor, b: torch.Tensor, precision: str = "ieee") -> torch.Tensor:
    """Let ``torch.compile`` time templates and the library when a shape is first met."""
    with float32_products(precision):
        return fused_by_compiler()(a, b)


def with_bias(a: torch.Tensor, b: torch.Tensor, precision: str = "ieee") -> Inputs:
    """Set up the builtin variant: add the bias of zeros that its epilogue demands."""
    return a, b, a.new_zeros(b.shape[1]), precision


def builtin(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor, precision: str) -> torch.Tensor:
    """Run cuBLASLt with bias and ReLU in its epilogue.

    For a k or n of one PyTorch falls back to two kernels, so those are refused.
    """
    if min(b.shape) < 2:
        raise UnsupportedError(
            f"the library fuses its epilogue for k and n of at least 2, not {tuple(b.shape)}"
        )
    with float32_products(precision):
        return torch._addmm_activation(bias, a, b, use_gelu=False)


@triton.jit
def pointer_kernel(  # noqa: PLR0913, PLR0917 - a kernel has no other way to be told
    a_ptr, b_ptr, c_ptr, m, n, k, a_row, a_column, b_row, b_column,
    block_m: tl.constexpr, block_n: tl.constexpr, block_k: tl.constexpr, group: tl.constexpr,
    precision: tl.constexpr,
):  # fmt: skip
    """Compute one tile of C; A and B may have any strides, counted in elements.

    What is beyond an edge is read as zero. The masks split no access if extents are even by 16.
    """
    tile_m, tile_n = place(tl.program_id(0), tl.cdiv(m, block_m), tl.cdiv(n, block_n), group)
    rows = tile_m.to(tl.int64) * block_m + tl.arange(0, block_m)
    columns = tile_n.to(tl.int64) * block_n + tl.arange(0, block_n)
    inner = tl.arange(0, block_k)
    a_at = a_ptr + rows[:, None] * a_row + inner.to(tl.int64)[None, :] * a_column
    b_at = b_ptr + inner.to(tl.int64)[:, None] * b_row + columns[None, :] * b_column
    total = tl.zeros((block_m, block_n), tl.float32)
    for start in range(0, k, block_k):
        a = tl.load(a_at, mask=(rows < m)[:, None] & (inner < k - start)[None, :], other=0.0)
        b = tl.load(b_at, mask=(inner < k - start)[:, None] & (columns < n)[None, :], other=0.0)
        total = tl.dot(a, b, total, input_precision=precision)
        a_at += block_k * a_column
        b_at += block_k * b_row
    store_parts(c_ptr, relu(total), tile_m * block_m, tile_n * block_n, m, n, False, 2)


def launch_pointers(a: torch.Tensor, b: torch.Tensor, precision: str, group: int) -> torch.Tensor:
    """Launch one program a tile of 128 x 128.

    A step along k is 128 bytes of a row of A, or half of it, lest registers spill, where odd
    extents make each element a load of its own.
    """
    m, k, n = *a.shape, b.shape[1]
    c, tiles = a.new_empty((m, n)), triton.cdiv(m, 128) * triton.cdiv(n, 128)
    step = (LINE_BYTES // 2 if k % 16 or n % 16 else LINE_BYTES) // a.itemsize
    pointer_kernel[(tiles,)](
        a, b, c, m, n, k, *a.stride(), *b.stride(), block_m=128, block_n=128, block_k=step,
        group=group, precision=precision, num_warps=8, num_stages=3,
    )  # fmt: skip
    return c


def basic(a: torch.Tensor, b: torch.Tensor, precision: str = "ieee") -> torch.Tensor:
    """Give each program one tile, in row-major order; inputs may have any strides."""
    if not (a.numel() and b.numel()):
        return a.new_zeros((a.shape[0], b.shape[1]))
    return launch_pointers(a, b, precision, group=1)


def chip(device: torch.device) -> tuple[int, int]:
    """Return capability (major) and multiprocessors; the interpreter's few share many tiles."""
    if device.type == "cpu":
        return 9, 3
    properties = torch.cuda.get_device_properties(device)
    return properties.major, properties.multi_processor_count


def streamed(
    a: torch.Tensor,
    b: torch.Tensor,
    precision: str = "ieee",
    tile: Tile | None = None,
    shares: Shares | None = None,
) -> torch.Tensor:
    """Fetch blocks by TMA in a persistent kernel; without tensor cores or TMA, use pointers.

    TMA reads a matrix whose rows are contiguous, and 16 bytes aligned; any other is copied first.
    So is B for ``tf32``: its copy is the transpose, whose rows run along k.
    """
    if not (a.numel() and b.numel()):
        return a.new_zeros((a.shape[0], b.shape[1]))
    major, processors = chip(a.device)
    turned = a.itemsize == 4
    if major not in STAGES or (turned and precision == "ieee"):
        return launch_pointers(a, b, precision, GROUP)
    tile = tile or choose(a.shape[0], b.shape[1], a.itemsize, processors)
    tile = tile._replace(num_stages=min(tile.num_stages, STAGES[major]))
    return launch_descriptors(a, tiled(b) if turned else b, tile, processors, shares)


VARIANTS = (
    Variant("naive", naive, "torch.relu(a @ b): two kernels"),
    Variant("builtin", builtin, "cuBLASLt with a ReLU epilogue", setup=with_bias),
    Variant("compiled", compiled, "torch.compile of naive, max-autotune"),
    Variant("triton_basic", basic, "a tile a program, through pointers, in row-major order"),
    Variant("triton", streamed, "persistent, blocks by TMA, grouped order, last wave shared out"),
)

OPERATOR = Operator(
    name="matmul_relu",
    summary="Matrix product and ReLU: max(A·B, 0)",
    variants=VARIANTS,
    axes=("m", "n", "k"),
    cases=(
        Case((67, 129, 33), "bfloat16", first_in="quick"),
        Case((4096, 4096, 4096), "bfloat16", first_in="quick"),
        Case((8192, 8192, 8192), "bfloat16"),
        Case((4096, 11008, 4096), "bfloat16"),
        Case((4097, 4097, 4097), "bfloat16"),
        Case((4096, 4096, 4096), "float16"),
        Case((4096, 4096, 4096), "float32", labels=("tf32",)),
        Case((4096, 4096, 4096), "float32", labels=("ieee",)),
        Case((8192, 8192, 8192), "float16", first_in="full"),
        Case((4096, 11008, 4096), "float16", first_in="full"),
        Case((65536, 32896, 64), "bfloat16", first_in="full"),
    ),
    make_inputs=make_inputs,
    reference=reference,
    cost=cost,
    tolerance=tolerance,
)
