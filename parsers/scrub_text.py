"""Scrub the texts that Nsight prints: its CSV exports and pages."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from parsers.errors import CaptureError
from parsers.leaks import Blot
from parsers.reading import read
from parsers.replacing import replace

_START = re.compile(
    r'^(?:"?ID"?,|\[\d+\] |Processing \[| ?\*\* |"?Time ?\(%\)|"?Start)', re.MULTILINE
)
"""How the tables and pages of the tools begin; before them is what the profiled program printed."""
_PROCESS = re.compile(r"^\[\d+\] [^\n]*@[^\n,]*", re.MULTILINE)
_MESSAGE = re.compile(r"^(?:==[A-Z]+==|Generating |Generated:)[^\n]*\n?", re.MULTILINE)
_PRIVATE = {"Process ID", "Process Name", "Host Name"}


def scrub_text(source: Path | str, target: Path | str, secrets: Iterable[str] = ()) -> None:
    """Write a copy of a printed table or page without processes, hosts, paths and secrets.

    What precedes the table, such as the profiled program's output, is dropped, and so are the
    tool's own messages. Cells of `Process ID`, `Process Name` and `Host Name` are emptied; paths,
    addresses and secrets are overwritten by ``x``. The copy is UTF-8.

    Raises
    ------
    CaptureError
        When it holds no table, as `parsers.read`, and when the copy would not parse to the same
        frame.
    """
    source, target = Path(source), Path(target)
    before = read(source)
    blot = Blot(secrets)
    text = _decoded(source.read_bytes())
    start = _START.search(text)
    if start is None:
        cause = "holds no table of ncu or nsys whose beginning is known"
        raise CaptureError(source, cause, "export it anew as CSV")
    kept = _PROCESS.sub("[0] x@127.0.0.1", _MESSAGE.sub("", text[start.start() :]))
    scrubbed = blot.text(_emptied(kept))

    def write(new: Path) -> None:
        new.write_bytes(scrubbed.encode("utf-8", "surrogateescape"))

    replace(target, write, _fresh, before, blot)


def _fresh(path: Path) -> pd.DataFrame:
    return read(path)


def _decoded(content: bytes) -> str:
    utf16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    text = content.decode("utf-16" if utf16 else "utf-8-sig", "surrogateescape")
    return text.replace("\r\n", "\n")


def _emptied(text: str) -> str:
    """Empty the private cells of a table whose header, its first line, has such columns."""
    header = next(csv.reader([text.partition("\n")[0]]))
    private = {at for at, name in enumerate(header) if name in _PRIVATE}
    if not private:
        return text
    made = io.StringIO()
    writer = csv.writer(made, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(header)
    rows = csv.reader(io.StringIO(text))
    next(rows)
    writer.writerows(
        ["" if at in private else cell for at, cell in enumerate(row)] for row in rows if row
    )
    return made.getvalue()
