"""What a measuring process is told to do: a plan, passed to it as a JSON file."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

Pair = tuple[str, str]
"""A variant's name and a case's name."""


@dataclass(frozen=True)
class Plan:
    """One measuring process: which pairs of variant and case, how, and where results go.

    Attributes
    ----------
    operator
        Name of the operator.
    work
        ``check``, ``time`` or ``ranges``.
    pairs
        Variants and cases to run, in order.
    settings
        Of the pass: ``rounds``, ``warm_up_s`` and ``first_round``, the number of the first one,
        for ``time``; ``repeats`` for ``ranges``.
    out
        Folder for the results; it exists.
    paired
        Whether samples of one round share the moment with those of all other variants: not where
        each variant runs in a process of its own.
    """

    operator: str
    work: str
    pairs: tuple[Pair, ...]
    settings: dict[str, Any]
    out: str
    device: str = "cuda"
    paired: bool = True

    def write(self, path: Path) -> None:
        """Write the plan as JSON."""
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Plan:
        """Read a plan that :meth:`write` wrote."""
        fields = json.loads(path.read_text(encoding="utf-8"))
        pairs = tuple((variant, case) for variant, case in fields.pop("pairs"))
        return cls(pairs=pairs, **fields)
