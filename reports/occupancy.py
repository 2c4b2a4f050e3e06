"""Theoretical occupancy: how many blocks of a launch an SM can hold, and what would change that.

The rules are those of CUDA's ``cuda_occupancy.h``, the numbers those of the table of technical
specifications in the CUDA programming guide. They give Nsight Compute's own limits if the shared
memory that an SM is configured with is given, too: the driver chooses it for each launch
(``launch__shared_mem_config_size``) by rules that are not published. Without it the most that an
SM has is assumed, so the limit by shared memory can be higher than Nsight's.

Not covered:

- Blocks of a cluster must start together on SMs of one GPC, so a launch of clusters can hold fewer
  blocks than one without, and leave SMs idle: an H200 holds 15 clusters of 8, on 120 of 132 SMs.
  Nsight's limits and theoretical occupancy leave this out as well.
- A kernel that moves registers between its warps (``setmaxnreg``) is taken as it is launched.
- From 10.0 on CUDA also limits blocks by "virtual resources", of which no metric tells the number.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from parsers.metrics import OCCUPANCY_LIMITS
from reports.frames import Row

WARP_THREADS = 32
MAX_THREADS = 1024
"""Most threads of a block."""
MAX_REGISTERS = 255
"""Most registers of a thread."""
SM_REGISTERS = 65536
REGISTER_UNIT = 256
"""A warp's registers are allocated in multiples of this."""
PARTITIONS = 4
"""Each warp lives in one of an SM's partitions, which have a quarter of the registers each."""

REGISTERS, SHARED, WARPS, BLOCKS, BARRIERS = OCCUPANCY_LIMITS.values()

CURVE_DTYPES = {
    "varied": "string",
    "value": "Int64",
    "blocks": "Int64",
    "warps": "Int64",
    "occupancy_pct": "Float64",
    "limiter": "string",
    "step": "boolean",
    "launched": "boolean",
}


@dataclass(frozen=True)
class SM:
    """What an SM of a compute capability holds, sizes in B; ``barriers`` is None where no limit.

    ``shared_unit`` is what a block's shared memory is rounded up to, ``shared_reserved`` what the
    driver adds to it, and ``shared_block`` the most that a block may have without that.
    """

    warps: int
    blocks: int
    shared: int
    shared_block: int
    shared_unit: int = 128
    shared_reserved: int = 1024
    barriers: int | None = None


def _kib(shared: int, block: int) -> tuple[int, int]:
    return shared << 10, block << 10


SMS: dict[str, SM] = {
    "7.0": SM(64, 32, *_kib(96, 96), shared_unit=256, shared_reserved=0),
    "7.5": SM(32, 16, *_kib(64, 64), shared_unit=256, shared_reserved=0),
    "8.0": SM(64, 32, *_kib(164, 163)),
    "8.6": SM(48, 16, *_kib(100, 99)),
    "8.7": SM(48, 16, *_kib(164, 163)),
    "8.9": SM(48, 24, *_kib(100, 99)),
    "9.0": SM(64, 32, *_kib(228, 227), barriers=64),
    "10.0": SM(64, 32, *_kib(228, 227), barriers=64),
    "12.0": SM(48, 24, *_kib(100, 99), barriers=24),
}
"""By compute capability. The limit by barriers exists in CUDA from 9.0 on."""


@dataclass(frozen=True)
class Launch:
    """What a launch asks of an SM.

    ``threads`` of a block; ``registers`` a thread; ``shared`` memory a block in B, static and
    dynamic; ``barriers`` a block (``launch__barrier_count``); ``shared_config`` the shared memory
    in B that the SM is configured with, None for the most it has.
    """

    threads: int
    registers: int
    shared: int = 0
    barriers: int = 1
    shared_config: int | None = None

    def __post_init__(self) -> None:
        if not (1 <= self.threads <= MAX_THREADS and 1 <= self.registers <= MAX_REGISTERS):
            raise ValueError(
                f"{self.threads} threads with {self.registers} registers: a block has 1 to "
                f"{MAX_THREADS} threads, a thread 1 to {MAX_REGISTERS} registers"
            )
        if min(self.shared, self.barriers, self.shared_config or 0) < 0:
            raise ValueError("shared memory and barriers are counted from 0")


def asked(row: Row) -> Launch | None:
    """Return what a row of the frame ``counters`` asked of an SM; None where it does not say.

    Where it lacks the barriers or the shared memory configured, one barrier and the most that an SM
    has are assumed.
    """
    columns = ("block_size", "registers_per_thread", "static_shared_bytes", "dynamic_shared_bytes")
    threads, registers, *shared = (row[column] for column in columns)
    if threads is None or registers is None or None in shared:
        return None
    barriers, config = row.get("barriers"), row.get("shared_config_bytes")
    return Launch(
        threads, registers, sum(shared), 1 if barriers is None else barriers, config or None
    )


@dataclass(frozen=True)
class Occupancy:
    """How many blocks and warps an SM holds, share of its warps in %, and the blocks by resource.

    ``limits`` has the words of `parsers.metrics.OCCUPANCY_LIMITS`; ``limiters`` those with the
    fewest blocks, several where they tie. 0 blocks: such a launch fails.
    """

    blocks: int
    warps: int
    pct: float
    limits: dict[str, int]
    limiters: tuple[str, ...]


def occupancy(cc: str, launch: Launch) -> Occupancy:
    """Compute the theoretical occupancy of a launch on a GPU of compute capability ``cc``.

    Raises
    ------
    ValueError
        When the compute capability is none of `SMS`.
    """
    sm = _sm(cc)
    limits = {resource: int(n) for resource, n in _limits(sm, launch).items()}
    blocks = min(limits.values())
    warps = blocks * int(_warps(launch.threads))
    limiters = tuple(resource for resource, n in limits.items() if n == blocks)
    return Occupancy(blocks, warps, 100 * warps / sm.warps, limits, limiters)


def what_if(cc: str, launch: Launch) -> pd.DataFrame:
    """Compute the occupancy over the registers a thread and over the size of a block, each alone.

    Shared memory a block stays as it is, though a kernel that is launched with other blocks mostly
    needs another amount. An SM is taken to be configured with the most shared memory that it has,
    for the driver gives a launch what it needs.

    Returns
    -------
    DataFrame
        A row a value, columns `CURVE_DTYPES`. ``varied`` is ``registers_per_thread`` (``value`` 1
        to 255) or ``block_size`` (32 to 1024 threads, whole warps); ``blocks``, ``warps`` and
        ``occupancy_pct`` of an SM; ``limiter`` with ties joined by " + "; ``step`` where the
        occupancy differs from that of the value before; ``launched`` at the launch's own value, to
        whole warps.

    Raises
    ------
    ValueError
        As `occupancy`.
    """
    sm, launch = _sm(cc), replace(launch, shared_config=None)
    registers = np.arange(1, MAX_REGISTERS + 1)
    threads = np.arange(WARP_THREADS, MAX_THREADS + 1, WARP_THREADS)
    own = int(_warps(launch.threads)) * WARP_THREADS
    curves = [
        _curve(sm, launch, "registers_per_thread", registers, launch.registers),
        _curve(sm, launch, "block_size", threads, own),
    ]
    return pd.concat(curves, ignore_index=True).astype(CURVE_DTYPES)


@dataclass(frozen=True)
class Relief:
    """What it takes for an SM to hold more: so many ``blocks``, which is ``pct`` % of its warps.

    ``registers`` a thread and ``shared`` memory a block in B are what must be given up, both of
    them, 0 where a resource would do as it is.
    """

    blocks: int
    pct: float
    registers: int
    shared: int


def relief(cc: str, launch: Launch) -> Relief | None:
    """Return the least to give up for one block more on an SM.

    An SM may be configured with all the shared memory that it has.

    None where giving up registers and shared memory does not help: warps, blocks or barriers limit,
    or the launch has less to give than the driver reserves.

    Raises
    ------
    ValueError
        As `occupancy`.
    """
    sm, launch = _sm(cc), replace(launch, shared_config=None)
    now = occupancy(cc, launch)
    blocks = now.blocks + 1
    fixed = [n for resource, n in now.limits.items() if resource not in {REGISTERS, SHARED}]
    per_block = _shared(sm, launch) // blocks // sm.shared_unit * sm.shared_unit
    shared = min(per_block - sm.shared_reserved, sm.shared_block)
    fewer = np.arange(1, launch.registers + 1)
    fits = fewer[_by_registers(_warps(launch.threads), fewer) >= blocks]
    if blocks > min(fixed) or shared < 0 or not fits.size:
        return None
    return Relief(
        blocks,
        pct=100 * blocks * int(_warps(launch.threads)) / sm.warps,
        registers=launch.registers - int(fits.max()),
        shared=max(0, launch.shared - shared),
    )


def _sm(cc: str) -> SM:
    if cc not in SMS:
        raise ValueError(f"compute capability {cc} is not known; known are {', '.join(SMS)}")
    return SMS[cc]


def _up(value: Any, unit: int) -> Any:
    """Round up to a multiple of the unit."""
    return -(-value // unit) * unit


def _warps(threads: Any) -> Any:
    return _up(threads, WARP_THREADS) // WARP_THREADS


def _by_registers(warps: Any, registers: Any) -> Any:
    """Return blocks an SM by registers: a partition's warps, in all partitions."""
    each = _up(registers * WARP_THREADS, REGISTER_UNIT)
    return SM_REGISTERS // PARTITIONS // each * PARTITIONS // warps


def _shared(sm: SM, launch: Launch) -> int:
    return sm.shared if launch.shared_config is None else launch.shared_config


def _by_shared(sm: SM, launch: Launch) -> int:
    """Return blocks an SM by shared memory; where none is used, no fewer than an SM holds."""
    if launch.shared > sm.shared_block:
        return 0
    used = _up(launch.shared + sm.shared_reserved, sm.shared_unit)
    return int(_shared(sm, launch) // used) if used else sm.blocks


def _limits(sm: SM, launch: Launch, threads: Any = None, registers: Any = None) -> dict[str, Any]:
    """Return blocks an SM by each resource, with other threads or registers, numbers or arrays."""
    warps = _warps(launch.threads if threads is None else threads)
    limits = {
        REGISTERS: _by_registers(warps, launch.registers if registers is None else registers),
        SHARED: _by_shared(sm, launch),
        WARPS: sm.warps // warps,
        BLOCKS: sm.blocks,
    }
    if sm.barriers is not None:
        limits[BARRIERS] = min(sm.blocks, sm.barriers // max(launch.barriers, 1))
    return limits


def _curve(
    sm: SM, launch: Launch, varied: str, values: np.ndarray[Any, Any], own: int
) -> pd.DataFrame:
    by_threads = varied == "block_size"
    limits = _limits(sm, launch, **{"threads" if by_threads else "registers": values})
    table = pd.DataFrame(limits, index=range(len(values)))
    blocks = table.min(axis="columns")
    tied = table.eq(blocks, axis="index")
    warps = blocks * _warps(values if by_threads else launch.threads)
    pct = 100 * warps / sm.warps
    return pd.DataFrame(
        {
            "varied": varied,
            "value": values,
            "blocks": blocks,
            "warps": warps,
            "occupancy_pct": pct,
            "limiter": [" + ".join(table.columns[row]) for row in tied.to_numpy()],
            "step": pct.diff().fillna(0).ne(0),
            "launched": values == own,
        }
    )
