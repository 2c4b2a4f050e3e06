"""What became of each variant in each case: a verdict, how much, and the causes in order."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import pandas as pd

from reports import timing
from reports.diff.comparable import Difference, differences, other_inputs, refused
from reports.diff.counters import PLACED, Moved, Pair, built, counted, same_code
from reports.diff.times import Change, Noise, Timed, drifts, judge
from reports.frames import Frames
from reports.status import Status, cases, statuses, variants


class Verdict(StrEnum):
    """What became of a variant in a case, the worst first."""

    BROKEN = "broken"
    SLOWER = "slower"
    COSTLIER = "costlier"
    UNDECIDED = "undecided"
    REFUSED = "not comparable"
    UNSEEN = "not seen"
    REMOVED = "removed"
    CHANGED = "changed"
    FASTER = "faster"
    MENDED = "mended"
    NEW = "new"
    SAME = "same"


REGRESSIONS = frozenset({Verdict.BROKEN, Verdict.SLOWER, Verdict.COSTLIER})
OPEN = frozenset({Verdict.UNDECIDED, Verdict.REFUSED})

ORDER = (
    *("build", "kernels", "launches", "tensor FLOPs", "tensor cores"),
    *("spill loads", "spill stores", "local-memory instructions", "stack"),
    *("load width", "store width", "float64 instructions", "configuration"),
    *("DRAM bytes", "load requests", "store requests", "load sectors", "store sectors"),
    *("bank conflicts", "theoretical occupancy", "instructions", "registers", "threads a block"),
    *("blocks", "shared memory", "dynamic shared memory", "L2 sectors", "SASS instructions"),
    "code",
)
"""Causes, from the change itself to what follows from it. A configuration stands before what it
does to memory and occupancy, behind what the compiler made of it."""

DRIFT = "nothing that is counted or built differs: drift between the measurements"

_RANK = {name: place for place, name in enumerate(ORDER)}


@dataclass(frozen=True)
class Finding:
    """One variant in one case.

    Attributes
    ----------
    timed
        Its change of time; None where it was not compared.
    base_ns, head_ns
        Medians; None where there are none.
    causes
        What else differs, what explains the verdict first.
    reason
        Why it is broken or not comparable, or where its causes are not to be found; else empty.
    """

    operator: str
    variant: str
    case: str
    verdict: Verdict
    timed: Timed | None = None
    base_ns: float | None = None
    head_ns: float | None = None
    causes: tuple[Moved, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class Compared:
    """Two revisions of one operator: what differs in how they were measured, and the findings.

    ``builds`` are findings of `compare_builds`, ``checks`` of `reports.diff.checked`, where
    ``base_checked`` says whether there is a base to them; ``identical`` is one of which both have
    the same captures: there is nothing to find in them.
    """

    operator: str
    differences: list[Difference] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    builds: list[Finding] = field(default_factory=list)
    checks: list[Finding] = field(default_factory=list)
    base_checked: bool = True
    identical: bool = False


def compare(base: Frames, head: Frames, noise: Noise) -> Compared:
    """Compare two revisions of an operator.

    Parameters
    ----------
    base, head
        What is known of each.
    noise
        What two measurements of the same code differ by.
    """
    apart = differences(base, head)
    barred, other = refused(apart), other_inputs(base, head)
    before, after = statuses(base), statuses(head)
    both = [pair for pair in _pairs(head) if pair in before]
    times = {pair: (_samples(base, pair), _samples(head, pair)) for pair in both}
    ranked = [p for p in both if before[p].ranked and after[p].ranked and p[1] not in other]
    causes = _causes(base, head, barred)
    why = {name: _why(apart, name) for name in ("time", "ncu")}
    steady = _steady(base, head, causes, ranked)
    compared = {pair: times[pair] for pair in ranked if "time" not in barred}
    starts = _starts(head)
    timed = judge(compared, noise, drifts(compared, steady & compared.keys(), starts), starts)
    findings = []
    for pair in both:
        found = _state(before[pair], after[pair], other=pair[1] in other)
        if found is None and pair in ranked:
            found = _judged(timed.get(pair), causes.get(pair, []), why, steady=pair in steady)
        if found is not None:
            medians = [None if part.empty else float(part.median()) for part in times[pair]]
            about = {"base_ns": medians[0], "head_ns": medians[1]} | found
            about["causes"] = _ordered(found.get("causes", ()), found["verdict"])
            findings.append(Finding(head.operator, *pair, **about))
    return Compared(head.operator, apart, [*findings, *_alone(base, head)])


def compare_builds(operator: str, base: pd.DataFrame, head: pd.DataFrame) -> list[Finding]:
    """Compare what two revisions of an operator compile to with one toolchain.

    Returns
    -------
    list
        A finding a variant and case, with what moved on any architecture: *costlier* where
        something is worse and nothing better, *changed* where no build decides what it costs,
        *broken* where what compiled no longer does.
    """
    rows: dict[Pair, list[Moved]] = {}
    for (variant, case, kernel, arch), moved in built(base, head).items():
        named = rows.setdefault((variant, case), [])
        named += [replace(one, kernel=f"{kernel}, {arch}") for one in moved]
    verdicts = {pair: _by_builds(moved) for pair, moved in rows.items()}
    return [
        Finding(operator, *pair, verdicts[pair], causes=_ordered(moved, verdicts[pair]))
        for pair, moved in rows.items()
    ]


def _by_builds(moved: list[Moved]) -> Verdict:
    worse, better = (any(one.worse is way for one in moved) for way in (True, False))
    if any(one.name == "build" and one.worse for one in moved):
        return Verdict.BROKEN
    if not moved:
        return Verdict.SAME
    return Verdict.COSTLIER if worse and not better else Verdict.CHANGED


def _ordered(moved: Iterable[Moved], verdict: Verdict) -> tuple[Moved, ...]:
    """Sort causes; what speaks against the verdict stands last."""
    better = verdict in {Verdict.FASTER, Verdict.MENDED}
    return tuple(sorted(moved, key=lambda one: (one.worse is better, _RANK[one.name])))


def _pairs(frames: Frames) -> list[Pair]:
    return [(variant, case) for case in cases(frames) for variant in variants(frames)]


def _source(frames: Frames) -> frozenset[str]:
    return frozenset(frames.runs["source_sha256"].dropna())


def _samples(frames: Frames, pair: Pair) -> pd.Series[float]:
    rows = frames.samples
    return timing.by_round(rows[rows["variant"].eq(pair[0]) & rows["case"].eq(pair[1])])


def _starts(frames: Frames) -> list[int]:
    """Return the first round of each session in which the times were taken."""
    settings = frames.runs.loc[frames.runs["pass"].eq("time"), "settings"].dropna()
    return sorted({int(json.loads(text).get("first_round", 0)) for text in settings} | {0})


def _why(apart: list[Difference], name: str) -> str:
    """Say which facts stand in the way of comparing a pass; empty where none does."""
    facts = [f"{one.fact} {one.base} → {one.head}" for one in apart if name in one.passes]
    return f"{name} pass: {', '.join(facts)}" if facts else ""


def _causes(base: Frames, head: Frames, barred: set[str]) -> dict[Pair, list[Moved]]:
    """Return what else differs of each variant and case, what explains most first."""
    found: dict[Pair, list[Moved]] = {}
    arch = _arch(head)
    if "ncu" not in barred:
        found = counted(base, head)
        for pair in same_code(base.builds, head.builds, arch) & found.keys():
            if all(one.name in PLACED for one in found[pair]):
                found[pair] = []
    if "build" not in barred:
        for (variant, case, kernel, built_for), moved in built(base.builds, head.builds).items():
            if built_for == arch:
                known = found.setdefault((variant, case), [])
                named = {one.name for one in known}
                known += [replace(m, kernel=kernel) for m in moved if m.name not in named]
    return found


def _arch(frames: Frames) -> str:
    capabilities = frames.runs["compute_capability"].dropna()
    return "" if capabilities.empty else f"sm_{str(capabilities.iloc[0]).replace('.', '')}"


def _state(before: Status, after: Status, *, other: bool) -> dict[str, Any] | None:
    """Return the verdict where it is not one of time; None where both can be ranked."""
    if other:
        return {"verdict": Verdict.REFUSED, "reason": "the case is another input"}
    if before.ranked and not after.ranked:
        missing = after.word == "not measured"
        verdict = Verdict.REFUSED if missing else Verdict.BROKEN
        return {"verdict": verdict, "reason": f"{after.word}: {after.reason}"}
    if after.ranked and not before.ranked:
        missing = before.word == "not measured"
        verdict = Verdict.REFUSED if missing else Verdict.MENDED
        return {"verdict": verdict, "reason": f"{before.word} before: {before.reason}"}
    if after.word == before.word == "unsupported":
        return {"verdict": Verdict.SAME, "reason": "unsupported in both"}
    if not after.ranked:
        return {"verdict": Verdict.REFUSED, "reason": f"{before.word}, {after.word}"}
    return None


def _judged(
    timed: Timed | None, causes: list[Moved], why: dict[str, str], *, steady: bool
) -> dict[str, Any]:
    """Return the verdict by time, or where time does not decide, by what else differs."""
    known = {"timed": timed, "causes": tuple(causes)}
    worse, better = (any(one.worse is way for one in causes) for way in (True, False))
    if timed is None or timed.change is Change.UNDECIDED:
        open_word = Verdict.REFUSED if timed is None else Verdict.UNDECIDED
        verdict = Verdict.COSTLIER if worse and not better else open_word
        return known | {"verdict": verdict, "reason": DRIFT if steady and timed else why["time"]}
    if timed.change is Change.SAME:
        return known | {"verdict": Verdict.SAME}
    if steady:
        return known | {"verdict": Verdict.UNDECIDED, "reason": DRIFT}
    reason = "" if causes else why["ncu"] or "no counter and no build tells why"
    return known | {"verdict": Verdict(str(timed.change)), "reason": reason}


def _steady(
    base: Frames, head: Frames, causes: dict[Pair, list[Moved]], pairs: list[Pair]
) -> set[Pair]:
    """Return what runs the same code in both: nothing that was counted or built differs.

    Kernels that are compiled from the operator's source may differ in ways that nothing counts, so
    they are the same code only where that source is, or where the compiler made the same of it.
    Without counters nothing is known to be.
    """
    ours = set(head.builds["variant"].dropna()) | set(base.builds["variant"].dropna())
    same_source = _source(base) == _source(head)
    same = same_code(base.builds, head.builds, _arch(head))
    return {
        pair
        for pair in pairs
        if causes.get(pair) == [] and (same_source or pair in same or pair[0] not in ours)
    }


def _alone(base: Frames, head: Frames) -> Iterable[Finding]:
    """Return variants and cases that only one of the two has."""
    before, after = dict.fromkeys(_pairs(base)), dict.fromkeys(_pairs(head))
    for known, others, verdict in (
        (before, after, Verdict.REMOVED),
        (after, before, Verdict.NEW),
    ):
        for variant, case in known:
            if (variant, case) not in others:
                yield Finding(head.operator, variant, case, verdict)
