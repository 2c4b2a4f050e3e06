"""How an operator is described: frozen dataclasses, nothing that runs."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Union

if TYPE_CHECKING:
    import torch

NAME = "[a-z][a-z0-9_]*"
"""Names of operators and variants: they stand in paths, NVTX ranges and rule names."""

RESERVED = ("all", "index", "metrics", "checks", "diff", "gate", "history", "noise")
"""Pages and targets that are no operator's."""

SETS = ("quick", "default", "full")
"""Sets of cases; each holds the one before it."""

Inputs = tuple[Any, ...]
"""What a variant is called with: tensors, and plain values such as a flag."""

Outputs = Union["torch.Tensor", tuple["torch.Tensor", ...]]


class UnsupportedError(ValueError):
    """Raised by a variant before it launches anything: what it cannot do, in one line.

    The pair of variant and case is then reported as not supported, not as failed.
    """


@dataclass(frozen=True)
class Case:
    """One input: extents, a dtype, and what else sets it apart.

    Attributes
    ----------
    shape
        Extents; the operator's ``axes`` name them.
    dtype
        Name of a torch dtype, such as ``"bfloat16"``, so that a case can be named and hashed
        without importing torch.
    labels
        What else sets the input apart, such as ``("causal",)`` or ``("strided",)``.
    first_in
        The smallest of `SETS` that holds the case.
    """

    shape: tuple[int, ...]
    dtype: str
    labels: tuple[str, ...] = ()
    first_in: str = "default"

    def __post_init__(self) -> None:
        if self.first_in not in SETS:
            raise ValueError(f"case {self.name}: first_in={self.first_in!r} is none of {SETS}")
        if not all(re.fullmatch("[a-z0-9_]+", label) for label in self.labels):
            raise ValueError(f"case {self.name}: labels take lower-case letters, digits and _")

    @property
    def name(self) -> str:
        """Name in NVTX ranges, frames and reports, such as ``8192x8192-float32-strided``."""
        return "-".join(("x".join(map(str, self.shape)), self.dtype, *self.labels))

    @property
    def elements(self) -> int:
        """Product of the extents."""
        return math.prod(self.shape)

    def within(self, chosen: str) -> bool:
        """Say whether a set holds the case."""
        return SETS.index(self.first_in) <= SETS.index(chosen)


@dataclass(frozen=True)
class Cost:
    """The least work that a case needs, whatever the implementation.

    Attributes
    ----------
    read_bytes, write_bytes
        Fewest bytes through DRAM: each input read once, each output written once.
    flops
        Floating-point operations of the formula, counted as the operator's module says.
    summed
        Elements that are added up into one element of the output; 1 where none are. The rounding
        errors of a sum grow with it.
    """

    read_bytes: int
    write_bytes: int
    flops: int
    summed: int = 1

    @property
    def bytes(self) -> int:
        """Fewest bytes read plus written."""
        return self.read_bytes + self.write_bytes


@dataclass(frozen=True)
class Tolerance:
    """Largest error accepted of an element: ``atol + rtol * |reference|``."""

    rtol: float
    atol: float


@dataclass(frozen=True)
class Variant:
    """One implementation of an operator.

    Attributes
    ----------
    name
        Unique within the operator.
    run
        Takes the operator's inputs and returns one newly allocated output, or a tuple of them, on
        their device. Raises `UnsupportedError` for inputs that it does not take.
    summary
        How it computes it, in one line.
    setup
        Takes the operator's inputs and returns what ``run`` takes instead; it is called once,
        before anything is measured. A backward pass runs its forward pass there.
    """

    name: str
    run: Callable[..., Outputs]
    summary: str
    setup: Callable[..., Inputs] | None = None

    def prepare(self, inputs: Inputs) -> Inputs:
        """Return what ``run`` takes for these inputs of the operator."""
        return inputs if self.setup is None else self.setup(*inputs)


@dataclass(frozen=True)
class Operator:
    """What is computed, how it may be computed, and on what.

    Attributes
    ----------
    name
        Name of the operator and of its module in ``kernels/``.
    summary
        What it computes, in one line.
    variants
        Implementations; names are unique.
    axes
        What the extents of a case's shape count, such as ``("rows", "columns")``.
    cases
        Inputs that are measured.
    make_inputs
        ``(case, device, generator) -> inputs``: fresh random inputs; ``generator`` is None on the
        meta device, where only shapes and dtypes matter.
    reference
        The same function in float64 on any inputs: one output, or a tuple of them. Outputs of the
        variants have these shapes, and the dtype of the case.
    cost
        Least bytes and FLOPs of a case.
    tolerance
        Accepted error of a case: one for all outputs, or a tuple of one for each.
    baseline
        Name of the variant that speed-ups are measured against.
    """

    name: str
    summary: str
    variants: tuple[Variant, ...]
    axes: tuple[str, ...]
    cases: tuple[Case, ...]
    make_inputs: Callable[[Case, str, torch.Generator | None], Inputs]
    reference: Callable[..., Outputs]
    cost: Callable[[Case], Cost]
    tolerance: Callable[[Case], Tolerance | tuple[Tolerance, ...]]
    baseline: str = field(default="naive")

    def __post_init__(self) -> None:
        names = [variant.name for variant in self.variants]
        cases = [case.name for case in self.cases]
        for kind, given in (("variants", names), ("cases", cases)):
            if len(set(given)) != len(given):
                raise ValueError(f"operator {self.name}: two {kind} share a name: {given}")
        for name in names:
            if not re.fullmatch(NAME, name) or name in RESERVED:
                raise ValueError(
                    f"operator {self.name}: variant {name!r} needs a name of lower-case letters,"
                    f" digits and _ that is none of {RESERVED}"
                )
        if self.baseline not in names:
            raise ValueError(
                f"operator {self.name}: baseline {self.baseline!r} is not one of {names}"
            )
        for case in self.cases:
            self._verify(case)

    def _verify(self, case: Case) -> None:
        if len(case.shape) != len(self.axes):
            raise ValueError(
                f"operator {self.name}: case {case.name} has {len(case.shape)} extents"
                f" for the axes {self.axes}"
            )
        try:
            self.tolerance(case)
        except Exception as error:
            raise ValueError(f"operator {self.name}: no tolerance for {case.name}") from error

    def cases_in(self, chosen: str) -> tuple[Case, ...]:
        """Return the cases of a set, in order; raise ValueError where there is no such set."""
        if chosen not in SETS:
            raise ValueError(f"cases={chosen!r} is none of {SETS}")
        return tuple(case for case in self.cases if case.within(chosen))

    def only(self, names: Collection[str]) -> Operator:
        """Return the operator with the variants of these names, or with all where none is named.

        Where the baseline is left out, the first that is left takes its place.

        Raises
        ------
        ValueError
            When it has none of them.
        """
        left = tuple(variant for variant in self.variants if not names or variant.name in names)
        if not left:
            known = ", ".join(variant.name for variant in self.variants)
            raise ValueError(f"none of {', '.join(names)} among {known}")
        kept = self.baseline in {variant.name for variant in left}
        baseline = self.baseline if kept else left[0].name
        return dataclasses.replace(self, variants=left, baseline=baseline)

    def variant(self, name: str) -> Variant:
        """Return the variant of that name; raise KeyError where there is none."""
        for variant in self.variants:
            if variant.name == name:
                return variant
        raise KeyError(f"operator {self.name} has no variant {name!r}")
