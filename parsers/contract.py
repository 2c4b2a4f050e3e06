"""What the harness that writes captures and the parsers that read them agree on."""

from __future__ import annotations

DOMAIN = "roofsnake"
"""NVTX domain of the ranges that say which launch belongs to what."""

FORMAT = 1
"""Format of a pass's folder; a reader refuses another."""

INTENSE = 16
"""FLOP/B from which on a case is measured by its FLOPs a second, not against a copy. An H200 turns
from its bandwidth to its float32 arithmetic at 67 TFLOP/s (NVIDIA's data sheet) over the 4.26 TB/s
that a copy reaches: 15.7 FLOP/B. Tensor cores turn later, so such a case may still wait for bytes;
the throughputs of the ncu pass say which."""

RUN_FILE = "run.json"
"""File of a pass's folder that says what ran, and hashes the other files."""


def range_name(operator: str, variant: str, case: str) -> str:
    """Return the name of the NVTX start/end range around one call."""
    return f"{operator}/{variant}/{case}"


def split_range(name: str) -> tuple[str, str, str] | None:
    """Split a range ``operator/variant/case`` in three; None where the name is no such range."""
    parts = name.split("/")
    if len(parts) != 3 or not all(parts):
        return None
    return parts[0], parts[1], parts[2]
