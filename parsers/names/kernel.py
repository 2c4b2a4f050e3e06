"""What a name is decoded to, and the words for dtypes and GPUs in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class KernelName:
    """What the name of a kernel says; None where it does not say it.

    Attributes
    ----------
    library
        Whose kernel it is: ATen, Inductor, Triton, cuBLAS, cuBLASLt, CUTLASS, cuDNN,
        FlashAttention, CUB, Thrust, NCCL, TensorRT, or CUDA for copies and fills by the driver.
    family
        The kind of work, such as elementwise, reduce, softmax, gemm or collective.
    operation
        What it computes: the functor, the fused operations, or the function, joined by ``_``.
    arch
        The architecture that it was written for, such as sm_90; the GPU it ran on may be newer.
        Names that say a generation alone give that, such as ``ampere``.
    tile
        Extents of a block's tile, MxN or MxNxK; for attention queries x keys, then the head.
    cluster
        Blocks of a cluster along each axis, such as 1x2 or 2x1x1.
    stages
        Depth of the pipeline that loads operands.
    layouts
        The letters of A and B as BLAS says them, ``n`` for column-major and ``t`` for row-major,
        and of a third matrix where one is named; for convolutions the order of the axes.
    dtypes
        By torch's names, joined by a space, as the library's names list them.
    alignment
        Elements to which the first operand must be aligned.
    """

    library: str | None = None
    family: str | None = None
    operation: str | None = None
    arch: str | None = None
    tile: str | None = None
    cluster: str | None = None
    stages: int | None = None
    layouts: str | None = None
    dtypes: str | None = None
    alignment: int | None = None


# As symbols spell them: sm80_xmma_gemm_bf16bf16_bf16f32_f32, ncclDevKernel_AllReduce_Sum_f32.
DTYPE_WORDS = {
    "f64": "float64",
    "f32": "float32",
    "fp32": "float32",
    "float": "float32",
    "tf32": "tf32",
    "f16": "float16",
    "fp16": "float16",
    "half": "float16",
    "bf16": "bfloat16",
    "e4m3": "float8_e4m3",
    "f8e4m3": "float8_e4m3",
    "e5m2": "float8_e5m2",
    "f8e5m2": "float8_e5m2",
    "e3m2": "float6_e3m2",
    "e2m3": "float6_e2m3",
    "e2m1": "float4_e2m1",
    "i64": "int64",
    "u64": "uint64",
    "i32": "int32",
    "s32": "int32",
    "u32": "uint32",
    "i8": "int8",
    "s8": "int8",
    "int8": "int8",
    "u8": "uint8",
}

# As C++ spells them.
CXX_DTYPES = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "__half": "float16",
    "c10::Half": "float16",
    "cutlass::half_t": "float16",
    "__nv_bfloat16": "bfloat16",
    "nv_bfloat16": "bfloat16",
    "c10::BFloat16": "bfloat16",
    "cutlass::bfloat16_t": "bfloat16",
    "cutlass::tfloat32_t": "tf32",
    "__nv_fp8_e4m3": "float8_e4m3",
    "c10::Float8_e4m3fn": "float8_e4m3",
    "cutlass::float_e4m3_t": "float8_e4m3",
    "__nv_fp8_e5m2": "float8_e5m2",
    "c10::Float8_e5m2": "float8_e5m2",
    "cutlass::float_e5m2_t": "float8_e5m2",
    "c10::complex<float>": "complex64",
    "c10::complex<double>": "complex128",
    "bool": "bool",
    "signed char": "int8",
    "unsigned char": "uint8",
    "short": "int16",
    "unsigned short": "uint16",
    "int": "int32",
    "unsigned int": "uint32",
    "long": "int64",
    "long long": "int64",
    "unsigned long": "uint64",
    "unsigned long long": "uint64",
}

FLOATING = {dtype for dtype in CXX_DTYPES.values() if re.match("b?float|tf32", dtype)}

_LONGEST_FIRST = sorted(CXX_DTYPES, key=len, reverse=True)
_CXX_DTYPE = re.compile(
    rf"(?<![\w:])(?:{'|'.join(map(re.escape, _LONGEST_FIRST))})(?![\w:])(?!\s*[*&])"
)


def cxx_dtypes(text: str) -> list[str]:
    """Return the dtypes that C++ text names, in order; pointers and references do not count."""
    return [CXX_DTYPES[word] for word in _CXX_DTYPE.findall(text)]


def distinct(dtypes: Iterable[str]) -> str | None:
    """Join dtypes, each once, in the order of their first place."""
    return " ".join(dict.fromkeys(dtypes)) or None


def joined(dtypes: Sequence[str | None]) -> str | None:
    """Join dtypes at their places; a list with an unknown one would mislead about the others."""
    known = [dtype for dtype in dtypes if dtype]
    return " ".join(known) if known and len(known) == len(dtypes) else None


def sm(digits: str | None) -> str | None:
    """Spell an architecture: ``90`` is sm_90."""
    return f"sm_{digits}" if digits else None


def first_match(table: Iterable[tuple[str, str]], text: str) -> str | None:
    """Return the word of the first row whose pattern is somewhere in the text."""
    return next((word for pattern, word in table if re.search(pattern, text)), None)
