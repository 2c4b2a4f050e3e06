"""Kernels of ATen, PyTorch's own operators."""

from __future__ import annotations

import re

from parsers.names.kernel import (
    CXX_DTYPES,
    FLOATING,
    KernelName,
    cxx_dtypes,
    distinct,
    first_match,
)
from parsers.names.short import WRAPPERS, applied_to
from parsers.names.symbol import Symbol, arguments

# Kernels of ATen's unnamed namespaces, and those that no other library names so.
_OWN = re.compile(
    r"(?:vectorized|unrolled|index|_scatter_gather)_elementwise_kernel"
    r"|distribution_elementwise_grid_stride_kernel|elementwise_kernel_with_index"
    r"|cunn_SoftMax\w+|softmax_warp_(?:for|back)ward|vectorized_layer_norm_kernel"
    r"|CatArrayBatchedCopy\w*"
)

_FAMILIES = (
    (r"elementwise_kernel_with_index", "elementwise"),
    (r"softmax|SoftMax", "softmax"),
    (r"[Ll]ayer_?[Nn]orm|RowwiseMoments|GammaBeta|(?:batch|group|rms)_?norm|(?:Group|RMS)Norm",
     "normalization"),
    (r"distribution_|dropout", "random"),
    (r"_loss_", "loss"),
    (r"[Ss]ort", "sort"),
    (r"[Tt]op_?[Kk]", "select"),
    (r"scan|cumsum|cumprod", "scan"),
    (r"index|gather|scatter|[Ee]mbedding", "index"),
    (r"CatArray", "copy"),
    (r"pool", "pooling"),
    (r"upsample", "resampling"),
    (r"conv_", "convolution"),
    (r"reduce_kernel", "reduce"),
    (r"elementwise|multi_tensor_apply", "elementwise"),
)  # fmt: skip
_APPLIED = ((r"^FillFunctor", "fill"), (r"copy_kernel", "copy"))
_BY_ARGUMENTS = {"softmax", "normalization", "loss"}
_APPLIES = re.compile(r"elementwise|reduce_kernel|multi_tensor_apply")

_LAMBDAS = re.compile(
    r"(\w+)(?:<[^<>()]*>)?\([^()]*\)::((?:\[lambda\([^()]*\)\](?:::operator\(\)\(\) const::)?)+)"
)
_LAMBDA = re.compile(r"\[lambda\(([^()]*)\)\]")
_FUNCTOR = re.compile(r"\w*(?:Functor|_functor)\w*<")


def read(symbol: Symbol) -> KernelName | None:
    """Read a kernel of the namespace ``at``, or one known to be ATen's."""
    if not symbol.qualified.startswith("at::") and not _OWN.fullmatch(symbol.qualified):
        return None
    family = first_match(_FAMILIES, symbol.base)
    operation = _operation(symbol, family)
    if family == "elementwise" and operation:
        family = first_match(_APPLIED, operation) or family
    return KernelName("ATen", family, operation, dtypes=_dtypes(symbol, family))


def _operation(symbol: Symbol, family: str | None) -> str | None:
    if family == "softmax" and symbol.template:
        return _softmax(symbol)
    applied = applied_to(symbol.template)
    return applied or (None if _APPLIES.search(symbol.base) else symbol.base)


def _softmax(symbol: Symbol) -> str:
    """Tell softmax from its logarithm, forward from backward."""
    given = arguments(symbol.template)
    # softmax_warp_forward<input, output, accumulator, log2 of the row, is_log, is_masked>
    by_flag = symbol.base.startswith("softmax_warp_") and given[4:5] in (["1"], ["true"])
    kind = "log_softmax" if by_flag or "LogSoftMax" in symbol.template else "softmax"
    return f"{kind}_{'backward' if 'ackward' in symbol.base else 'forward'}"


def _dtypes(symbol: Symbol, family: str | None) -> str | None:
    """Return the dtypes a functor works in, or the floating ones among a kernel's arguments.

    Integers among the latter are mostly types of indices, not of elements. What a kernel loads
    may be of another dtype where it casts (``LoadWithCast``): the name does not say which.
    """
    if family in _BY_ARGUMENTS:
        given = (CXX_DTYPES.get(argument, "") for argument in arguments(symbol.template))
        return distinct(dtype for dtype in given if dtype in FLOATING)
    if family == "reduce":
        _, _, reduced = symbol.template.partition("ReduceOp<")
        return distinct(dtype for dtype in cxx_dtypes(reduced) if dtype != "uint32")
    if family in {"elementwise", "fill", "copy"} and symbol.base != "elementwise_kernel_with_index":
        return _applied_dtypes(symbol.template)
    return None


def _applied_dtypes(template: str) -> str | None:
    owned = [lambdas for owner, lambdas in _LAMBDAS.findall(template) if owner not in WRAPPERS]
    if owned:
        taken = [CXX_DTYPES.get(one.strip()) for one in _LAMBDA.findall(owned[0])[-1].split(",")]
        known = [dtype for dtype in taken if dtype]
        return distinct(known) if len(known) == len(taken) else None
    functor = _FUNCTOR.search(template)
    if not functor:
        return None
    # Up to where the functor's own brackets close.
    depth = 1
    for bracket in re.finditer(r"[<>]", template[functor.end() :]):
        depth += 1 if bracket[0] == "<" else -1
        if depth == 0:
            return distinct(cxx_dtypes(template[functor.end() :][: bracket.start()]))
    return None
