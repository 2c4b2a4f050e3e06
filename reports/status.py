"""Which variants may be ranked, and what is wrong with the others."""

from __future__ import annotations

from dataclasses import dataclass

from reports.format import count, digits, escape
from reports.frames import Frames, Row, records


@dataclass(frozen=True)
class Status:
    """What became of a variant in a case.

    Attributes
    ----------
    word
        ``ok``; ``wrong``: its output is outside the tolerance; ``failed``: it could not be checked
        or timed; ``unsupported``: it refuses the case before any launch; ``unchecked``: timed, but
        nothing says that it computes the right thing; ``not measured``: no samples, and no failure
        either.
    reason
        Why it is not ok, in one line of Markdown.
    notes
        Passes other than check and time that failed, each as one line of Markdown.
    """

    word: str
    reason: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def ranked(self) -> bool:
        """Whether its times may be compared. What is wrong is never ranked."""
        return self.word in {"ok", "unchecked"}


def variants(frames: Frames) -> list[str]:
    """Return the variants in their declared order, then those that only measurements name."""
    return _names(frames, "variant")


def cases(frames: Frames) -> list[str]:
    """Return the cases in their declared order, then those that only measurements name."""
    return _names(frames, "case")


def _names(frames: Frames, column: str) -> list[str]:
    declared = frames.variants if column == "variant" else frames.cases
    sources = (declared, frames.outcomes, frames.checks, frames.samples, frames.counters)
    return list(dict.fromkeys(str(name) for f in sources for name in f[column].dropna().unique()))


def baseline(frames: Frames) -> str | None:
    """Return the variant that speed-ups are against."""
    rows = frames.variants[frames.variants["baseline"].fillna(value=False).astype(bool)]
    return None if rows.empty else str(rows["variant"].iloc[0])


def statuses(frames: Frames) -> dict[tuple[str, str], Status]:
    """Return the status of each (variant, case)."""
    checks = {(r["variant"], r["case"]): r for r in records(frames.checks)}
    outcomes: dict[tuple[str, str], dict[str, Row]] = {}
    for row in records(frames.outcomes):
        outcomes.setdefault((row["variant"], row["case"]), {})[row["pass"]] = row
    timed = set(frames.samples.groupby(["variant", "case"]).groups)
    pairs = [(variant, case) for case in cases(frames) for variant in variants(frames)]
    return {
        pair: _status(checks.get(pair), outcomes.get(pair, {}), timed=pair in timed)
        for pair in pairs
    }


def _status(check: Row | None, passes: dict[str, Row], *, timed: bool) -> Status:
    notes = tuple(
        f"the {name} pass failed: {_reason(row)}"
        for name, row in passes.items()
        if row["status"] == "failed" and name not in {"check", "time"}
    )
    checked, time = check or passes.get("check"), passes.get("time")
    for row in (checked, time):
        if row and row["status"] == "unsupported":
            return Status("unsupported", _reason(row), notes)
    if checked and checked["status"] in {"wrong", "failed"}:
        wrong = checked["status"] == "wrong"
        said = wrongness(checked) if wrong else f"the check failed: {_reason(checked)}"
        return Status(checked["status"], said, notes)
    if time and time["status"] != "ok":
        said = f"the time pass {'was ' if time['status'] == 'skipped' else ''}{time['status']}"
        word = "not measured" if time["status"] == "skipped" else "failed"
        return Status(word, f"{said}: {_reason(time)}", notes)
    if not timed:
        return Status("not measured", "it has no samples", notes)
    if checked is None or checked["status"] != "ok":
        return Status("unchecked", "no check says that it computes the right thing", notes)
    return Status("ok", None, notes)


def wrongness(check: Row) -> str:
    """Say how wrong an output is, with what the check has."""
    parts = []
    if check.get("wrong_elements") is not None:
        total = check.get("elements")
        of = "" if total is None else f" of {count(total)}"
        parts.append(f"{count(check['wrong_elements'])}{of} elements outside the tolerance")
    if check.get("max_abs_error") is not None:
        share = check.get("tolerance_share")
        at = "" if share is None else f", at most {digits(share)} times the tolerance"
        parts.append(f"largest error {digits(check['max_abs_error'])}{at}")
    if not parts and check.get("reason") is not None:
        parts.append(escape(check["reason"]))
    return ", ".join(parts) or "the check gives no numbers"


def _reason(row: Row) -> str:
    return "no reason is given" if row.get("reason") is None else escape(row["reason"])
