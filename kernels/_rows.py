"""What the operators on rows of a matrix share: what their Triton kernels accept."""

from __future__ import annotations

import torch

from kernels.harness.spec import UnsupportedError

DTYPES = (torch.float32, torch.bfloat16, torch.float16)


def rows_of(x: torch.Tensor) -> torch.Tensor:
    """Return a matrix whose columns lie one element apart, so that a row is one piece of memory.

    Rows may lie any distance apart. A matrix with other columns, such as a transposed one, is
    copied. Raises `UnsupportedError` for what is no matrix, or not in one of ``DTYPES``.
    """
    if x.dim() != 2:
        raise UnsupportedError(f"{x.dim()} dimensions; a matrix (rows, columns) is supported")
    if x.dtype not in DTYPES:
        names = ", ".join(str(dtype).removeprefix("torch.") for dtype in DTYPES)
        raise UnsupportedError(f"{x.dtype}; {names} are supported")
    return x if x.stride(1) == 1 else x.contiguous()
