"""What ran when: the kernels of one range of each variant, as Nsight Systems saw them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import cast

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from parsers.names import short_name
from reports.format import Scale, duration, percent, scale
from reports.frames import Frames, Row, records
from reports.plots import choice
from reports.plots.canvas import (
    EDGE,
    GAP,
    INK,
    OTHER,
    SMALL,
    Layout,
    Mark,
    Panel,
    Plot,
    beside,
    blank,
    draw,
    inches,
    names,
    rectangles,
)

ROW = 0.30
NEXT = "#2b6193"
"""Every other kernel, so that neighbours stand apart."""

TICK = 0.40
"""How far below its row a launching call is marked."""

EDGE_SHARE = 0.01
"""Left free of an axis, so that the first mark is whole."""

COLUMNS = [
    *("variant", "kernel_demangled", "start_ns", "duration_ns"),
    *("repeat", "api_start_ns"),
]
"""Of the frame that are drawn; the first line must be there."""

Ranges = dict[str, list[Row]]
"""Launches of one range of each variant, in the order of their starts."""


def timeline_figure(frames: Frames, by_case: choice.Rows, marks: Mapping[str, Mark]) -> Plot:
    """Draw the range with the median span of each variant, of the main and of the smallest case.

    Time 0 is the start of a range's first kernel. All of the nsys pass, whose own cost lengthens
    launches and the gaps between them.
    """
    wanted = [choice.main_case(by_case), choice.smallest_case(by_case)]
    cases = [case for case in dict.fromkeys(wanted) if case is not None]
    ranges = {case: _ranges(frames.timeline, case, list(marks)) for case in cases}
    drawn = {case: rows for case, rows in ranges.items() if rows}
    if not drawn:
        return blank("no launch was seen in a range" if cases else choice.UNKNOWN)
    left = EDGE + GAP / 72 + max(inches(name) for rows in drawn.values() for name in rows)
    panels = [
        Panel(case, partial(_paint, ranges=rows), ROW * len(rows)) for case, rows in drawn.items()
    ]
    tick = Line2D([], [], color=INK, marker="|", linestyle="", markersize=5)
    called = frames.timeline["case"].isin(drawn) & frames.timeline["api_start_ns"].notna()
    legend = {"start of the launching call": tick} if called.any() else {}
    return draw(panels, Layout(columns=1, left=left), legend)


def _ranges(timeline: pd.DataFrame, case: str, variants: Sequence[str]) -> Ranges:
    """Return of each variant the repeat that is the middle one by span, the lower of two."""
    rows = timeline.loc[timeline["case"] == case, COLUMNS].dropna(subset=COLUMNS[:4])
    rows["repeat"] = rows["repeat"].fillna(0)
    rows["end_ns"] = rows["start_ns"] + rows["duration_ns"]
    groups = rows.groupby(["variant", "repeat"])
    spans = (groups["end_ns"].max() - groups["start_ns"].min()).rename("span").reset_index()
    spans = spans.sort_values(["variant", "span", "repeat"], kind="stable")
    within = spans.groupby("variant")["span"]
    middle = spans[within.cumcount() == (within.transform("size") - 1) // 2]
    shown = rows.merge(middle[["variant", "repeat"]], on=["variant", "repeat"])
    listed = records(shown.sort_values("start_ns", kind="stable"))
    own = {name: [row for row in listed if row["variant"] == name] for name in variants}
    return {name: rows for name, rows in own.items() if rows}


def _paint(axis: Axes, ranges: Ranges) -> None:
    names(axis, list(ranges))
    calls = [
        (row["api_start_ns"] - rows[0]["start_ns"], place)
        for place, rows in enumerate(ranges.values())
        for row in rows
        if row["api_start_ns"] is not None
    ]
    ends = [_end(rows) for rows in ranges.values()]
    texts = [_summary(rows) for rows in ranges.values()]
    unit = scale([end * 1e-9 for end in ends], "s")
    first, last = min([0, *(at for at, _ in calls)]), max([1, *ends, *(at for at, _ in calls)])
    # Right of the last kernel stands a text, for which the axis is longer.
    width = axis.get_window_extent().width / cast("Figure", axis.figure).dpi
    room = width / max(width - max(map(inches, texts)) - GAP / 72, width / 4)
    first -= EDGE_SHARE * (last - first)
    axis.set_xlim(_in(unit, first), _in(unit, first + (last - first) * room))
    per_inch = _in(unit, (last - first) * room) / width
    right = beside(axis, axis.transData, GAP)
    for place, (rows, end) in enumerate(zip(ranges.values(), ends, strict=True)):
        _bars(axis, place, rows, unit, per_inch)
        axis.text(_in(unit, end), place, texts[place], transform=right, va="center")
    for at, place in calls:
        tick = Line2D([_in(unit, at)], [place + TICK], color=INK, marker="|", markersize=4)
        axis.add_line(tick)
    axis.set_xlabel(f"time since the first kernel's start, {unit.unit} (nsys pass)")


def _bars(axis: Axes, place: int, rows: list[Row], unit: Scale, per_inch: float) -> None:
    """Draw the kernels of a range, with their names where these fit."""
    start = rows[0]["start_ns"]
    spans, colors = [], []
    for at, row in enumerate(rows):
        begin, length = _in(unit, row["start_ns"] - start), _in(unit, row["duration_ns"])
        spans.append((float(place), begin, length))
        colors.append(NEXT if at % 2 else OTHER)
        name = short_name(row["kernel_demangled"])
        if inches(name, SMALL) * per_inch < length:
            middle = begin + length / 2
            axis.text(middle, place, name, ha="center", va="center", size=SMALL, color="white")
    rectangles(axis, spans, colors, _told(rows), edge=0.5)


def _told(rows: list[Row]) -> list[str]:
    """Say of each launch what ran, how long, and what was before it."""
    told = []
    latest = None
    for at, row in enumerate(rows):
        words = [
            f"{row['variant']} #{at} {short_name(row['kernel_demangled'])}: "
            f"{duration(row['duration_ns'], 4)}"
        ]
        if latest is not None:
            gap = row["start_ns"] - latest
            words.append(f"{duration(gap)} after the one before" if gap >= 0 else "overlapping")
        if row["api_start_ns"] is not None:
            words.append(f"{duration(row['start_ns'] - row['api_start_ns'])} after its call")
        told.append(", ".join(words))
        latest = max(latest or 0, row["end_ns"])
    return told


def _summary(rows: list[Row]) -> str:
    """Return number of launches and span, and the share of it in which no kernel ran."""
    starts = np.array([row["start_ns"] for row in rows])
    latest = np.maximum.accumulate([row["end_ns"] for row in rows])
    idle, span = np.clip(starts[1:] - latest[:-1], 0, None).sum(), _end(rows)
    gaps = f", {percent(idle / span, 2)} idle" if len(rows) > 1 and span else ""
    return f"{duration(span)}, {len(rows)} launch{'es' if len(rows) > 1 else ''}{gaps}"


def _end(rows: list[Row]) -> float:
    """Return the end of a range's last kernel in ns after the start of its first."""
    return float(max(row["end_ns"] for row in rows) - rows[0]["start_ns"])


def _in(unit: Scale, nanoseconds: float) -> float:
    return nanoseconds * 1e-9 / unit.factor
