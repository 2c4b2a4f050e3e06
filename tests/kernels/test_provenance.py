"""Which commit a capture says that it was taken at."""

from __future__ import annotations

import re

import pytest

from kernels.harness import provenance


def test_the_environment_names_the_commit_before_git_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOFSNAKE_COMMIT", "0123abc")
    assert provenance.commit() == "0123abc"
    monkeypatch.delenv("ROOFSNAKE_COMMIT")
    found = provenance.commit()
    assert found is None or re.fullmatch(r"[0-9a-f]{40}(\+changes)?", found)
