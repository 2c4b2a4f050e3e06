"""Time, registers and DRAM bytes of an operator's variants over revisions, in three panels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

from reports.diff.findings import REGRESSIONS, Finding
from reports.format import bracket, count, duration, quantity
from reports.frames import Row
from reports.history.points import SHORT, Track, short
from reports.plots.canvas import (
    FONT,
    INK,
    WIDTH,
    Layout,
    Mark,
    Panel,
    Plot,
    blank,
    decades,
    draw,
    inches,
    keys,
    line,
    marks,
    point,
    rule,
)
from reports.svg import HOVER

LOGARITHMIC = 8
"""From this ratio of largest to smallest on, the small would be flat on a linear axis."""

SPREAD = 0.3
"""Of the distance between two revisions: what the variants of one are apart, so that equal ones
do not hide each other."""

WORSE, BETTER, UNCOMPARED = "a step to the worse", "a step to the better", "not comparable"
LAYOUT = Layout(columns=1, left=0.78, below=0.34)

_RINGS = {WORSE: ("o", "#cf5250"), BETTER: ("s", "#3f9d5d")}


@dataclass(frozen=True)
class Measure:
    """What a panel shows of a row, and how a value is written on its axis and on hover."""

    title: str
    key: str
    source: str
    text: Callable[[float, int], str]
    height: float
    ranked: bool = False


def _plain(value: float, _: int) -> str:
    return count(value)


def _bytes(value: float, significant: int) -> str:
    return quantity(value, "B", significant)


MEASURES = (
    Measure("Median time, 95 % interval (time pass)", "median_ns", "time", duration, 2.1, True),
    Measure(
        "Registers a thread, most of any kernel (ncu pass)",
        "registers_per_thread",
        "ncu",
        _plain,
        1.2,
    ),
    Measure("DRAM bytes, read and written (ncu pass)", "dram_bytes", "ncu", _bytes, 1.5),
)


def history_figure(track: Track) -> Plot:
    """Draw the main case of an operator over revisions; of a wrong variant no time is drawn.

    Lines join what was measured alike. A dotted line across stands between two revisions of which
    something is not comparable, a ring around a time that `reports.diff` calls changed.
    """
    known = marks(track.variants, track.baseline)
    shown = [m for m in MEASURES if any(values for _, values in _series(track, m))]
    if not shown:
        return blank("nothing was measured")
    panels = [
        Panel(one.title, partial(_paint, track=track, measure=one, known=known), one.height)
        for one in shown
    ]
    drawn = [variant for one in shown for variant, values in _series(track, one) if values]
    legend = keys(known, drawn, line="-")
    words = {_word(step) for _, step in _steps(track)}
    legend |= {word: _ring(word, [], [], size=7) for word in _RINGS if word in words}
    if any(change.gaps for change in track.changes):
        legend[UNCOMPARED] = rule(":")
    return draw(panels, LAYOUT, legend)


def _series(track: Track, measure: Measure) -> Iterator[tuple[str, dict[int, Row]]]:
    """Give the rows of each variant that have a value, by the place of their point."""
    for variant in track.variants:
        rows = {at: track.row(one, variant) for at, one in enumerate(track.points)}
        yield variant, {at: row for at, row in rows.items() if row and _has(row, measure)}


def _has(row: Row, measure: Measure) -> bool:
    ranked = row["status"] in {"ok", "unchecked"}
    return row[measure.key] is not None and (ranked or not measure.ranked)


def _steps(track: Track) -> Iterator[tuple[int, Finding]]:
    """Give the steps of the main case with the place of the point at which each happened."""
    for at, change in enumerate(track.changes, start=1):
        yield from ((at, step) for step in change.steps if step.case == track.case)


def _word(step: Finding) -> str:
    return WORSE if step.verdict in REGRESSIONS else BETTER


def _ring(word: str, x: list[float], y: list[float], size: float = 11) -> Line2D:
    shape, color = _RINGS[word]
    ring = Line2D(x, y, color=color, marker=shape, linestyle="", markersize=size, zorder=4)
    ring.set_markerfacecolor("none")
    ring.set_markeredgewidth(1.4)
    return ring


def _paint(axis: Axes, track: Track, measure: Measure, known: Mapping[str, Mark]) -> None:
    series = dict(_series(track, measure))
    _scale(axis, measure, [row for values in series.values() for row in values.values()])
    broken = {at for at, one in enumerate(track.changes, start=1) if one.bars(measure.source)}
    for place, (variant, values) in enumerate(series.items()):
        off = SPREAD * (place - (len(series) - 1) / 2) / len(series)
        mark = known[variant]
        for old, new in pairwise(values):
            if not broken & set(range(old + 1, new + 1)):
                ends = [values[at][measure.key] for at in (old, new)]
                line(axis, [old + off, new + off], ends, color=mark.color)
        for at, row in values.items():
            _interval(axis, at + off, row, measure, mark)
            told = f"{short(track.points[at].commit)}, {_told(row, measure)}"
            point(axis, at + off, row[measure.key], mark, told)
        if measure.ranked:
            _mark_steps(axis, track, variant, values, off)
    for at in broken:
        _mark_gap(axis, track, at)
    _revisions(axis, track)


def _told(row: Row, measure: Measure) -> str:
    told = f"{row['variant']}: {measure.text(row[measure.key], 4)}"
    if measure.ranked:
        told += bracket(*(duration(row[f"median_{side}_ns"], 4) for side in ("low", "high")))
    return told


def _interval(axis: Axes, x: float, row: Row, measure: Measure, mark: Mark) -> None:
    ends = [row[f"median_{side}_ns"] for side in ("low", "high")] if measure.ranked else [None]
    if None not in ends:
        line(axis, [x, x], ends, color=mark.color, linewidth=1.6)


def _mark_steps(axis: Axes, track: Track, variant: str, values: dict[int, Row], off: float) -> None:
    """Ring the times at which a variant changed; where it has none, at the height of the last."""
    for at, step in _steps(track):
        place = max((one for one in values if one <= at), default=None)
        if step.variant == variant and place is not None:
            word = _word(step)
            ring = _ring(word, [at + off], [values[place]["median_ns"]])
            ring.set_url(f"{HOVER}{short(track.points[at].commit)}, {variant}: {step.verdict}")
            axis.add_line(ring)


def _mark_gap(axis: Axes, track: Track, at: int) -> None:
    facts = [f"{one.fact} {one.base} → {one.head}" for one in track.changes[at - 1].gaps]
    across = axis.get_xaxis_transform()
    gap = Line2D([at - 0.5] * 2, [0, 1], transform=across, color=INK, linestyle=":", linewidth=1)
    gap.set_url(f"{HOVER}{UNCOMPARED}: {', '.join(facts)}")
    axis.add_line(gap)


def _scale(axis: Axes, measure: Measure, rows: list[Row]) -> None:
    """Begin at zero, unless the values are too far apart for that."""
    high = "median_high_ns" if measure.ranked else measure.key
    values = [float(row[measure.key]) for row in rows]
    top = max(values + [float(row[high]) for row in rows if row[high] is not None])
    if min(values) > 0 and top > LOGARITHMIC * min(values):
        decades(axis, "y", (min(values) / 1.5, top * 1.5), partial(_tick, measure))
        return
    axis.set_ylim(0, top * 1.15 or 1)
    axis.yaxis.set_major_locator(MaxNLocator(4, integer=measure.text is _plain))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _tick(measure, value)))


def _tick(measure: Measure, value: float) -> str:
    return "0" if value == 0 else measure.text(value, 2)


def _revisions(axis: Axes, track: Track) -> None:
    """Name the revisions below an axis; of many, as many as there is room for."""
    names = [short(one.commit) for one in track.points]
    room = (WIDTH - LAYOUT.left - LAYOUT.right) / inches("0" * (SHORT + 2), FONT)
    shown = range(0, len(names), -(-len(names) // int(room)))
    axis.set_xlim(-0.5, len(names) - 0.5)
    axis.xaxis.set_major_locator(FixedLocator(list(shown)))
    axis.set_xticklabels([names[at] for at in shown])
