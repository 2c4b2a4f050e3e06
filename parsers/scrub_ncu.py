"""Scrub reports of Nsight Compute: what is private is overwritten where it stands."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pandas as pd

from parsers import ncu, ncu_container
from parsers.contract import range_name
from parsers.errors import CaptureError
from parsers.files import NCU_MAGIC, check_format
from parsers.leaks import ANY_PATH, HARMLESS, NOWHERE, Blot, path_places, secret_pattern
from parsers.nsys_ranges import SEPARATOR
from parsers.replacing import replace

_HOSTS = {
    (ncu_container.SESSION, 3, 5),
    (ncu_container.SESSION, 4, 5),
    (ncu_container.PROCESS, 2),
}
"""Where in a block's header of a report the names of computers are."""


_SOURCE = re.compile(rb"(?<=/)[\w-]+\.(?:py|cu|cuh|c|cc|cpp|h|hpp)(?![\w.])")
"""The name of a source file, at the end of its path."""


def scrub_ncu(source: Path | str, target: Path | str, secrets: Iterable[str] = ()) -> None:
    """Write a copy of an Nsight Compute report without host, addresses, paths and secrets.

    They are overwritten by ``x`` at equal length, so every length in the report stays true. In the
    headers about session and process a text with a path in it, such as the command line, is
    overwritten whole; elsewhere the path itself is, but for the name of a source file at its end.

    Raises
    ------
    CaptureError
        As `parsers.ncu.parse`, and when the copy would not parse to the same frame.
    """
    source, target = Path(source), Path(target)
    check_format(source, NCU_MAGIC, "an Nsight Compute report", ncu.REMEDY)
    before = ncu.parse(source)
    with source.open("rb") as stream:
        blocks = ncu_container.blocks(stream)
    if not blocks:
        raise CaptureError(source, "has an unknown layout", "scrub it by other means")
    content = bytearray(source.read_bytes())
    secret = secret_pattern(secrets)
    for block in blocks:
        for start, end in _private(block.header):
            at = slice(block.start + start, block.start + end)
            content[at] = b"x" * (end - start)
    for start, end in _paths(bytes(content), (*HARMLESS, *_names(before))):
        content[start:end] = b"x" * (end - start)
    if secret is not None:
        content[:] = secret.sub(lambda match: b"x" * len(match.group()), bytes(content))
    replace(target, lambda partial: partial.write_bytes(content), ncu.parse, before, Blot(secrets))


def _names(frame: pd.DataFrame) -> set[bytes]:
    """Return the names of ranges that a frame tells of and whose length reads as ``/``."""
    keys = frame[["operator", "variant", "case"]].dropna().drop_duplicates()
    paths = frame["range_path"].dropna().unique()
    names = {range_name(*key) for key in keys.itertuples(index=False)}
    names.update(frame["range"].dropna(), *(path.split(SEPARATOR) for path in paths))
    texts = (name.encode("utf-8", "surrogateescape") for name in names)
    return {text for text in texts if len(text) == ord("/")}


def _paths(content: bytes, harmless: tuple[bytes, ...]) -> Iterator[tuple[int, int]]:
    """Yield where paths are, but not where a harmless text follows its length that reads as ``/``.

    Of a source file its folders are: the name says which file a line of source is of.
    """
    for start, end in path_places(content):
        if content.startswith(harmless, start + 1):
            continue
        name = _SOURCE.search(content, start, end)
        yield start, name.start() - 1 if name else end


def _private(header: bytes) -> Iterator[tuple[int, int]]:
    """Yield where the private parts of a block's header lie, by start and end."""
    for field in ncu_container.fields(header):
        if field.number in (ncu_container.SESSION, ncu_container.PROCESS):
            yield from _private_of(header, field, ())


def _private_of(
    data: bytes, field: ncu_container.Field, parents: tuple[int, ...]
) -> Iterator[tuple[int, int]]:
    if field.wire != ncu_container.BYTES:
        return
    content = data[field.start : field.end]
    place = (*parents, field.number)
    if _is_address(content) or (place in _HOSTS and content not in NOWHERE):
        yield field.start, field.end
        return
    inner = _inner(content)
    for child in inner:
        for start, end in _private_of(content, child, place):
            yield field.start + start, field.start + end
    if not inner and ANY_PATH.search(content):
        yield field.start, field.end  # the whole text: a path, or the command line that holds it


def _inner(content: bytes) -> list[ncu_container.Field]:
    """Return the fields of a nested message; none where the bytes are text or something else.

    Text can pass for a message by chance, as ``127.0.0.1`` does, and a message for text where
    its lengths are printable. A message of strings alone is a message; no path is one, for ``/``
    begins no field.
    """
    try:
        inner = list(ncu_container.fields(content))
    except ValueError:
        return []
    strings = all(field.wire == ncu_container.BYTES for field in inner)
    return inner if strings or not _is_text(content) else []


def _is_text(data: bytes) -> bool:
    return all(byte >= 0x20 and byte != 0x7F for byte in data)


def _is_address(data: bytes) -> bool:
    try:
        address = ipaddress.ip_address(data.decode("utf-8", "replace").partition("%")[0])
    except ValueError:
        return False
    return not address.is_loopback
