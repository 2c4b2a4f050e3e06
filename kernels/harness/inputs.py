"""Draw the inputs of a case, on any device; on the meta device only shapes and dtypes matter."""

from __future__ import annotations

from collections.abc import Sequence

import torch


def normal(
    shape: Sequence[int], dtype: str, device: str, generator: torch.Generator | None
) -> torch.Tensor:
    """Return a tensor of the standard normal distribution; uninitialised without a generator."""
    chosen: torch.dtype = getattr(torch, dtype)
    if generator is None:
        return torch.empty(tuple(shape), dtype=chosen, device=device)
    return torch.randn(tuple(shape), dtype=chosen, device=device, generator=generator)


def integers(
    high: int, shape: Sequence[int], device: str, generator: torch.Generator | None
) -> torch.Tensor:
    """Return an int64 tensor drawn evenly from 0 up to below ``high``."""
    if generator is None:
        return torch.empty(tuple(shape), dtype=torch.int64, device=device)
    return torch.randint(high, tuple(shape), device=device, generator=generator)
