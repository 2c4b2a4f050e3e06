"""The error that every parser raises for input it cannot use."""

from __future__ import annotations

from pathlib import Path


class CaptureError(Exception):
    """A capture that cannot be read: which file, what is wrong with it, and the way out.

    The message is one line, ready for a user: ``PATH: CAUSE; REMEDY``.
    """

    def __init__(self, path: Path | str, cause: str, remedy: str) -> None:
        self.path = Path(path)
        self.cause = cause
        self.remedy = remedy
        super().__init__(f"{path}: {cause}; {remedy}")
