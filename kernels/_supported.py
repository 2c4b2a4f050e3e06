"""What the element-wise Triton kernels take: refuse the rest before anything is launched."""

from __future__ import annotations

import torch

from kernels.harness.spec import UnsupportedError

DTYPES = ("float16", "bfloat16", "float32")
"""Dtypes that a kernel computes in float32, whichever of them is in memory."""


def require_alike(*tensors: torch.Tensor) -> None:
    """Raise `UnsupportedError` unless tensors share a shape, a device and one of `DTYPES`."""
    first = tensors[0]
    if first.dtype not in {getattr(torch, name) for name in DTYPES}:
        raise UnsupportedError(f"{first.dtype} is not supported, only {', '.join(DTYPES)}")
    for other in tensors[1:]:
        if other.shape != first.shape:
            shapes = f"{tuple(first.shape)} and {tuple(other.shape)}"
            raise UnsupportedError(f"shapes {shapes} differ: only equal ones are supported")
        if other.dtype != first.dtype:
            raise UnsupportedError(
                f"{first.dtype} and {other.dtype} differ: only equal dtypes are supported"
            )
        if other.device != first.device:
            raise UnsupportedError(
                f"{first.device} and {other.device} differ: only one device is supported"
            )
