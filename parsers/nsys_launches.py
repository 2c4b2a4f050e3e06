"""What ran on the GPU by an export of Nsight Systems: kernels, copies, fills and whole graphs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from parsers.errors import CaptureError
from parsers.nsys_tables import (
    CALLS,
    COPIES,
    FILLS,
    GRAPH_NODES,
    GRAPHS,
    KERNELS,
    PROCESS_MASK,
    Tables,
)

KERNEL, COPY, FILL, GRAPH = "kernel", "memcpy", "memset", "graph"

NEEDED = ("start", "end")
_PLACE = {
    "deviceId": "device",
    "contextId": "context",
    "greenContextId": "green_context",
    "streamId": "stream",
    "correlationId": "correlation",
    "globalPid": "process",
}
SHAPE = {
    "registersPerThread": "registers_per_thread",
    **{f"{part}{axis.upper()}": f"{part}_{axis}" for part in ("grid", "block") for axis in "xyz"},
    "staticSharedMemory": "static_shared_bytes",
    "dynamicSharedMemory": "dynamic_shared_bytes",
    "localMemoryPerThread": "local_bytes_per_thread",
}
_GRAPH = {"graphId": "graph", "graphNodeId": "graph_node"}
_NAMES = ("shortName", "demangledName", "mangledName")

_COPY_KINDS = {
    1: "Host-to-Device", 2: "Device-to-Host", 3: "Host-to-Array", 4: "Array-to-Host",
    5: "Array-to-Array", 6: "Array-to-Device", 7: "Device-to-Array", 8: "Device-to-Device",
    9: "Host-to-Host", 10: "Peer-to-Peer", 11: "Unified Host-to-Device",
    12: "Unified Device-to-Host", 13: "Unified Device-to-Device",
}  # fmt: skip
"""Kinds of a copy, as the table ``ENUM_CUDA_MEMCPY_OPER`` of newer exports labels them."""

Integers = npt.NDArray[np.int64]


def read_kernels(tables: Tables) -> pd.DataFrame:
    """Read the kernels; ``process`` is a global id."""
    rows = tables.read(KERNELS, (*NEEDED, *_NAMES, *_PLACE, *SHAPE, *_GRAPH))
    frame = _timed(tables, KERNELS, rows, {**_PLACE, **SHAPE, **_GRAPH})
    short, demangled, mangled = (tables.texts(rows[name]) for name in _NAMES)
    frame["kernel"] = _first(short, demangled, mangled)
    frame["kernel_demangled"] = _first(demangled, frame["kernel"])
    frame["kernel_mangled"] = mangled
    return frame.assign(kind=_same(KERNEL, len(frame)))


def read_copies(tables: Tables) -> pd.DataFrame:
    """Read copies and fills of memory, named as ``nsys stats`` names them."""
    copies = tables.read(COPIES, (*NEEDED, *_PLACE, "bytes", "graphNodeId", "copyKind"))
    fills = tables.read(FILLS, (*NEEDED, *_PLACE, "bytes", "graphNodeId"))
    columns = {**_PLACE, "bytes": "bytes", "graphNodeId": "graph_node"}
    copied, filled = _timed(tables, COPIES, copies, columns), _timed(tables, FILLS, fills, columns)
    kinds = copies["copyKind"].map(_COPY_KINDS).astype("str")
    copied["kernel"] = pd.Categorical(("[CUDA memcpy " + kinds + "]").fillna("[CUDA memcpy]"))
    filled["kernel"] = _same("[CUDA memset]", len(filled))
    return concat(
        [
            copied.assign(kind=_same(COPY, len(copied))),
            filled.assign(kind=_same(FILL, len(filled))),
        ]
    )


def read_graphs(tables: Tables) -> pd.DataFrame:
    """Read the CUDA graphs that were traced as a whole: their time, without their kernels."""
    columns = {**_PLACE, "graphId": "graph", "graphExecId": "graph_exec"}
    frame = _timed(tables, GRAPHS, tables.read(GRAPHS, (*NEEDED, *columns)), columns)
    nothing = pd.Series(pd.NA, index=frame.index, dtype="Int64")
    return frame.assign(kind=_same(GRAPH, len(frame)), graph_node=nothing)


def original_nodes(tables: Tables, frame: pd.DataFrame) -> pd.Series:
    """Return for each graph node the node of the graph that its own was instantiated from."""
    nodes = tables.read(GRAPH_NODES, ("globalTid", "graphNodeId", "originalGraphNodeId"))
    known = nodes.dropna().drop_duplicates(["globalTid", "graphNodeId"])
    known = known.assign(process=known["globalTid"] & PROCESS_MASK, graph_node=known["graphNodeId"])
    known = known.drop_duplicates(["process", "graph_node"]).set_index(["process", "graph_node"])
    original = pd.Series(pd.NA, index=frame.index, dtype="Int64")
    inside = frame[["process", "graph_node"]].dropna()
    if len(known) and len(inside):
        found = known["originalGraphNodeId"].reindex(pd.MultiIndex.from_frame(inside))
        original.loc[inside.index] = found.array
    return original


def add_calls(tables: Tables, frame: pd.DataFrame) -> pd.DataFrame:
    """Add the call that launched each row: ``thread`` (global id), ``api``, its start and time.

    Correlation ids are unique within a process only. Where two calls have the same, as a call of
    the runtime and the call of the driver in it may, the earlier one counts.
    """
    calls = tables.read(CALLS, ("start", "end", "globalTid", "correlationId", "nameId"))
    thread = _integers(calls["globalTid"])
    codes, processes = pd.factorize(thread & PROCESS_MASK)
    known = (calls["globalTid"].notna() & calls["correlationId"].notna()).to_numpy()
    key = np.where(known, _key(codes, calls["correlationId"]), -1)
    order = np.argsort(key, kind="stable")
    if (key[order[1:]] == key[order[:-1]]).any():
        order = np.lexsort((_integers(calls["start"]), key))
    key = key[order]
    process = _integers(frame["process"])
    if len(processes) == 1 and frame["process"].isna().all():
        process = np.full(len(frame), processes[0])
    wanted = _key(pd.Index(processes).get_indexer(pd.Index(process)), frame["correlation"])
    place = np.minimum(np.searchsorted(key, wanted), max(len(key) - 1, 0))
    found = (wanted >= 0) & (key[place] == wanted) if len(key) else np.zeros(len(frame), bool)
    row = np.where(found, order[place] if len(order) else 0, -1)
    names = tables.texts(calls["nameId"])
    return frame.assign(
        thread=take(calls["globalTid"], row),
        api=take(names, row),
        api_start_ns=take(calls["start"], row),
        api_duration_ns=take(calls["end"] - calls["start"], row),
    )


def take(column: pd.Series, rows: Integers) -> pd.api.extensions.ExtensionArray:
    """Take rows of a column; NA for the row -1."""
    taken: pd.api.extensions.ExtensionArray = column.array.take(rows, allow_fill=True)
    return taken


def concat(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """Put frames one below the other; the categories of categoricals are united."""
    parts = [part for part in parts if len(part)] or parts[:1]
    if len(parts) == 1:
        return parts[0]
    texts = {
        column
        for part in parts
        for column in part.columns
        if isinstance(part[column].dtype, pd.CategoricalDtype)
    }
    plain = [part.astype(dict.fromkeys(texts & {*part.columns}, "str")) for part in parts]
    frame = pd.concat(plain, ignore_index=True)
    return frame.assign(**{column: frame[column].astype("category") for column in texts})


def _timed(tables: Tables, name: str, rows: pd.DataFrame, columns: dict[str, str]) -> pd.DataFrame:
    """Rename columns and add start and duration, without which there is nothing to read."""
    missing = [column for column in NEEDED if len(rows) and rows[column].isna().all()]
    if missing:
        raise CaptureError(
            tables.path,
            f"{name} has no {', '.join(missing)} (export schema {tables.schema_version()})",
            "export it again with a newer nsys",
        )
    times = pd.DataFrame({"start_ns": rows["start"], "duration_ns": rows["end"] - rows["start"]})
    return pd.concat([rows[list(columns)].rename(columns=columns), times], axis=1)


def _first(*columns: pd.Series) -> pd.Series:
    """Return the first text of each row."""
    first, *others = columns
    for other in others:
        if not first.isna().any():
            break
        first = first.astype("str").fillna(other.astype("str")).astype("category")
    return first


def _same(text: str, rows: int) -> pd.Categorical:
    return pd.Categorical.from_codes(np.zeros(rows, dtype=np.int8), pd.Index([text], dtype="str"))


def _integers(column: pd.Series) -> Integers:
    return column.to_numpy("int64", na_value=-1)


def _key(process: Integers, correlation: pd.Series) -> Integers:
    """Make one key of a process's number and a correlation id of 32 bits; -1 where one lacks."""
    number = _integers(correlation)
    return np.where((process < 0) | (number < 0), -1, (process.astype(np.int64) << 32) | number)


def add_gpus(tables: Tables, frame: pd.DataFrame) -> pd.DataFrame:
    """Add the number and name of each row's GPU, where the export tells.

    A device has its number from its process, which may see a part of the GPUs alone;
    ``TARGET_INFO_CUDA_DEVICE`` relates the two. Before that table the GPUs had a column for it,
    ``cuDevice`` or, in another table, ``deviceId``; in between, the numbers were one.
    """
    gpus = tables.read("TARGET_INFO_GPU", ("id", "name", "cuDevice"))
    if gpus.empty:
        gpus = tables.read("TARGET_INFO_CUDA_GPU", ("id", "name", "deviceId"))
        gpus = gpus.rename(columns={"deviceId": "cuDevice"})
    for column in ("id", "cuDevice"):  # SQLite keeps texts in columns of numbers as well
        texts = gpus[column].astype("string")
        gpus[column] = pd.to_numeric(texts, errors="coerce").astype("Int64")
    gpus = gpus.dropna(subset=["id", "cuDevice"], how="all")
    devices = tables.read("TARGET_INFO_CUDA_DEVICE", ("gpuId", "cudaId", "pid"))
    keys = frame[["device"]].assign(pid=local_id(frame["process"], "process"))
    if len(devices):
        known = devices.rename(columns={"cudaId": "device", "gpuId": "gpu"})
    else:
        number = gpus["cuDevice"].fillna(gpus["id"])
        known = pd.DataFrame({"device": number, "gpu": gpus["id"].fillna(number)})
        keys = keys[["device"]]
    known = known.dropna().drop_duplicates([*keys.columns])
    found = keys.merge(known, on=[*keys.columns], how="left")["gpu"]
    number = gpus["id"].fillna(gpus["cuDevice"])
    place = pd.Index(_integers(number)).get_indexer(pd.Index(_integers(found)))
    return frame.assign(gpu=found.array, gpu_name=take(tables.texts(gpus["name"]), place))


def local_id(identifier: pd.Series, kind: str) -> pd.Series:
    """Return the id that the system knows of a ``process`` or ``thread`` by its global id."""
    return (identifier // (1 << 24) if kind == "process" else identifier) % (1 << 24)
