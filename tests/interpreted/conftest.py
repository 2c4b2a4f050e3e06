"""Triton's interpreter multiplies bfloat16 matrices by their values, as a GPU does.

It keeps bfloat16 as 16-bit integers, and its ``tl.dot`` multiplies those.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import triton.language as tl
from triton.runtime.interpreter import InterpreterBuilder, TensorHandle


def values(handle: Any) -> Any:
    """Return an operand with its values in float32 where it is bfloat16, else as it is."""
    if handle.dtype.scalar != tl.bfloat16 or handle.data.dtype != np.uint16:
        return handle
    widened = (handle.data.astype(np.uint32) << 16).view(np.float32)
    return TensorHandle(widened, tl.float32)


@pytest.fixture(scope="session", autouse=True)
def _dot_of_values() -> Iterator[None]:
    real = InterpreterBuilder.create_dot

    def create_dot(builder: Any, a: Any, b: Any, *rest: Any) -> Any:
        return real(builder, values(a), values(b), *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(InterpreterBuilder, "create_dot", create_dot)
        yield
