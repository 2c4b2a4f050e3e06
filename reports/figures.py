"""Two figures of an operator as SVG text: times, and DRAM bytes against the fewest.

The same rows give the same bytes: no date, fixed ids, and text stays text, so that no font of this
machine gets in. Backgrounds are transparent and colours mid-tone, for light and dark pages.
"""

from __future__ import annotations

import io
from collections.abc import Callable
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

WIDTH, BAR, MARGIN = 7.2, 0.30, 0.95
"""Inches: width of the figure, height of a bar, and what a panel needs beside its bars."""

_STYLE: dict[str, Any] = {
    "svg.hashsalt": "roofsnake",
    "svg.fonttype": "none",
    "font.family": ["DejaVu Sans", "sans-serif"],
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 9,
    "text.parse_math": False,
}

Draw = Callable[[Axes, list[Row]], None]


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
    panels = {case: [r for r in rows if r[key] is not None] for case, rows in cases.items()}
    heights = [BAR * max(len(rows), 1) + MARGIN for rows in panels.values()] or [MARGIN]
    with matplotlib.style.context(["default", _STYLE]):
        figure = Figure(figsize=(WIDTH, sum(heights)), layout=ConstrainedLayoutEngine(h_pad=0.09))
        FigureCanvasSVG(figure)
        axes = figure.subplots(
            max(len(panels), 1), squeeze=False, gridspec_kw={"height_ratios": heights}
        )
        if not panels:
            _nothing(axes[0][0])
        for axis, (case, rows) in zip(axes[:, 0], panels.items(), strict=False):
            axis.set_title(case)
            if rows:
                _frame(axis, rows)
                draw(axis, rows)
            else:
                _nothing(axis)
        buffer = io.StringIO()
        figure.savefig(
            buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": "Roofsnake"}
        )
    return buffer.getvalue()


def _nothing(axis: Axes) -> None:
    axis.set_axis_off()
    axis.text(0, 0.5, "nothing was measured", transform=axis.transAxes, va="center")


def _frame(axis: Axes, rows: list[Row]) -> None:
    axis.set_yticks(range(len(rows)), [row["variant"] for row in rows])
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.tick_params(axis="y", length=0)


def _draw_times(axis: Axes, rows: list[Row]) -> None:
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
        axis.set_xlim(min(widths) / 2, max(widths) * 6)
    else:
        axis.set_xlim(0, max(widths) * 1.3 or 1)
    axis.set_xlabel(f"median time, {unit.unit}{' (log)' if logarithmic else ''} (time pass)")


def _whiskers(rows: list[Row], side: str, factor: float) -> list[float]:
    bounds = [(row[f"median_{side}_ns"], row["median_ns"]) for row in rows]
    return [0.0 if b is None else abs(b - value) * 1e-9 / factor for b, value in bounds]


def _labels(axis: Axes, ends: list[float], labels: list[str]) -> None:
    for position, (end, label) in enumerate(zip(ends, labels, strict=True)):
        axis.annotate(
            label, (end, position), xytext=(5, 0), textcoords="offset points", va="center"
        )


def _draw_bytes(axis: Axes, rows: list[Row]) -> None:
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
    axis.set_xlim(0, max([*totals, line or 0]) * 1.3 or 1)
    axis.set_xlabel(f"DRAM bytes, {unit.unit} (ncu pass)")
    axis.legend(frameon=False, ncols=3, loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0.1)
