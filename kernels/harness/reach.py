"""Which Triton kernels the code of a function names, directly or through what it calls."""

from __future__ import annotations

import contextlib
import dis
import inspect
from collections.abc import Iterator
from types import CodeType, ModuleType
from typing import Any

from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import JITFunction, KernelInterface


def kernels_of(function: Any) -> list[Any]:
    """Return the kernels that code names; one that is autotuned or has heuristics as that.

    Kernels of PyTorch and of Triton itself are not looked for.
    """
    return list(_named_by(function, set()))


def innermost(kernel: Any) -> Any:
    """Return the ``triton.jit`` function under an autotuner or heuristics."""
    while not isinstance(kernel, JITFunction):
        kernel = kernel.fn
    return kernel


def chosen_configs(function: Any) -> dict[str, str]:
    """Return by its name the configuration that each autotuned kernel chose last."""
    chosen = {}
    for kernel in kernels_of(function):
        for layer in _layers(kernel):
            if isinstance(layer, Autotuner) and hasattr(layer, "best_config"):
                chosen[innermost(kernel).__name__] = str(layer.best_config)
    return chosen


def _layers(kernel: Any) -> Iterator[Any]:
    while not isinstance(kernel, JITFunction):
        yield kernel
        kernel = kernel.fn


def is_own(thing: Any) -> bool:
    """Whether something is not PyTorch's or Triton's own; a kernel is whose function it has."""
    while isinstance(thing, KernelInterface) and not isinstance(thing, JITFunction):
        thing = thing.fn
    module = getattr(thing, "__module__", None) or ""
    return module.partition(".")[0] not in {"torch", "triton"}


def _named_by(thing: Any, seen: set[int]) -> Iterator[Any]:
    if id(thing) in seen or not is_own(thing):
        return
    seen.add(id(thing))
    if isinstance(thing, KernelInterface):
        yield thing
    elif isinstance(thing, type):
        for member in vars(thing).values():
            yield from _named_by(member, seen)
    else:
        function = inspect.unwrap(getattr(thing, "func", thing))
        if isinstance(getattr(function, "__code__", None), CodeType):
            for value in _values_named_by(function):
                yield from _named_by(value, seen)


def _values_named_by(function: Any) -> Iterator[Any]:
    codes = list(_codes(function.__code__))
    members = {name for code in codes for name in code.co_names}
    for name in {name for code in codes for name in _global_names(code)}:
        value = function.__globals__.get(name)
        if isinstance(value, ModuleType):
            yield from (getattr(value, member, None) for member in members)
        else:
            yield value
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # a cell that has no value yet
            yield cell.cell_contents


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _global_names(code: CodeType) -> Iterator[str]:
    """Return what code looks up in its module, which ``x.name`` does not."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in {"LOAD_GLOBAL", "LOAD_NAME"}:
            yield instruction.argval
