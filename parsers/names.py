"""Kernel names for people."""

from __future__ import annotations


def short_name(demangled: str) -> str:
    """Return the function's own name, without namespaces and template arguments."""
    return demangled.split("<", maxsplit=1)[0].rsplit("::", maxsplit=1)[-1].removeprefix("void ")
