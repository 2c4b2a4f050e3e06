"""Nsight Systems' SQLite exports to the timeline frame."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd

from parsers.contract import DOMAIN, split_range
from parsers.errors import CaptureError
from parsers.files import SQLITE_MAGIC, check_format
from parsers.schemas import TIMELINE, conform

REMEDY = "measure it again with `snakemake reports/OPERATOR -R nsys`"

KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
GRAPHS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
PUSH_POP, START_END, DOMAIN_NAME = 59, 60, 75
_PROCESS_MASK = ~0xFFFFFF

_QUERIES = {
    KERNELS: "SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL",
    GRAPHS: "SELECT * FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE LIMIT 1",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "SELECT * FROM CUPTI_ACTIVITY_KIND_RUNTIME",
    "NVTX_EVENTS": "SELECT * FROM NVTX_EVENTS",
    "StringIds": "SELECT id, value FROM StringIds",
    "META_DATA_EXPORT": "SELECT name, value FROM META_DATA_EXPORT",
}

_NEEDED = ("start", "end", "correlationId", "globalPid", "shortName", "demangledName")
_COPIED = {
    "deviceId": "device",
    "streamId": "stream",
    "registersPerThread": "registers_per_thread",
    **{f"{part}{axis.upper()}": f"{part}_{axis}" for part in ("grid", "block") for axis in "xyz"},
    "staticSharedMemory": "static_shared_bytes",
    "dynamicSharedMemory": "dynamic_shared_bytes",
    "localMemoryPerThread": "local_bytes_per_thread",
}


def parse(path: Path | str) -> pd.DataFrame:
    """Read every kernel launch of an export, in the order in which they ran on the GPU.

    A launch belongs to the NVTX range ``operator/variant/case`` of the domain ``roofsnake`` that
    was opened last of those that were open when its launch call began: push/pop ranges of the
    launching CPU thread, and start/end ranges of any thread of its process. Where the kernel then
    ran on the GPU does not matter. Kernels of a CUDA graph traced as a whole are not
    in the kernel table and so not in the frame: trace with ``--cuda-graph-trace=node``.

    Parameters
    ----------
    path
        A file written by ``nsys export --type sqlite``; it is opened read-only.

    Returns
    -------
    DataFrame
        Schema `parsers.schemas.TIMELINE`, a row a launch. Starts count from the earliest launch
        call or kernel in the frame, in ns. Columns that older exports lack are NA.

    Raises
    ------
    CaptureError
        When the file is missing, empty, a Git LFS pointer, not SQLite, damaged or not an export of
        Nsight Systems, when it holds no kernel launches, or lacks a column that is needed.
    """
    frame = launches(Path(path), DOMAIN, lambda name: split_range(name) is not None)
    # A plain split on a column without a single range gives one column, not three.
    keys = frame["range"].str.split("/", expand=True).reindex(columns=range(3))
    keys.columns = pd.Index(["operator", "variant", "case"])
    return conform(pd.concat([frame, keys], axis=1), TIMELINE)


def launches(path: Path, domain: str, wanted: Callable[[str], bool]) -> pd.DataFrame:
    """Read the launches and name the ``range`` of each among the wanted ranges of a domain."""
    check_format(path, SQLITE_MAGIC, "an SQLite export of Nsight Systems", REMEDY)
    uri = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as database:
            (health,) = database.execute("PRAGMA quick_check(1)").fetchone()
            if health != "ok":
                raise sqlite3.DatabaseError(str(health).splitlines()[0])
            tables = _Tables(path, database)
            kernels = _kernels(tables)
            ranges = _ranges(tables, domain, wanted)
    except (sqlite3.DatabaseError, pd.errors.DatabaseError) as error:
        cause = f"the database is truncated or damaged ({error})"
        raise CaptureError(path, cause, REMEDY) from None
    frame = _number(_attribute(kernels, ranges))
    origin = frame[["start_ns", "api_start_ns"]].min().min()
    frame["start_ns"] -= origin
    frame["api_start_ns"] -= origin
    return frame


class _Tables:
    """The tables of an export; one that is absent reads as empty."""

    def __init__(self, path: Path, database: sqlite3.Connection) -> None:
        self.path = path
        self.database = database
        rows = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        self.names = {name for (name,) in rows}
        if "META_DATA_EXPORT" not in self.names:
            raise CaptureError(path, "is a SQLite database but not an nsys export", REMEDY)

    def read(self, name: str, columns: tuple[str, ...]) -> pd.DataFrame:
        """Read columns of a table; those that it lacks are NA. Integers stay exact."""
        if name not in self.names:
            return pd.DataFrame({column: pd.Series(dtype="Int64") for column in columns})
        frame = pd.read_sql_query(_QUERIES[name], self.database, dtype_backend="numpy_nullable")
        return frame.reindex(columns=list(columns))

    def texts(self, identifiers: pd.Series) -> pd.Series:
        """Return the strings behind identifiers."""
        strings = self.read("StringIds", ("id", "value"))
        known = pd.Series(strings["value"].to_numpy(object), index=strings["id"].to_numpy("int64"))
        return identifiers.astype("Int64").map(known).astype("string")

    def schema_version(self) -> str:
        """Return the version of the export's schema, such as 3.20.3."""
        rows = self.read("META_DATA_EXPORT", ("name", "value")).set_index("name")["value"]
        return str(rows.get("EXPORT_SCHEMA_VERSION", "unknown"))


def _kernels(tables: _Tables) -> pd.DataFrame:
    """Read the kernels, each with the call that launched it."""
    rows = tables.read(KERNELS, (*_NEEDED, "mangledName", *_COPIED))
    if rows.empty:
        _refuse_empty(tables)
    missing = [column for column in _NEEDED if rows[column].isna().all()]
    if missing:
        raise CaptureError(
            tables.path,
            f"{KERNELS} has no {', '.join(missing)} (export schema {tables.schema_version()})",
            "export it again with a newer nsys",
        )
    short, demangled, mangled = (
        tables.texts(rows[f"{kind}Name"]) for kind in ("short", "demangled", "mangled")
    )
    frame = rows[list(_COPIED)].rename(columns=_COPIED)
    frame["kernel"] = short.fillna(demangled).fillna(mangled)
    frame["kernel_demangled"] = demangled.fillna(frame["kernel"])
    frame["start_ns"] = rows["start"]
    frame["duration_ns"] = rows["end"] - rows["start"]
    frame[["process", "correlation"]] = rows[["globalPid", "correlationId"]]
    return frame.merge(_calls(tables), on=["process", "correlation"], how="left")


def _refuse_empty(tables: _Tables) -> None:
    version = tables.schema_version()
    if not tables.read(GRAPHS, ("start",)).empty:
        raise CaptureError(
            tables.path,
            f"holds no kernel launches, only CUDA graphs traced as a whole (schema {version})",
            "trace them with `nsys profile --cuda-graph-trace=node`",
        )
    raise CaptureError(tables.path, f"holds no kernel launches (schema {version})", REMEDY)


def _calls(tables: _Tables) -> pd.DataFrame:
    """Read the CUDA calls; correlation ids are unique within a process only."""
    columns = ("start", "end", "globalTid", "correlationId")
    rows = tables.read("CUPTI_ACTIVITY_KIND_RUNTIME", columns).astype("Int64")
    frame = pd.DataFrame(
        {
            "process": rows["globalTid"] & _PROCESS_MASK,
            "correlation": rows["correlationId"],
            "thread": rows["globalTid"],
            "api_start_ns": rows["start"],
            "api_duration_ns": rows["end"] - rows["start"],
        }
    )
    return frame.sort_values("api_start_ns").drop_duplicates(["process", "correlation"])


def _ranges(tables: _Tables, domain: str, wanted: Callable[[str], bool]) -> pd.DataFrame:
    """Read the wanted ranges of a domain in the order of their opening, an inner one later.

    A range holds for its ``scope``: a thread, or a whole process. Those of one scope and ``lane``
    never overlap.
    """
    columns = ("start", "end", "eventType", "globalTid", "domainId", "text", "textId")
    events = tables.read("NVTX_EVENTS", columns)
    events["name"] = events["text"].astype("string").fillna(tables.texts(events["textId"]))
    # Domain ids, like correlation ids, are unique within a process only.
    events["process"] = events["globalTid"].astype("Int64") & _PROCESS_MASK
    named = events[events["eventType"].isin([DOMAIN_NAME]) & events["name"].isin([domain])]
    ranges = events[events["eventType"].isin([PUSH_POP, START_END])].merge(
        named[["process", "domainId"]].drop_duplicates(), on=["process", "domainId"]
    )
    distinct = ranges["name"].dropna().unique()
    ranges = ranges[ranges["name"].isin([name for name in distinct if wanted(name)])]
    thread, process = ranges["globalTid"].astype("int64"), ranges["process"].astype("int64")
    frame = pd.DataFrame(
        {
            "range": ranges["name"],
            "scope": thread.where(ranges["eventType"] == PUSH_POP, process),
            "open": ranges["start"].astype("int64"),
            # A range that the capture cut off stays open.
            "close": ranges["end"].astype("Int64").fillna(np.iinfo("int64").max).astype("int64"),
        }
    )
    frame = frame[frame["close"] > frame["open"]].sort_values(
        ["open", "close"], ascending=[True, False], ignore_index=True
    )
    frame["repeat"] = frame.groupby("range").cumcount()
    return frame.assign(lane=_lanes(frame))


def _lanes(ranges: pd.DataFrame) -> list[int]:
    """Give each range the first lane of its scope in which no earlier range is still open."""
    ends: dict[int, list[int]] = {}
    lanes = []
    for scope, begin, end in ranges[["scope", "open", "close"]].itertuples(index=False):
        taken = ends.setdefault(scope, [])
        lane = next((i for i, last in enumerate(taken) if last <= begin), len(taken))
        taken[lane : lane + 1] = [end]
        lanes.append(lane)
    return lanes


def _attribute(kernels: pd.DataFrame, ranges: pd.DataFrame) -> pd.DataFrame:
    """Give each kernel the last opened of the ranges in which its call began.

    In a lane the last range opened is the only candidate, for those of one lane never overlap.
    """
    called = kernels.dropna(subset=["thread", "api_start_ns"])
    thread, process = (called[key].astype("int64") for key in ("thread", "process"))
    call = {"time": called["api_start_ns"].astype("int64"), "row": called.index}
    points = pd.concat([pd.DataFrame({"scope": scope, **call}) for scope in (thread, process)])
    points = points.sort_values("time", kind="stable")
    result = kernels.assign(
        range=pd.Series(pd.NA, index=kernels.index, dtype="string"),
        repeat=pd.Series(pd.NA, index=kernels.index, dtype="Int64"),
    )
    opened = ranges[["scope", "open", "lane"]].assign(entry=ranges.index)
    found = [
        pd.merge_asof(points, lane, left_on="time", right_on="open", by="scope")
        for _, lane in opened.groupby("lane")
    ]
    if not found:
        return result
    entries = pd.concat(found).dropna(subset=["entry"]).astype({"entry": "int64"})
    inside = entries["time"].to_numpy() < ranges["close"].to_numpy()[entries["entry"]]
    last = entries[inside].groupby("row")["entry"].max()
    for column in ("range", "repeat"):
        result.loc[last.index, column] = ranges[column].to_numpy(object)[last]
    return result


def _number(frame: pd.DataFrame) -> pd.DataFrame:
    """Count the launches of each entry of a range by launch call; order rows by GPU start."""
    frame = frame.sort_values(["api_start_ns", "start_ns"], kind="stable")
    frame["launch"] = frame.groupby(["range", "repeat"]).cumcount().astype("Int64")
    frame.loc[frame["range"].isna(), "launch"] = pd.NA
    return frame.sort_values("start_ns", kind="stable", ignore_index=True)
