"""What counters and builds say that time cannot: compared exactly, or within their known jitter."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from reports.format import count, digits, quantity
from reports.frames import Frames, Row, records
from reports.occupancy import MAX_REGISTERS, SMS, Launch, occupancy

Pair = tuple[str, str]
"""Variant and case."""


@dataclass(frozen=True)
class Counted:
    """A quantity that is compared.

    Attributes
    ----------
    name
        What it is called.
    value
        Finds it in a row; None where it was not measured.
    unit
        Unit of the value.
    jitter
        By which share of it two runs of one program differ at most.
    least
        The smallest difference that counts, in the unit.
    worse
        1 where more is worse, -1 where less is, 0 where neither.
    """

    name: str
    value: Callable[[Row], float | None]
    unit: str = ""
    jitter: float = 0.0
    least: float = 0.0
    worse: int = 1


@dataclass(frozen=True)
class Moved:
    """A quantity that is not what it was; ``worse`` is None where neither is better.

    ``share`` is its change over what it was; ``kernel`` the kernel that it is of, where of one.
    """

    name: str
    base: str
    head: str
    worse: bool | None
    share: float | None = None
    kernel: str = ""

    def __str__(self) -> str:
        """Return both values, such as ``registers 40 → 64``."""
        return f"{self.name} {self.base} → {self.head}"


def _of(*columns: str) -> Callable[[Row], float | None]:
    """Add columns; NA where one of them is."""

    def value(row: Row) -> float | None:
        found = [row.get(column) for column in columns]
        return None if any(v is None for v in found) else float(sum(found))  # type: ignore[arg-type]

    return value


def _conflicts(row: Row) -> float | None:
    parts = [
        row.get(f"shared_{way}_{what}") for what in ("conflicts", "wavefronts") for way in _WAYS
    ]
    if any(part is None for part in parts):
        return None
    fronts = float(parts[2] + parts[3])  # type: ignore[operator]
    return 100 * float(parts[0] + parts[1]) / fronts if fronts else 0.0  # type: ignore[operator]


_WAYS = ("load", "store")


def _tensor(row: Row) -> float | None:
    """Say whether a kernel uses tensor cores; how many of its instructions do says nothing."""
    found = row["tensor_instructions"]
    return None if found is None else float(found > 0)


def _occupancy(row: Row) -> float | None:
    """Return the theoretical occupancy of a compiled kernel on its architecture, in %."""
    threads, registers = row["threads_per_block"], row["registers_per_thread"]
    capability = f"{row['arch'].removeprefix('sm_')[:-1]}.{row['arch'][-1]}"
    if not threads or not registers or capability not in SMS:
        return None
    launch = Launch(threads, min(registers, MAX_REGISTERS), row["shared_bytes"] or 0)
    return occupancy(capability, launch).pct


COUNTERS: tuple[Counted, ...] = (
    Counted("launches", _of("launches")),
    Counted(
        "tensor FLOPs",
        _of("tensor_fp16_flops", "tensor_bf16_flops", "tensor_tf32_flops"),
        "FLOP",
        0.01,
        worse=-1,
    ),
    Counted(
        "local-memory instructions", _of("local_load_instructions", "local_store_instructions")
    ),
    Counted("registers", _of("registers_per_thread"), worse=0),
    Counted("theoretical occupancy", _of("occupancy_theoretical_pct"), "%", 0.02, worse=-1),
    Counted("threads a block", _of("block_size"), worse=0),
    Counted("blocks", _of("grid_size"), worse=0),
    Counted("dynamic shared memory", _of("dynamic_shared_bytes"), "B", worse=0),
    Counted("DRAM bytes", _of("dram_read_bytes", "dram_write_bytes"), "B", 0.05, 2e6),
    Counted("L2 sectors", _of("l2_read_sectors", "l2_write_sectors"), "sector", 0.05, 1e5),
    Counted("load sectors", _of("global_load_sectors"), "sector", 0.02, 1e3),
    Counted("store sectors", _of("global_store_sectors"), "sector", 0.02, 1e3),
    Counted("load requests", _of("global_load_requests"), "request", 0.01, 100),
    Counted("store requests", _of("global_store_requests"), "request", 0.01, 100),
    Counted("bank conflicts", _conflicts, "%", 0.0, 5.0),
    Counted(
        "float64 instructions",
        _of(*(f"{op}_thread_instructions" for op in ("dadd", "dmul", "dfma"))),
    ),
    Counted("instructions", _of("instructions"), "instruction", 0.01),
)
"""What is compared of the counters of a variant in a case, rolled up over its launches.

The jitter is what captures of one source in different sessions showed (`docs/diff.md`).
"""

BUILDS: tuple[Counted, ...] = (
    Counted("tensor cores", _tensor, "yes or no", worse=-1),
    Counted("spill loads", _of("spill_loads"), "instruction"),
    Counted("spill stores", _of("spill_stores"), "instruction"),
    Counted("load width", _of("load_bits"), "bit", worse=-1),
    Counted("store width", _of("store_bits"), "bit", worse=-1),
    Counted("theoretical occupancy", _occupancy, "%", 0.02, worse=-1),
    Counted("registers", _of("registers_per_thread"), worse=0),
    Counted("threads a block", _of("threads_per_block"), worse=0),
    Counted("shared memory", _of("shared_bytes"), "B", worse=0),
    Counted("stack", _of("stack_bytes"), "B"),
    Counted("SASS instructions", _of("sass_instructions"), "instruction", 0.01, worse=0),
)
"""What is compared of each compiled kernel. More or fewer registers are neither good nor bad: what
they cost, occupancy and spills show."""


def moved(base: Row, head: Row, compared: Iterable[Counted]) -> list[Moved]:
    """Return the quantities that differ by more than their jitter, in the order of the table.

    One that only one of the two has is no difference: other counters were asked for.
    """
    found = []
    for one in compared:
        old, new = one.value(base), one.value(head)
        if old is None or new is None:
            continue
        if abs(new - old) > max(one.jitter * abs(old), one.least):
            worse = None if one.worse == 0 else (new > old) == (one.worse > 0)
            share = new / old - 1 if old else None
            found.append(Moved(one.name, _text(old, one), _text(new, one), worse, share))
    return found


def _text(value: float, one: Counted) -> str:
    if one.unit == "yes or no":
        return "used" if value else "unused"
    if one.unit in {"B", "FLOP"} and value >= 10_000:
        return quantity(value, one.unit)
    shown = count(int(value)) if value == int(value) else digits(value)
    return f"{shown} {one.unit}" if one.unit in {"%", "B", "bit", "FLOP"} else shown


def counted(base: Frames, head: Frames) -> dict[Pair, list[Moved]]:
    """Compare the counters of each variant and case that both have."""
    before, after = (
        {(r["variant"], r["case"]): r for r in records(f.rolled)} for f in (base, head)
    )
    kernels = _kernels(base), _kernels(head)
    found = {}
    for pair in before.keys() & after.keys():
        names = [_list(known.get(pair, [])) for known in kernels]
        others = [Moved("kernels", names[0], names[1], worse=None)] if names[0] != names[1] else []
        found[pair] = others + moved(before[pair], after[pair], COUNTERS)
    return found


def _kernels(frames: Frames) -> dict[Pair, list[str]]:
    """Return the names of the kernels of each variant and case, in the order of their launch."""
    named = frames.counters.dropna(subset=["variant", "case"]).sort_values("launch", kind="stable")
    groups = named.groupby(["variant", "case"], observed=True)["kernel"]
    return {(str(v), str(c)): [str(name) for name in names] for (v, c), names in groups}


def _list(names: list[str]) -> str:
    return ", ".join(dict.fromkeys(names)) or "none"


SHOWN_HASH = 8
"""Digits of a hash of code that are shown."""

PLACED = frozenset({"DRAM bytes", "L2 sectors"})
"""What one code differs by from run to run: how its blocks meet in the L2 cache is the moment's."""

BUILD_KEY = ("variant", "case", "kernel", "arch")


def built(base: pd.DataFrame, head: pd.DataFrame) -> dict[tuple[str, ...], list[Moved]]:
    """Compare compiled kernels by variant, case, kernel and architecture.

    Parameters
    ----------
    base, head
        The frame ``builds`` of each. A kernel of several configurations is compared by the first.
    """
    before, after = ({_key(r): r for r in reversed(records(f))} for f in (base, head))
    found: dict[tuple[str, ...], list[Moved]] = {
        key: [_kernels_moved(key, before, after)]
        for key in {**before, **after}
        if (key in before) != (key in after)
    }
    for key in [key for key in after if key in before]:
        old, new = before[key], after[key]
        texts = []
        if old["status"] != new["status"]:
            worse = new["status"] != "ok"
            texts.append(Moved("build", str(old["status"]), str(new["status"]), worse))
        if old["config"] != new["config"]:
            texts.append(Moved("configuration", *_apart(old["config"], new["config"]), worse=None))
        found[key] = texts + moved(old, new, BUILDS)
        hashes = old["sass_sha256"], new["sass_sha256"]
        if not found[key] and None not in hashes and hashes[0] != hashes[1]:
            before_it, after_it = (str(one)[:SHOWN_HASH] for one in hashes)
            found[key] = [Moved("code", before_it, after_it, worse=None)]
    return found


def same_code(base: pd.DataFrame, head: pd.DataFrame, arch: str) -> set[Pair]:
    """Return the variants and cases whose kernels are the same machine code in both.

    Parameters
    ----------
    base, head
        The frame ``builds`` of each.
    arch
        The architecture that ran, such as ``sm_90``.
    """
    before, after = (_code(frame[frame["arch"].eq(arch)]) for frame in (base, head))
    return {
        pair
        for pair, known in after.items()
        if before.get(pair) == known and all(one[1] is not None for one in known)
    }


def _code(builds: pd.DataFrame) -> dict[Pair, set[tuple[str, str | None, str]]]:
    """Return kernel, hash and configuration of the kernels of each variant and case."""
    found: dict[Pair, set[tuple[str, str | None, str]]] = {}
    for row in records(builds):
        known = found.setdefault((row["variant"], row["case"]), set())
        known.add((row["kernel"], row["sass_sha256"], row["config"]))
    return found


def _kernels_moved(
    key: tuple[str, ...], before: Iterable[tuple[str, ...]], after: Iterable[tuple[str, ...]]
) -> Moved:
    """Say which kernels of the same variant, case and architecture there are in each."""
    variant, case, _, arch = key
    lists = [
        _list(sorted(k for v, c, k, a in known if (v, c, a) == (variant, case, arch)))
        for known in (before, after)
    ]
    return Moved("kernels", lists[0], lists[1], worse=None)


def _apart(base: str | None, head: str | None) -> tuple[str, str]:
    """Return what differs of two configurations, objects of JSON."""
    old, new = (json.loads(text) if text else {} for text in (base, head))
    names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    before, after = (
        ", ".join(f"{name}={config[name]}" for name in names if name in config) or "none"
        for config in (old, new)
    )
    return before, after


def _key(row: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(row[column]) for column in BUILD_KEY)
