"""Findings → the page of a diff and its JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any

from reports.columns import Table
from reports.diff.findings import OPEN, REGRESSIONS, Compared, Finding, Verdict
from reports.diff.times import ALPHA, Noise
from reports.format import (
    MISSING,
    cell,
    cell_code,
    code,
    digits,
    duration,
    listing,
    percent,
    plural,
)
from reports.frames import Row
from reports.render import page

SHOWN_CAUSES = 4
"""Causes in a row; the rest stands below, folded."""

NOTHING, REGRESSION, UNDECIDABLE = 0, 1, 2
"""What a diff comes to, as the exit status of a command."""


def outcome(compared: Iterable[Compared]) -> int:
    """Return `REGRESSION` where anything is worse, else `UNDECIDABLE` where anything is open."""
    listed = list(compared)
    found = (f for one in listed for f in (*one.findings, *one.builds, *one.checks))
    verdicts = {finding.verdict for finding in found} - {Verdict.UNSEEN}
    if verdicts & REGRESSIONS:
        return REGRESSION
    seen = verdicts or any(one.identical for one in listed)
    return UNDECIDABLE if verdicts & OPEN or not seen else NOTHING


def diff_page(
    base: str, head: str, compared: list[Compared], noise: Noise, notes: Iterable[str] = ()
) -> dict[str, str]:
    """Write what changed between two revisions.

    Parameters
    ----------
    base, head
        Their names.
    compared
        What `reports.diff.findings.compare` found of each operator.
    noise
        What it was judged by.
    notes
        Lines of Markdown: what was left out, and why.

    Returns
    -------
    dict
        ``<base>..<head>.md``, ``.html`` and ``.json``: text by file name.
    """
    name, title = f"{base}..{head}", f"{base} → {head}"
    found = _worst_first(finding for one in compared for finding in one.findings)
    built = _worst_first(finding for one in compared for finding in one.builds)
    checks = _worst_first(finding for one in compared for finding in one.checks)
    changed = [finding for finding in found if finding.verdict is not Verdict.SAME]
    context = {
        "base": code(base),
        "head": code(head),
        "summary": _summary(found, sum(bool(one.findings) for one in compared)),
        "notes": list(notes),
        "changed": _findings_table(changed),
        "same": _findings_table([f for f in found if f.verdict is Verdict.SAME]),
        "same_count": sum(f.verdict is Verdict.SAME for f in found),
        "moved": _moved_table(found),
        "builds": _builds_table(built),
        "builds_summary": _summary(built, len({finding.operator for finding in built})),
        "builds_moved": _moved_table(built),
        "checks": _checks_table(checks),
        "checks_summary": _summary(checks, len({finding.operator for finding in checks})),
        "checked_alone": listing(code(one.operator) for one in compared if not one.base_checked),
        "differences": _differences_table(compared),
        "noise": f"{percent(noise.share)} and {duration(noise.least_ns)}",
        "noise_source": noise.source,
        "alpha": percent(ALPHA),
        "missing": MISSING,
    }
    files = page(name, title, "diff.md.j2", context, above=("diff",), unlinked=("diff",))
    return files | {f"{name}.json": _json(base, head, compared)}


_RANK = {verdict: place for place, verdict in enumerate(Verdict)}


def _worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Sort by verdict, then by how much the time changed."""
    return sorted(findings, key=lambda one: (_RANK[one.verdict], -abs(_log(one))))


def _log(finding: Finding) -> float:
    ratio = None if finding.timed is None else finding.timed.ratio
    return math.log(ratio.value) if ratio is not None and ratio.value > 0 else 0.0


def _summary(found: list[Finding], operators: int) -> str:
    words = [finding.verdict for finding in found]
    counts = [f"{words.count(verdict)} {verdict}" for verdict in Verdict if verdict in words]
    what = f"{plural(len(found), 'row')} of {plural(operators, 'operator')}"
    return f"{what}: {listing(counts)}." if counts else ""


_ABOUT = ("Operator", "Variant", "Case", "Verdict")


def _findings_table(found: list[Finding]) -> Table:
    headers = (*_ABOUT, "Change [95 %]", "Why", "Noise", "Base", "Head")
    rows = tuple(
        (
            *_about(finding),
            changed_by(finding),
            why(finding),
            _noise(finding),
            duration(finding.base_ns, 4),
            duration(finding.head_ns, 4),
        )
        for finding in found
    )
    return Table(headers, rows, left=len(_ABOUT) + 2)


def _builds_table(found: list[Finding]) -> Table:
    """List what compiles to something else; what moved alike on several GPUs is named once."""
    rows = []
    for finding in found:
        if finding.causes:
            causes = dict.fromkeys(replace(one, kernel="") for one in finding.causes)
            rows.append((*_about(finding), why(replace(finding, causes=tuple(causes)))))
    return Table((*_ABOUT, "What differs"), tuple(rows), left=len(_ABOUT) + 1)


def _checks_table(found: list[Finding]) -> Table:
    """List what was not right in both."""
    rows = tuple(
        (*_about(finding), cell(finding.reason or None))
        for finding in found
        if finding.reason or finding.verdict is not Verdict.SAME
    )
    return Table((*_ABOUT, "Why"), rows, left=len(_ABOUT) + 1)


def _about(finding: Finding) -> tuple[str, ...]:
    names = (finding.operator, finding.variant, finding.case)
    return (*(cell_code(name) for name in names), str(finding.verdict))


def _noise(finding: Finding) -> str:
    timed = finding.timed
    if timed is None or math.isnan(timed.noise):
        return MISSING
    return f"± {digits(100 * timed.noise, 2)} %"


def changed_by(finding: Finding) -> str:
    """Return the ratio of the times as a change in %, with its interval."""
    ratio = None if finding.timed is None else finding.timed.ratio
    if ratio is None:
        return MISSING
    value, low, high = (_signed(bound) for bound in (ratio.value, ratio.low, ratio.high))
    return f"{value} % [{low}, {high}]"


def _signed(ratio: float | None) -> str:
    if ratio is None:
        return MISSING
    change = 100 * (ratio - 1)
    return f"{'+' if change >= 0 else '-'}{digits(abs(change), 2)}"


def why(finding: Finding) -> str:
    """Name the causes."""
    named = [str(one) for one in finding.causes[:SHOWN_CAUSES]]
    if len(finding.causes) > SHOWN_CAUSES:
        named.append(f"{len(finding.causes) - SHOWN_CAUSES} more")
    return cell("; ".join([*([finding.reason] if finding.reason else []), *named]) or None)


def _moved_table(found: list[Finding]) -> Table:
    """List all that moved, of all rows, whatever their time did."""
    rows = tuple(
        (
            cell_code(finding.operator),
            cell_code(finding.variant),
            cell_code(finding.case),
            cell(f"{one.name} ({one.kernel})" if one.kernel else one.name),
            {True: "worse", False: "better", None: "other"}[one.worse],
            cell(one.base),
            cell(one.head),
            MISSING if one.share is None else f"{_signed(1 + one.share)} %",
        )
        for finding in found
        for one in finding.causes
    )
    headers = ("Operator", "Variant", "Case", "What", "Is", "Base", "Head", "Change")
    return Table(headers, rows, left=5)


def _differences_table(compared: list[Compared]) -> Table:
    where: dict[tuple[str, ...], list[str]] = {}
    for one in compared:
        for apart in one.differences:
            key = (apart.fact, apart.base, apart.head, listing(apart.passes))
            where.setdefault(key, []).append(one.operator)
    rows = tuple(
        (*(cell(part) for part in key), ", ".join(cell_code(name) for name in operators))
        for key, operators in where.items()
    )
    return Table(("Fact", "Base", "Head", "Not compared", "Operators"), rows, left=5)


def _json(base: str, head: str, compared: list[Compared]) -> str:
    content = {
        "base": base,
        "head": head,
        "outcome": outcome(compared),
        "differences": [
            {"operator": one.operator} | asdict(apart)
            for one in compared
            for apart in one.differences
        ],
        "findings": [_plain(finding) for one in compared for finding in one.findings],
        "builds": [_plain(finding) for one in compared for finding in one.builds],
        "checks": [_plain(finding) for one in compared for finding in one.checks],
    }
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _plain(finding: Finding) -> Row:
    row: dict[str, Any] = asdict(finding)
    timed = row.pop("timed") or {}
    for name in ("noise", "p"):
        value = timed.get(name)
        row[name] = None if value is None or math.isnan(value) else value
    row["ratio"] = timed.get("ratio")
    return row
