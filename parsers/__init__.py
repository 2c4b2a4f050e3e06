"""Nsight exports and the harness's own captures, read into pandas frames with declared schemas.

``from parsers import read`` gives the frame of any of them; see `parsers.reading.read`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parsers.reading import read

__all__ = ["read"]


def __getattr__(name: str) -> object:
    """Import `read`, and with it pandas, when it is asked for."""
    if name != "read":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module("parsers.reading").read
