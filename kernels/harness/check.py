"""Whether a variant computes the right thing, element by element, against float64."""

from __future__ import annotations

import secrets
from typing import Any

import torch

from kernels.harness.spec import Case, Operator, Tolerance, Variant

POISON_BLOCKS = 4
"""Freed blocks full of NaN that the allocator will hand to a variant's next allocations."""


def check(operator: Operator, variant: Variant, case: Case, device: str) -> dict[str, Any]:
    """Run a variant once on fresh random inputs and compare it with the reference.

    The memory that its output will be placed in is filled with NaN beforehand, so that an element
    which the variant does not write is seen as wrong. Returns a row of the frame ``checks``; an
    exception of the variant propagates.
    """
    seed = secrets.randbits(62)
    generator = torch.Generator(device).manual_seed(seed)
    inputs = operator.make_inputs(case, device, generator)
    untouched = [tensor.clone() for tensor in inputs]
    reference = operator.reference(*inputs)
    tolerance = operator.tolerances[case.dtype]
    warm_up = variant.run(*inputs)  # compilation allocates too, and would use up the poison
    del warm_up
    with poisoned(reference.numel() * getattr(torch, case.dtype).itemsize, device):
        output = variant.run(*inputs)
    row = {
        "operator": operator.name,
        "variant": variant.name,
        "case": case.name,
        "seed": seed,
        "rtol": tolerance.rtol,
        "atol": tolerance.atol,
    }
    reason = _misfit(output, reference, case)
    if reason is None and not all(map(_same, inputs, untouched)):
        reason = "the variant changed its inputs"
    if reason is not None:
        return {**row, "status": "wrong", "reason": reason}
    return {**row, **compare(output, reference, tolerance)}


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return bool(((one == other) | (one.isnan() & other.isnan())).all())


def _misfit(output: torch.Tensor, reference: torch.Tensor, case: Case) -> str | None:
    if output.shape != reference.shape:
        return f"the output's shape is {tuple(output.shape)}, not {tuple(reference.shape)}"
    if output.dtype != getattr(torch, case.dtype):
        return f"the output's dtype is {output.dtype}, not torch.{case.dtype}"
    return None


class poisoned:  # noqa: N801 - a context manager reads like a function
    """Within this context, newly allocated memory of about ``size_bytes`` holds NaN.

    On CUDA, blocks of that size are filled with bytes of all ones, NaN in every float dtype, and
    given back to torch's caching allocator, which hands them out again to the next allocations of
    that size. A variant that frees intermediates of that size itself may get one of those instead
    for its output. On the CPU, torch itself fills what it allocates
    (``torch.utils.deterministic.fill_uninitialized_memory``).
    """

    def __init__(self, size_bytes: int, device: str) -> None:
        self.size_bytes = size_bytes
        self.device = device
        self._before = (False, False)

    def __enter__(self) -> None:
        if self.device == "cpu":
            self._before = (
                torch.are_deterministic_algorithms_enabled(),
                torch.is_deterministic_algorithms_warn_only_enabled(),
            )
            torch.use_deterministic_algorithms(True, warn_only=True)
            return
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        blocks = [
            torch.full((max(self.size_bytes, 1),), 0xFF, dtype=torch.uint8, device=self.device)
            for _ in range(POISON_BLOCKS)
        ]
        del blocks

    def __exit__(self, *_: object) -> None:
        if self.device == "cpu":
            enabled, warn_only = self._before
            torch.use_deterministic_algorithms(enabled, warn_only=warn_only)


def compare(output: torch.Tensor, reference: torch.Tensor, tolerance: Tolerance) -> dict[str, Any]:
    """Compare an output with its float64 reference, element by element.

    An element is right if it lies within ``atol + rtol * |reference|``, or is the same infinity,
    or both are NaN. Returns the error columns of the frame ``checks``; errors are NA where no
    element is finite in both.
    """
    actual = output.double()
    alike = (actual == reference) | (actual.isnan() & reference.isnan())
    finite = actual.isfinite() & reference.isfinite()
    error = torch.where(alike, 0.0, (actual - reference).abs())
    accepted = tolerance.atol + tolerance.rtol * reference.abs()
    share = torch.where(error == 0, 0.0, error / accepted)
    wrong = ~alike & ~(finite & (share <= 1))
    result: dict[str, Any] = {
        "status": "wrong" if bool(wrong.any()) else "ok",
        "reason": None,
        "elements": reference.numel(),
        "wrong_elements": int(wrong.sum()),
        "max_abs_error": None,
        "relative_error": None,
        "tolerance_share": None,
    }
    if bool(finite.any()):
        norm = float(reference[finite].norm())
        result["max_abs_error"] = float(error[finite].max())
        result["relative_error"] = float(error[finite].norm()) / norm if norm else None
        result["tolerance_share"] = float(share[finite].max())
    if result["status"] == "wrong":
        result["reason"] = _describe(result, int((wrong & ~finite).sum()))
    return result


def _describe(result: dict[str, Any], not_finite: int) -> str:
    parts = [f"{result['wrong_elements']} of {result['elements']} elements are wrong"]
    if not_finite:
        parts.append(f"{not_finite} are NaN or infinite where the reference is not, or vice versa")
    if result["tolerance_share"] is not None:
        parts.append(
            f"largest error {result['max_abs_error']:.3g},"
            f" up to {result['tolerance_share']:.3g} times the tolerance"
        )
    return "; ".join(parts)
