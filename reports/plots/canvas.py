"""What all figures share: ink, marks of variants, panels laid out in inches, and fixed SVG.

The same rows give the same bytes: no date, fixed ids, and text stays text, so that no font of this
machine gets in. Backgrounds are transparent and colours mid-tone, for light and dark pages.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from matplotlib.transforms import Transform, offset_copy

from reports.svg import HOVER, titled

INK = "#7a7a7a"
BASELINE, OTHER, WRITTEN = "#8f8f8f", "#3b82c4", "#d08a2e"

WIDTH = 7.2
"""Of a figure at least, in inches."""

EDGE, LEGEND = 0.16, 0.28
"""Left of names and right of axes, and the height of a legend, in inches."""

ENTRY = 0.19
"""Height of each further row of a legend, in inches."""

GAP = 5
"""Between an axis or a bar and its text, in points."""

FONT, SMALL = 8.0, 7.0
"""Of plots by variant, in points, and of what is written inside of their panels."""

CHARACTER, BROAD = 0.6, 1.0
"""Widths of a character and of one of ``mwMW`` in font sizes, so that no font is measured."""

HANDLE = 0.55
"""What an entry of a legend takes beside its text, in inches."""

SHORT = 200
"""A logarithmic axis whose ends have a smaller ratio is short."""

HUES = (OTHER, WRITTEN, "#3f9d5d", "#cf5250", "#9a6fc9", "#2aa0a0", "#cf6aa7", "#96962e")
SHAPES = ("s", "^", "D", "v", "P", "X", "h", "<")

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


Dash = Literal["-", "--", ":", ""]
"""How lines are drawn; the last is without one."""


@dataclass(frozen=True)
class Mark:
    """Colour and shape of a variant, the same in all figures of a page."""

    color: str
    shape: str


@dataclass(frozen=True)
class Panel:
    """One set of axes: its title, how it is drawn, and the height of its axes in inches."""

    title: str
    paint: Callable[[Axes], None]
    height: float


@dataclass(frozen=True)
class Layout:
    """Panels side by side, and what stands around the axes of each, in inches.

    ``lift`` is how far above its axes a title stands, in points.
    """

    columns: int
    left: float = 0.62
    right: float = EDGE
    above: float = 0.32
    below: float = 0.48
    lift: float = 6


@dataclass(frozen=True)
class Plot:
    """A figure as SVG text; ``why`` says why there is nothing to see on it, if so."""

    svg: str
    why: str = ""


def ems(text: str) -> float:
    """Return the width of a text in font sizes."""
    return sum(BROAD if c in "mwMW" else CHARACTER for c in text)


def inches(text: str, font: float = FONT) -> float:
    """Return the width of a text in a font of so many points."""
    return ems(text) * font / 72


def marks(variants: Sequence[str], baseline: str | None) -> dict[str, Mark]:
    """Give each variant its mark; the baseline is grey and round."""
    others = [name for name in variants if name != baseline]
    given = {} if baseline is None else {baseline: Mark(BASELINE, "o")}
    for at, name in enumerate(others):
        given[name] = Mark(HUES[at % len(HUES)], SHAPES[at % len(SHAPES)])
    return {name: given[name] for name in variants}


def svg(width: float, height: float, font: float, paint: Callable[[Figure], None]) -> str:
    """Return what ``paint`` draws on a transparent figure of so many inches."""
    with matplotlib.style.context(["default", _STYLE | {"font.size": font}]):
        figure = Figure(figsize=(width, height))
        figure.patch.set_visible(False)
        paint(figure)
        buffer = io.StringIO()
        # savefig would draw twice.
        metadata = {"Date": None, "Creator": "Roofsnake"}
        FigureCanvasSVG(figure).print_svg(buffer, metadata=metadata)  # type: ignore[no-untyped-call]
    return titled(buffer.getvalue())


def blank(why: str) -> Plot:
    """Return a figure that says why it shows nothing."""
    text = f"Nothing to draw: {why}."

    def paint(figure: Figure) -> None:
        figure.text(0.02, 0.5, text, va="center")

    return Plot(svg(max(WIDTH, inches(text)), 0.5, FONT, paint), why)


def draw(panels: Sequence[Panel], layout: Layout, legend: Mapping[str, Line2D]) -> Plot:
    """Draw panels in columns, row by row, below one legend of all."""
    columns = min(layout.columns, len(panels))
    widths = [HANDLE + inches(label) for label in legend]
    wide = max(WIDTH, *widths, *(columns * inches(panel.title) for panel in panels))
    across = _across(widths, wide)
    top = LEGEND + ENTRY * (-(-len(legend) // across) - 1)
    rows = [panels[at : at + columns] for at in range(0, len(panels), columns)]
    margin = layout.above + layout.below
    heights = [max(panel.height for panel in row) + margin for row in rows]
    tall = top + sum(heights)

    def paint(figure: Figure) -> None:
        for at, row in enumerate(rows):
            base = sum(heights[at + 1 :]) + layout.below
            for place, panel in enumerate(row):
                x = place * wide / columns + layout.left
                length = wide / columns - layout.left - layout.right
                box = (x / wide, base / tall, length / wide, (heights[at] - margin) / tall)
                axis = figure.add_axes(box)
                axis.patch.set_visible(False)
                axis.set_title(panel.title, y=1.0, pad=layout.lift)
                panel.paint(axis)
        if legend:
            figure.legend(
                list(legend.values()), list(legend), frameon=False, ncols=across, loc="upper left"
            )

    return Plot(svg(wide, tall, FONT, paint))


def _across(widths: Sequence[float], wide: float) -> int:
    """Return in how many columns, filled one after another, the entries of a legend fit."""
    for columns in range(len(widths), 1, -1):
        parts = np.array_split(np.asarray(widths), columns)
        if sum(part.max() for part in parts) <= wide:
            return columns
    return 1


def keys(known: Mapping[str, Mark], shown: Sequence[str], *, line: Dash = "") -> dict[str, Line2D]:
    """Return entries of a legend for those variants that are shown, in their order."""
    return {
        name: Line2D([], [], color=mark.color, marker=mark.shape, linestyle=line, markersize=5)
        for name, mark in known.items()
        if name in shown
    }


def rule(dashes: Dash) -> Line2D:
    """Return the entry of a legend for a line that is no variant's."""
    return Line2D([], [], color=INK, linestyle=dashes, linewidth=1)


def point(axis: Axes, x: float, y: float, mark: Mark, told: str) -> None:
    """Draw the point of a variant, which shows ``told`` on hover."""
    dot = Line2D([x], [y], color=mark.color, marker=mark.shape, linestyle="", zorder=3)
    dot.set_markeredgecolor(INK)
    dot.set_markeredgewidth(0.4)
    dot.set_url(HOVER + told)
    axis.add_line(dot)


def line(axis: Axes, x: Any, y: Any, **look: Any) -> None:
    """Draw a line that does not move the axes' limits."""
    style: dict[str, Any] = {"color": INK, "linewidth": 1}
    axis.add_line(Line2D(x, y, **(style | look)))


def rectangles(
    axis: Axes,
    spans: Iterable[tuple[float, float, float]],
    colors: Sequence[str],
    hover: Sequence[str],
    *,
    label: str = "",
    edge: float = 0,
) -> None:
    """Draw bars as one collection; a patch a bar, as of ``barh``, takes longer.

    ``spans`` are row, start and length of each; ``hover`` is what each shows on hover; ``edge`` the
    width of its outline in points.
    """
    corners = [
        [(x, y - 0.31), (x + length, y - 0.31), (x + length, y + 0.31), (x, y + 0.31)]
        for y, x, length in spans
    ]
    bars = PolyCollection(
        corners,
        facecolors=list(colors),
        edgecolors=list(colors),
        linewidths=edge,
        label=label,
        urls=[HOVER + text for text in hover],
    )
    axis.add_collection(bars, autolim=False)


def names(axis: Axes, texts: Sequence[str]) -> None:
    """Give an axis a row for each text, which stands left of it."""
    axis.yaxis.set_visible(False)
    axis.set_ylim(len(texts) - 0.4, -0.6)
    left = beside(axis, axis.get_yaxis_transform(), -GAP)
    for place, text in enumerate(texts):
        axis.text(0, place, text, transform=left, ha="right", va="center")


def beside(axis: Axes, transform: Transform, across: float, up: float = 0) -> Transform:
    """Return a transform that lands so many points right of and above another."""
    return offset_copy(transform, cast("Figure", axis.figure), across, up, units="points")


def logarithmic(axes: Axes, side: str, text: Callable[[float], str]) -> None:
    """Make the ``x`` or ``y`` axis logarithmic, with ticks at some powers of ten."""
    axes.set(**{f"{side}scale": "log"})
    axis = axes.xaxis if side == "x" else axes.yaxis
    axis.set_major_locator(LogLocator(numticks=6))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: text(value)))


def decades(
    axes: Axes, side: str, limits: tuple[float, float], text: Callable[[float], str]
) -> None:
    """Make an axis logarithmic between limits; a short one has ticks at 2 and 5 times as well."""
    logarithmic(axes, side, text)
    axes.set(**{f"{side}lim": limits})
    if limits[1] < limits[0] * SHORT:
        axis = axes.xaxis if side == "x" else axes.yaxis
        axis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=6))
