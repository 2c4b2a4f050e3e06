"""What compute-sanitizer prints, and how a run under it is judged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernels import _attention_hopper
from kernels.harness import discovery, sanitize
from kernels.harness.errors import HarnessError
from kernels.harness.sanitize import Row

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
RACE = "========= Error: Race reported between Write access at x and Read access at y\n"
RACES = f"{RACE}========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n"
WARNING = """========= Warning: Race reported between Read access at a and Write access at b
========= RACECHECK SUMMARY: 1 hazard displayed (0 errors, 1 warning)
"""
BOTH = """========= Warning: Race reported between Read access at a and Write access at b
========= Error: Race reported between Write access at x and Read access at y
========= RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)
"""
ROLES = """========= COMPUTE-SANITIZER
========= Error: Race reported between Read access at attention_hopper_kernel+0xf0 in a.py:255
=========     and Write access at attention_hopper_kernel+0x7980 in a.py:255 [8 hazards]
=========     and Write access at attention_hopper_kernel+0xc010 in a.py:282 [9 hazards]
=========
========= Error: Race reported between Read access at attention_hopper_kernel+0xf0 in a.py:255
=========     and Write access at attention_hopper_kernel+0x7980 in a.py:255 [1 hazards]
=========
"""
WITHIN = """========= Error: Race reported between Read access at k+0xf0 in a.py:255
=========     and Write access at k+0x900 in a.py:101 [1 hazards]
"""
HANDOUTS = {("a.py", 255), ("a.py", 282)}


def races(errors: int) -> str:
    return (
        f"========= RACECHECK SUMMARY: {errors} hazards displayed ({errors} errors, 0 warnings)\n"
    )


RAN = [{"variant": "triton", "case": "67x129-float32", "status": "ok", "reason": None}]
RAISED = [{**RAN[0], "status": "failed", "reason": "ValueError: no"}]
REFUSED = [{**RAN[0], "status": "unsupported", "reason": "too long"}]


@pytest.mark.parametrize(
    ("output", "outcomes", "status", "errors", "reason"),
    [
        (CLEAN, RAN, "ok", 0, None),
        (CLEAN_RACES, RAN, "ok", 0, None),
        (WRITES, RAN, "failed", 12, "Invalid __global__ write of size 4 bytes"),
        (RACES, RAN, "failed", 1, "Error: Race reported between Write access at x"),
        (WARNING, RAN, "ok", 0, None),
        (BOTH, RAN, "failed", 1, "Error: Race reported between Write access at x"),
        (CLEAN, None, "failed", 0, "the process died: "),
        (CLEAN, RAISED, "failed", 0, "triton on 67x129-float32 is failed: ValueError: no"),
        (CLEAN, REFUSED, "failed", 0, "no variant took a case"),
        (CLEAN, [*RAN, *REFUSED], "ok", 0, None),
        ("Killed\n", None, "failed", None, "it gave no summary: Killed"),
    ],
)
def test_judge(
    output: str, outcomes: list[Row] | None, status: str, errors: int | None, reason: str | None
) -> None:
    found = sanitize.judge(output, outcomes)
    assert (found["status"], found["errors"]) == (status, errors)
    assert found["reason"] == reason or str(found["reason"]).startswith(reason or "-")


@pytest.mark.parametrize(
    ("output", "status", "errors", "reason"),
    [
        (ROLES + races(2), "ok", 0, "not counted: 2 of how Triton hands out roles to warps"),
        (ROLES + races(3), "failed", 1, "see the log"),  # one is not displayed
        (WITHIN + races(1), "failed", 1, "Error: Race reported between Read access at k+0xf0 in"),
        (RACE + ROLES + races(3), "failed", 1, "Error: Race reported between Write access at x"),
    ],
)
def test_handing_out_roles_is_told_and_not_counted(
    output: str, status: str, errors: int, reason: str
) -> None:
    found = sanitize.judge(output, RAN, HANDOUTS)
    assert (found["status"], found["errors"]) == (status, errors)
    assert str(found["reason"]).startswith(reason)
    assert sanitize.judge(output, RAN)["status"] == "failed"


def test_where_roles_are_handed_out() -> None:
    attention = discovery.load("attention")
    lines = Path(_attention_hopper.__file__).read_text(encoding="utf-8").splitlines()
    found = sanitize.handouts_of(attention.variant("triton_hopper"))
    assert {file for file, _ in found} == {"_attention_hopper.py"}
    assert [lines[line - 1].strip().partition("(")[0] for _, line in sorted(found)] == [
        "def attention_hopper_kernel",
        "gl.warp_specialize",
    ]
    assert not sanitize.handouts_of(attention.variant("triton"))


def test_it_is_told_of_the_variants_that_hand_out_roles(monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"status": "ok", "errors": 0, "reason": "not counted: 1 of how Triton hands out roles"}
    monkeypatch.setattr(sanitize, "_verdict", lambda *_: told)
    monkeypatch.setattr("kernels.harness.profilers.require", lambda _: None)
    rows = sanitize.sanitize(discovery.load("attention"))
    reasons = {row["variant"]: row["reason"] for row in rows}
    assert reasons == {"triton": None, "triton_hopper": told["reason"]}


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
        "cat > $(dirname $last)/outcomes.json <<E\n" + json.dumps(RAN) + "\nE\n"
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


def test_what_a_run_printed_before_its_time_was_up_stays_in_the_log(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tool = tmp_path / "compute-sanitizer"
    tool.write_text("#!/bin/sh\necho '========= COMPUTE-SANITIZER'\nexec sleep 60\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(sanitize, "LONGEST_S", 1)
    rows = sanitize.sanitize(discovery.load("gelu"))
    assert [(r["status"], r["errors"], r["reason"]) for r in rows] == [
        ("failed", None, "not done in 1 s"),
        ("failed", None, "not done in 1 s"),
    ]
    assert capsys.readouterr().err.count("========= COMPUTE-SANITIZER\n") == 2
