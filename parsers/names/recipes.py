"""Kernels named by their recipe: those of cuBLAS, cuBLASLt, CUTLASS and convolutions alike."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from parsers.names.kernel import DTYPE_WORDS, KernelName, joined, sm
from parsers.names.symbol import Symbol

# What a kernel can do beside the product, by the words of all four grammars.
_FUSED = {
    "splitk": "splitk",
    "relubias": "bias_relu",
    "gelubias": "bias_gelu",
    "bias": "bias",
    "relu": "relu",
    "gelu": "gelu",
    "drelu": "drelu",
    "dgelu": "dgelu",
    "bgrada": "bgrada",
    "bgradb": "bgradb",
}
_CONVOLUTIONS = ("fprop", "dgrad", "wgrad")

_LETTERS = {
    "h": "float16",
    "s": "float32",
    "d": "float64",
    "i": "int32",
    "c": "complex64",
    "z": "complex128",
}
_NVJET_LETTERS = {
    "h": "float16",
    "t": "bfloat16",
    "s": "float32",
    "q": "float8_e4m3",
    "o": "float4_e2m1",
}
_NVJET = re.compile(r"nvjet_(?:sm(\d{2,3})_)?([a-z]{3,5})_")
_NVJET_TILE = re.compile(r"_(\d+x\d+)_(\d+)x([1-9]\d{0,3})_(\d+x\d+)(?=_|$)")
_NVJET_MMA = re.compile(r"_mma_(\d+x\d+x\d+)_")
_NVJET_LAYOUTS = re.compile(r"_([NT]{3,4})$")

_XMMA = re.compile(r"(?:\w+_)?sm(\d{2,3})_xmma_(gemm|fprop|dgrad|wgrad)_")
_XMMA_DTYPES = re.compile("|".join(sorted(filter(str.isalnum, DTYPE_WORDS), key=len, reverse=True)))
_XMMA_LIBRARIES = (("_cudnn", "cuDNN"), ("_cublas", "cuBLAS"), ("_trt", "TensorRT"))

_LEGACY = re.compile(r"(?:cudnn\w*?_|(trt)_)?(maxwell|pascal|volta|turing|ampere|ada|hopper)_")
_CUTLASS2 = re.compile(r"cutlass_(?:(\d{2,3})_)?(?:\w+_)?(?:tensorop|simt)_")
_CUTLASS3 = re.compile(r"cutlass3x_sm(\d{2,3})[a-z]?_")
_CORE = re.compile(r"(gc|[shdicz])(\d{2,6})?(tf32|bf16|f16)?(gemm|cudnn|fprop|dgrad|wgrad)")
_CORE3 = re.compile(r"[shdicz]?[\dx]*(?:tf32|bf16|f16|f8f6f4)?(gemm|fprop|dgrad|wgrad)")
_TILE = re.compile(r"\d+x\d+")
_TILE3 = re.compile(r"\d+x\d+x\d+")


def read(symbol: Symbol) -> KernelName | None:
    """Read a name made of fields by one of NVIDIA's five grammars for matrix products."""
    # void cutlass::Kernel2<cutlass_80_…>(…) holds the recipe as its template argument.
    held = re.match(r"cutlass\w*::Kernel2?$", symbol.qualified)
    name = symbol.template if held else symbol.qualified
    if not name.isidentifier():
        return None
    found = ((grammar.match(name), reader) for grammar, reader in _GRAMMARS)
    known = next((reader(name, match) for match, reader in found if match), None)
    return replace(known, library="cuDNN") if known and held and "cudnn" in held[0] else known


def _operation(kind: str, words: Sequence[str]) -> str:
    fused = (_FUSED.get(word.lower()) for word in words)
    return "_".join(dict.fromkeys([kind, *filter(None, fused)]))


def _family(kind: str) -> str:
    return "convolution" if kind in _CONVOLUTIONS else "gemm"


def _words(name: str) -> list[str]:
    return name.replace("split_k", "splitk").split("_")


def _alignment(name: str) -> int | None:
    found = re.search(r"_aligna?([1-9]\d{0,3})(?=_|$)", name)
    return int(found[1]) if found else None


def _nvjet(name: str, found: re.Match[str]) -> KernelName:
    """Read nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT.

    Dtypes of A and B (one letter where they are alike) and C, of the sum and of the result; tile;
    the tile's extent along K x stages; cluster; order of the tiles; epilogue; layouts.
    """
    tile, mma = _NVJET_TILE.search(name), _NVJET_MMA.search(name)
    layouts = _NVJET_LAYOUTS.search(name)
    return KernelName(
        library="cuBLASLt",
        family="gemm",
        operation=_operation("gemm", _words(name)),
        arch=sm(found[1]),
        tile=f"{tile[1]}x{tile[2]}" if tile else mma[1] if mma else None,
        cluster=tile[4] if tile else None,
        stages=int(tile[3]) if tile else None,
        layouts=layouts[1].lower() if layouts else None,
        dtypes=joined([_NVJET_LETTERS.get(letter) for letter in found[2]]),
    )


def _xmma(name: str, found: re.Match[str]) -> KernelName:
    """Read sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_…_aligna4_alignc4_…."""
    words = _words(name[found.end() :])
    while words and words[0] in {"implicit", "gemm", "indexed"}:
        words.pop(0)
    dtypes: list[str | None] = []
    while words and not _XMMA_DTYPES.sub("", words[0]):
        dtypes += [DTYPE_WORDS[dtype] for dtype in _XMMA_DTYPES.findall(words.pop(0))]
    layouts = []
    while words and re.fullmatch(r"[nt]{1,2}|[nchwdkrst]{3,10}", words[0]):
        layouts.append(words.pop(0))
    tile = re.search(r"_tilesize(\d+x\d+x\d+)_", name)
    cluster = re.search(r"_cga(\d+x\d+x\d+)_", name)
    stages = re.search(r"_stage([1-9]\d{0,3})_", name)
    kind = found[2]
    default = "cuBLAS" if kind == "gemm" else "cuDNN"
    return KernelName(
        library=next((library for end, library in _XMMA_LIBRARIES if end in name), default),
        family=_family(kind),
        operation=_operation(kind, words),
        arch=sm(found[1]),
        tile=tile[1] if tile else None,
        cluster=cluster[1] if cluster else None,
        stages=int(stages[1]) if stages else None,
        layouts=("" if kind == "gemm" else "_").join(layouts) or None,
        dtypes=joined(dtypes),
        alignment=_alignment(name),
    )


def _cutlass2(name: str, found: re.Match[str]) -> KernelName:
    return _recipe(name, "CUTLASS", sm(found[1])) or KernelName("CUTLASS")


def _legacy(name: str, found: re.Match[str]) -> KernelName | None:
    return _recipe(name, "TensorRT" if found[1] else "cuBLAS", found[2])


def _recipe(name: str, library: str, arch: str | None) -> KernelName | None:
    """Read cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_nn_align8 and its like.

    Dtype of the result where it is not the sum's; letter of the sum, shape of the instruction and
    its dtype; dtype of the operands; tile; the tile's extent along K x stages. cuBLAS says
    ampere_fp16_s16816gemm_fp16_128x64_ldg8_relu_f2f_stages_64x3_tn.
    """
    words = _words(name)
    core = next((i for i, word in enumerate(words) if _CORE.fullmatch(word)), None)
    found = _CORE.fullmatch(words[core]) if core is not None else None
    if core is None or not found:
        return None
    at = next((i for i, word in enumerate(words) if i > core and _TILE.fullmatch(word)), len(words))
    letter, _, instruction, kind = found.groups()
    dtypes = [DTYPE_WORDS.get(words[core - 1]), _LETTERS.get(letter)]
    dtypes += [DTYPE_WORDS.get(word) for word in (instruction or "", *words[core + 1 : at])]
    depths = [words[i] for i in range(at + 1, len(words)) if _is_depth(words, i, at)]
    depth, _, stages = depths[0].partition("x") if depths else ("", "", "")
    layouts = [word for word in words[at:] if re.fullmatch(r"[nt]{2}|n[dh]*wc", word)]
    if kind == "cudnn":
        library, kind = ("cuDNN" if library == "cuBLAS" else library), "convolution"
    return KernelName(
        library=library,
        family="convolution" if kind != "gemm" else "gemm",
        operation=_operation(kind, words[core + 1 :]),
        arch=arch,
        tile="x".join(filter(None, [*words[at : at + 1], depth])) or None,
        stages=int(stages) if stages else None,
        layouts=layouts[-1] if layouts else None,
        dtypes=" ".join(filter(None, dtypes)) or None,
        alignment=_alignment(name),
    )


def _is_depth(words: Sequence[str], i: int, tile: int) -> bool:
    """Tell ``32x3`` after the tile, or after ``stages``, from other pairs of numbers."""
    return bool(re.fullmatch(r"\d+x[1-9]\d{0,3}", words[i])) and (
        i == tile + 1 or words[i - 1] == "stages"
    )


def _cutlass3(name: str, found: re.Match[str]) -> KernelName:
    """Read cutlass3x_sm100_simt_sgemm_f32_f32_f32_f32_f32_64x64x16_1x1x1_3_nnn_align1_….

    Dtypes of A, B, the sum, C and the result, an operand's after its scale's (``ue4m3xf4``); tile;
    cluster, absent or with zeros where the launch chooses it; stages, 0 where the builder does;
    layouts of A, B and C.
    """
    words = _words(name)
    tile = next((i for i, word in enumerate(words) if _TILE3.fullmatch(word)), len(words))
    kinds = [core[1] for word in words if (core := _CORE3.fullmatch(word))]
    kind = kinds[0] if kinds else None
    after = words[tile + 1 : tile + 3]
    cluster = after[0] if after and _TILE3.fullmatch(after[0]) else ""
    stages = next((word for word in after if re.fullmatch(r"\d{1,4}", word)), "0")
    named = [_element(word) for word in words[:tile]]
    layouts = [word for word in words[tile + 1 :] if re.fullmatch(r"[nt]{3}", word)]
    return KernelName(
        library="CUTLASS",
        family=_family(kind) if kind else None,
        operation=_operation(kind, words) if kind else None,
        arch=sm(found[1]),
        tile=words[tile] if tile < len(words) else None,
        cluster=cluster if cluster and "0" not in cluster.split("x") else None,
        stages=int(stages) or None,
        layouts=layouts[0] if layouts else None,
        dtypes=" ".join(filter(None, named)) or None,
        alignment=_alignment(name),
    )


def _element(word: str) -> str | None:
    element = word.rsplit("x", maxsplit=1)[-1]
    return {"f4": "float4_e2m1", "void": "void"}.get(element) or DTYPE_WORDS.get(element)


_GRAMMARS: tuple[tuple[re.Pattern[str], Callable[[str, re.Match[str]], KernelName | None]], ...] = (
    (_NVJET, _nvjet),
    (_XMMA, _xmma),
    (_CUTLASS3, _cutlass3),
    (_CUTLASS2, _cutlass2),
    (_LEGACY, _legacy),
)
