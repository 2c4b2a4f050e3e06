"""Whether two revisions were measured in the same way, and what is refused where they were not."""

from __future__ import annotations

from dataclasses import dataclass

from reports.frames import Frames, Row, records

FACTS = (
    ("gpu", "GPU"),
    ("driver", "driver"),
    ("clock_policy", "clock policy"),
    ("cuda", "CUDA"),
    ("torch", "torch"),
    ("triton", "Triton"),
    ("tool", "profiler"),
)
"""Columns of the frame ``runs`` that a measurement depends on beside the source, and their names.

Where one of them differs in a pass, that pass is not compared: the difference would be theirs.
"""

MEASURED = ("build", "time", "nsys", "ncu")
_INPUT = ("shape", "dtype", "labels")


@dataclass(frozen=True)
class Difference:
    """A fact that differs, and the passes that are not compared because of it."""

    fact: str
    base: str
    head: str
    passes: tuple[str, ...]


def differences(base: Frames, head: Frames) -> list[Difference]:
    """Return what differs in how two revisions of an operator were measured.

    Parameters
    ----------
    base, head
        The frames of each; ``runs`` says where, when and with what.
    """
    before, after = ({row["pass"]: row for row in records(f.runs)} for f in (base, head))
    found: dict[tuple[str, str, str], list[str]] = {}
    for name in MEASURED:
        for column, fact in FACTS:
            old, new = (_fact(runs.get(name), column) for runs in (before, after))
            if name in before and name in after and old != new:
                found.setdefault((fact, old, new), []).append(name)
    return [Difference(*key, tuple(passes)) for key, passes in found.items()]


def _fact(run: Row | None, column: str) -> str:
    value = None if run is None else run[column]
    return "unknown" if value is None else str(value)


def refused(found: list[Difference]) -> set[str]:
    """Return the passes that are not compared."""
    return {name for difference in found for name in difference.passes}


def other_inputs(base: Frames, head: Frames) -> set[str]:
    """Return the cases whose name means another input in each: shape, dtype or labels.

    Another cost model is none.
    """
    before, after = ({row["case"]: row for row in records(f.cases)} for f in (base, head))
    return {
        case
        for case in before.keys() & after.keys()
        if any(before[case][column] != after[case][column] for column in _INPUT)
    }
