"""Exports of Nsight Systems to frames: what a capture launched, and what any report holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NoReturn

import numpy as np
import numpy.typing as npt
import pandas as pd

from parsers import nsys_launches as read
from parsers.contract import DOMAIN, split_range
from parsers.errors import CaptureError
from parsers.files import SQLITE_MAGIC
from parsers.nsys_ranges import attribute, read_ranges
from parsers.nsys_schemas import LAUNCHES
from parsers.nsys_tables import (
    CALLS,
    COPIES,
    FILLS,
    GRAPHS,
    KERNELS,
    META,
    PARQUET,
    RANGES,
    REMEDY,
    STRINGS,
    Tables,
    open_tables,
)
from parsers.rollup import busy_ns
from parsers.schemas import TIMELINE

__all__ = ["REMEDY", "busy_ns", "launches", "parse", "recognises", "recognises_folder"]

_CAPTURED = ("correlationId", "globalPid", "shortName", "demangledName")
_TIMED = (KERNELS, COPIES, FILLS, GRAPHS, CALLS, RANGES)
_UNTRACED = "trace them with `nsys profile --cuda-graph-trace=node`"


def parse(path: Path | str) -> pd.DataFrame:
    """Read every kernel launch of a capture, in the order in which they ran on the GPU.

    A launch belongs to the NVTX range ``operator/variant/case`` of the domain ``roofsnake`` that
    was opened last of those that were open when its launch call began: push/pop ranges of the
    launching CPU thread, and start/end ranges of any thread of its process. Where the kernel then
    ran on the GPU does not matter. Kernels of a CUDA graph traced as a whole are not
    in the kernel table and so not in the frame: trace with ``--cuda-graph-trace=node``.

    Parameters
    ----------
    path
        What ``nsys export`` wrote, with ``--type sqlite`` or ``parquetdir``; it is only read.

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
    frame = launches_in(Path(path), DOMAIN, lambda name: split_range(name) is not None)
    # A plain split on a column without a single range gives one column, not three.
    keys = frame["range"].str.split("/", expand=True).reindex(columns=range(3))
    keys.columns = pd.Index(["operator", "variant", "case"])
    return TIMELINE.conform(pd.concat([frame, keys], axis=1))


def launches_in(path: Path, domain: str, wanted: Callable[[str], bool]) -> pd.DataFrame:
    """Read the kernels and name the ``range`` of each among the wanted ranges of a domain.

    ``repeat`` counts the entries of a range, ``launch`` the launches in one by their calls.
    """
    with open_tables(path) as tables:
        kernels = read.read_kernels(tables)
        if kernels.empty:
            _refuse_empty(tables)
        missing = [column for column in _CAPTURED if column in tables.lacks.get(KERNELS, ())]
        if missing:
            version = tables.schema_version()
            cause = f"{KERNELS} has no {', '.join(missing)} (export schema {version})"
            raise CaptureError(path, cause, "export it again with a newer nsys")
        kernels = read.add_calls(tables, kernels)
        ranges = read_ranges(tables)
    chosen = [name for name in ranges["range"].cat.categories if wanted(name)]
    ranges = ranges[ranges["range"].isin(chosen) & (ranges["domain"] == domain)]
    ranges = ranges.reset_index(drop=True)
    entry, _ = attribute(ranges, kernels)
    repeat = ranges.groupby("range", observed=True).cumcount().astype("Int64")
    names = ranges["range"].astype("string")
    frame = kernels.assign(range=read.take(names, entry), repeat=read.take(repeat, entry))
    frame = _number(frame)
    origin = frame[["start_ns", "api_start_ns"]].min().min()
    frame["start_ns"] -= origin
    frame["api_start_ns"] -= origin
    return frame


def _number(frame: pd.DataFrame) -> pd.DataFrame:
    """Count the launches of each entry of a range by launch call; order rows by GPU start."""
    frame = frame.sort_values(["api_start_ns", "start_ns"], kind="stable")
    counted = frame.groupby(["range", "repeat"], observed=True).cumcount().astype("Int64")
    frame["launch"] = counted.where(frame["range"].notna())
    return frame.sort_values("start_ns", kind="stable", ignore_index=True)


def launches(path: Path | str, *, copies: bool = False) -> pd.DataFrame:
    """Read what ran on the GPUs by any export of Nsight Systems, in the order of its start.

    A launch belongs to the NVTX range that was opened last of those that were open when its
    launch call began: push/pop ranges of the launching thread, start/end ranges of its process, of
    any domain. The nodes of a CUDA graph belong to the range of the graph's launch.

    Parameters
    ----------
    path
        What ``nsys export`` wrote since 2020, with ``--type sqlite`` or ``parquetdir``.
    copies
        Whether copies and fills of memory are in the frame, too.

    Returns
    -------
    DataFrame
        Schema `parsers.schemas.LAUNCHES`: a row a kernel, copy or fill, and a row a CUDA graph
        that was traced as a whole (``kind`` is ``graph``, ``kernel`` is NA). What the export lacks
        is NA; ``attrs["notes"]`` says in a sentence each what is missing and why, how many
        launches are outside of every range, and how much time is of graphs with unknown kernels.

    Raises
    ------
    CaptureError
        When the export is missing, empty, damaged, of something else, or holds nothing of these.
    """
    with open_tables(Path(path)) as tables:
        parts = [read.read_kernels(tables), read.read_graphs(tables)]
        parts += [read.read_copies(tables)] if copies else []
        frame = read.concat(parts)
        if frame.empty:
            _refuse_empty(tables)
        if not frame["start_ns"].is_monotonic_increasing:
            frame = frame.sort_values("start_ns", kind="stable", ignore_index=True)
        frame = read.add_calls(tables, frame)
        frame["graph_node_original"] = read.original_nodes(tables, frame)
        frame = read.add_gpus(tables, frame)
        ranges = read_ranges(tables, payloads=True)
        entry, frame["range_path"] = attribute(ranges, frame)
        notes = _notes(tables, frame, entry)
    ranges["range_start_ns"] = ranges["open"].astype("Int64")
    for column in ("range", "domain", "payload", "range_start_ns"):
        frame[column] = read.take(ranges[column], entry)
    frame["machine"] = frame["process"] // (1 << 48)
    for column in ("process", "thread"):
        frame[column] = read.local_id(frame[column], column)
    frame = _typed(frame)
    frame.attrs["notes"] = notes
    return frame


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    """Give a frame the columns of its schema; to validate a million rows takes a second or two."""
    empty = pd.Series(pd.NA, index=frame.index, dtype="Int64")
    columns = {
        name: frame.get(name, empty).astype(column.dtype)
        for name, column in LAUNCHES.columns.items()
    }
    for name, values in columns.items():
        if isinstance(values.dtype, pd.CategoricalDtype):
            columns[name] = _used(values)
    return pd.DataFrame(columns, copy=False)


def _used(column: pd.Series) -> pd.Series:
    """Leave out the categories that no row has."""
    texts = pd.Categorical(column)
    there = (
        np.bincount(texts.codes.astype(np.int64) + 1, minlength=len(texts.categories) + 1)[1:] > 0
    )
    codes = np.append(np.cumsum(there) - 1, -1)[texts.codes]
    kept = pd.Categorical.from_codes(codes, texts.categories[there], validate=False)
    return pd.Series(kept, index=column.index)


def _notes(tables: Tables, frame: pd.DataFrame, entry: npt.NDArray[np.int64]) -> list[str]:
    """Say what is missing and why."""
    version = tables.schema_version()
    notes = [
        f"no table {name} (export schema {version}): {loss}"
        for name, loss in {
            KERNELS: "no kernels",
            CALLS: "no launching calls, and so no ranges",
            RANGES: "no NVTX ranges",
        }.items()
        if name not in tables.names
    ]
    notes += [
        f"{name} has no {', '.join(columns)} (export schema {version}): NA"
        for name, columns in tables.lacks.items()
        if name in _TIMED
    ]
    graphs = frame["kind"] == read.GRAPH
    if graphs.any():
        time = frame.loc[graphs, "duration_ns"].sum()
        whole = f"{graphs.sum()} CUDA graphs traced as a whole, {time} ns"
        notes.append(f"{whole}: their kernels are unknown; {_UNTRACED}")
    uncalled = int(frame["api_start_ns"].isna().sum())
    if uncalled and CALLS in tables.names:
        notes.append(f"{uncalled} of {len(frame)} launches have no launching call in the report")
    outside = int((entry < 0).sum())
    if outside and RANGES in tables.names:
        notes.append(f"{outside} of {len(frame)} launches are outside of every NVTX range")
    return notes


def _refuse_empty(tables: Tables) -> NoReturn:
    version = tables.schema_version()
    if len(tables.read(GRAPHS, ("start",))):
        cause = "holds no kernel launches, only CUDA graphs traced as a whole"
        raise CaptureError(tables.path, f"{cause} (schema {version})", _UNTRACED)
    raise CaptureError(tables.path, f"holds no kernel launches (schema {version})", REMEDY)


def recognises(head: bytes) -> bool:
    """Whether the first 64 KiB of a file are those of an export of Nsight Systems.

    The definitions of a database's tables are at its start; where they go beyond, the names of
    Nsight's enumerations, which come early, are enough.
    """
    return head.startswith(SQLITE_MAGIC) and any(
        name.encode() in head for name in (*META, STRINGS, "ENUM_NSYS_", "TARGET_INFO_", KERNELS)
    )


def recognises_folder(names: Iterable[str]) -> bool:
    """Whether the names of a folder's files are those of ``nsys export --type parquetdir``."""
    return bool({f"{name}{PARQUET}" for name in (*META, STRINGS, KERNELS)} & set(names))
