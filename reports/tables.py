"""The tables of an operator's page, as text: one unit down a column, the pass in the header."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from reports.format import (
    MISSING,
    TIMES,
    bracket,
    cell,
    cell_code,
    column,
    count,
    digits,
    quantity,
    scale,
    short_commit,
)
from reports.frames import Row

_TEXT = frozenset({"Config", "Limiter", "Reason", "Status", "Triton"})
"""Headers of text columns that stand right of the numbers."""

SHOWN_LAUNCHES = 200
"""Longer lists of launches are cut: a page is read by people, the frame holds the rest."""


@dataclass(frozen=True)
class Table:
    """A table of ready Markdown cells; ``left`` counts the columns that are text, at the left."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int = 1
    note: str = ""

    @property
    def empty(self) -> bool:
        """Whether no row has a value beside its name."""
        values = [value for row in self.rows for value in row[self.left :] or row]
        return all(value == MISSING for value in values)

    @property
    def rule(self) -> str:
        """The line under the headers."""
        sides = [
            ":--" if i < self.left or header in _TEXT else "--:"
            for i, header in enumerate(self.headers)
        ]
        return f"| {' | '.join(sides)} |"


Column = tuple[str, list[str]]


def _table(columns: Iterable[Column], left: int = 1, note: str = "") -> Table:
    listed = list(columns)
    rows = tuple(zip(*(values for _, values in listed), strict=True))
    return Table(tuple(header for header, _ in listed), rows, left, note)


def _names(rows: list[Row], key: str = "variant", header: str = "Variant") -> Column:
    return header, [cell_code(row[key]) for row in rows]


def _numbers(
    header: str, rows: list[Row], key: str, unit: str = "", significant: int = 3, factor: float = 1
) -> Column:
    """Format one key of the rows; values times ``factor`` are in the bare ``unit``."""
    raw = [None if row[key] is None else float(row[key]) * factor for row in rows]
    shown, texts = column(raw, unit, significant)
    return f"{header}, {shown}" if shown else header, texts


def _alike(rows: list[Row], unit: str, columns: dict[str, str], factor: float = 1) -> list[Column]:
    """Format several keys in one unit, so that their columns compare at a glance."""
    raw = {h: [None if r[k] is None else r[k] * factor for r in rows] for h, k in columns.items()}
    chosen = scale([value for values in raw.values() for value in values], unit)
    return [(f"{h}, {chosen.unit}", [chosen.text(v) for v in vs]) for h, vs in raw.items()]


def _counts(header: str, rows: list[Row], key: str) -> Column:
    return header, [count(row[key]) for row in rows]


def _texts(header: str, rows: list[Row], key: str, show: Callable[[Any], str] = cell) -> Column:
    return header, [show(row[key]) for row in rows]


def _within(
    header: str, rows: list[Row], keys: tuple[str, str, str], unit: str, factor: float = 1
) -> Column:
    """Format a value with its interval."""
    chosen = scale([None if r[keys[0]] is None else r[keys[0]] * factor for r in rows], unit)

    def text(value: float | None) -> str:
        return chosen.text(None if value is None else value * factor, 4)

    values = [text(row[keys[0]]) + bracket(text(row[keys[1]]), text(row[keys[2]])) for row in rows]
    return f"{header}, {chosen.unit} [95 %]", values


def time_table(rows: list[Row], floor_ns: float | None = None) -> Table:
    """Tabulate the times of one case, all of the time pass; ``floor_ns`` is the timer's own."""
    floor = "" if floor_ns is None else quantity(floor_ns * 1e-9, "s")
    return _table(
        [
            _names(rows),
            _within("Time", rows, ("median_ns", "median_low_ns", "median_high_ns"), "s", 1e-9),
            _numbers("Spread", rows, "spread", "%", 2, 100),
            _speedups(rows),
            _numbers("Useful", rows, "useful_bytes_per_s", "B/s"),
            _numbers("Of large copy", rows, "copy_share", "%", 3, 100),
            _numbers("Of equal copy", rows, "equal_copy_share", "%", 3, 100),
            _counts("Samples", rows, "samples"),
            ("Status", [cell(row["status"]) for row in rows]),
        ],
        note=floor and f"Two events around nothing are {floor} apart here; that is in every time.",
    )


def _speedups(rows: list[Row]) -> Column:
    header, values = _within("Speed-up", rows, ("speedup", "speedup_low", "speedup_high"), TIMES)
    marked = ["baseline" if r["baseline"] else text for r, text in zip(rows, values, strict=True)]
    return header, marked


def memory_table(rows: list[Row]) -> Table:
    """Tabulate launches and bytes of one case, all of the ncu pass."""
    return _table(
        [
            _names(rows),
            _counts("Launches", rows, "launches"),
            *_alike(
                rows,
                "B",
                {
                    "DRAM read": "dram_read_bytes",
                    "DRAM written": "dram_write_bytes",
                    "Fewest": "min_bytes",
                },
            ),
            _numbers("Moved over fewest", rows, "amplification", TIMES),
            _numbers("Sectors a load", rows, "load_sectors_per_request"),
            _numbers("Ideal", rows, "load_sectors_ideal"),
            _numbers("Sectors a store", rows, "store_sectors_per_request"),
            _numbers("Ideal", rows, "store_sectors_ideal"),
            _numbers("Used of a sector loaded", rows, "load_bytes_per_sector", "B"),
            _numbers("Used of a sector stored", rows, "store_bytes_per_sector", "B"),
        ]
    )


def occupancy_table(rows: list[Row]) -> Table:
    """Tabulate occupancy, registers and throughputs: the ncu pass, for spills also the build."""
    return _table(
        [
            _names(rows),
            _numbers("Occupancy", rows, "occupancy_achieved_pct", "%"),
            _numbers("Theoretical", rows, "occupancy_theoretical_pct", "%"),
            _texts("Limiter", rows, "occupancy_limiter"),
            _counts("Registers, most", rows, "registers_per_thread"),
            _counts("Local-memory instructions", rows, "local_instructions"),
            _counts("Spills in build", rows, "build_spills"),
            _numbers("SM, % of peak", rows, "sm_throughput_pct"),
            _numbers("Memory, % of peak", rows, "memory_throughput_pct"),
            _numbers("DRAM, % of peak", rows, "dram_throughput_pct"),
        ]
    )


def launches_table(rows: list[Row]) -> Table:
    """Tabulate launches, of the ncu pass but for ``nsys``; cut after ``SHOWN_LAUNCHES`` rows."""
    shown = rows[:SHOWN_LAUNCHES]
    note = "" if len(rows) == len(shown) else f"{len(rows) - len(shown)} more launches follow."
    passes = sorted({row["share_pass"] for row in shown if row["share_pass"] is not None})
    return _table(
        [
            _names(shown),
            ("#", [MISSING if row["launch"] is None else str(row["launch"]) for row in shown]),
            _names(shown, "name", "Kernel"),
            *_alike(shown, "s", {"nsys": "nsys_ns", "ncu": "ncu_ns"}, 1e-9),
            _numbers("nsys spread", shown, "nsys_spread", "%", 2, 100),
            _numbers(f"Share by {' or '.join(passes) or 'nsys'}", shown, "share", "%", 3, 100),
            *_alike(
                shown, "B", {"DRAM read": "dram_read_bytes", "DRAM written": "dram_write_bytes"}
            ),
            _counts("Registers", shown, "registers_per_thread"),
            (f"Grid {TIMES} block", [_shape(row) for row in shown]),
            _numbers("Waves", shown, "waves"),
            _numbers("Occupancy", shown, "occupancy_achieved_pct", "%"),
            _numbers("SM, % of peak", shown, "sm_throughput_pct"),
            _numbers("Memory, % of peak", shown, "memory_throughput_pct"),
            _numbers("DRAM, % of peak", shown, "dram_throughput_pct"),
        ],
        left=3,
        note=note,
    )


def _shape(row: Row) -> str:
    """Return grid and block, without the trailing axes of one."""
    sides = []
    for part in ("grid", "block"):
        extents = [row[f"{part}_{axis}"] for axis in "xyz"]
        if any(extent is None for extent in extents):
            return MISSING
        while len(extents) > 1 and extents[-1] == 1:
            extents.pop()
        sides.append(f"({', '.join(map(str, extents))})")
    return f" {TIMES} ".join(sides)


def checks_table(rows: list[Row]) -> Table:
    """Tabulate what the check pass found of each variant and case."""
    return _table(
        [
            _names(rows, "case", "Case"),
            _names(rows),
            _texts("Status", rows, "status"),
            _counts("Elements", rows, "elements"),
            _counts("Outside", rows, "wrong_elements"),
            _texts("Largest error", rows, "max_abs_error", _loose),
            _texts("Relative error", rows, "relative_error", _loose),
            _texts("Error over tolerance", rows, "tolerance_share", _loose),
            _texts("rtol", rows, "rtol", _tolerance),
            _texts("atol", rows, "atol", _tolerance),
            _texts("Reason", rows, "reason"),
        ],
        left=3,
    )


def _loose(value: float | None) -> str:
    """Return an error: two digits do, and it may be tiny."""
    return MISSING if value is None else digits(value, 2)


def _tolerance(value: float | None) -> str:
    return MISSING if value is None else f"{value:g}"


def builds_table(rows: list[Row]) -> Table:
    """Tabulate what the recorded toolchain made of each Triton kernel and architecture."""
    return _table(
        [
            _names(rows, "case", "Case"),
            _names(rows),
            _names(rows, "kernel", "Kernel"),
            _texts("Arch", rows, "arch"),
            _texts("Status", rows, "status"),
            _counts("Registers", rows, "registers_per_thread"),
            _counts("Stack, B", rows, "stack_bytes"),
            _counts("Shared, B", rows, "shared_bytes"),
            _counts("Threads", rows, "threads_per_block"),
            _counts("Spill loads", rows, "spill_loads"),
            _counts("Spill stores", rows, "spill_stores"),
            _counts("Load, bit", rows, "load_bits"),
            _counts("Store, bit", rows, "store_bits"),
            _counts("Tensor", rows, "tensor_instructions"),
            _counts("SASS", rows, "sass_instructions"),
            _texts("Config", rows, "config", _json),
            _texts("Triton", rows, "triton"),
            _texts("Reason", rows, "reason"),
        ],
        left=5,
    )


def _json(text: str | None) -> str:
    """Return a JSON object as ``key=value`` words; any other text as it is."""
    if text is None:
        return MISSING
    try:
        content = json.loads(text)
    except ValueError:
        return cell(text)
    if not isinstance(content, dict):
        return cell(text)
    return cell(", ".join(f"{k}={_plain(v)}" for k, v in sorted(content.items())))


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def passes_table(rows: list[Row]) -> Table:
    """Tabulate when, from which commit and how each pass ran."""
    return _table(
        [
            _names(rows, "pass", "Pass"),
            _texts("Date (UTC)", rows, "date"),
            _texts("Commit", rows, "commit", lambda text: MISSING if text is None else _id(text)),
            _texts("Tool", rows, "tool"),
            _texts("Clocks", rows, "clock_policy"),
            _texts("Settings", rows, "settings", _json),
        ],
        left=6,
    )


def _id(commit: str) -> str:
    return cell_code(short_commit(commit))


_MACHINE = (
    ("GPU", "gpu", ""),
    ("Compute capability", "compute_capability", ""),
    ("SMs", "sm_count", ""),
    ("L2 cache", "l2_bytes", "B"),
    ("Memory", "memory_bytes", "B"),
    ("Driver", "driver", ""),
    ("SM clock under load", "sm_clock_hz", "Hz"),
    ("Highest SM clock", "sm_clock_max_hz", "Hz"),
    ("Memory clock under load", "memory_clock_hz", "Hz"),
    ("Highest memory clock", "memory_clock_max_hz", "Hz"),
    ("Python", "python", ""),
    ("torch", "torch", ""),
    ("CUDA of torch", "cuda", ""),
    ("Triton", "triton", ""),
    ("Roofsnake", "roofsnake", ""),
    ("SHA-256 of the source", "source_sha256", ""),
)


def machine_table(rows: list[Row], source: str) -> Table:
    """Tabulate where and with what the passes ran; where they differ, every value is listed."""
    listed = [("Source", source)]
    for label, key, unit in _MACHINE:
        values = dict.fromkeys(row[key] for row in rows if row[key] is not None)
        texts = [_with_unit(value, unit) for value in values]
        listed.append((label, ", ".join(texts) or MISSING))
    return Table(("What", "Value"), tuple(listed), left=2)


def _with_unit(value: Any, unit: str) -> str:
    if not unit:
        return cell(value)
    shown, (text,) = column([float(value)], unit, 4)
    return f"{text} {shown}"
