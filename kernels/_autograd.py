"""Backward passes by autograd, for operators that measure the backward pass alone.

The forward pass is a variant's setup: it runs once and keeps the graph. The measured call walks the
graph back. Autograd launches those kernels from a thread of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from kernels.harness.spec import Inputs, Outputs

Forward = Callable[..., torch.Tensor]


def forward_of(function: Forward) -> Callable[..., Inputs]:
    """Return a setup that runs ``function`` forward and keeps its graph.

    The setup takes the arguments of ``function``, then the gradient of its result. It returns what
    `gradients` takes. Floating-point tensors among the arguments are differentiated.
    """

    def setup(*inputs: Any) -> Inputs:
        *given, upstream = inputs
        arguments = [x.detach().requires_grad_() if _differentiable(x) else x for x in given]
        leaves = tuple(x for x in arguments if _differentiable(x))
        return function(*arguments), leaves, upstream

    return setup


def _differentiable(x: Any) -> bool:
    return isinstance(x, torch.Tensor) and x.is_floating_point()


def gradients(
    result: torch.Tensor, leaves: tuple[torch.Tensor, ...], upstream: torch.Tensor
) -> Outputs:
    """Return the gradient of each leaf, given that of the result; the graph stays usable."""
    found = torch.autograd.grad(result, leaves, upstream, retain_graph=True)
    return found[0] if len(found) == 1 else found


def compiled(function: Forward) -> Forward:
    """Compile a forward function so that its backward pass may be called again and again.

    By default a compiled backward pass overwrites what the forward pass saved, and so runs once.
    """
    fast = torch.compile(function, dynamic=False)

    def call(*arguments: Any) -> torch.Tensor:
        with torch._functorch.config.patch(donated_buffer=False):
            return fast(*arguments)

    return call
