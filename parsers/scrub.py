"""Take what is private out of captures that are to be kept: paths, hosts, addresses, processes.

Nsight Systems stores every environment variable, the process list, the command line and captured
output in its exports; Nsight Compute stores the host, its addresses, the process and the command
line in each report. What the parsers read stays as it is: both functions parse before and after.
"""

from __future__ import annotations

import getpass
import ipaddress
import os
import re
import socket
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path, PurePath

import pandas as pd

from parsers import ncu, ncu_container, nsys
from parsers.errors import CaptureError
from parsers.files import NCU_MAGIC, SQLITE_MAGIC, check_format

_ROOTS = (
    "Users|build|builds|data|dev/shm|etc|home|lustre|media|mnt|nfs|opt|private|proc|project|"
    "projects|root|run|scratch|srv|storage|tmp|usr|var|work|workspace"
)
_PATH = re.compile(rf"/(?:{_ROOTS})(?:/[\w.+@~:,=-]+)+|/(?:home|root|work)\b(?![\w.-])".encode())
_ANY_PATH = re.compile(rb"(?<![\w./*~-])/(?:[\w.+@~-]+/)+[\w.+@~-]*")
_LIKELY_PATH = re.compile(rb"(?<![\w./*~-])/[\w.+@~-]{2,}/(?:[\w.+@~-]+/)*[\w.+@~-]{2,}")
_IPV4 = re.compile(rb"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])")
_IPV6 = re.compile(rb"(?<![\w:])(?:fe80|f[cd][0-9a-f]{2}|2[0-9a-f]{3}):[0-9a-f]{0,4}:[0-9a-f:]*")
_PRINTABLE = re.compile(rb"[\t -~]{4,}")
_NOWHERE = (b"127.0.0.1", b"0.0.0.0", b"255.255.255.255")

_HOSTS = {
    (ncu_container.SESSION, 3, 5),
    (ncu_container.SESSION, 4, 5),
    (ncu_container.PROCESS, 2),
}
"""Where in a block's header of a report the names of computers are."""


def local_secrets() -> list[str]:
    """Return what gives away this machine and its user: names and the home folder."""
    home = os.path.expanduser("~")  # noqa: PTH111 -- Path.home() raises where there is none
    names = {socket.gethostname(), socket.getfqdn(), home, PurePath(home).name}
    with suppress(KeyError, OSError):  # a container's user may have no name
        names.add(getpass.getuser())
    return sorted(name for name in names if len(name) > 2 and name not in {"root", "localhost"})


def _secret_pattern(secrets: Iterable[str]) -> re.Pattern[bytes] | None:
    """Match any secret; a short one only as a word, for it may be part of a kernel's name."""
    parts = [
        re.escape(secret.encode())
        if len(secret) > 5
        else rb"(?<![A-Za-z0-9_])" + re.escape(secret.encode()) + rb"(?![A-Za-z0-9_])"
        for secret in sorted(secrets, key=len, reverse=True)
        if secret
    ]
    return re.compile(b"|".join(parts)) if parts else None


def find_leaks(
    path: Path | str, secrets: Iterable[str] = (), harmless: Iterable[str] = ()
) -> list[str]:
    """List the printable strings of any file that hold a path, an IP address or a secret.

    Parameters
    ----------
    path
        A file of any format; it is searched byte by byte.
    secrets
        Names that must not be in it, such as those of `local_secrets`.
    harmless
        Texts with slashes that may be in it, such as names of ranges: where the length that
        precedes one happens to be the code of a slash, it looks like a path.

    Returns
    -------
    list of str
        The strings, at most 200 characters each, without repeats, in order; empty when clean.
    """
    secret = _secret_pattern(secrets)
    found: dict[str, None] = {}
    content = Path(path).read_bytes()
    for name in harmless:
        content = content.replace(name.encode(), b" " * len(name.encode()))
    patterns = [_LIKELY_PATH, _IPV6, *([secret] if secret else [])]
    if b"\0" in content:
        # In a binary file a length that happens to be a printable character may precede a path.
        patterns.append(_PATH)
    for run in _PRINTABLE.finditer(content):
        text = run.group()
        matches = [pattern.search(text) for pattern in patterns]
        matches += [m for m in _IPV4.finditer(text) if m.group() not in _NOWHERE]
        for match in matches:
            if match is not None:
                start = max(0, match.start() - 40)
                found[text[start : start + 200].decode("ascii")] = None
    return list(found)


def scrub_ncu(source: Path | str, target: Path | str, secrets: Iterable[str] = ()) -> None:
    """Write a copy of an Nsight Compute report without host, addresses, paths and secrets.

    They are overwritten by ``x`` at equal length, so every length in the report stays true. Only
    the headers about session and process are searched for paths, and a text with a path in it,
    such as the command line, is overwritten whole; secrets are overwritten wherever they are.
    Launches are not searched for paths: a report made with ``--import-source`` or
    ``--import-sass`` may hold more, which `find_leaks` shows.

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
    secret = _secret_pattern(secrets)
    for block in blocks:
        for start, end in _private(block.header):
            at = slice(block.start + start, block.start + end)
            content[at] = b"x" * (end - start)
    if secret is not None:
        content[:] = secret.sub(lambda match: b"x" * len(match.group()), bytes(content))
    _replace(target, lambda partial: partial.write_bytes(content), ncu.parse, before)


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
    if _is_address(content) or (place in _HOSTS and content not in _NOWHERE):
        yield field.start, field.end
        return
    inner = _inner(content)
    for child in inner:
        for start, end in _private_of(content, child, place):
            yield field.start + start, field.start + end
    if not inner and _ANY_PATH.search(content):
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


_KEPT = ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS")
_KEPT_WHOLE = ("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "TARGET_INFO_GPU", "META_DATA_EXPORT")
_STRING_COLUMNS = ("shortName", "demangledName", "mangledName", "nameId", "textId", "jsonTextId")
_EMPTIED = ("uuid", "luid", "busLocation", "ctxswDevPath", "ctrlDevPath", "pwGpuId")
_META_KEPT = ("EXPORT_PRODUCT", "EXPORT_SCHEMA_VERSION", "EXPORT_PLATFORM", "EXPORT_ARCH")


def scrub_sqlite(source: Path | str, target: Path | str) -> None:
    """Write a copy of an nsys export that holds only what describes the kernels.

    Kept are kernels, the calls that launched them, NVTX events, the GPU without its identifiers,
    enumerations, the version of the export, and the strings that these use.

    Raises
    ------
    CaptureError
        As `parsers.nsys.parse`, and when the copy would not parse to the same frame.
    """
    source, target = Path(source), Path(target)
    check_format(source, SQLITE_MAGIC, "an SQLite export of Nsight Systems", nsys.REMEDY)
    before = nsys.parse(source)
    _replace(target, lambda partial: _copy_tables(source, partial), nsys.parse, before)


def _copy_tables(source: Path, target: Path) -> None:
    place = target.resolve().as_uri()
    with closing(sqlite3.connect(place, uri=True, isolation_level=None)) as database:
        uri = f"{source.resolve().as_uri()}?mode=ro&immutable=1"
        database.execute("ATTACH ? AS original", (uri,))
        rows = database.execute("SELECT name, sql FROM original.sqlite_master WHERE type='table'")
        for name, definition in rows.fetchall():
            if name in (*_KEPT, *_KEPT_WHOLE, "StringIds") or name.startswith("ENUM_"):
                database.execute(definition)
                _copy(database, name)
        _drop_other_calls(database)
        _drop_other_strings(database)
        _drop_identifiers(database)
        database.execute("DETACH original")
        database.execute("VACUUM")


def _copy(database: sqlite3.Connection, name: str) -> None:
    database.execute(f'INSERT INTO main."{name}" SELECT * FROM original."{name}"')  # noqa: S608


def _columns(database: sqlite3.Connection, table: str) -> list[str]:
    rows = database.execute("SELECT name FROM pragma_table_info(?)", (table,))
    return [name for (name,) in rows]


def _drop_other_calls(database: sqlite3.Connection) -> None:
    if _columns(database, "CUPTI_ACTIVITY_KIND_RUNTIME"):
        database.execute(
            "DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME "
            "WHERE (globalTid & ~16777215, correlationId) "
            "NOT IN (SELECT globalPid, correlationId FROM CUPTI_ACTIVITY_KIND_KERNEL)"
        )


def _drop_other_strings(database: sqlite3.Connection) -> None:
    used = [
        f'SELECT "{column}" FROM "{table}" WHERE "{column}" IS NOT NULL'  # noqa: S608
        for table in _KEPT
        for column in _columns(database, table)
        if column in _STRING_COLUMNS
    ]
    if used and _columns(database, "StringIds"):
        union = " UNION ".join(used)
        database.execute(f"DELETE FROM StringIds WHERE id NOT IN ({union})")  # noqa: S608


def _drop_identifiers(database: sqlite3.Connection) -> None:
    for column in _columns(database, "TARGET_INFO_GPU"):
        if column in _EMPTIED:
            database.execute(f'UPDATE TARGET_INFO_GPU SET "{column}" = NULL')  # noqa: S608
    kept = " OR ".join("name LIKE ? || '%'" for _ in _META_KEPT)
    database.execute(f"DELETE FROM META_DATA_EXPORT WHERE NOT ({kept})", _META_KEPT)  # noqa: S608


def _replace(
    target: Path,
    write: Callable[[Path], object],
    parse: Callable[[Path], pd.DataFrame],
    before: pd.DataFrame,
) -> None:
    """Write a scrubbed file beside its target and rename it once it parses as before."""
    partial = target.with_name(f".partial-{target.name}")
    partial.unlink(missing_ok=True)
    try:
        write(partial)
        if not parse(partial).equals(before):
            cause = "scrubbing it changes what it says of the launches"
            raise CaptureError(target, cause, "choose secrets that are no part of kernel names")
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
