"""Nsight Compute's plain text, as it prints it to a terminal, to the counters frame."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from parsers import ncu_csv, ncu_frame
from parsers.errors import CaptureError
from parsers.ncu_labels import metric_names
from parsers.ncu_log import LOG_LINE, REMEDY, decode, no_launches, read_text
from parsers.ncu_ranges import of_page

_EXTENTS = r"\(\d+, \d+, \d+\)"
_LAUNCH = re.compile(
    rf"^ *(?P<name>\S.*?)(?: (?P<grid>{_EXTENTS})x(?P<block>{_EXTENTS}))?"
    r"(?:, \d{4}-\w{3}-\d{2} [\d:]+)?, Context \d+(?:, Stream \d+)?"
    r"(?:, Device \d+)?(?:, CC (?P<capability>\d+\.\d+))?\s*$",
    re.MULTILINE,
)
_SECTION = re.compile(r"^ *Section: (?P<section>.*\S)")
_RULE = re.compile(r"^ *(-{3,}) (-{3,}) (-{3,})\s*$")


def recognises(head: bytes) -> bool:
    """Tell by the first 64 KiB of a file whether it is text that Nsight Compute printed.

    Its log alone counts: why there are no results stands in it.
    """
    text = decode(head)
    if ncu_csv.recognises(head):
        return False
    return bool(_LAUNCH.search(text) or LOG_LINE.search(text))


def parse(path: Path | str) -> pd.DataFrame:
    """Read every launch of a text page, in the order in which they were profiled.

    Read are the launch lines, and the NVTX ranges and tables of three columns below them, of any
    version; output of the program, rules and their tables are passed over.

    Parameters
    ----------
    path
        What ``ncu`` printed of page details or raw, without ``--csv``.

    Returns
    -------
    DataFrame
        Schema `parsers.schemas.COUNTERS`, a row a launch; see `parsers.ncu_frame.counters`.

    Raises
    ------
    CaptureError
        As `parsers.ncu_csv.parse`.
    """
    path = Path(path)
    text = read_text(path)
    headers = list(_LAUNCH.finditer(text))
    if not headers:
        if ncu_csv.recognises(text.encode("utf-8")):
            return ncu_csv.parse(path)
        raise no_launches(path, text, "text that Nsight Compute printed")
    if not text.endswith("\n"):
        cause = "is truncated: its last line has no end"
        raise CaptureError(path, cause, f"{REMEDY}, or end the line if the file is whole")
    ends = [header.start() for header in headers[1:]] + [len(text)]
    bodies = [text[header.end() : end] for header, end in zip(headers, ends, strict=True)]
    rows = [(launch, *row) for launch, body in enumerate(bodies) for row in _metrics(path, body)]
    cells = pd.DataFrame(rows, columns=["launch", "section", "title", "unit", "text"])
    if len(headers) > cells["launch"].nunique():
        raise CaptureError(path, "is truncated: a launch has no metrics", REMEDY)
    cells["metric"] = metric_names(cells["section"], cells["title"])
    ncu_frame.check_launches(path, cells)
    launches = pd.DataFrame(
        [header.groupdict() for header in headers],
        columns=list(ncu_frame.LAUNCH),
        dtype="string",
    )
    launches["open"] = pd.Series(map(of_page, bodies), dtype="object")
    return ncu_frame.counters(path, launches, cells)


def _metrics(path: Path, body: str) -> Iterator[tuple[str, ...]]:
    """Yield section, title, unit and value of the metrics of one launch.

    A table stands between two lines of dashes; newer versions have one more, below its titles.
    """
    section = ""
    table: re.Match[str] | None = None
    begun = False
    for line in body.split("\n"):
        rule = _RULE.match(line)
        if rule and table and begun:
            table = None
        elif rule:
            table, begun = rule, False
        elif table:
            title, unit, value = _split(line, table)
            if title and title != "Metric Name":
                begun = True
                yield section, title, unit, value
        elif found := _SECTION.match(line):
            section = found["section"]
    if table:
        raise CaptureError(path, "is truncated: it ends inside a table", REMEDY)


def _split(line: str, rule: re.Match[str]) -> tuple[str, str, str]:
    """Split a row at the columns of its table; a name wider than its column moves the others."""
    line = line.rstrip()
    moved = max(0, len(line) - rule.end(3))
    unit, value = rule.end(1) + moved, rule.end(2) + moved
    return line[:unit].strip(), line[unit:value].strip(), line[value:].strip()
