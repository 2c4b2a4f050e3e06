"""Which Triton kernels a variant can launch, told from its code."""

from __future__ import annotations

import pytest
import torch

from kernels._matmul_tiles import relu
from kernels.harness import discovery
from kernels.harness.reach import kernels_of
from kernels.layer_norm import fused
from kernels.matmul_relu import two_steps


@pytest.mark.parametrize("name", discovery.names())
def test_triton_variants_have_kernels_and_no_others_do(name: str) -> None:
    for variant in discovery.load(name).variants:
        assert bool(kernels_of(variant.run)) == variant.name.startswith("triton"), variant.name


def test_kernels_are_found_through_what_a_function_calls() -> None:
    assert [kernel.__name__ for kernel in kernels_of(fused)] == ["layer_norm_kernel"]


def test_an_attribute_of_the_name_of_a_kernel_is_no_kernel() -> None:
    """``torch.relu`` in a module that has a kernel ``relu``."""
    assert two_steps.__globals__["relu"] is relu
    assert torch.equal(two_steps(-torch.ones(1, 1), torch.ones(1, 1)), torch.zeros(1, 1))
    assert not kernels_of(two_steps)
