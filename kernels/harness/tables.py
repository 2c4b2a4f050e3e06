"""Tables of a capture: CSV with a header, in which no value is an empty field."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def write(path: Path, rows: Sequence[Mapping[str, Any]], columns: Sequence[str] = ()) -> None:
    """Write rows of perhaps different keys; the columns are as given, then as they first occur."""
    fields = list(dict.fromkeys([*columns, *(key for row in rows for key in row)]))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fields, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def read(path: Path) -> list[dict[str, str]]:
    """Return the rows; every value is text."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def append(source: Path, target: Path) -> None:
    """Append a table to another, which need not be there yet."""
    earlier = read(target) if target.exists() else []
    write(target, [*earlier, *read(source)])
