"""What Triton's interpreter does otherwise where the harness runs kernels on the CPU.

Triton interprets kernels where ``TRITON_INTERPRET`` is 1 when their module is imported.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any
from unittest import mock

import numpy as np
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.interpreter import InterpreterBuilder, TensorHandle

LOOKS = 1000
"""Volatile loads by one program after which it counts as waiting for another."""

GPU_ALONE = ("triton.runtime.driver", "torch.cuda")
"""Modules whose errors say that there is no GPU."""


class WaitingError(Exception):
    """A program waits for another, which the interpreter runs after it."""


@contextmanager
def faithful() -> Iterator[None]:
    """Let the interpreter compute what a GPU does, and sooner.

    It keeps bfloat16 as 16-bit integers, and its ``tl.dot`` multiplies those; here it multiplies
    their values. And it looks once for the builtins of its language: by itself it does so at every
    call of a device function, which takes a sixth of the time.
    """
    dot = InterpreterBuilder.create_dot

    def create_dot(builder: Any, a: Any, b: Any, *rest: Any) -> Any:
        return dot(builder, _values(a), _values(b), *rest)

    @cache
    def builtins(package: Any) -> list[str]:
        return [n for n, member in inspect.getmembers(package) if tl.core.is_builtin(member)]

    def patch_builtin(package: Any, *rest: Any) -> None:
        for name in builtins(package):
            member = getattr(package, name)
            if tl.core.is_builtin(member):
                interpreter._patch_attr(package, name, member, *rest)

    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(InterpreterBuilder, "create_dot", create_dot))
        stack.enter_context(mock.patch.object(interpreter, "_patch_builtin", patch_builtin))
        yield


def _values(handle: Any) -> Any:
    """Return an operand with its values in float32 where it is bfloat16, else as it is."""
    if handle.dtype.scalar != tl.bfloat16 or handle.data.dtype != np.uint16:
        return handle
    widened = (handle.data.astype(np.uint32) << 16).view(np.float32)
    return TensorHandle(widened, tl.float32)


@contextmanager
def impatient() -> Iterator[None]:
    """Raise `WaitingError` in a program that waits for another.

    The interpreter runs one program after the other, so that it would wait for ever. What others
    write is looked at by volatile loads.
    """
    load = InterpreterBuilder.create_masked_load
    at: list[Any] = [None, 0]

    def masked_load(
        builder: Any, ptrs: Any, mask: Any, other: Any, cache_policy: Any, is_volatile: bool
    ) -> Any:
        if is_volatile:
            at[:] = [builder.grid_idx, at[1] + 1 if builder.grid_idx == at[0] else 1]
            if at[1] > LOOKS:
                raise WaitingError("a program waits for others, and here they run in turn")
        return load(builder, ptrs, mask, other, cache_policy, is_volatile)

    with mock.patch.object(InterpreterBuilder, "create_masked_load", masked_load):
        yield


def lacking(error: BaseException) -> str | None:
    """Say what of a GPU or of Triton is not here, where that is what an error comes from.

    What the kernel's own code raises is the kernel's, whatever its class.
    """
    while error.__cause__ is not None:
        error = error.__cause__
    if isinstance(error, WaitingError):
        return str(error)
    origin = _origin(error)
    if isinstance(error, NotImplementedError) and origin.startswith("triton."):
        return f"Triton's interpreter lacks it: {error}"
    if isinstance(error, AttributeError) and isinstance(error.obj, InterpreterBuilder):
        return f"Triton's interpreter lacks it: {error.name}"
    return f"needs a GPU: {error}" if origin in GPU_ALONE else None


def _origin(error: BaseException) -> str:
    """Return the name of the module that raised an error."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else str(trace.tb_frame.f_globals.get("__name__", ""))
