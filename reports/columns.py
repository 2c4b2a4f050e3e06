"""Tables of Markdown cells, and the columns that they are made of: one unit down a column."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from reports.format import MISSING, bracket, cell, cell_code, column, count, scale
from reports.frames import Row

_TEXT = frozenset(
    {
        *("Cases", "Config", "Limiter", "Most wait for", "One block more", "Opcodes"),
        *("Reason", "Says", "Status", "Triton", "Type", "Why"),
    }
)
"""Headers of text columns that stand right of the numbers."""


@dataclass(frozen=True)
class Table:
    """A table of ready Markdown cells; ``left`` counts the columns that are text, at the left."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int = 1
    note: str = ""

    @property
    def empty(self) -> bool:
        """Whether no row has a value beside its name."""
        values = [value for row in self.rows for value in row[self.left :] or row]
        return all(value == MISSING for value in values)

    @property
    def rule(self) -> str:
        """The line under the headers."""
        sides = [
            ":--" if i < self.left or header in _TEXT else "--:"
            for i, header in enumerate(self.headers)
        ]
        return f"| {' | '.join(sides)} |"


Column = tuple[str, list[str]]


def table(columns: Iterable[Column], left: int = 1, note: str = "") -> Table:
    """Make a table of columns; ``note`` is a line of Markdown below it."""
    listed = list(columns)
    rows = tuple(zip(*(values for _, values in listed), strict=True))
    return Table(tuple(header for header, _ in listed), rows, left, note)


def names(rows: list[Row], key: str = "variant", header: str = "Variant") -> Column:
    """Format names as code."""
    return header, [cell_code(row[key]) for row in rows]


def numbers(
    header: str, rows: list[Row], key: str, unit: str = "", significant: int = 3, factor: float = 1
) -> Column:
    """Format one key of the rows; values times ``factor`` are in the bare ``unit``."""
    raw = [None if row[key] is None else float(row[key]) * factor for row in rows]
    shown, values = column(raw, unit, significant)
    return f"{header}, {shown}" if shown else header, values


def alike(rows: list[Row], unit: str, columns: dict[str, str], factor: float = 1) -> list[Column]:
    """Format several keys in one unit, so that their columns compare at a glance."""
    raw = {h: [None if r[k] is None else r[k] * factor for r in rows] for h, k in columns.items()}
    chosen = scale([value for values in raw.values() for value in values], unit)
    return [(f"{h}, {chosen.unit}", [chosen.text(v) for v in vs]) for h, vs in raw.items()]


def counts(header: str, rows: list[Row], key: str) -> Column:
    """Format whole numbers."""
    return header, [count(row[key]) for row in rows]


def texts(header: str, rows: list[Row], key: str, show: Callable[[Any], str] = cell) -> Column:
    """Format each value by ``show``."""
    return header, [show(row[key]) for row in rows]


def within(
    header: str, rows: list[Row], keys: tuple[str, str, str], unit: str, factor: float = 1
) -> Column:
    """Format a value with its interval."""
    chosen = scale([None if r[keys[0]] is None else r[keys[0]] * factor for r in rows], unit)

    def text(value: float | None) -> str:
        return chosen.text(None if value is None else value * factor, 4)

    values = [text(row[keys[0]]) + bracket(text(row[keys[1]]), text(row[keys[2]])) for row in rows]
    return f"{header}, {chosen.unit} [95 %]", values


def json_words(text: str | None) -> str:
    """Return a JSON object as ``key=value`` words; any other text as it is."""
    if text is None:
        return MISSING
    try:
        content = json.loads(text)
    except ValueError:
        return cell(text)
    if not isinstance(content, dict):
        return cell(text)
    return cell(", ".join(f"{k}={_plain(v)}" for k, v in sorted(content.items())))


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
