"""Kernels of cuBLAS and CUTLASS that C++ templates name."""

from __future__ import annotations

import re

from parsers.names.kernel import (
    CXX_DTYPES,
    DTYPE_WORDS,
    FLOATING,
    KernelName,
    cxx_dtypes,
    distinct,
    joined,
    sm,
)
from parsers.names.symbol import Symbol, arguments

_CUBLAS = re.compile(
    r"cublas(?:Lt)?::|internal::gemvx::|(?:gemv(?:2[NT]|NSP)|gemmSN|splitKreduce|gemmk1)\w*kernel"
)
_CUBLAS_FAMILIES = (
    (r"splitKreduce", "reduce", "splitk_reduce"),
    (r"gemv", "gemv", "gemv"),
    (r"gemm", "gemm", "gemm"),
    (r"dot_|nrm2|asum|reduce", "reduce", None),
)


def read_cublas(symbol: Symbol) -> KernelName | None:
    """Read cuBLAS's kernels in C++: matrix by vector, reductions of split products and others."""
    by_name = _CUBLAS.match(symbol.qualified)
    if not by_name and not re.search(r"\bcublas[A-Z]\w*Params", symbol.template):
        return None
    rows = (row for row in _CUBLAS_FAMILIES if re.search(row[0], symbol.qualified))
    _, family, operation = next(rows, ("", None, None))
    given = (CXX_DTYPES.get(argument, "") for argument in arguments(symbol.template))
    return KernelName(
        library="cuBLASLt" if symbol.qualified.startswith("cublasLt") else "cuBLAS",
        family=family,
        operation=operation or symbol.base,
        # The integers are types of indices.
        dtypes=distinct(dtype for dtype in given if dtype in FLOATING),
    )


_CONSTANTS = r"((?:cute::C<\d+>(?:, ?)?)+)"
_MAINLOOP = re.compile(
    r"Mainloop\w*?Sm(\d{2,3})\w*<(\d{1,4})(?:, ?\d+)*(?:, ?cute::tuple<([^<>]*(?:<\d+>[^<>]*)*)>)?"
)
_OPERANDS = re.compile(
    r", ?([\w:]+), ?cute::tuple<([^<>]*(?:<\d+>[^<>]*)*)>"
    r", ?([\w:]+), ?cute::tuple<([^<>]*(?:<\d+>[^<>]*)*)>"
)
_ROW_MAJOR_A = re.compile(r"\w+, ?cute::C<1>")


def mainloop(template: str) -> tuple[KernelName, str]:
    """Read the arch, stages, cluster and tile of a CUTLASS 3 main loop, and what follows the tile.

    ``MainloopSm90TmaGmmaWarpSpecialized<stages, cluster, schedule>, tile, A, stride, B, stride``;
    FlashAttention 3 writes ``CollectiveMainloopFwdSm90<stages, cluster, tile, …>``.
    """
    found = _MAINLOOP.search(template)
    if not found:
        return KernelName(), ""
    rest = template[found.end() :]
    tile = re.search(rf"cute::tuple<{_CONSTANTS}>", rest)
    read_here = KernelName(
        arch=sm(found[1]),
        stages=int(found[2]) or None,
        cluster=_extents(found[3]) if found[3] and "int" not in found[3] else None,
        tile=_extents(tile[1]) if tile else None,
    )
    return read_here, rest[tile.end() :] if tile else ""


def _extents(constants: str) -> str | None:
    return "x".join(re.findall(r"C<(\d+)>", constants)) or None


def read_cutlass(symbol: Symbol) -> KernelName | None:
    """Read CUTLASS's kernels in C++, of its second and third generation, and of its Python DSL."""
    if symbol.plain and symbol.text.startswith("kernel_cutlass_"):
        arch = re.search(r"[sS]m(\d{2,3})", symbol.text)
        family = "gemm" if re.search("gemm", symbol.text, re.IGNORECASE) else None
        return KernelName("CUTLASS", family, arch=sm(arch[1] if arch else None))
    if found := re.match(r"fmha_cutlass([FB])_(b?f16|f32)_", symbol.qualified):
        tile = re.search(r"_(\d+x\d+)_", symbol.qualified)
        arch = re.search(r"_sm(\d{2,3})$", symbol.qualified)
        return KernelName(
            library="CUTLASS",
            family="attention",
            operation=f"fmha_{'forward' if found[1] == 'F' else 'backward'}",
            arch=sm(arch[1] if arch else None),
            tile=tile[1] if tile else None,
            dtypes=DTYPE_WORDS[found[2]],
        )
    if not symbol.qualified.startswith("cutlass"):
        return None
    return _cutlass_template(symbol.template)


def _cutlass_template(template: str) -> KernelName:
    kinds = (("conv", "convolution"), ("gemm", "gemm"))
    family = next((family for word, family in kinds if f"cutlass::{word}::" in template), None)
    loop, rest = mainloop(template)
    shape = re.search(r"GemmShape<(\d+), ?(\d+), ?(\d+)>", template)
    arch = re.search(r"arch::Sm(\d{2,3})", template)
    operands = _OPERANDS.match(rest)
    layouts = None
    if operands and family == "gemm":
        a = "t" if _ROW_MAJOR_A.match(operands[2]) else "n"
        b = "n" if _ROW_MAJOR_A.match(operands[4]) else "t"
        layouts = a + b
    named = [operands[1], operands[3]] if operands else []
    return KernelName(
        library="CUTLASS",
        family=family,
        operation=family,
        arch=loop.arch or sm(arch[1] if arch else None),
        tile=loop.tile or ("x".join(shape.groups()) if shape else None),
        cluster=loop.cluster,
        stages=loop.stages,
        layouts=layouts,
        dtypes=joined([next(iter(cxx_dtypes(one)), None) for one in named]),
    )
