"""Run the Triton variants on small cases under ``compute-sanitizer``.

``memcheck`` finds accesses outside of what was allocated, ``racecheck`` hazards in shared memory.
torch then allocates each tensor by itself, so that an access just beyond one is seen.

One finding is told, but not counted: where warps have roles (``gl.warp_specialize``), Triton hands
these out through bytes in shared memory, written before a barrier of the whole block and read after
it. racecheck 2025.3 calls that a race if an mbarrier was initialised before, even if the roles do
nothing, and not otherwise.
"""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from kernels.harness import profilers
from kernels.harness.errors import HarnessError
from kernels.harness.plan import Plan
from kernels.harness.reach import innermost, kernels_of
from kernels.harness.spec import Case, Operator, Variant

TOOLS = ("memcheck", "racecheck")

SMALL_BYTES = 2**24
"""Cases that move more are left out: every access takes tens of times as long."""

FINDING = re.compile(r"^========= ((?:Error|Invalid|Program hit|Race|Out-of).*)$", re.MULTILINE)
"""A line in which a tool names an error; racecheck's warnings are none, and are not counted."""

REPORT = re.compile(
    r"^========= Error: Race reported .*\n(?:=========     and .*\n)*", re.MULTILINE
)
"""What racecheck says of an access and of those that race with it."""

PLACE = re.compile(r" in (\S+):(\d+)")
"""Where in the source an access is."""

LONGEST_S = 300
"""Seconds after which a process under the sanitizer is ended."""

ENVIRONMENT = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1"}

COLUMNS = ("operator", "variant", "tool", "cases", "status", "errors", "reason")

Row = dict[str, Any]


def small_cases(operator: Operator) -> tuple[Case, ...]:
    """Return the cases of the quick set that are small enough."""
    return tuple(c for c in operator.cases_in("quick") if operator.cost(c).bytes <= SMALL_BYTES)


def sanitize(operator: Operator) -> list[Row]:
    """Run each Triton variant of an operator under each tool.

    Returns rows of the frame ``sanitizer``. All variants share a process; where that is not clean,
    each runs again alone.

    Raises
    ------
    HarnessError
        When ``compute-sanitizer`` is missing, or the operator has no small case in the quick set.
    """
    profilers.require("compute-sanitizer")
    cases = small_cases(operator)
    if not cases:
        raise HarnessError(
            f"kernels/{operator.name}.py",
            f"no case of the quick set moves at most {SMALL_BYTES} bytes",
            "give it one",
        )
    variants = [variant for variant in operator.variants if kernels_of(variant.run)]
    return [row for tool in TOOLS for row in _rows(operator, tool, variants, cases)]


def _rows(
    operator: Operator, tool: str, variants: Sequence[Variant], cases: Sequence[Case]
) -> list[Row]:
    if not variants:
        return []
    found = _verdict(operator, tool, variants, cases)
    if found["status"] == "ok":
        # What is told of a clean run is of kernels that hand out roles.
        told = {True: found, False: {**found, "reason": None}}
        return [
            _row(operator, tool, variant, cases, told[bool(handouts_of(variant))])
            for variant in variants
        ]
    if len(variants) == 1:
        return [_row(operator, tool, variants[0], cases, found)]
    return [
        _row(operator, tool, variant, cases, _verdict(operator, tool, [variant], cases))
        for variant in variants
    ]


def _row(operator: Operator, tool: str, variant: Variant, cases: Sequence[Case], found: Row) -> Row:
    names = " ".join(case.name for case in cases)
    key = {"operator": operator.name, "variant": variant.name, "tool": tool, "cases": names}
    return {**key, **found}


def _verdict(
    operator: Operator, tool: str, variants: Sequence[Variant], cases: Sequence[Case]
) -> Row:
    """Run variants on cases in one process; return its status, errors and reason."""
    with tempfile.TemporaryDirectory() as folder:
        plan = Plan(
            operator=operator.name,
            work="check",
            pairs=tuple((variant.name, case.name) for case in cases for variant in variants),
            settings={},
            out=folder,
        )
        plan.write(Path(folder) / "plan.json")
        work = [sys.executable, "-m", "kernels.harness", "work", f"{folder}/plan.json"]
        command = ["compute-sanitizer", "--tool", tool, "--print-limit", "5", *work]
        try:
            answer = profilers.run(command, ENVIRONMENT, LONGEST_S)
        except subprocess.TimeoutExpired as late:
            # These are bytes, in spite of the text that was asked for.
            sys.stderr.write((late.output or b"").decode(errors="replace"))
            return {"status": "failed", "errors": None, "reason": f"not done in {LONGEST_S} s"}
        sys.stderr.write(answer.stdout)
        path = Path(folder) / "outcomes.json"
        outcomes = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
        handouts = {place for variant in variants for place in handouts_of(variant)}
        return judge(answer.stdout, outcomes, handouts)


def handouts_of(variant: Variant) -> set[tuple[str, int]]:
    """Return file and line of what hands out roles to warps in the kernels of a variant.

    Compiled code says that it is of the kernel's ``def``, and of the call that parts the warps.
    """
    places = set()
    for kernel in kernels_of(variant.run):
        function = innermost(kernel).fn
        lines, first = inspect.getsourcelines(function)
        calls = [i for i, line in enumerate(lines, first) if "warp_specialize(" in line]
        if calls:
            start = next(i for i, line in enumerate(lines, first) if line.startswith("def "))
            name = Path(inspect.getfile(function)).name
            places |= {(name, line) for line in (start, *calls)}
    return places


def judge(
    output: str, outcomes: Sequence[Row] | None, handouts: Collection[tuple[str, int]] = ()
) -> Row:
    """Return status, errors and reason by what ``compute-sanitizer`` printed.

    A clean summary counts only where the variants ran and gave the right answer: of a kernel that
    was never launched the tool has nothing to say.

    Parameters
    ----------
    output
        What it and the program printed.
    outcomes
        What became of each variant and case; None where the program did not come to its end.
    handouts
        File and line of code that hands out roles: races within it alone are not counted.
    """
    summary = re.search(r"ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: .*?\((\d+) error", output)
    if summary is None:
        reason = f"it gave no summary: {profilers.last_line(output)}"
        return {"status": "failed", "errors": None, "reason": reason}
    apart = [r for r in REPORT.findall(output) if _places(r) and _places(r) <= set(handouts)]
    errors = int(summary[1] or summary[2]) - len(apart)
    if errors:
        for report in apart:
            output = output.replace(report, "")
        first = FINDING.search(output)
        reason = first[1] if first else "see the log"
        return {"status": "failed", "errors": errors, "reason": reason}
    if idle := _not_run(output, outcomes):
        return {"status": "failed", "errors": errors, "reason": idle}
    told = f"not counted: {len(apart)} of how Triton hands out roles to warps" if apart else None
    return {"status": "ok", "errors": errors, "reason": told}


def _places(report: str) -> set[tuple[str, int]]:
    return {(name, int(line)) for name, line in PLACE.findall(report)}


def _not_run(output: str, outcomes: Sequence[Row] | None) -> str | None:
    """Say why a clean summary proves nothing, if it does not."""
    if outcomes is None:
        return f"the process died: {profilers.last_line(output)}"
    for row in outcomes:
        if row["status"] not in {"ok", "unsupported"}:
            return f"{row['variant']} on {row['case']} is {row['status']}: {row['reason']}"
    return None if any(row["status"] == "ok" for row in outcomes) else "no variant took a case"
