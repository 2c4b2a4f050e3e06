"""What holds for every test under Triton's interpreter."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from kernels.harness.interpreter import faithful


@pytest.fixture(autouse=True)
def _same_numbers() -> None:
    """Let each test draw the same random numbers in every run and on every machine."""
    torch.manual_seed(0)


@pytest.fixture(scope="session", autouse=True)
def _as_a_gpu_computes() -> Iterator[None]:
    with faithful():
        yield
