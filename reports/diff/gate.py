"""Fail where a diff found a regression: ``python -m reports.diff.gate DIFF.json``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from reports.diff.findings import REGRESSIONS
from reports.diff.page import NOTHING, REGRESSION, UNDECIDABLE
from reports.format import plural

SHOWN = 3


def main(arguments: list[str]) -> int:
    """Return 1 after one ``error:`` line where something is worse, 2 where that fails, else 0."""
    path = Path(arguments[0]) if len(arguments) == 1 else None
    if path is None:
        sys.stderr.write("error: expected one path, that of a diff's JSON\n")
        return UNDECIDABLE
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        findings = [*content["checks"], *content["findings"], *content["builds"]]
        worse = [found for found in findings if found["verdict"] in REGRESSIONS]
        named = ", ".join(map(_name, worse[:SHOWN]))
    except (OSError, ValueError, KeyError, TypeError):
        sys.stderr.write(f"error: {path}: not the JSON of a diff; write it by reports/diff\n")
        return UNDECIDABLE
    if not worse:
        return NOTHING
    more = f" and {len(worse) - SHOWN} more" if len(worse) > SHOWN else ""
    page = path.with_suffix(".md")
    count = plural(len(worse), "regression")
    sys.stderr.write(f"error: {page}: {count}: {named}{more}; the page says why\n")
    return REGRESSION


def _name(found: dict[str, Any]) -> str:
    where = "/".join((found["operator"], found["variant"], found["case"]))
    return f"{where} is {found['verdict']}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
