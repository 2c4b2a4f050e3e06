"""Errors of the harness that a user can do something about."""

from __future__ import annotations

import re

LONGEST = 300
"""Characters that are kept of an error's text: it becomes a cell of a table."""


class HarnessError(Exception):
    """A measurement that cannot be made: what stands in the way, and the way out, in one line."""

    def __init__(self, subject: str, cause: str, remedy: str) -> None:
        self.subject = subject
        self.cause = cause
        self.remedy = remedy
        super().__init__(f"{subject}: {cause}; {remedy}")


def one_line(error: BaseException) -> str:
    """Tell the innermost cause of an exception in one line, without folders."""
    while error.__cause__ is not None:
        error = error.__cause__
    text = str(getattr(error, "error_message", None) or error)
    return f"{type(error).__name__}: {without_folders(text)}".removesuffix(": ")


def without_folders(text: str) -> str:
    """Return text as one line of bounded length, its paths cut to their last part.

    What a capture says of a failure must not say where this machine keeps its files.
    """
    return re.sub(r"(?:/[\w.+-]+)+/", "", " ".join(text.split()))[:LONGEST]
