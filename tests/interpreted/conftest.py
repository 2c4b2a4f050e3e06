"""What Triton's interpreter does otherwise here.

It multiplies bfloat16 matrices by their values, as a GPU does: it keeps bfloat16 as 16-bit
integers, and its ``tl.dot`` multiplies those. And it looks once for the builtins of its language:
by itself it does so at every call of a device function, which takes a sixth of the time.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.interpreter import InterpreterBuilder, TensorHandle


def values(handle: Any) -> Any:
    """Return an operand with its values in float32 where it is bfloat16, else as it is."""
    if handle.dtype.scalar != tl.bfloat16 or handle.data.dtype != np.uint16:
        return handle
    widened = (handle.data.astype(np.uint32) << 16).view(np.float32)
    return TensorHandle(widened, tl.float32)


@pytest.fixture(autouse=True)
def _same_numbers() -> None:
    """Let each test draw the same random numbers in every run and on every machine."""
    torch.manual_seed(0)


@pytest.fixture(scope="session", autouse=True)
def _dot_of_values() -> Iterator[None]:
    real = InterpreterBuilder.create_dot

    def create_dot(builder: Any, a: Any, b: Any, *rest: Any) -> Any:
        return real(builder, values(a), values(b), *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(InterpreterBuilder, "create_dot", create_dot)
        yield


@pytest.fixture(scope="session", autouse=True)
def _builtins_looked_for_once() -> Iterator[None]:
    @cache
    def builtins(package: Any) -> list[str]:
        return [n for n, member in inspect.getmembers(package) if tl.core.is_builtin(member)]

    def patch_builtin(package: Any, *rest: Any) -> None:
        for name in builtins(package):
            member = getattr(package, name)
            if tl.core.is_builtin(member):
                interpreter._patch_attr(package, name, member, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(interpreter, "_patch_builtin", patch_builtin)
        yield
