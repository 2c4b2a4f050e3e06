"""Whether a variant gives the right answer on the CPU, by the check that a GPU run uses."""

from __future__ import annotations

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
