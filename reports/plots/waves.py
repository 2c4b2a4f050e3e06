"""The sweep of waves: the rate of matrix products around whole waves of tiles."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from reports.format import TIMES, digits, percent, quantity
from reports.frames import Frames, Row, records
from reports.plots import choice
from reports.plots.canvas import (
    EDGE,
    GAP,
    INK,
    SMALL,
    Layout,
    Mark,
    Panel,
    Plot,
    beside,
    blank,
    draw,
    inches,
    keys,
    line,
    names,
    point,
)
from reports.roofline import matmul_peaks
from reports.waves import Tiles, Waves, tiles, waves

LABEL = "waves"
"""Cases with this label belong to the sweep."""

AXES = ("m", "n")
ROW, BELOW = 0.36, 8
"""Height of a case in inches, and how far its second line lies below the first, in points."""


@dataclass(frozen=True)
class Swept:
    """A case of the sweep: what its tiles fill, and the rows of its variants."""

    case: str
    tile: tuple[int, int]
    cover: Tiles
    filled: Waves
    peak: float
    rows: list[Row]

    @property
    def used(self) -> float:
        """Return the share of the SMs' time that whole tiles of this size would use."""
        return self.filled.efficiency * self.cover.useful


def waves_figure(frames: Frames, by_case: choice.Rows, marks: Mapping[str, Mark]) -> Plot:
    """Draw the rate of each variant over that of a large product, of cases labelled `LABEL`.

    Beside stands what whole tiles of the Triton kernel's size would use of the SMs, one tile an SM
    at a time: what the last wave and the tiles at the edges leave of a peak.
    """
    swept = sweep(frames, by_case)
    if not swept:
        return blank(f"no case is labelled {LABEL}, has tiles and a large product to compare with")
    described = {item.case: _described(item) for item in swept}
    left = EDGE + GAP / 72 + max(max(inches(c), inches(d, SMALL)) for c, d in described.items())
    panel = Panel("", partial(_paint, marks=marks, swept=swept), ROW * len(swept))
    timed = [row["variant"] for item in swept for row in item.rows]
    tick = Line2D([], [], color=INK, marker="|", linestyle="", markersize=9, markeredgewidth=2)
    legend = keys(marks, timed) | {"whole tiles, one an SM": tick}
    return draw([panel], Layout(columns=1, left=left, above=0.1), legend)


def sweep(frames: Frames, by_case: choice.Rows) -> list[Swept]:
    """Return the cases of the sweep that were timed, in their declared order."""
    peaks = matmul_peaks(frames.ceilings, frames.cases)
    known = frames.runs.dropna(subset=["sm_count", "compute_capability"])
    if not peaks or known.empty:
        return []
    sms, arch = int(known["sm_count"].iloc[0]), known["compute_capability"].iloc[0].replace(".", "")
    found = []
    for case in records(frames.cases):
        rows = [r for r in by_case.get(case["case"], []) if r["flops_per_s"] is not None]
        tile = _tile(frames.builds, case["case"], f"sm_{arch}")
        sides = dict(zip((case["axes"] or "").split(), case["shape"].split("x"), strict=False))
        if LABEL in (case["labels"] or "").split() and rows and tile and set(AXES) <= set(sides):
            cover = tiles(int(sides["m"]), int(sides["n"]), *tile)
            filled = waves(cover.count, sms, 1)
            found.append(Swept(case["case"], tile, cover, filled, max(peaks.values()), rows))
    return found


def _tile(builds: pd.DataFrame, case: str, arch: str) -> tuple[int, int] | None:
    """Return the tile of C of the case's Triton kernel as it was built for the GPU."""
    for text in builds.loc[(builds["case"] == case) & (builds["arch"] == arch), "config"]:
        config = json.loads(text)
        if {"block_m", "block_n"} <= set(config):
            return int(config["block_m"]), int(config["block_n"])
    return None


def _described(item: Swept) -> str:
    size = TIMES.join(map(str, item.tile))
    filled = digits(item.filled.waves, 4)
    return f"{item.cover.count} tiles of {size}, {filled} waves"


def _paint(axis: Axes, marks: Mapping[str, Mark], swept: list[Swept]) -> None:
    names(axis, [item.case for item in swept])
    below = beside(axis, axis.get_yaxis_transform(), -GAP, -BELOW)
    for place, item in enumerate(swept):
        axis.text(
            *(0, place, _described(item)),
            transform=below,
            ha="right",
            va="center",
            size=SMALL,
        )
        line(axis, [0, 100], [place, place], linewidth=0.4, alpha=0.5)
        line(axis, [100 * item.used] * 2, [place - 0.3, place + 0.3], linewidth=2, color=INK)
        for row in item.rows:
            share = row["flops_per_s"] / item.peak
            rate = quantity(row["flops_per_s"], "FLOP/s")
            told = (
                f"{row['variant']}: {rate}, {percent(share)} of a large product; "
                f"whole tiles would use {percent(item.used)} of the SMs"
            )
            point(axis, 100 * share, place, marks[row["variant"]], told)
    highest = max(row["flops_per_s"] / item.peak for item in swept for row in item.rows)
    axis.set_xlim(0, 100 * max(1.0, highest) * 1.03)
    axis.set_xlabel("rate, % of the fastest large matmul of the same run (time pass)")
