"""What the check pass found: the table of an operator's page, and a page over all operators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from reports import tables
from reports.columns import Column, Table, counts, names, table, texts
from reports.format import MISSING, digits, escape, listing, plural
from reports.frames import KEY, Row, records
from reports.render import page

CHECK_FRAMES = ("checks", "cases", "runs", "outcomes", "sanitizer")
"""The frames of an operator that the page of all checks is made of."""

STATUSES = ("ok", "wrong", "failed", "unsupported")


class ChecksError(Exception):
    """Checks that found something wrong. The message is one line: ``PAGE: CAUSE; REMEDY``."""

    def __init__(self, page: Path, found: list[str]) -> None:
        more = [f"{len(found) - 3} more"] if len(found) > 3 else []
        named = listing([*found[:3], *more])
        super().__init__(
            f"{page}: {plural(len(found), 'fault')}: {named};"
            " mend the kernels and run `snakemake checks/all` again"
        )


def checks_table(checks: pd.DataFrame, cases: pd.DataFrame) -> Table:
    """Tabulate what the check pass found of each variant and case of one operator.

    Parameters
    ----------
    checks, cases
        Frames of the operator; ``summed`` of the case stands beside the relative error, which
        grows with the length of a sum.
    """
    rows = _with_summed(records(checks), records(cases))
    columns = [
        names(rows, "case", "Case"),
        names(rows),
        texts("Status", rows, "status"),
        *_errors(rows, largest=True),
        texts("Reason", rows, "reason"),
    ]
    return table(columns, left=3)


def _errors(rows: list[Row], *, largest: bool = False) -> list[Column]:
    """Format the numbers of the check pass; ``largest`` adds the largest absolute error."""
    return [
        counts("Elements", rows, "elements"),
        counts("Outside", rows, "wrong_elements"),
        *([texts("Largest error", rows, "max_abs_error", _loose)] if largest else []),
        counts("Summed", rows, "summed"),
        texts("Relative error", rows, "relative_error", _loose),
        texts("Error over tolerance", rows, "tolerance_share", _loose),
        texts("rtol", rows, "rtol", _tolerance),
        texts("atol", rows, "atol", _tolerance),
    ]


def _loose(value: float | None) -> str:
    """Return an error: two digits do, and it may be tiny."""
    return MISSING if value is None else digits(value, 2)


def _tolerance(value: float | None) -> str:
    return MISSING if value is None else f"{value:g}"


def _with_summed(checks: list[Row], cases: list[Row]) -> list[Row]:
    summed = {(row["operator"], row["case"]): row["summed"] for row in cases}
    return [row | {"summed": summed.get((row["operator"], row["case"]))} for row in checks]


def checks_page(operators: Iterable[Mapping[str, pd.DataFrame]]) -> dict[str, str]:
    """Write what the checks of all operators found.

    Parameters
    ----------
    operators
        The frames of `CHECK_FRAMES` of each operator, by name.

    Returns
    -------
    dict
        ``checks.md`` and ``checks.html``: text by file name.
    """
    listed = list(operators)
    rows = [row for frames in listed for row in _checked(frames)]
    sanitized = [row for frames in listed for row in records(frames["sanitizer"])]
    runs = [row for frames in listed for row in records(frames["runs"])]
    context = {
        "summary": _summary(rows),
        "sanitized": _sanitized(sanitized),
        "checks": _all_checks(rows),
        "sanitizer": _sanitizer_table(sanitized),
        "machine": tables.machine_table(runs, fields=tables.MACHINE[:-1]),
        "passes": tables.passes_table(runs, several=True),
        "missing": MISSING,
    }
    return page("checks", "Checks", "checks.md.j2", context)


def faults(operators: Iterable[Mapping[str, pd.DataFrame]]) -> list[str]:
    """Name what the page shows as wrong: the operators are those of `checks_page`.

    That is each pair of variant and case that is neither ok nor unsupported, and each run under
    compute-sanitizer that is not ok.
    """
    found = []
    for frames in operators:
        found += [
            f"{'/'.join(_key(row))} is {row['status']}"
            for row in _checked(frames)
            if row["status"] not in {"ok", "unsupported"}
        ]
        found += [
            f"{row['operator']}/{row['variant']} under {row['tool']} is {row['status']}"
            for row in records(frames["sanitizer"])
            if row["status"] != "ok"
        ]
    return found


def _checked(frames: Mapping[str, pd.DataFrame]) -> list[Row]:
    """Return one row a variant and case; what has an outcome but no check has no numbers."""
    blank = dict.fromkeys(frames["checks"].columns)
    outcomes = frames["outcomes"][frames["outcomes"]["pass"].eq("check")]
    found = {
        _key(row): blank | row for part in (outcomes, frames["checks"]) for row in records(part)
    }
    return _with_summed(list(found.values()), records(frames["cases"]))


def _key(row: Row) -> tuple[str, ...]:
    return tuple(row[name] for name in KEY)


def _summary(rows: list[Row]) -> str:
    """Count what was checked and what came of it."""
    numbers = (
        len({tuple(row[name] for name in parts) for row in rows})
        for parts in (("operator",), ("operator", "variant"), ("operator", "case"))
    )
    kinds = ("operator", "variant", "case")
    size = listing(plural(n, kind) for n, kind in zip(numbers, kinds, strict=True))
    words = [row["status"] for row in rows]
    found = listing(f"{words.count(status)} {status}" for status in STATUSES)
    return (
        f"The check pass compared {size} with float64 references: "
        f"of {plural(len(rows), 'pair')} of variant and case {found}."
    )


def _all_checks(rows: list[Row]) -> Table:
    columns = [
        names(rows, "operator", "Operator"),
        names(rows, "case", "Case"),
        names(rows),
        texts("Status", rows, "status"),
        *_errors(rows),
        texts("Reason", rows, "reason"),
    ]
    return table(columns, left=4)


def _sanitized(rows: list[Row]) -> str:
    """Say what compute-sanitizer counted; a number that is missing is said, not taken for 0."""
    if not rows:
        return "No kernel ran under compute-sanitizer."
    tools = listing(dict.fromkeys(escape(row["tool"]) for row in rows))
    known = [row["errors"] for row in rows if row["errors"] is not None]
    failed = sum(row["status"] != "ok" for row in rows)
    lost = len(rows) - len(known)
    unknown = f", and of {plural(lost, 'run')} the errors are not known" if lost else ""
    return (
        f"compute-sanitizer ({tools}) counted {plural(sum(known), 'error')} "
        f"in {plural(len(known), 'run')}{unknown}; {plural(failed, 'run')} failed."
    )


def _sanitizer_table(rows: list[Row]) -> Table:
    columns = [
        names(rows, "operator", "Operator"),
        names(rows),
        texts("Tool", rows, "tool"),
        texts("Status", rows, "status"),
        counts("Errors", rows, "errors"),
        texts("Cases", rows, "cases"),
        texts("Reason", rows, "reason"),
    ]
    return table(columns, left=4)
