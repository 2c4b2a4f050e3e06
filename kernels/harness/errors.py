"""Errors of the harness that a user can do something about."""

from __future__ import annotations


class HarnessError(Exception):
    """A measurement that cannot be made: what stands in the way, and the way out, in one line."""

    def __init__(self, subject: str, cause: str, remedy: str) -> None:
        self.subject = subject
        self.cause = cause
        self.remedy = remedy
        super().__init__(f"{subject}: {cause}; {remedy}")
