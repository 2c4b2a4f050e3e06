"""Whether a variant gives the right answer on the CPU, by the check that a GPU run uses."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from kernels.harness.check import judge, same
from kernels.harness.spec import Case, Inputs, Operator


def draw(operator: Operator, case: Case, seed: int = 0) -> Inputs:
    """Draw the operator's inputs of a case."""
    return operator.make_inputs(case, "cpu", torch.Generator("cpu").manual_seed(seed))


def assert_right(
    operator: Operator, variant: str, case: Case, inputs: Inputs | None = None
) -> None:
    """Run a variant on inputs (drawn, where none are given) and compare with the reference.

    The case gives dtype and tolerance; the inputs must come out unchanged.
    """
    given = draw(operator, case) if inputs is None else inputs
    kept = tuple(x.clone() if isinstance(x, torch.Tensor) else x for x in given)
    chosen = operator.variant(variant)
    output = chosen.run(*chosen.prepare(given))
    result = judge(operator, case, given, output)
    assert result["status"] == "ok", f"{variant} on {case.name}: {result['reason']}"
    assert same(given, kept), f"{variant} on {case.name} changed its inputs"


def guarded(monkeypatch: pytest.MonkeyPatch, name: str) -> list[torch.Tensor]:
    """Let a function of torch allocate within larger buffers of 7, and return those buffers."""
    real, buffers = getattr(torch, name), []

    def allocate(*arguments: Any, **options: Any) -> torch.Tensor:
        wanted: torch.Tensor = real(*arguments, **options)
        buffer = torch.full((wanted.numel() + 2000,), 7, dtype=wanted.dtype)
        buffers.append(buffer)
        return buffer[1000:-1000].view(wanted.shape)

    monkeypatch.setattr(torch, name, allocate)
    return buffers


class Unlaunched:
    """Stands in for a kernel that must not be launched."""

    def __getitem__(self, _grid: Any) -> Any:
        raise AssertionError("a kernel was launched")
