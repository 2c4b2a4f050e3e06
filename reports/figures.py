"""Two figures of an operator as SVG text: times, and DRAM bytes against the fewest.

Many cases stand in two columns of lower bars, or the figure would be several screens tall.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reports.format import MISSING, TIMES, bracket, digits, quantity, scale, times
from reports.frames import Row
from reports.plots import canvas
from reports.plots.canvas import BASELINE, EDGE, GAP, INK, LEGEND, OTHER, WIDTH, WRITTEN

LOGARITHMIC = 50
"""From this ratio of longest to shortest on, short bars would vanish on a linear axis."""

SHORTEST = 2.0
"""Of an axis at least, in inches: long names make a figure wider, not its axes."""


@dataclass(frozen=True)
class Grid:
    """How panels are laid out.

    Attributes
    ----------
    columns
        Panels side by side.
    bar, above, below
        Height of a bar, and what a panel needs above and below its bars, in inches.
    font
        Size of the text in points.
    """

    columns: int
    bar: float
    above: float
    below: float
    font: float

    def inches(self, texts: list[str]) -> float:
        """Return the width of the longest text and of the gap before it."""
        return (max(map(canvas.ems, texts), default=0) * self.font + GAP) / 72


FEW, MANY = Grid(1, 0.30, 0.38, 0.57, 9), Grid(2, 0.19, 0.29, 0.43, 7)
ONE_COLUMN = 4
"""Up to so many panels stand in one column."""

_MEDIANS = ("median_ns", "median_low_ns", "median_high_ns")
_SPEEDUPS = ("speedup_low", "speedup_high")

Room = Callable[[list[str]], float]
"""Length of an axis over that of its longest bar: what is right of it is for these texts."""

Draw = Callable[[Axes, list[Row], Room], None]


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
    return _figure(cases, "dram_bytes", _draw_bytes, top=LEGEND)


def _figure(cases: dict[str, list[Row]], key: str, draw: Draw, top: float = 0.0) -> str:
    """Draw all panels, by a layout in inches, and ``top`` inches with a legend above them."""
    panels = [(case, [r for r in rows if r[key] is not None]) for case, rows in cases.items()]
    panels = panels or [("", [])]
    grid = FEW if len(panels) <= ONE_COLUMN else MANY
    heights = _heights(grid, [len(rows) for _, rows in panels])
    left = EDGE + grid.inches([row["variant"] for _, rows in panels for row in rows])
    least = max(SHORTEST, grid.inches([case for case, _ in panels]))
    length = max(WIDTH / grid.columns - left - EDGE, least)
    wide, tall = grid.columns * (left + length + EDGE), top + sum(heights)

    def paint(figure: Figure) -> None:
        for place, (case, rows) in enumerate(panels):
            row, column = divmod(place, grid.columns)
            x, y = left + column * wide / grid.columns, sum(heights[row + 1 :]) + grid.below
            height = heights[row] - grid.above - grid.below
            axis = figure.add_axes((x / wide, y / tall, length / wide, height / tall))
            _panel(axis, case, rows, draw, partial(_room, grid, length))
        if top:
            _legend(figure)

    return canvas.svg(wide, tall, grid.font, paint)


def _heights(grid: Grid, bars: list[int]) -> list[float]:
    """Return the height of each row of panels, in inches: that of its tallest panel."""
    tall = [grid.bar * max(number, 1) + grid.above + grid.below for number in bars]
    return [max(tall[i : i + grid.columns]) for i in range(0, len(tall), grid.columns)]


def _room(grid: Grid, length: float, labels: list[str]) -> float:
    return length / max(length - grid.inches(labels), length / 4)


def _legend(figure: Figure) -> None:
    """Put one legend above all panels, of what any of them labels."""
    labelled = [axis.get_legend_handles_labels() for axis in figure.axes]
    known = {
        label: h for handles, labels in labelled for h, label in zip(handles, labels, strict=True)
    }
    if known:
        figure.legend(known.values(), known, frameon=False, ncols=len(known), loc="upper right")


def _panel(axis: Axes, case: str, rows: list[Row], draw: Draw, room: Room) -> None:
    axis.set_title(case, y=1.0)
    if not rows:
        axis.set_axis_off()
        axis.text(0, 0.5, "nothing was measured", transform=axis.transAxes, va="center")
        return
    axis.patch.set_visible(False)
    canvas.names(axis, [row["variant"] for row in rows])
    draw(axis, rows, room)


def _draw_times(axis: Axes, rows: list[Row], room: Room) -> None:
    medians = [row["median_ns"] for row in rows]
    unit = scale([value * 1e-9 for value in medians], "s")
    widths = [value * 1e-9 / unit.factor for value in medians]
    colors = [BASELINE if row["baseline"] else OTHER for row in rows]
    hover = [time_told(row) for row in rows]
    places = range(len(rows))
    canvas.rectangles(
        axis, [(y, 0, width) for y, width in zip(places, widths, strict=True)], colors, hover
    )
    whiskers = [_whiskers(rows, side, unit.factor) for side in ("low", "high")]
    axis.errorbar(widths, places, xerr=whiskers, fmt="none", ecolor=INK, elinewidth=1, capsize=2)
    labels = []
    for row, width in zip(rows, widths, strict=True):
        gain = "" if row["speedup"] is None or row["baseline"] else f" · {times(row['speedup'])}"
        labels.append(f"{digits(width, 4)} {unit.unit}{gain}")
    ends = [(row["median_high_ns"] or row["median_ns"]) * 1e-9 / unit.factor for row in rows]
    _labels(axis, ends, labels)
    logarithmic = min(widths) > 0 and max(widths) / min(widths) >= LOGARITHMIC
    if logarithmic:
        canvas.logarithmic(axis, "x", "{:g}".format)
        shortest = min(widths) / 2
        # The axis is as much longer than the longest bar as a linear one would be.
        axis.set_xlim(shortest, shortest * (max(ends) / shortest) ** room(labels))
    else:
        axis.set_xlim(0, max(ends) * room(labels) or 1)
    axis.set_xlabel(f"median time, {unit.unit}{' (log)' if logarithmic else ''} (time pass)")


def time_told(row: Row) -> str:
    """Return a variant's median and speed-up, with their intervals."""
    seconds = (None if row[k] is None else row[k] * 1e-9 for k in _MEDIANS)
    median, low, high = (quantity(value, "s", 4) for value in seconds)
    told = f"{row['variant']}: {median}{bracket(low, high)}"
    if row["speedup"] is None or row["baseline"]:
        return told
    bounds = (digits(row[k], 4) if row[k] is not None else MISSING for k in _SPEEDUPS)
    return f"{told}, {times(row['speedup'], 4)}{bracket(*bounds)} as fast as the baseline"


def _whiskers(rows: list[Row], side: str, factor: float) -> list[float]:
    bounds = [(row[f"median_{side}_ns"], row["median_ns"]) for row in rows]
    return [0.0 if b is None else abs(b - value) * 1e-9 / factor for b, value in bounds]


def _labels(axis: Axes, ends: list[float], labels: list[str]) -> None:
    right = canvas.beside(axis, axis.transData, GAP)
    for place, (end, label) in enumerate(zip(ends, labels, strict=True)):
        axis.text(end, place, label, transform=right, va="center")


def _draw_bytes(axis: Axes, rows: list[Row], room: Room) -> None:
    least = next((row["min_bytes"] for row in rows if row["min_bytes"] is not None), None)
    unit = scale([row["dram_bytes"] for row in rows] + [least], "B")
    read = [row["dram_read_bytes"] / unit.factor for row in rows]
    written = [row["dram_write_bytes"] / unit.factor for row in rows]
    for starts, lengths, color, key, word in (
        ([0.0] * len(rows), read, OTHER, "dram_read_bytes", "read"),
        (read, written, WRITTEN, "dram_write_bytes", "written"),
    ):
        hover = [f"{row['variant']}: {quantity(row[key], 'B')} {word}" for row in rows]
        spans = zip(range(len(rows)), starts, lengths, strict=True)
        canvas.rectangles(axis, spans, [color], hover, label=word)
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
    axis.set_xlim(0, max([*totals, line or 0]) * room(labels) or 1)
    axis.set_xlabel(f"DRAM bytes, {unit.unit} (ncu pass)")
