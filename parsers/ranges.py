"""The NVTX ranges that say which launch belongs to which operator, variant and case."""

from __future__ import annotations

DOMAIN = "roofsnake"


def split_range(name: str) -> tuple[str, str, str] | None:
    """Split a range ``operator/variant/case`` in three; None where the name is no such range."""
    parts = name.split("/")
    if len(parts) != 3 or not all(parts):
        return None
    return parts[0], parts[1], parts[2]
