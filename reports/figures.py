"""Two figures of an operator as SVG text: times, and DRAM bytes against the fewest.

The same rows give the same bytes: no date, fixed ids, and text stays text, so that no font of this
machine gets in. Backgrounds are transparent and colours mid-tone, for light and dark pages. Many
cases stand in two columns of lower bars, or the figure would be several screens tall.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from reports.format import TIMES, digits, scale, times
from reports.frames import Row

INK = "#7a7a7a"
BASELINE, OTHER, WRITTEN = "#8f8f8f", "#3b82c4", "#d08a2e"

LOGARITHMIC = 50
"""From this ratio of longest to shortest on, short bars would vanish on a linear axis."""

WIDTH = 7.2
"""Inches."""


@dataclass(frozen=True)
class Grid:
    """How panels are laid out.

    Attributes
    ----------
    columns
        Panels side by side.
    bar, margin
        Height of a bar, and what a panel needs above and below its bars, in inches.
    font
        Size of the text in points.
    room
        Length of the axis over that of the longest bar: what is right of it is for its label.
    """

    columns: int
    bar: float
    margin: float
    font: float
    room: float


FEW, MANY = Grid(1, 0.30, 0.95, 9, 1.3), Grid(2, 0.19, 0.72, 7, 1.75)
ONE_COLUMN = 4
"""Up to so many panels stand in one column."""

_STYLE: dict[str, Any] = {
    "svg.hashsalt": "roofsnake",
    "svg.fonttype": "none",
    "font.family": ["DejaVu Sans", "sans-serif"],
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": "medium",
    "text.parse_math": False,
}

Draw = Callable[[Axes, list[Row], float], None]


def time_figure(cases: dict[str, list[Row]]) -> str:
    """Draw medians of the time pass with their 95 % intervals, a panel a case.

    Parameters
    ----------
    cases
        Rows of the comparison frame by the name of the case.
    """
    return _figure(cases, "median_ns", _draw_times)


def bytes_figure(cases: dict[str, list[Row]]) -> str:
    """Draw DRAM bytes read and written, of the ncu pass, with a line at the fewest."""
    return _figure(cases, "dram_bytes", _draw_bytes)


def _figure(cases: dict[str, list[Row]], key: str, draw: Draw) -> str:
    panels = [(case, [r for r in rows if r[key] is not None]) for case, rows in cases.items()]
    grid = FEW if len(panels) <= ONE_COLUMN else MANY
    heights = _heights(grid, [len(rows) for _, rows in panels])
    with matplotlib.style.context(["default", _STYLE | {"font.size": grid.font}]):
        figure = Figure(figsize=(WIDTH, sum(heights)), layout=ConstrainedLayoutEngine(h_pad=0.09))
        FigureCanvasSVG(figure)
        axes = figure.subplots(
            len(heights), grid.columns, squeeze=False, gridspec_kw={"height_ratios": heights}
        )
        for axis, panel in zip_longest(axes.flat, panels or [("", [])]):
            if panel is None:
                axis.set_axis_off()
            else:
                case, rows = panel
                _panel(axis, case, rows, draw, grid.room)
        _legend(figure)
        buffer = io.StringIO()
        figure.savefig(
            buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": "Roofsnake"}
        )
    return buffer.getvalue()


def _heights(grid: Grid, bars: list[int]) -> list[float]:
    """Return the height of each row of panels, in inches: that of its tallest panel."""
    tall = [grid.bar * max(number, 1) + grid.margin for number in bars] or [grid.margin]
    return [max(tall[i : i + grid.columns]) for i in range(0, len(tall), grid.columns)]


def _legend(figure: Figure) -> None:
    """Put one legend above all panels, of what any of them labels."""
    labelled = [axis.get_legend_handles_labels() for axis in figure.axes]
    known = {
        label: h for handles, labels in labelled for h, label in zip(handles, labels, strict=True)
    }
    if known:
        figure.legend(
            known.values(), known, frameon=False, ncols=len(known), loc="outside upper right"
        )


def _panel(axis: Axes, case: str, rows: list[Row], draw: Draw, room: float) -> None:
    axis.set_title(case)
    if not rows:
        axis.set_axis_off()
        axis.text(0, 0.5, "nothing was measured", transform=axis.transAxes, va="center")
        return
    axis.set_yticks(range(len(rows)), [row["variant"] for row in rows])
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.tick_params(axis="y", length=0)
    draw(axis, rows, room)


def _draw_times(axis: Axes, rows: list[Row], room: float) -> None:
    medians = [row["median_ns"] for row in rows]
    unit = scale([value * 1e-9 for value in medians], "s")
    widths = [value * 1e-9 / unit.factor for value in medians]
    axis.barh(
        range(len(rows)),
        widths,
        height=0.62,
        color=[BASELINE if row["baseline"] else OTHER for row in rows],
        xerr=[_whiskers(rows, "low", unit.factor), _whiskers(rows, "high", unit.factor)],
        error_kw={"ecolor": INK, "elinewidth": 1, "capsize": 2},
    )
    labels = []
    for row, width in zip(rows, widths, strict=True):
        gain = "" if row["speedup"] is None or row["baseline"] else f" · {times(row['speedup'])}"
        labels.append(f"{digits(width, 4)} {unit.unit}{gain}")
    ends = [row["median_high_ns"] or row["median_ns"] for row in rows]
    _labels(axis, [end * 1e-9 / unit.factor for end in ends], labels)
    logarithmic = min(widths) > 0 and max(widths) / min(widths) >= LOGARITHMIC
    if logarithmic:
        axis.set_xscale("log")
        shortest = min(widths) / 2
        # The axis is as much longer than the longest bar as a linear one would be.
        axis.set_xlim(shortest, shortest * (max(widths) / shortest) ** room)
    else:
        axis.set_xlim(0, max(widths) * room or 1)
    axis.set_xlabel(f"median time, {unit.unit}{' (log)' if logarithmic else ''} (time pass)")


def _whiskers(rows: list[Row], side: str, factor: float) -> list[float]:
    bounds = [(row[f"median_{side}_ns"], row["median_ns"]) for row in rows]
    return [0.0 if b is None else abs(b - value) * 1e-9 / factor for b, value in bounds]


def _labels(axis: Axes, ends: list[float], labels: list[str]) -> None:
    for position, (end, label) in enumerate(zip(ends, labels, strict=True)):
        axis.annotate(
            label, (end, position), xytext=(5, 0), textcoords="offset points", va="center"
        )


def _draw_bytes(axis: Axes, rows: list[Row], room: float) -> None:
    least = next((row["min_bytes"] for row in rows if row["min_bytes"] is not None), None)
    unit = scale([row["dram_bytes"] for row in rows] + [least], "B")
    read = [row["dram_read_bytes"] / unit.factor for row in rows]
    written = [row["dram_write_bytes"] / unit.factor for row in rows]
    places = range(len(rows))
    axis.barh(places, read, height=0.62, color=OTHER, label="read")
    axis.barh(places, written, left=read, height=0.62, color=WRITTEN, label="written")
    totals = [row["dram_bytes"] / unit.factor for row in rows]
    labels = [
        f"{digits(total)} {unit.unit}"
        + ("" if row["amplification"] is None else f" · {digits(row['amplification'])}{TIMES}")
        for row, total in zip(rows, totals, strict=True)
    ]
    line = None if least is None else least / unit.factor
    if line is not None:
        axis.axvline(line, color=INK, linestyle="--", linewidth=1, label="fewest")
    _labels(axis, [max(total, line or 0) for total in totals], labels)
    axis.set_xlim(0, max([*totals, line or 0]) * room or 1)
    axis.set_xlabel(f"DRAM bytes, {unit.unit} (ncu pass)")
