"""The verdict of a case: which variant is fastest, how sure that is, and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reports import explain
from reports.analysis import evidence
from reports.bottleneck import Bottleneck
from reports.format import bracket, code, column, digits, duration, listing, percent, times
from reports.frames import Row
from reports.limits import Kind
from reports.timing import FEWEST_SAMPLES, WIDE_SPREAD, Estimate, distinguishable

_NO_BASELINE = "; no speed-up is given, for the baseline is not ranked"


@dataclass(frozen=True)
class Verdict:
    """What one case shows.

    Attributes
    ----------
    case
        Name of the case.
    fastest
        The fastest variant first, then those level with it; empty where nothing is ranked.
    best
        The row of the fastest variant; None where nothing is ranked.
    headline
        One sentence of Markdown: the ranking.
    reasons
        Sentences of Markdown: why.
    doubts
        Sentences of Markdown: what is wrong, failed, doubtful or contradictory.
    """

    case: str
    fastest: tuple[str, ...]
    best: Row | None
    headline: str
    reasons: tuple[str, ...]
    doubts: tuple[str, ...]


def judge(
    case: str,
    rows: list[Row],
    l2_bytes: float | None = None,
    limits: Sequence[Bottleneck] = (),
) -> Verdict:
    """Judge one case.

    Parameters
    ----------
    case
        Its name.
    rows
        Its rows of the comparison frame.
    l2_bytes
        Size of the L2 cache in bytes.
    limits
        What limits each variant, where that is worked out.
    """
    ranked = [r for r in rows if r["slowdown"] is not None]
    ranked.sort(key=lambda r: r["median_ns"])
    if not ranked:
        return Verdict(case, (), None, "Nothing is ranked.", (), tuple(_doubts(rows, [])))
    level = [r for r in ranked if _level(r)]
    base = next((r for r in ranked if r["baseline"]), None)
    return Verdict(
        case=case,
        fastest=tuple(r["variant"] for r in level),
        best=ranked[0],
        headline=_headline(ranked, level, base),
        reasons=(
            *_limits(ranked[0], base, limits),
            *_reasons(ranked, level, base, l2_bytes, limits),
        ),
        doubts=(*_doubts(rows, level), *_contradictions(limits)),
    )


def _level(row: Row) -> bool:
    """Say whether a row is as good as the fastest: too near to matter, or to tell apart."""
    return row["slowdown"] < explain.LEVEL or _blurred(row)


def _blurred(row: Row) -> bool:
    """Say whether the samples cannot tell a row from the fastest."""
    estimate = Estimate(row["slowdown"], row["slowdown_low"], row["slowdown_high"])
    return row["slowdown"] == 1 or distinguishable(estimate) is False


def _headline(ranked: list[Row], level: list[Row], base: Row | None) -> str:
    best = ranked[0]
    if len(ranked) == 1:
        alone = f"**{code(best['variant'])} alone is ranked**: {_time(best)} (time pass)"
        return f"{alone}; there is nothing to compare it with."
    names = listing(code(r["variant"]) for r in level)
    alike = "not distinguishable from" if all(map(_blurred, level)) else "level with"
    if len(level) == len(ranked):
        lost = _NO_BASELINE if base is None else ""
        return f"**{names} are {alike} each other**: {_range(level)}{lost} (time pass)."
    if len(level) == 1:
        lead = f"**{names} is fastest**: {_time(best)}"
    else:
        lead = f"**{names} are fastest**, {alike} each other: {_range(level)}"
    return f"{lead}{_speedup(ranked, level, base)} (time pass)."


def _time(row: Row) -> str:
    unit, (middle, low, high) = _seconds(row[f"median{part}_ns"] for part in ("", "_low", "_high"))
    return f"{middle} {unit}{bracket(low, high)}"


def _range(rows: list[Row]) -> str:
    unit, (low, high) = _seconds((rows[0]["median_ns"], rows[-1]["median_ns"]))
    return f"{low} {unit}" if low == high else f"{low} to {high} {unit}"


def _seconds(nanoseconds: Iterable[float | None]) -> tuple[str, list[str]]:
    return column([None if ns is None else ns * 1e-9 for ns in nanoseconds], "s", 4)


def _speedup(ranked: list[Row], level: list[Row], base: Row | None) -> str:
    if base is None:
        return _NO_BASELINE
    name = code(base["variant"])
    if base in level:
        second = next(r for r in ranked if r not in level)
        slower = f"{code(second['variant'])}, the next, takes {times(second['slowdown'])} as long"
        return f"; the baseline {name} is among them, and {slower}"
    best = ranked[0]
    gain = times(best["speedup"], 4) + _interval(best["speedup_low"], best["speedup_high"])
    return f", {gain} as fast as the baseline {name} ({duration(base['median_ns'], 4)})"


def _reasons(
    ranked: list[Row],
    level: list[Row],
    base: Row | None,
    l2_bytes: float | None,
    limits: Sequence[Bottleneck],
) -> list[str]:
    best, said = ranked[0], []
    slow = base if base is not None and base not in level else _next(ranked, level)
    if slow is not None:
        said += explain.difference(slow, best, l2_bytes)
    near = _next(ranked, level)
    if near is not None and near is not slow and near["slowdown"] >= explain.SMALL:
        said += explain.difference(near, best, l2_bytes)
    if any(one.variant == best["variant"] and one.kind is Kind.LAUNCH for one in limits):
        return said
    sentences = (explain.beyond_copy(best, l2_bytes), explain.coalescing(ranked))
    return said + [sentence for sentence in sentences if sentence is not None]


def _limits(best: Row, base: Row | None, limits: Sequence[Bottleneck]) -> Iterable[str]:
    """Say what limits the fastest variant and the baseline, from what, and what to try next."""
    known = {one.variant: one for one in limits}
    names = dict.fromkeys(row["variant"] for row in (best, base) if row is not None)
    for one in (known[name] for name in names if name in known):
        measured = evidence(one)
        shown = f": {measured}" if measured else ""
        sure = f"{one.confidence.name.lower()} confidence"
        yield (
            f"{code(one.variant)} is **{one.kind}** ({sure}){shown}. "
            f"Next: {'; '.join(one.next_steps)}."
        )


def _contradictions(limits: Sequence[Bottleneck]) -> Iterable[str]:
    return (f"Passes disagree: {said}." for one in limits for said in one.contradictions)


def _next(ranked: list[Row], level: list[Row]) -> Row | None:
    return next((r for r in ranked if r not in level), None)


def _doubts(rows: list[Row], level: list[Row]) -> list[str]:
    said = []
    for row in rows:
        name = code(row["variant"])
        if row["status"] == "unchecked":
            said.append(f"{name} is unchecked: {row['reason']}.")
        elif row["status"] == "unsupported":
            said.append(f"{name} does not take this case: {row['reason']}.")
        elif row["status"] != "ok":
            word = "has **failed**" if row["status"] == "failed" else f"is **{row['status']}**"
            said.append(f"{name} {word}: {row['reason']}. It is not ranked.")
        if row["notes"] is not None:
            said.append(f"{name}: {row['notes']}.")
        if (row["spread"] or 0) > WIDE_SPREAD:
            said.append(
                f"{name} is doubtful: half of its samples spread over {percent(row['spread'], 2)} "
                f"of the median, more than {percent(WIDE_SPREAD, 1)} (time pass)."
            )
        if 0 < (row["samples"] or 0) < FEWEST_SAMPLES:
            said.append(
                f"{name} has {row['samples']} samples; "
                f"fewer than {FEWEST_SAMPLES} give no interval."
            )
    if len(level) > 1:
        said.append(_why_level(level))
    return said


def _why_level(level: list[Row]) -> str:
    limit = percent(explain.LEVEL - 1, 1)
    parts = [
        f"{code(row['variant'])} takes {times(row['slowdown'], 4)}"
        f"{_interval(row['slowdown_low'], row['slowdown_high'])} as long, "
        + ("not distinguishable" if _blurred(row) else f"less than {limit} apart")
        for row in level[1:]
    ]
    return f"Against {code(level[0]['variant'])}: {'; '.join(parts)} (time pass)."


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f" [{digits(low, 4)}, {digits(high, 4)}]"
