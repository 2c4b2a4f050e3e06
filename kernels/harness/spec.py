"""How an operator is described: frozen dataclasses, nothing that runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

NAME = "[a-z][a-z0-9_]*"
"""Names of operators and variants: they stand in paths, NVTX ranges and rule names."""

RESERVED = ("all", "index")

Inputs = tuple["torch.Tensor", ...]


@dataclass(frozen=True)
class Case:
    """One input: a shape and a dtype.

    ``dtype`` is the name of a torch dtype, such as ``"bfloat16"``, so that a case can be named
    and hashed without importing torch.
    """

    shape: tuple[int, ...]
    dtype: str

    @property
    def name(self) -> str:
        """Name in NVTX ranges, frames and reports, such as ``8192x8192-float32``."""
        return f"{'x'.join(map(str, self.shape))}-{self.dtype}"

    @property
    def elements(self) -> int:
        """Number of elements of the shape."""
        product = 1
        for extent in self.shape:
            product *= extent
        return product


@dataclass(frozen=True)
class Cost:
    """The least work that a case needs, whatever the implementation.

    Attributes
    ----------
    read_bytes, write_bytes
        Fewest bytes through DRAM: each input read once, each output written once.
    flops
        Floating-point operations of the formula, counted as the operator's module says.
    """

    read_bytes: int
    write_bytes: int
    flops: int

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

    ``run`` takes the operator's inputs and returns a newly allocated output on their device.
    ``summary`` says in one line how it computes it.
    """

    name: str
    run: Callable[..., torch.Tensor]
    summary: str


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
    cases
        Inputs that are measured.
    make_inputs
        ``(case, device, generator) -> inputs``: fresh random inputs; ``generator`` is None on the
        meta device, where only shapes and dtypes matter.
    reference
        The same function in float64 on any inputs.
    cost
        Least bytes and FLOPs of a case.
    tolerances
        Accepted error by dtype name.
    baseline
        Name of the variant that speed-ups are measured against.
    """

    name: str
    summary: str
    variants: tuple[Variant, ...]
    cases: tuple[Case, ...]
    make_inputs: Callable[[Case, str, torch.Generator | None], Inputs]
    reference: Callable[..., torch.Tensor]
    cost: Callable[[Case], Cost]
    tolerances: Mapping[str, Tolerance]
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
            if case.dtype not in self.tolerances:
                raise ValueError(f"operator {self.name}: no tolerance for {case.dtype}")

    def variant(self, name: str) -> Variant:
        """Return the variant of that name; raise KeyError where there is none."""
        for variant in self.variants:
            if variant.name == name:
                return variant
        raise KeyError(f"operator {self.name} has no variant {name!r}")
