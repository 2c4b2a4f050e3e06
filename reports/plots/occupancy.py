"""What if a launch had fewer registers or other blocks: theoretical occupancy over both."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import pandas as pd
from matplotlib.axes import Axes

from parsers.names import short_name
from reports.format import digits
from reports.frames import Frames, Row, records
from reports.occupancy import SMS, asked, what_if
from reports.plots import choice
from reports.plots.canvas import (
    Layout,
    Mark,
    Panel,
    Plot,
    blank,
    draw,
    keys,
    line,
    point,
)

HEIGHT = 1.9
LAYOUT = Layout(columns=2)

VARIED = {
    "registers_per_thread": ("registers a thread", 32),
    "block_size": ("threads a block", 128),
}
"""What is varied, in words, and the steps of its axis."""


def occupancy_figure(frames: Frames, by_case: choice.Rows, marks: Mapping[str, Mark]) -> Plot:
    """Draw the longest launch of each Triton variant in the main case, and what would change it.

    Curves and points are computed by `reports.occupancy` from what the ncu pass says of a launch.
    """
    main = choice.main_case(by_case)
    if main is None:
        return blank(choice.UNKNOWN)
    curves = {}
    for variant, row in _longest(frames, main).items():
        launch = asked(row)
        if launch is not None and row["compute_capability"] in SMS:
            curves[variant] = (row, what_if(row["compute_capability"], launch))
    if not curves:
        return blank(f"no Triton launch of {main} was counted, on a GPU whose limits are known")
    panels = [
        Panel(title, partial(_paint, marks=marks, curves=curves, varied=varied), HEIGHT)
        for varied, title in zip(VARIED, (main, ""), strict=True)
    ]
    return draw(panels, LAYOUT, keys(marks, list(curves), line="-"))


def _longest(frames: Frames, case: str) -> dict[str, Row]:
    """Return the longest launch of each variant that has Triton kernels of its own."""
    ours = frames.counters["variant"].isin(frames.builds["variant"])
    rows = frames.counters[ours & (frames.counters["case"] == case)].dropna(subset=["duration_ns"])
    longest = rows.sort_values("duration_ns", kind="stable").groupby("variant", sort=False).tail(1)
    return {row["variant"]: row for row in records(longest)}


def _paint(
    axis: Axes,
    marks: Mapping[str, Mark],
    curves: Mapping[str, tuple[Row, pd.DataFrame]],
    varied: str,
) -> None:
    words, step = VARIED[varied]
    last = 0
    for variant, mark in marks.items():
        if variant in curves:
            row, frame = curves[variant]
            curve = frame[frame["varied"] == varied]
            values, pct = curve["value"].to_numpy(int), curve["occupancy_pct"].to_numpy(float)
            line(axis, values, pct, color=mark.color, drawstyle="steps-mid")
            last = values[-1]
            (own,) = records(curve[curve["launched"]])
            point(axis, own["value"], own["occupancy_pct"], mark, _told(row, own))
    axis.set_xlim(0, last * 1.02)
    axis.set_xticks(range(0, last + 2, 2 * step))
    axis.set_ylim(0, 105)
    axis.set_yticks(range(0, 101, 25))
    axis.set_xlabel(words)
    axis.set_ylabel("theoretical occupancy, %")


def _told(row: Row, own: Row) -> str:
    """Say what a launch asks for and gets, by the calculation and by Nsight Compute."""
    told = (
        f"{row['variant']}, {short_name(row['kernel_demangled'])}: "
        f"{row['registers_per_thread']} registers, {row['block_size']} threads, "
        f"{row['static_shared_bytes'] + row['dynamic_shared_bytes']} B of shared memory a block: "
        f"{digits(own['occupancy_pct'])} %, limited by {own['limiter']}"
    )
    nsight = row["occupancy_theoretical_pct"]
    return told if nsight is None else f"{told}; Nsight Compute: {digits(nsight)} %"
