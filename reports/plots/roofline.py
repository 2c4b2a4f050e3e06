"""The roofline: achieved FLOP/s over FLOPs a byte, below what the GPU allows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes

from reports import chips
from reports.format import digits, percent, quantity
from reports.frames import Frames, Row, records
from reports.plots import choice
from reports.plots.canvas import (
    INK,
    SMALL,
    Dash,
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
from reports.roofline import (
    Roof,
    counted,
    datasheet,
    matmul_peaks,
    measured,
    place,
)

HEIGHT = 2.3
LAYOUT = Layout(columns=2, left=0.66)

STATED, REACHED = "data sheet: DRAM", "measured: copy"
DASHES: dict[str, Dash] = {STATED: "-", REACHED: "--"}
"""Roofs by whose they are, with what their slope is."""

BESIDE_RIDGE, BESIDE_POINTS = 0.48, 0.25
"""Shares of an axis right of the last ridge and of the last point, for the peaks' labels."""


def roofline_figure(frames: Frames, by_case: choice.Rows, marks: Mapping[str, Mark]) -> Plot:
    """Draw the largest case of each dtype and set of labels under the GPU's roof.

    Points are whole variants: FLOPs, bytes and time all of the ncu pass. Roofs are those of the
    data sheet, and those that a large copy and large matrix products reached in the time pass.
    """
    chip = chips.of_runs(frames.runs)
    roofs = {REACHED: measured(frames.ceilings, matmul_peaks(frames.ceilings, frames.cases))}
    if chip is not None:
        roofs = {STATED: datasheet(chip)} | roofs
    shown = [choice.main_case(kind) for kind in choice.kinds(by_case, frames.cases)]
    rows = _points(frames, [case for case in shown if case is not None], roofs)
    panels = [
        Panel(case, partial(_paint, marks=marks, rows=rows[case], roofs=roofs), HEIGHT)
        for case in shown
        if case in rows
    ]
    if not panels:
        return blank("no FLOPs and DRAM bytes were counted")
    found = [row["variant"] for listed in rows.values() for row in listed]
    slopes = {
        f"{name} {quantity(roof.bandwidth, 'B/s')}": rule(DASHES[name])
        for name, roof in roofs.items()
        if roof.bandwidth
    }
    return draw(panels, LAYOUT, keys(marks, found) | slopes)


def _points(
    frames: Frames, shown: Sequence[str], roofs: Mapping[str, Roof]
) -> dict[str, list[Row]]:
    """Return the variants that can be placed, by case, in the declared order of cases."""
    rolled = frames.rolled[frames.rolled["case"].isin(shown)]
    placed = place(counted(rolled), next(iter(roofs.values())))
    whole = placed["intensity"].gt(0) & placed["flops_per_s"].gt(0)
    rows = records(rolled[["variant", "case"]].join(placed)[whole.fillna(value=False)])
    return {
        case: listed for case in shown if (listed := [row for row in rows if row["case"] == case])
    }


def _paint(
    axis: Axes, marks: Mapping[str, Mark], rows: list[Row], roofs: Mapping[str, Roof]
) -> None:
    dtypes = sorted({row["dtype"] for row in rows})
    peaks = [peak for roof in roofs.values() for d in dtypes if (peak := roof.peaks.get(d))]
    up = [row["flops_per_s"] for row in rows] + peaks
    across = _across([row["intensity"] for row in rows], roofs, dtypes)
    decades(axis, "x", across, "{:g}".format)
    decades(axis, "y", (min(up) / 4, max(up) * 3), partial(_rate, significant=1))
    for source, roof in roofs.items():
        for dtype in dtypes:
            own = [peak for r in roofs.values() if (peak := r.peaks.get(dtype))]
            _roof(axis, source, roof, dtype, max(own or peaks, default=None))
    _ridges(axis, next(iter(roofs.values())), dtypes)
    for row in rows:
        point(axis, row["intensity"], row["flops_per_s"], marks[row["variant"]], _told(row))
    axis.set_xlabel("FLOP per DRAM byte (ncu pass)")
    axis.set_ylabel("FLOP/s (ncu pass)")


def _across(
    points: list[float], roofs: Mapping[str, Roof], dtypes: list[str]
) -> tuple[float, float]:
    """Return the limits of intensities, with room for what stands at the right."""
    ridges = [r for roof in roofs.values() for d in dtypes if (r := roof.ridge(d)) is not None]
    low = math.log(min([*points, *ridges]) / 4)
    ends = [(math.log(max(points)), BESIDE_POINTS)]
    ends += [(math.log(max(ridges)), BESIDE_RIDGE)] if ridges else []
    return math.exp(low), math.exp(max((end - room * low) / (1 - room) for end, room in ends))


def _rate(value: float, significant: int = 3) -> str:
    return quantity(value, "FLOP/s", significant).removesuffix("FLOP/s").rstrip()


def _roof(axis: Axes, source: str, roof: Roof, dtype: str, highest: float | None) -> None:
    """Draw the ceilings of a dtype, and write the peak at its right end.

    Where a roof has no peak its slope ends at the ``highest`` that is drawn.
    """
    low, high = axis.get_xlim()
    ridge, peak = roof.ridge(dtype), roof.peaks.get(dtype)
    if peak is None and roof.bandwidth and highest:
        high = highest / roof.bandwidth
    corners = np.array([low, *([] if ridge is None else [ridge]), high])
    heights = roof.attainable(dtype, corners)
    if not np.isnan(heights).any():
        line(axis, corners, heights, linestyle=DASHES[source])
    if peak is not None:
        above = source == STATED
        axis.text(
            *(high, peak, f"{_words(dtype)} {_rate(peak)}" if above else _rate(peak)),
            transform=beside(axis, axis.transData, 0, 2 if above else -2),
            va="bottom" if above else "top",
            ha="right",
            size=SMALL,
        )


def _ridges(axis: Axes, roof: Roof, dtypes: list[str]) -> None:
    """Mark where bandwidth and peak meet, and write at how many FLOPs a byte."""
    floor = axis.get_ylim()[0]
    for ridge, dtype in ((roof.ridge(dtype), dtype) for dtype in dtypes):
        if ridge is not None:
            line(axis, [ridge, ridge], [floor, roof.peaks[dtype]], linestyle=":")
            axis.text(
                *(ridge, floor, f"ridge {digits(ridge)}"),
                transform=beside(axis, axis.transData, 2, 2),
                size=SMALL,
                color=INK,
            )


def _words(dtype: str) -> str:
    return dtype.replace("_", " ")


def _told(row: Row) -> str:
    """Say what a point stands for."""
    told = (
        f"{row['variant']}: {quantity(row['flops_per_s'], 'FLOP/s')} {_words(row['dtype'])} at "
        f"{digits(row['intensity'])} FLOP/B"
    )
    if row["attainable_flops_per_s"] is None:
        return told
    roof = quantity(row["attainable_flops_per_s"], "FLOP/s")
    told += f", {percent(row['share'])} of the {roof} attainable"
    return told if row["bound"] is None else f"{told} ({row['bound']} roof)"
