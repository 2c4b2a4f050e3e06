"""Write an export of Nsight Systems of any size, with the schema 3.25 and made-up launches.

Two processes with a GPU each; three threads a process launch on four streams. Each thread opens
push/pop ranges as complete binary trees of 15, four deep, and launches one kernel in each range;
one range in 64 is a start/end range that outlives its tree. Half of the push/pop ranges have
registered names, half carry their text, as PyTorch's do.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from itertools import repeat
from pathlib import Path

import numpy as np
import numpy.typing as npt

KERNEL = (
    "start end deviceId contextId greenContextId? streamId correlationId? globalPid? demangledName "
    "shortName mangledName? launchType? cacheConfig? registersPerThread gridX gridY gridZ blockX "
    "blockY blockZ staticSharedMemory dynamicSharedMemory localMemoryPerThread localMemoryTotal "
    "gridId sharedMemoryExecuted? graphNodeId? sharedMemoryLimitConfig? qmdBulkReleaseDone? "
    "qmdPreexitDone? qmdLastCtaDone? graphId? clusterX? clusterY? clusterZ? "
    "clusterSchedulingPolicy? maxPotentialClusterSize? maxActiveClusters? "
    "sharedMemoryRequestedPercentage? tensorSizeMinusOneElements:TEXT"
)
CALL = "start end eventClass globalTid? correlationId? nameId returnValue callchainId?"
NVTX = (
    "start end? eventType rangeId? category? color? text:TEXT? globalTid? endGlobalTid? textId? "
    "domainId? uint64Value? int64Value? doubleValue:REAL? uint32Value? int32Value? "
    "floatValue:REAL? jsonTextId? jsonText:TEXT? binaryData:TEXT?"
)
TABLES = {
    "CUPTI_ACTIVITY_KIND_KERNEL": KERNEL,
    "CUPTI_ACTIVITY_KIND_RUNTIME": CALL,
    "NVTX_EVENTS": NVTX,
    "StringIds": "id:INTEGER value:TEXT",
    "META_DATA_EXPORT": "name:TEXT value:TEXT?",
}
PROCESSES, THREADS, STREAMS, TREE, NAMES, KERNELS = 2, 3, 4, 15, 40, 60
LANES = PROCESSES * THREADS
ORIGIN, STEP = 155_357_596_302, 1000
DEPTH = np.array([0, 1, 2, 3, 3, 2, 3, 3, 1, 2, 3, 3, 2, 3, 3])
SPAN = np.array([15, 7, 3, 1])
"""A tree in the order of opening: how deep each range is, and how many ranges it spans."""

Integers = npt.NDArray[np.int64]
Values = dict[str, list[object]]


def write(path: Path, size: int) -> None:
    """Write an export of ``size`` kernels and as many NVTX ranges."""
    order = np.arange(size)
    lane, place = order % LANES, order // LANES
    process = ((lane // THREADS + 100) << 24) | (1 << 48)
    thread = process | (lane % THREADS + 1000)
    opened = ORIGIN + place * STEP + lane
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA synchronous = OFF")
        for table in TABLES:
            _create(database, table)
        meta: Values = {"name": ["EXPORT_SCHEMA_VERSION"], "value": ["3.25.0"]}
        _insert(database, "META_DATA_EXPORT", meta)
        _insert(database, "StringIds", _strings())
        _insert(database, "CUPTI_ACTIVITY_KIND_KERNEL", _kernels(order, lane, process, opened))
        _insert(database, "CUPTI_ACTIVITY_KIND_RUNTIME", _calls(order, thread, opened))
        _insert(database, "NVTX_EVENTS", _ranges(order, place, thread, opened))
        database.commit()


def _columns(table: str) -> list[tuple[str, str, bool]]:
    """Return the name, the type and whether NULL may be in it, of each column of a table."""
    columns = []
    for column in TABLES[table].split():
        name, _, kind = column.rstrip("?").partition(":")
        columns.append((name, kind or "INTEGER", column.endswith("?")))
    return columns


def _create(database: sqlite3.Connection, table: str) -> None:
    columns = [
        f"{name} {kind}{'' if null else ' NOT NULL'}" for name, kind, null in _columns(table)
    ]
    database.execute(f"CREATE TABLE {table} ({', '.join(columns)})")


def _insert(database: sqlite3.Connection, table: str, values: Values) -> None:
    """Insert columns; the others are NULL where they may be, else 0."""
    columns, rows = _columns(table), len(next(iter(values.values())))
    filled = [values.get(name, repeat(None if null else 0, rows)) for name, _, null in columns]
    marks = ", ".join("?" * len(columns))
    statement = f"INSERT INTO {table} VALUES ({marks})"  # noqa: S608 -- a name of our own
    database.executemany(statement, zip(*filled, strict=True))


def _strings() -> Values:
    kernel = "void at::native::vectorized_elementwise_kernel<(int)4, Functor{0}<float>>(int, T2)"
    names = [
        *(f"range_{i}" for i in range(NAMES)),
        *(kernel.format(i) for i in range(KERNELS)),
        *(f"vectorized_elementwise_kernel_{i}" for i in range(KERNELS)),
        *(f"_ZN2at6native{i}vectorized_elementwise_kernel" for i in range(KERNELS)),
        "cudaLaunchKernel_v7000",
    ]
    return {"id": list(range(len(names))), "value": list(names)}


def _kernels(order: Integers, lane: Integers, process: Integers, opened: Integers) -> Values:
    which = order * 7 % KERNELS
    device = lane // THREADS
    columns = {
        "start": opened + 5000,
        "end": opened + 5000 + 500 + which,
        "deviceId": device,
        "contextId": device + 1,
        "streamId": 7 + order % STREAMS,
        "correlationId": order + 1000,
        "globalPid": process,
        "demangledName": NAMES + which,
        "shortName": NAMES + KERNELS + which,
        "mangledName": NAMES + 2 * KERNELS + which,
        "registersPerThread": 16 + which,
        "gridX": 64 * (1 + which),
        "gridY": 1 + which % 3,
        "gridZ": np.ones_like(order),
        "blockX": 128 << (which % 3),
        "blockY": np.ones_like(order),
        "blockZ": np.ones_like(order),
        "gridId": order,
    }
    return {name: values.tolist() for name, values in columns.items()} | {
        "tensorSizeMinusOneElements": ["[]"] * len(order)
    }


def _calls(order: Integers, thread: Integers, opened: Integers) -> Values:
    """One launch call a kernel, and one other call for every four."""
    other = order[::4]
    columns = {
        "start": np.concatenate([opened + 10, opened[other] + 60]),
        "end": np.concatenate([opened + 50, opened[other] + 70]),
        "globalTid": np.concatenate([thread, thread[other]]),
        "correlationId": np.concatenate([order, other + len(order)]) + 1000,
    }
    call = np.full(len(order) + len(other), NAMES + 3 * KERNELS)
    return {name: values.tolist() for name, values in (columns | {"nameId": call}).items()}


def _ranges(order: Integers, place: Integers, thread: Integers, opened: Integers) -> Values:
    depth = DEPTH[place % TREE]
    start_end = order % 64 == 0
    closed = opened + SPAN[depth] * STEP - 100 + np.where(start_end, 20 * STEP, 0)
    registered = (order % 2 == 0).tolist()
    name = (order % NAMES).tolist()
    columns = {
        "start": opened,
        "end": closed,
        "eventType": np.where(start_end, 60, 59),
        "globalTid": thread,
        "domainId": np.zeros_like(order),
    }
    return {key: values.tolist() for key, values in columns.items()} | {
        "textId": [n if r else None for n, r in zip(name, registered, strict=True)],
        "text": [None if r else f"op_{n}" for n, r in zip(name, registered, strict=True)],
    }
