"""Scrub SQLite exports of Nsight Systems: what describes the kernels is copied, nothing else."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pandas as pd

from parsers import nsys
from parsers.files import SQLITE_MAGIC, check_format
from parsers.leaks import Blot
from parsers.replacing import replace

_ACTIVITIES = (
    "CUPTI_ACTIVITY_KIND_KERNEL",
    "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_MEMSET",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
)
_CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME"
_META = ("META_DATA_EXPORT", "EXPORT_META_DATA")
_TEXTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_ACTIVITIES, ()),
    _CALLS: (),
    "CUDA_GRAPH_EVENTS": (),
    "CUDA_GRAPH_NODE_EVENTS": (),
    "NVTX_EVENTS": ("text",),
    "TARGET_INFO_GPU": ("name", "chipName"),
    "TARGET_INFO_CUDA_GPU": ("name",),
    "TARGET_INFO_CUDA_DEVICE": (),
    "StringIds": ("value",),
    **dict.fromkeys(_META, ("name", "value")),
}
"""The tables that are kept, and the columns of each that keep their texts; the rest are numbers."""
_STRINGS = {"shortName", "demangledName", "mangledName", "nameId", "textId"}
"""Columns of the kept tables whose numbers are those of strings that are kept."""
_EMPTIED = {"uuid", "luid", "busLocation", "pwGpuId", "jsonTextId"}
"""Columns whose numbers go too: they tell one GPU from all others, or name what was dropped."""
_META_KEPT = ("EXPORT_PRODUCT", "EXPORT_SCHEMA_VERSION", "EXPORT_PLATFORM", "EXPORT_ARCH")
_TYPES = {"INTEGER", "REAL", "TEXT"}


def scrub_sqlite(source: Path | str, target: Path | str, secrets: Iterable[str] = ()) -> None:
    """Write a copy of an nsys export that holds only what describes the kernels.

    Kept are the numbers of kernels, copies, the calls that launched them, graphs and NVTX events,
    the GPU without its identifiers, the version of the export, and the names of kernels, calls and
    ranges; in names of ranges, paths, addresses and secrets are overwritten by ``x``.

    Raises
    ------
    CaptureError
        As `parsers.nsys.launches`, and when the copy would not be read as the same launches in the
        same ranges.
    """
    source, target = Path(source), Path(target)
    check_format(source, SQLITE_MAGIC, "an SQLite export of Nsight Systems", nsys.REMEDY)
    before = _told(source)
    blot = Blot(secrets)
    replace(target, lambda new: _copy_tables(source, new, blot), _told, before, blot)


def _told(path: Path) -> pd.DataFrame:
    """Return what is read of an export and has to stay: what ran, in which range of any domain."""
    # A payload may be text, which goes; a path is made of names of ranges, each overwritten alone.
    frame = nsys.launches(path, copies=True).drop(columns=["payload", "range_path"])
    texts = frame.select_dtypes("category").columns
    return frame.astype(dict.fromkeys(texts, "string"))


def _copy_tables(source: Path, target: Path, blot: Blot) -> None:
    place = target.resolve().as_uri()
    with closing(sqlite3.connect(place, uri=True, isolation_level=None)) as database:
        uri = f"{source.resolve().as_uri()}?mode=ro&immutable=1"
        database.execute("ATTACH ? AS original", (uri,))
        rows = database.execute("SELECT name FROM original.sqlite_master WHERE type = 'table'")
        for (name,) in rows.fetchall():
            if name in _TEXTS:
                _copy(database, name)
        _drop_other_calls(database)
        _drop_other_strings(database)
        for name in _META:
            _drop_other_meta(database, name)
        database.create_function("blot", 1, blot.text, deterministic=True)
        for name, texts in _TEXTS.items():
            for text in _columns(database, name) & {*texts}:
                database.execute(f"UPDATE {name} SET {text} = blot({text}) WHERE {text} > ''")  # noqa: S608
        database.execute("DETACH original")
        database.execute("VACUUM")


def _copy(database: sqlite3.Connection, table: str) -> None:
    """Copy the columns of a table: the texts that are kept, and of the others the numbers."""
    rows = database.execute("SELECT name, type FROM original.pragma_table_info(?)", (table,))
    columns = {
        name: kind.upper() if kind.upper() in _TYPES else ""
        for name, kind in rows
        if re.fullmatch(r"\w+", name)
    }
    made = ", ".join(f'"{name}" {kind}' for name, kind in columns.items())
    taken = ", ".join(_taken(table, name) for name in columns)
    database.execute(f'CREATE TABLE main."{table}" ({made})')
    database.execute(f'INSERT INTO main."{table}" SELECT {taken} FROM original."{table}"')  # noqa: S608


def _taken(table: str, column: str) -> str:
    if column in _EMPTIED:
        return "NULL"
    kinds = "'integer', 'real'" + (", 'text'" if column in _TEXTS[table] else "")
    return f'CASE WHEN typeof("{column}") IN ({kinds}) THEN "{column}" END'


def _columns(database: sqlite3.Connection, table: str) -> set[str]:
    rows = database.execute("SELECT name FROM pragma_table_info(?, 'main')", (table,))
    return {name for (name,) in rows}


def _drop_other_calls(database: sqlite3.Connection) -> None:
    """Drop the calls that launched nothing that is kept; their ids are unique in a process."""
    if "correlationId" not in _columns(database, _CALLS):
        return
    launched = [
        f"SELECT globalPid, correlationId FROM {table}"  # noqa: S608
        for table in _ACTIVITIES
        if {"globalPid", "correlationId"} <= _columns(database, table)
    ]
    if launched:
        database.execute(
            f"DELETE FROM {_CALLS} WHERE (globalTid & ~16777215, correlationId) "  # noqa: S608
            f"NOT IN ({' UNION '.join(launched)})"
        )


def _drop_other_strings(database: sqlite3.Connection) -> None:
    used = [
        f'SELECT "{column}" FROM "{table}" WHERE "{column}" IS NOT NULL'  # noqa: S608
        for table in _TEXTS
        for column in sorted(_columns(database, table) & _STRINGS)
    ]
    if _columns(database, "StringIds"):
        kept = " UNION ".join(used) or "NULL"
        database.execute(f"DELETE FROM StringIds WHERE id NOT IN ({kept})")  # noqa: S608


def _drop_other_meta(database: sqlite3.Connection, table: str) -> None:
    if _columns(database, table):
        kept = " OR ".join("name LIKE ? || '%'" for _ in _META_KEPT)
        database.execute(f"DELETE FROM {table} WHERE NOT ({kept})", _META_KEPT)  # noqa: S608
