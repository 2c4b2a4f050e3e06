"""From a kernel's name, or a column of them, to the parts that it says."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import asdict, fields

import pandas as pd

from parsers.names import aten, libraries, recipes, templates
from parsers.names.kernel import KernelName
from parsers.names.symbol import Symbol

# The first that knows the name of a function reads it: the more special before the more general.
_READERS: tuple[Callable[[Symbol], KernelName | None], ...] = (
    libraries.read_inductor,
    libraries.read_nccl,
    libraries.read_primitives,
    libraries.read_flash,
    recipes.read,
    libraries.read_cudnn,
    templates.read_cutlass,
    templates.read_cublas,
    aten.read,
)
_COLUMNS = [field.name for field in fields(KernelName)]
_INTEGERS = ("stages", "alignment")


def decode(name: str, triton_kernels: Collection[str] = ()) -> KernelName:
    """Read what a kernel's name says; what it does not say stays None.

    Nothing is guessed: a name without a library's marks is unknown. That holds for a user's
    Triton kernels, which are named as any C function is.

    Parameters
    ----------
    name
        As Nsight, c++filt or torch's profiler demangle it; of a mangled name the function alone is
        read.
    triton_kernels
        Names known to be Triton kernels, such as the column ``kernel`` of the frame ``builds``.

    Examples
    --------
    >>> decode("triton_poi_fused_add_mul_tanh_0").operation
    'add_mul_tanh'
    >>> decode("gelu_kernel") == KernelName()
    True
    >>> decode("gelu_kernel", triton_kernels={"gelu_kernel"}) == KernelName("Triton")
    True
    """
    symbol = Symbol(name)
    readers = _READERS if symbol.base else ()
    for read in (libraries.read_copy, *readers):
        if known := read(symbol):
            return known
    return KernelName("Triton") if name in triton_kernels else KernelName()


def decode_names(names: pd.Series, triton_kernels: Collection[str] = ()) -> pd.DataFrame:
    """Decode a column of names, each distinct one once.

    Returns
    -------
    DataFrame
        The fields of `KernelName` as columns, with the index of ``names``: strings, and integers
        (Int64) for ``stages`` and ``alignment``. NA where a name does not say it or is NA.
    """
    codes, distinct = pd.factorize(names)
    rows = [asdict(decode(str(name), triton_kernels)) for name in distinct]
    # One more row, all NA: factorize gives -1, the last, where the name is NA.
    table = pd.DataFrame([*rows, {}], columns=_COLUMNS, dtype="object")
    types = {column: "Int64" if column in _INTEGERS else "string" for column in _COLUMNS}
    return table.astype(types).take(codes).set_axis(names.index)
