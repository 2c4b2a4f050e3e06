"""Numbers and names as they stand on a page."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

MISSING = "\N{EN DASH}"
"""Stands for a value that was not collected; the page says so."""

TIMES = "\N{MULTIPLICATION SIGN}"

_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_SMALL = ((1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))
_PREFIXED = ("s", "B", "B/s", "Hz", "FLOP", "FLOP/s")


@dataclass(frozen=True)
class Scale:
    """A unit with its prefix, shared by the values of a column."""

    factor: float
    unit: str

    def text(self, value: float | None, significant: int = 3) -> str:
        """Return the value in this unit, without the unit."""
        return MISSING if value is None else digits(value / self.factor, significant)


def scale(values: Iterable[float | None], unit: str) -> Scale:
    """Choose the prefix that brings the largest value to 1 or above.

    Values are in the bare unit (s, B, B/s, Hz, FLOP). Other units, such as %, take no prefix.
    """
    sizes = [abs(value) for value in values if value is not None and math.isfinite(value)]
    largest = max(sizes, default=0.0)
    if unit not in _PREFIXED or largest == 0:
        return Scale(1.0, unit)
    choices = _PREFIXES[1:] + _SMALL if unit == "s" else _PREFIXES
    factor, prefix = next((c for c in choices if largest >= c[0]), choices[-1])
    return Scale(factor, prefix + unit)


def digits(value: float, significant: int = 3) -> str:
    """Return the value with so many significant digits, never in exponent form above 1e-4."""
    if not math.isfinite(value):
        return MISSING if math.isnan(value) else str(value)
    if value == 0:
        return "0"
    exponent = int(f"{value:.{significant - 1}e}".split("e")[1])
    if exponent < -4:
        return f"{value:.{significant - 1}e}"
    decimals = max(0, significant - 1 - exponent)
    return f"{value:.{decimals}f}"


def column(
    values: Iterable[float | None], unit: str, significant: int = 3
) -> tuple[str, list[str]]:
    """Return the unit for the header and each value in it, so that a column shares one unit."""
    listed = list(values)
    chosen = scale(listed, unit)
    return chosen.unit, [chosen.text(value, significant) for value in listed]


def quantity(value: float | None, unit: str, significant: int = 3) -> str:
    """Return one value with its own prefix and unit, such as ``5.71 GB``."""
    if value is None:
        return MISSING
    chosen = scale([value], unit)
    return f"{chosen.text(value, significant)} {chosen.unit}".rstrip()


def duration(nanoseconds: float | None, significant: int = 3) -> str:
    """Return nanoseconds as a time with its unit, such as ``131 µs``."""
    return quantity(None if nanoseconds is None else nanoseconds * 1e-9, "s", significant)


def count(value: float | None) -> str:
    """Return a whole number with a comma between thousands."""
    return MISSING if value is None else f"{round(value):,}"


def times(value: float | None, significant: int = 3) -> str:
    """Return a factor, such as ``10.7`` and a multiplication sign."""
    return MISSING if value is None else f"{digits(value, significant)}{TIMES}"


def percent(share: float | None, significant: int = 3) -> str:
    """Return a share of one as per cent, such as ``97.3 %``."""
    return MISSING if share is None else f"{digits(share * 100, significant)} %"


def bracket(low: str, high: str) -> str:
    """Return an interval, or nothing where it is missing."""
    return "" if MISSING in {low, high} else f" [{low}, {high}]"


def escape(text: object) -> str:
    """Make data safe as Markdown text, in a table cell too: it shows as it is, and starts nothing.

    Names of kernels and messages of compilers are data: they may hold pipes, HTML or backticks.
    """
    line = " ".join(str(text).split())
    line = re.sub(r"([\\`*\[\]|~$]|(?<!\w)_|_(?!\w))", r"\\\1", line)
    return line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def code(text: object) -> str:
    """Return data as a code span for running text."""
    line = " ".join(str(text).split())
    if not line:
        return MISSING
    fence = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    pad = " " if line[0] == "`" or line[-1] == "`" else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def cell_code(text: object) -> str:
    """Return data as a code span for a table cell, where a bare pipe would end the cell."""
    return code(text).replace("|", r"\|")


def cell(text: object) -> str:
    """Return data as text for a table cell; None is missing."""
    return MISSING if text is None or text == "" else escape(text)


def plural(number: int, noun: str) -> str:
    """Return a number and a noun, such as ``1 case`` and ``2,000 cases``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def listing(words: Iterable[str]) -> str:
    """Join words as in a sentence: ``a``, ``a and b``, ``a, b and c``."""
    items = list(words)
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"


def short_commit(commit: str) -> str:
    """Shorten a commit's id; a mark behind a plus sign, such as ``+changes``, stays."""
    head, plus, rest = commit.partition("+")
    return head[:12] + plus + rest


def block(lines: Iterable[object], language: str = "") -> str:
    """Return data as a block of code, a line each; no run of backticks in it ends the block."""
    shown = [" ".join(str(line).splitlines()) for line in lines]
    longest = max((len(run) for line in shown for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([fence + language, *shown, fence])
