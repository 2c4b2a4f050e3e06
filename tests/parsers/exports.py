"""A hand-made nsys export, small enough to see every answer, with what is easily read wrongly."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

BASE = 1_700_000_000_000_000_001
"""Start of the capture in ns: too large to survive as a float."""

P1, P2 = 100 << 24, 200 << 24
A, B, C = P1 | 7, P1 | 8, P2 | 7

STRINGS = {
    1: "roofsnake",
    2: "gelu/naive/small",
    3: "k_short",
    4: "void k_long<float>(int)",
    5: "cudaLaunchKernel",
    6: "/home/alice/unused",
}

# start, end, type, thread, domain, text, textId
NVTX = [
    (0, None, 75, A, 1, "roofsnake", None),
    (0, None, 75, A, 2, "other", None),
    (0, None, 75, C, 1, "other", None),
    (0, None, 75, C, 2, None, 1),
    (100, 200, 59, A, 1, None, 2),
    (105, 195, 59, A, 1, "not a key", None),
    (120, 190, 59, A, 2, "gelu/other-domain/small", None),
    (300, 400, 59, A, 1, "gelu/naive/small", None),
    (410, 500, 59, A, 1, "gelu/triton/small", None),
    (100, 400, 59, B, 1, "gelu/builtin/small", None),
    (100, 400, 59, C, 2, "gelu/second-process/small", None),
    (600, 700, 59, A, 1, "gelu/outer/small", None),
    (620, 640, 59, A, 1, "gelu/inner/small", None),
    (645, 645, 59, A, 1, "gelu/empty/small", None),
    (100, 800, 60, A, 1, "gelu/start-end/small", None),
]

# correlation, thread of the call, start of the call, GPU start, GPU end, device
LAUNCHES = [
    (1, A, 110, 1000, 1010, 0),
    (2, A, 150, 305, 330, 0),
    (3, A, 310, 1100, 1110, 0),
    (4, B, 120, 1200, 1210, 0),
    (1, C, 130, 1300, 1310, 1),
    (6, A, 250, 420, 450, 0),
    (7, A, 200, 1400, 1410, 0),
    (8, A, 410, 1500, 1510, 0),
    (9, A, 610, 1600, 1610, 0),
    (10, A, 630, 1700, 1710, 0),
    (11, A, 650, 1800, 1810, 0),
    (12, A, 850, 1900, 1910, 0),
]

ATTRIBUTED = {
    305: ("naive", 0, 1),
    420: ("start-end", 0, 1),
    1000: ("naive", 0, 0),
    1100: ("naive", 1, 0),
    1200: ("builtin", 0, 0),
    1300: ("second-process", 0, 0),
    1400: ("start-end", 0, 0),
    1500: ("triton", 0, 0),
    1600: ("outer", 0, 0),
    1700: ("inner", 0, 0),
    1800: ("outer", 0, 1),
    1900: None,
}
"""GPU start, then the variant, repeat and launch that belong to it."""

EARLIEST = 110

_SCHEMA = """
CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, uuid TEXT, busLocation TEXT);
CREATE TABLE TARGET_INFO_SYSTEM_ENV (name TEXT, value TEXT);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER,
    streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER,
    shortName INTEGER, registersPerThread INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER,
    correlationId INTEGER, nameId INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, globalTid INTEGER,
    domainId INTEGER, text TEXT, textId INTEGER);
"""


def _insert(database: sqlite3.Connection, table: str, rows: list[tuple[object, ...]]) -> None:
    marks = ", ".join("?" * len(rows[0]))
    database.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)


def write_export(path: Path, *changes: str) -> Path:
    """Write the export, then apply SQL statements to it."""
    with closing(sqlite3.connect(path)) as database:
        database.executescript(_SCHEMA)
        meta = [("EXPORT_SCHEMA_VERSION", "3.20.3"), ("EXPORT_PARAM_OUT", "/home/alice/out")]
        _insert(database, "META_DATA_EXPORT", list(meta))
        _insert(database, "StringIds", list(STRINGS.items()))
        _insert(database, "TARGET_INFO_GPU", [(0, "NVIDIA H200", "uuid-of-alice", "0000:00:06.0")])
        _insert(database, "TARGET_INFO_SYSTEM_ENV", [("SECRET_TOKEN", "hunter2-hunter2")])
        _insert(
            database,
            "NVTX_EVENTS",
            [(BASE + s, None if e is None else BASE + e, *rest) for s, e, *rest in NVTX],
        )
        _insert(
            database,
            "CUPTI_ACTIVITY_KIND_KERNEL",
            [
                (BASE + start, BASE + end, device, 7, c, thread & ~0xFFFFFF, 4, 3, 32, 64, 1, 1)
                for c, thread, _, start, end, device in LAUNCHES
            ],
        )
        calls = [(BASE + at, BASE + at + 5, thread, c, 5) for c, thread, at, *_ in LAUNCHES]
        calls.append((BASE + 1, BASE + 2, A, 99, 6))
        _insert(database, "CUPTI_ACTIVITY_KIND_RUNTIME", list(calls))
        for change in changes:
            database.execute(change)
        database.commit()
    return path
