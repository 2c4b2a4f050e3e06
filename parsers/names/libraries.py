"""Kernels of Inductor, cuDNN, FlashAttention, CUB, Thrust, NCCL, and the driver's own copies."""

from __future__ import annotations

import re

from parsers.names.kernel import DTYPE_WORDS, KernelName, cxx_dtypes, distinct, first_match, sm
from parsers.names.symbol import Symbol
from parsers.names.templates import mainloop

_INDUCTOR = re.compile(r"triton_(poi|per|red|tem|for|spl|mix|unk)_fused_(?:(.+?)_)?(\d+)$")
_INDUCTOR_FAMILIES = {
    "poi": "pointwise",
    "per": "persistent_reduction",
    "red": "reduction",
    "tem": "template",
    "for": "foreach",
    "spl": "split_scan",
    "mix": "mix_order_reduction",
}


def read_inductor(symbol: Symbol) -> KernelName | None:
    """Read triton_poi_fused_add_mul_tanh_0: its kind, what it fuses, and its number."""
    found = _INDUCTOR.match(symbol.text)
    if not found:
        return None
    return KernelName("Inductor", _INDUCTOR_FAMILIES.get(found[1]), found[2])


_COPY = re.compile(
    r"\[?CUDA (?:Unified Memory )?mem(cpy|set)\b *([\w-]*)|Mem(cpy|set) (?:(\w+) )?\(",
    re.IGNORECASE,
)
_DIRECTIONS = {"host": "H", "device": "D", "peer": "P", "array": "A"}


def read_copy(symbol: Symbol) -> KernelName | None:
    """Read ``[CUDA memcpy HtoD]``, ``[CUDA memcpy Host-to-Device]``, ``Memset (Device)``."""
    found = _COPY.match(symbol.raw.strip())
    if not found:
        return None
    kind = (found[1] or found[3]).lower()
    ends = re.split(r"-?to-?", found[2] or found[4] or "")
    short = "to".join(_DIRECTIONS.get(end.lower(), end) for end in ends)
    operation = f"mem{kind}_{short}" if short else f"mem{kind}"
    return KernelName("CUDA", "copy" if kind == "cpy" else "fill", operation)


_NCCL = re.compile(r"nccl(?:Symk?)?(?:Dev)?Kernel_([A-Za-z]+)(\w*)")
_NCCL_OLD = re.compile(r"nccl([A-Z][A-Za-z]+?)(?:Ring|Tree|CollNet)\w*?Kernel(_\w+)")
_NCCL_REDUCTION = re.compile(r"_(MinMax|PreMulSum|SumPostDiv|Sum|Prod|Min|Max)(?=_|$)", re.I)
_NCCL_DTYPE = re.compile(r"_(f8e4m3|f8e5m2|b?f16|f32|f64|[iu](?:8|32|64)|float|half)(?=_|$)")
_REDUCING = {"AllReduce", "Reduce", "ReduceScatter"}


def read_nccl(symbol: Symbol) -> KernelName | None:
    """Read ncclDevKernel_AllReduce_Sum_f32_RING_LL and what older versions call it.

    Collectives that only move data name a reduction and a dtype in older versions
    (ncclKernel_AllGather_RING_LL_Sum_int8_t): these say nothing and are left out.
    """
    found = _NCCL.match(symbol.qualified) or _NCCL_OLD.match(symbol.qualified)
    if not found:
        return None
    collective, rest = found.groups()
    if collective == "Generic":
        return KernelName("NCCL")
    family = "point_to_point" if collective == "SendRecv" else "collective"
    if collective not in _REDUCING:
        return KernelName("NCCL", family, collective)
    reduction, dtype = _NCCL_REDUCTION.search(rest), _NCCL_DTYPE.search(rest)
    named = reduction[1][0].upper() + reduction[1][1:] if reduction else ""
    return KernelName(
        library="NCCL",
        family=family,
        operation=f"{collective}_{named}" if named else collective,
        dtypes=DTYPE_WORDS[dtype[1]] if dtype else None,
    )


_PRIMITIVES = (
    (r"[Ss]ort", "sort"),
    (r"[Ss]can", "scan"),
    (r"[Rr]educe|extrema", "reduce"),
    (r"copy_if|[Ss]elect|[Pp]artition|Compact|[Uu]nique", "select"),
    (r"[Hh]istogram", "histogram"),
    (r"RunLength", "run_length"),
    (r"fill", "fill"),
    (r"[Cc]opy|Memcpy", "copy"),
    (r"[Mm]erge", "merge"),
    (r"[Tt]ransform|[Ff]or_?[Ee]ach|parallel_for|tabulate", "elementwise"),
)


def read_primitives(symbol: Symbol) -> KernelName | None:
    """Read CUB's and Thrust's kernels, whatever namespace they were wrapped in."""
    spaces = symbol.qualified.split("::")[:-1]
    if "cub" in spaces:
        return KernelName("CUB", first_match(_PRIMITIVES, symbol.qualified), symbol.function)
    if "thrust" not in spaces:
        return None
    # thrust::…::_kernel_agent<…::__parallel_for::ParallelForAgent<…::__fill::functor<…
    inner = re.findall(r"\b__(\w+)::", symbol.template)
    named = [word for word in inner if word != "parallel_for"] or inner
    operation = named[0] if named else symbol.base
    return KernelName("Thrust", first_match(_PRIMITIVES, operation), operation)


_FLASH2 = re.compile(r"Flash_(?:fwd|bwd)_kernel_traits<(\d+), ?(\d+), ?(\d+),")
_FLASH3 = re.compile(r"(?:\w+::)*(?:\w+<)?(?:\w+::)*(FlashAttn\w+?)(?:Sm\d+)?<")
_FLASH_DSL = re.compile(r"kernel_cutlass_\w*?(FlashAttention(?:Forward|Backward)\w*?)Sm(\d{2,3})")
_FLASH = {"flash", "pytorch_flash"}


def read_flash(symbol: Symbol) -> KernelName | None:
    """Read FlashAttention 2, 3 and 4, in packages of their own or in PyTorch's."""
    if found := _FLASH_DSL.match(symbol.text):
        return KernelName("FlashAttention", "attention", found[1], sm(found[2]))
    if symbol.qualified.startswith("cutlass::device_kernel"):
        if found := _FLASH3.match(symbol.template):
            loop, rest = mainloop(symbol.template)
            return KernelName(
                library="FlashAttention",
                family="attention",
                operation=found[1],
                arch=loop.arch,
                tile=loop.tile,
                cluster=loop.cluster,
                stages=loop.stages,
                dtypes=next(iter(cxx_dtypes(rest)), None),
            )
        return None
    traits = _FLASH2.search(symbol.template)
    if not traits and not _FLASH & set(symbol.qualified.split("::")[:-1]):
        return None
    head, queries, keys = traits.groups() if traits else ("", "", "")
    named = cxx_dtypes(symbol.template)
    return KernelName(
        library="FlashAttention",
        family="attention",
        operation=symbol.function,
        tile=f"{queries}x{keys}x{head}" if traits else None,
        dtypes=distinct(named[:1]) if traits else None,
    )


_CUDNN_SPACE = re.compile(r"(?:xmma_)?cudnn\w*$")
_CUDNN_BARE = re.compile(r"(?:implicit|explicit|precomputed)_convolve_sgemm$|cudnn_")
_CUDNN_FAMILIES = (
    (r"sdpa|flash|fmha", "attention"),
    (r"[Cc]onv|winograd|implicit_gemm|dgrad|wgrad|fprop", "convolution"),
    (r"bn_|[Bb]atch_?[Nn]orm|[Ll]ayer_?[Nn]orm|lrn", "normalization"),
    (r"softmax", "softmax"),
    (r"pooling", "pooling"),
    (r"nchwToNhwc|nhwcToNchw", "copy"),
    (r"op_tensor|op_generic_tensor|pointwise", "elementwise"),
    (r"gemm", "gemm"),
)
_CUDNN_GENERATED = re.compile(
    r"cudnn_generated_\w*?_sm(\d{2,3})_([A-Za-z]\w*?)(?=_(?:[a-z]*mma|b?f\d|knob|tensor\d|\d)|$)"
)
_CUDNN_TILE = re.compile(r"_knob_\d+_(\d+x\d+x\d+)(?=_|$)")


def read_cudnn(symbol: Symbol) -> KernelName | None:
    """Read cuDNN's engines: generated ones, those in C++ and the old ones without a namespace.

    Generated attention says ``f16`` for either 16-bit dtype, so it is not read as one.
    """
    if found := _CUDNN_GENERATED.match(symbol.text):
        tile = _CUDNN_TILE.search(symbol.text)
        cluster = re.search(r"_cga(\d+x\d+x\d+)_", symbol.text)
        return KernelName(
            library="cuDNN",
            family=first_match(_CUDNN_FAMILIES, symbol.text),
            operation=found[2],
            arch=sm(found[1]),
            tile=tile[1] if tile else None,
            cluster=cluster[1] if cluster else None,
        )
    spaces = symbol.qualified.split("::")[:-1]
    if not any(map(_CUDNN_SPACE.match, spaces[:1])) and not _CUDNN_BARE.match(symbol.qualified):
        return None
    if spaces[:1] == ["xmma_cudnn"]:
        return KernelName("cuDNN", first_match(_CUDNN_FAMILIES, symbol.template))
    return KernelName("cuDNN", first_match(_CUDNN_FAMILIES, symbol.qualified), symbol.base)
