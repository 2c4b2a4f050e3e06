"""Time against size, where an operator was measured at several sizes of one kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby

import numpy as np
from matplotlib.axes import Axes

from reports import timing
from reports.figures import time_told
from reports.format import duration, quantity
from reports.frames import Frames, Row, records
from reports.plots import choice
from reports.plots.canvas import (
    GAP,
    SMALL,
    Layout,
    Mark,
    Panel,
    Plot,
    beside,
    blank,
    decades,
    draw,
    keys,
    line,
    point,
    rule,
)
from reports.roofline import matmul_peaks

FEWEST_SIZES = 3
APART = 1.5
"""Sizes closer than this factor are one size: 4097³ after 4096³ shows edges, not growth."""

CONSTANT, PROPORTIONAL = 0.25, 0.75
"""Below and above these slopes of log time over log size a regime is called by its name. Half way
between none and proportional there is neither."""

HEIGHT = 2.3
LAYOUT = Layout(columns=2, left=0.66, above=0.48, lift=14)

CONSTANT_WORD, SIZE_WORD, BETWEEN, FAR = "constant", "as size", "between", "sizes too far apart"

RESOLVED = 100
"""Between sizes that are apart by more than this factor one regime can end and another begin."""


@dataclass(frozen=True)
class Family:
    """Cases that differ in size alone: the size of each, in B or FLOP, and the rows of each."""

    name: str
    unit: str
    sizes: dict[str, float]
    rows: dict[str, list[Row]]


@dataclass(frozen=True)
class Regime:
    """From which size to which time grows how.

    ``word`` is ``constant``, ``as size``, ``between``, or says that the sizes are too far apart.
    """

    low: float
    high: float
    word: str


def scaling_figure(frames: Frames, by_case: choice.Rows, marks: Mapping[str, Mark]) -> Plot:
    """Draw medians of the time pass over the fewest bytes, or over FLOPs where these are many."""
    found = families(frames, by_case)
    if not found:
        return blank(f"there are no {FEWEST_SIZES} sizes of one dtype and family of shapes")
    ceilings = {
        "B": ("large copy", timing.copy_bandwidth(frames.ceilings)),
        "FLOP": (
            "large matmul",
            max(matmul_peaks(frames.ceilings, frames.cases).values(), default=None),
        ),
    }
    floor = timing.floor(frames.ceilings)
    panels, legend = [], {}
    for family in found:
        name, rate = ceilings[family.unit]
        paint = partial(_paint, marks=marks, family=family, rate=rate, floor=floor)
        panels.append(Panel(family.name, paint, HEIGHT))
        if rate is not None:
            legend[f"at the rate of the {name}"] = rule("--")
    if floor:
        legend["two events around nothing"] = rule(":")
    timed = [r["variant"] for f in found for rows in f.rows.values() for r in rows]
    return draw(panels, LAYOUT, keys(marks, timed, line="-") | legend)


def families(frames: Frames, by_case: choice.Rows) -> list[Family]:
    """Return the families of cases with enough sizes.

    One has the same dtype and labels. Sizes are the fewest bytes, and of intense cases the FLOPs;
    these must have the same proportions too, such as all of n³.
    """
    known = {row["case"]: row for row in records(frames.cases)}
    found = []
    for kind in choice.kinds(by_case, frames.cases):
        timed = {case: [r for r in rows if _ranked(r)] for case, rows in kind.items()}
        timed = {case: rows for case, rows in timed.items() if rows}
        intense = any(rows[0]["intense"] for rows in timed.values())
        unit, key = ("FLOP", "flops") if intense else ("B", "min_bytes")
        apart: dict[object, dict[str, float]] = {}
        for case, rows in timed.items():
            if rows[0][key]:
                family = _proportions(known[case]["shape"]) if intense else None
                apart.setdefault(family, {})[case] = rows[0][key]
        for sizes in apart.values():
            ordered = dict(sorted(sizes.items(), key=lambda item: item[1]))
            if len(set(_steps(ordered.values()).values())) >= FEWEST_SIZES:
                one = known[next(iter(ordered))]
                name = " ".join([one["dtype"], *(one["labels"] or "").split()])
                found.append(Family(name, unit, ordered, {case: timed[case] for case in ordered}))
    return found


def regimes(sizes: Sequence[float], times: Sequence[float]) -> list[Regime]:
    """Return how time grows with size, from rising sizes; neighbours of the same word are one."""
    growth = np.diff(np.log(sizes))
    steep = np.diff(np.log(times)) / growth
    far, constant, proportional = growth > np.log(RESOLVED), steep < CONSTANT, steep > PROPORTIONAL
    words = np.select([far, constant, proportional], [FAR, CONSTANT_WORD, SIZE_WORD], BETWEEN)
    spans = zip(sizes, sizes[1:], words, strict=False)
    merged = []
    for word, group in groupby(spans, key=lambda span: span[2]):
        listed = list(group)
        merged.append(Regime(listed[0][0], listed[-1][1], str(word)))
    return merged


def _ranked(row: Row) -> bool:
    return (row["median_ns"] or 0) > 0 and row["status"] in {"ok", "unchecked"}


def _proportions(shape: str) -> tuple[float, ...]:
    extents = [int(extent) for extent in shape.split("x")]
    return tuple(extent / max(extents) for extent in extents)


def _steps(sizes: Iterable[float]) -> dict[float, float]:
    """Return of each of rising sizes the one that it counts as: the first that is not apart."""
    steps: dict[float, float] = {}
    last = 0.0
    for size in sizes:
        if size >= last * APART:
            last = size
        steps[size] = last
    return steps


def _fastest(family: Family, rows: Iterable[tuple[float, Row]]) -> list[tuple[float, float]]:
    """Return size and time of the fastest row of each step, by rising size."""
    steps = _steps(family.sizes.values())
    best: dict[float, tuple[float, float]] = {}
    for size, row in rows:
        time = row["median_ns"], size
        best[steps[size]] = min(time, best.get(steps[size], time))
    return [(size, time) for _, (time, size) in sorted(best.items())]


def _paint(
    axis: Axes, marks: Mapping[str, Mark], family: Family, rate: float | None, floor: float | None
) -> None:
    sizes = list(family.sizes.values())
    medians = [row["median_ns"] for rows in family.rows.values() for row in rows]
    low = min(medians) / 2 if not floor else min([*medians, floor]) / 2
    ends = sizes[0] / 2, sizes[-1] * 2
    decades(axis, "x", ends, lambda value: quantity(value, family.unit, 1))
    decades(axis, "y", (low, max(medians) * 2), lambda value: duration(value, 1))
    if rate is not None:
        line(axis, sizes, [size / rate * 1e9 for size in sizes], linestyle="--")
    if floor:
        line(axis, [sizes[0], sizes[-1]], [floor, floor], linestyle=":")
    for variant, mark in marks.items():
        own = [
            (family.sizes[case], row, case)
            for case, rows in family.rows.items()
            for row in rows
            if row["variant"] == variant
        ]
        fastest = _fastest(family, [(size, row) for size, row, _ in own])
        line(axis, *np.reshape(fastest, (-1, 2)).T, color=mark.color)
        for size, row, case in own:
            told = f"{case}, {quantity(size, family.unit)}: {time_told(row)}"
            point(axis, size, row["median_ns"], mark, told)
    _regimes(axis, family)
    axis.set_xlabel("fewest bytes" if family.unit == "B" else "FLOPs of the cost model")
    axis.set_ylabel("median time (time pass)")


def _regimes(axis: Axes, family: Family) -> None:
    """Write above the axes how the fastest variant's time grows, between dotted lines."""
    rows = [(family.sizes[case], row) for case, rows in family.rows.items() for row in rows]
    sizes, times = zip(*_fastest(family, rows), strict=True)
    above = beside(axis, axis.get_xaxis_transform(), 0, GAP / 2)
    for regime in regimes(sizes, times):
        proportional = "as bytes" if family.unit == "B" else "as FLOPs"
        word = proportional if regime.word == SIZE_WORD else regime.word
        middle = (regime.low * regime.high) ** 0.5
        axis.text(middle, 1, word, transform=above, ha="center", size=SMALL)
        for end in (regime.low, regime.high):
            line(
                axis,
                [end, end],
                [0, 1],
                transform=axis.get_xaxis_transform(),
                linestyle=":",
                alpha=0.6,
            )
