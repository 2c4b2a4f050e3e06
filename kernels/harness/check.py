"""Whether a variant computes the right thing, element by element, against float64."""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterator
from typing import Any

import torch

from kernels.harness.spec import Case, Inputs, Operator, Outputs, Tolerance, Variant

POISON_BLOCKS = 4
"""Freed blocks full of NaN that the allocator will hand to a variant's next allocations."""

CHUNK = 2**26
"""Elements that are compared at a time: in float64, half a gibibyte a temporary."""


def check(
    operator: Operator, variant: Variant, case: Case, device: str, seed: int | None = None
) -> dict[str, Any]:
    """Run a variant once on random inputs and compare it with the reference.

    The memory that its outputs will be placed in is filled with NaN beforehand, so that an element
    which the variant does not write is seen as wrong. Without a seed the inputs are fresh ones.
    Returns a row of the frame ``checks``; an exception of the variant propagates.
    """
    seed = secrets.randbits(62) if seed is None else seed
    generator = torch.Generator(device).manual_seed(seed)
    inputs = operator.make_inputs(case, device, generator)
    untouched = tuple(x.clone() if isinstance(x, torch.Tensor) else x for x in inputs)
    prepared = variant.prepare(inputs)
    with poisoned(_sizes(variant, prepared, device), device):
        output = variant.run(*prepared)
    row = {"operator": operator.name, "variant": variant.name, "case": case.name, "seed": seed}
    del prepared
    if not same(inputs, untouched):
        return {**row, "status": "wrong", "reason": "the variant changed its inputs"}
    del untouched
    return {**row, **judge(operator, case, inputs, output)}


def _sizes(variant: Variant, prepared: Inputs, device: str) -> list[int]:
    """Return the bytes of each output; on the CPU, where torch itself fills them, none."""
    if device == "cpu":
        return []
    # Compilation allocates too, and would use up the poison.
    return [output.nbytes for output in in_turn(variant.run(*prepared))]


def judge(operator: Operator, case: Case, inputs: Inputs, output: Outputs) -> dict[str, Any]:
    """Compare what a variant returned for some inputs with the operator's float64 reference.

    The case gives dtype and tolerance. Returns the columns ``status``, ``reason`` and those of the
    errors; of several outputs the worst counts, and what is counted adds up.
    """
    allowed = operator.tolerance(case)
    references = in_turn(operator.reference(*inputs))
    outputs = in_turn(output)
    if len(outputs) != len(references):
        cause = f"{len(outputs)} outputs, not {len(references)}"
        return {"status": "wrong", "reason": cause}
    tolerances = (allowed,) * len(outputs) if isinstance(allowed, Tolerance) else allowed
    rows = []
    for i, (one, reference, tolerance) in enumerate(
        zip(outputs, references, tolerances, strict=True)
    ):
        which = f"output {i}: " if len(outputs) > 1 else ""
        reason = _misfit(one, reference, case)
        row = {"status": "wrong"} if reason else compare(one, reference, tolerance)
        reason = reason or row["reason"]
        rows.append({**row, "reason": reason and which + reason})
    return _worst(rows)


def in_turn(outputs: Outputs) -> tuple[torch.Tensor, ...]:
    """Return outputs as a tuple, where there is but one too."""
    return outputs if isinstance(outputs, tuple) else (outputs,)


def _worst(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Join the rows of several outputs: counts add up, of the rest the worst output's stay."""
    worst = max(rows, key=lambda row: (row["status"] == "wrong", row.get("tolerance_share") or 0))
    counts = {
        key: sum(row[key] for row in rows)
        for key in ("elements", "wrong_elements")
        if all(key in row for row in rows)
    }
    return worst | counts


def same(some: Inputs, others: Inputs) -> bool:
    """Say whether inputs are alike to the bit; NaN equals NaN."""
    return all(
        _alike(one, other) if isinstance(one, torch.Tensor) else one == other
        for one, other in zip(some, others, strict=True)
    )


def _alike(one: torch.Tensor, other: torch.Tensor) -> bool:
    return all(
        bool(((a == b) | ((a != a) & (b != b))).all())  # noqa: PLR0124 - NaN differs from itself
        for a, b in _chunks(one, other)
    )


def _chunks(*tensors: torch.Tensor) -> Iterator[tuple[torch.Tensor, ...]]:
    """Cut flattened tensors of one shape into pieces of at most ``CHUNK`` elements."""
    return zip(*(torch.split(tensor.reshape(-1), CHUNK) for tensor in tensors), strict=True)


def _misfit(output: torch.Tensor, reference: torch.Tensor, case: Case) -> str | None:
    if output.shape != reference.shape:
        return f"the output's shape is {tuple(output.shape)}, not {tuple(reference.shape)}"
    if output.dtype != getattr(torch, case.dtype):
        return f"the output's dtype is {output.dtype}, not torch.{case.dtype}"
    return None


class poisoned:  # noqa: N801 - a context manager reads like a function
    """Within this context, newly allocated memory of about ``sizes_bytes`` holds NaN.

    On CUDA, blocks of those sizes are filled with bytes of all ones, NaN in every float dtype, and
    given back to torch's caching allocator, which hands them out again to the next allocations of
    that size. A variant that frees intermediates of such a size itself may get one of those instead
    for its output. On the CPU, torch itself fills what it allocates
    (``torch.utils.deterministic.fill_uninitialized_memory``).
    """

    def __init__(self, sizes_bytes: list[int], device: str) -> None:
        self.sizes_bytes = sizes_bytes
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
            torch.full((max(size, 1),), 0xFF, dtype=torch.uint8, device=self.device)
            for size in set(self.sizes_bytes)
            for _ in range(self.sizes_bytes.count(size) * POISON_BLOCKS)
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
    total = _Errors()
    for actual, expected in _chunks(output, reference):
        total.add(actual.double(), expected, tolerance)
    result: dict[str, Any] = {
        "status": "wrong" if total.wrong else "ok",
        "reason": None,
        "elements": reference.numel(),
        "wrong_elements": total.wrong,
        "max_abs_error": None,
        "relative_error": None,
        "tolerance_share": None,
        "rtol": tolerance.rtol,
        "atol": tolerance.atol,
    }
    if total.finite:
        norm = math.sqrt(total.norm)
        result["max_abs_error"] = total.largest
        result["relative_error"] = math.sqrt(total.error) / norm if norm else None
        result["tolerance_share"] = total.share
    if total.wrong:
        result["reason"] = _describe(result, total.wrong_not_finite)
    return result


class _Errors:
    """Errors of the elements seen so far: how many are wrong, sums of squares, and the largest."""

    def __init__(self) -> None:
        self.finite = self.wrong = self.wrong_not_finite = 0
        self.error = self.norm = self.largest = self.share = 0.0

    def add(self, actual: torch.Tensor, reference: torch.Tensor, tolerance: Tolerance) -> None:
        alike = (actual == reference) | (actual.isnan() & reference.isnan())
        finite = actual.isfinite() & reference.isfinite()
        error = torch.where(alike, 0.0, (actual - reference).abs())
        accepted = tolerance.atol + tolerance.rtol * reference.abs()
        share = torch.where(error == 0, 0.0, error / accepted)
        wrong = ~alike & ~(finite & (share <= 1))
        self.wrong += int(wrong.sum())
        self.wrong_not_finite += int((wrong & ~finite).sum())
        if not bool(finite.any()):
            return
        self.finite += int(finite.sum())
        self.error += float(error[finite].square().sum())
        self.norm += float(reference[finite].square().sum())
        self.largest = max(self.largest, float(error[finite].max()))
        self.share = max(self.share, float(share[finite].max()))


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
