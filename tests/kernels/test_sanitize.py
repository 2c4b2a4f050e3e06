"""What compute-sanitizer prints, and how a run under it is judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernels.harness import discovery, sanitize
from kernels.harness.errors import HarnessError

CLEAN = """========= COMPUTE-SANITIZER
========= ERROR SUMMARY: 0 errors
"""
WRITES = """========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at double+0x1c0 in double.py:9
========= Program hit cudaErrorLaunchFailure
========= ERROR SUMMARY: 12 errors
"""
CLEAN_RACES = "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n"
RACES = """========= Error: Race reported between Write access at x and Read access at y
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""


@pytest.mark.parametrize(
    ("output", "finished", "status", "errors", "reason"),
    [
        (CLEAN, True, "ok", 0, None),
        (CLEAN_RACES, True, "ok", 0, None),
        (WRITES, True, "failed", 12, "Invalid __global__ write of size 4 bytes"),
        (RACES, True, "failed", 1, "Error: Race reported between Write access at x"),
        (CLEAN, False, "failed", 0, "the process died: "),
        ("Killed\n", False, "failed", None, "it gave no summary: Killed"),
    ],
)
def test_judge(
    output: str, finished: bool, status: str, errors: int | None, reason: str | None
) -> None:
    found = sanitize.judge(output, finished=finished)
    assert (found["status"], found["errors"]) == (status, errors)
    assert found["reason"] == reason or str(found["reason"]).startswith(reason or "-")


def test_without_the_tool_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HarnessError, match="compute-sanitizer: not on PATH; install the CUDA"):
        sanitize.sanitize(discovery.load("gelu"))


def test_only_triton_variants_run_and_a_dirty_process_is_taken_apart(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tool = tmp_path / "compute-sanitizer"
    tool.write_text(
        "#!/bin/sh\nfor last; do :; done\ngrep -o 'triton.[a-z]*' $last >&2\n"
        "touch $(dirname $last)/outcomes.json\n"
        "case $2 in memcheck) echo '========= Invalid __global__ read of size 4 bytes';"
        " echo '========= ERROR SUMMARY: 2 errors';; *) echo '" + CLEAN_RACES.strip() + "';; esac\n"
    )
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    rows = sanitize.sanitize(discovery.load("gelu"))
    assert [(r["variant"], r["tool"], r["status"], r["errors"]) for r in rows] == [
        ("triton", "memcheck", "failed", 2),
        ("triton", "racecheck", "ok", 0),
    ]
    assert rows[0]["cases"] == "67x129-float32"
    assert rows[0]["reason"] == "Invalid __global__ read of size 4 bytes"
