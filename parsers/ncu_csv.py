"""Nsight Compute's CSV exports, pages raw (wide) and details (long), to the counters frame."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

import pandas as pd

from parsers import ncu_frame
from parsers.errors import CaptureError
from parsers.ncu_labels import metric_names
from parsers.ncu_log import REMEDY, decode, no_launches, read_text
from parsers.ncu_ranges import of_cells

_HEADER = re.compile(r'(?:"ID"|^ID)([,;\t]).*Kernel Name.*', re.MULTILINE)
_SUMMARY = re.compile(r'^"?Process ID"?[,;\t].*Kernel Name.*Invocations', re.MULTILINE)
_CUT = "is truncated: it ends in the middle of a row"

_LAUNCH = {
    "name": "Kernel Name",
    "capability": "CC",
    "grid": "Grid Size",
    "block": "Block Size",
}
_FIELDS = "PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"
_RANGES = (f"thread Domain:Push/Pop_Range:{_FIELDS}", f"Id:Domain:Start/Stop_Range:{_FIELDS}")
_METRIC = {
    "section": "Section Name",
    "title": "Metric Name",
    "unit": "Metric Unit",
    "text": "Metric Value",
}
_IDENTITY = ["ID", "Process ID", "Host Name", "Kernel Name"]
_READ = {*_IDENTITY, *_LAUNCH.values(), *_RANGES, *_METRIC.values()}


@dataclass(frozen=True)
class _Table:
    """One table of an export: its header and its rows, which may differ in length."""

    header: list[str]
    rows: Iterator[list[str]]
    ended: bool
    """Whether a newline follows the last row."""


def recognises(head: bytes) -> bool:
    """Tell by the first 64 KiB of a file whether it is a CSV export of Nsight Compute."""
    text = decode(head)
    return bool(_HEADER.search(text) or _SUMMARY.search(text))


def parse(path: Path | str) -> pd.DataFrame:
    """Read every launch of an export, in the order in which they were profiled.

    Output of the program and of Nsight Compute around and between the rows is passed over, and so
    are rows of rules. Units are converted value by value, and numbers read by
    `parsers.numbers.read`.

    Parameters
    ----------
    path
        What ``ncu --csv`` printed, of page raw or details, or several such outputs in one file.

    Returns
    -------
    DataFrame
        Schema `parsers.schemas.COUNTERS`, a row a launch, as `parsers.ncu.parse` gives for the
        report, but rounded as printed; see `parsers.ncu_frame.counters`.

    Raises
    ------
    CaptureError
        When the file is missing, empty, a Git LFS pointer, not such an export, or cut; when it
        holds no launch, with the reason that Nsight Compute gives; and as
        `parsers.ncu_frame.counters`.
    """
    path = Path(path)
    text = read_text(path)
    launches, cells, count = [], [], 0
    for table in _tables(path, text):
        read = _long if set(_METRIC.values()) <= set(table.header) else _wide
        some, values = read(path, table)
        launches.append(some)
        cells.append(values.assign(launch=values["launch"] + count))
        count += len(some)
    if not count:
        raise _without_launches(path, text, header=bool(launches))
    return ncu_frame.counters(
        path, pd.concat(launches, ignore_index=True), pd.concat(cells, ignore_index=True)
    )


def _without_launches(path: Path, text: str, *, header: bool) -> CaptureError:
    if _SUMMARY.search(text):
        cause = "is a summary over launches, not the launches"
        return CaptureError(path, cause, "export it again without --print-summary")
    silent = "has a header but no launches" if header else None
    return no_launches(path, text, "a CSV export of Nsight Compute", silent)


def _tables(path: Path, text: str) -> Iterator[_Table]:
    headers = list(_headers(text))
    ends = [header.start() for header in headers[1:]] + [len(text)]
    for header, end in zip(headers, ends, strict=False):
        quoted, delimiter = header[0].startswith('"'), header[1]
        identity = r'"\d*"' if quoted else r"\d*"
        records = _records(path, text[header.end() : end], re.compile(identity + delimiter))
        names, *_ = _parsed(path, [header[0]], delimiter)
        ended = text[:end].endswith("\n")
        # Nothing tells a whole last cell from a cut one but its closing quote or the newline.
        last = records[-1] if records else ""
        closed = quoted and last.endswith('"') and text[:end].endswith(last)
        if records and not (ended or closed):
            raise CaptureError(path, _CUT, REMEDY)
        yield _Table(names, _parsed(path, records, delimiter), ended)


def _headers(text: str) -> Iterator[re.Match[str]]:
    """Find the headers by words that few other lines have, which is quicker than by the pattern."""
    end = 0
    while (at := text.find("Kernel Name", end)) >= 0:
        end = (text.find("\n", at) + 1) or len(text)
        if found := _HEADER.search(text, text.rfind("\n", 0, at) + 1, end):
            yield found


def _parsed(path: Path, records: list[str], delimiter: str) -> Iterator[list[str]]:
    try:
        yield from csv.reader(records, delimiter=delimiter, strict=True)
    except csv.Error as error:
        raise CaptureError(path, f"is damaged: a row is no CSV ({error})", REMEDY) from None


def _records(path: Path, body: str, start: re.Pattern[str]) -> list[str]:
    """Return the rows of a table: lines that begin with an ID, with the lines of a quoted cell."""
    records: list[str] = []
    inside = False
    for line in body.split("\n"):
        if inside:
            records[-1] += f"\n{line}"
        elif start.match(line):
            records.append(line)
        else:
            continue
        inside ^= line.count('"') % 2 == 1
    if inside:
        raise CaptureError(path, _CUT, REMEDY)
    return records


def _launches(rows: pd.DataFrame) -> pd.DataFrame:
    """Return what the rows print of their launches."""
    found = {
        column: rows[title].where(rows[title].str.strip() != "") if title in rows else pd.NA
        for column, title in _LAUNCH.items()
    }
    launches = pd.DataFrame(found, index=rows.index, dtype="string").reset_index(drop=True)
    cells = list(zip(*(rows.get(title, [""] * len(rows)) for title in _RANGES), strict=True))
    opened = {pair: of_cells(*pair) for pair in set(cells)}
    return launches.assign(open=pd.Series([opened[pair] for pair in cells], dtype="object"))


def _wide(path: Path, table: _Table) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read page raw: a row of units behind a blank ID, then a row a launch."""
    width, printed = len(table.header), list(table.rows)
    short = next((row for row in printed if len(row) != width), None)
    if short is not None:
        last = short is printed[-1]
        cause = f"a row has {len(short)} fields, not {width} as the header"
        raise CaptureError(path, _CUT if last else f"is damaged: {cause}", REMEDY)
    units = next((row for row in printed if row[0] == ""), [""] * width)
    columns = list(zip(*(row for row in printed if row[0]), strict=True)) or [()] * width
    cells: dict[str, list[Any]] = {column: [] for column in ("launch", "metric", "unit", "text")}
    for title, unit, texts in zip(table.header, units, columns, strict=True):
        if "__" in title:
            # Of a metric that is not read, all that counts is how its numbers are printed.
            shown = texts if title in ncu_frame.READ else dict.fromkeys(texts)
            cells["launch"] += range(len(shown))
            cells["metric"] += [title] * len(shown)
            cells["unit"] += [unit] * len(shown)
            cells["text"] += shown
    named = dict(zip(table.header, columns, strict=True))
    rows = {title: named[title] for title in table.header if title in _READ}
    frame = pd.DataFrame(cells).astype({"metric": "str", "unit": "str", "text": "str"})
    return _launches(pd.DataFrame(rows, dtype="str")), frame


def _long(path: Path, table: _Table) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read page details: a row a metric and launch; rows without a metric are rules.

    Only cells that are read outlive their row; of a launch, those of its first row.
    """
    at = {title: table.header.index(title) for title in table.header if title in _READ}
    identity = itemgetter(*(at[title] for title in _IDENTITY if title in at))
    shown = itemgetter(*(at[title] for title in _METRIC.values()))
    width, before = max(at.values()) + 1, None
    launches, cells, lengths = [], [], [len(table.header)]
    for row in table.rows:
        lengths.append(len(row))
        if len(row) < width:
            continue
        if (now := identity(row)) != before:
            launches.append([row[place] for place in at.values()])
            before = now
        cells.append((len(launches) - 1, *shown(row)))
    if not table.ended and lengths[-1] not in lengths[:-1]:
        raise CaptureError(path, _CUT, REMEDY)
    if min(lengths) < width:
        raise CaptureError(path, "is damaged: a row lacks its value", REMEDY)
    columns = zip(["launch", *_METRIC], zip(*cells, strict=True), strict=False)
    frame = pd.DataFrame(dict(columns), columns=["launch", *_METRIC]).astype({"launch": "int64"})
    frame = frame[frame["title"].str.strip() != ""]
    frame["metric"] = metric_names(frame["section"], frame["title"])
    if len(frame):
        ncu_frame.check_launches(path, frame)
    return _launches(pd.DataFrame(launches, columns=[*at], dtype="str")), frame
