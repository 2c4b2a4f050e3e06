"""The plots of an operator's page: which there are, in which order, and what each shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from reports.format import MISSING, code, escape, listing
from reports.frames import Frames
from reports.plots import choice
from reports.plots.canvas import Mark, Plot, marks
from reports.plots.choice import Rows
from reports.plots.occupancy import occupancy_figure
from reports.plots.roofline import roofline_figure
from reports.plots.scaling import scaling_figure
from reports.plots.timeline import timeline_figure
from reports.plots.waves import waves_figure
from reports.status import baseline, variants

Draw = Callable[[Frames, Rows, Mapping[str, Mark]], Plot]


@dataclass(frozen=True)
class Kind:
    """A kind of plot: part of its file's name, how it is drawn, and what it shows.

    A page shows one that is not ``folded`` at once, the others where its reader asks for more.
    """

    name: str
    draw: Draw
    shows: str
    folded: bool = True


KINDS = (
    Kind(
        "roofline",
        roofline_figure,
        "Achieved FLOP/s of each variant over its FLOPs per DRAM byte, under the roofs of the data "
        "sheet and those measured",
        folded=False,
    ),
    Kind(
        "scaling",
        scaling_figure,
        "Median time of each variant over the size of the input, with where it is constant and "
        "where it grows as the size does",
    ),
    Kind(
        "waves",
        waves_figure,
        "Rate of each variant around whole waves of tiles, and what whole tiles would use of the "
        "SMs",
    ),
    Kind(
        "occupancy",
        occupancy_figure,
        "Theoretical occupancy of each Triton variant, if its launch had other registers a thread "
        "or threads a block",
    ),
    Kind(
        "timeline",
        timeline_figure,
        "Kernels of one range of each variant on a common axis of time, with the gaps between them",
    ),
)


def plots(frames: Frames, by_case: Rows) -> dict[str, Plot]:
    """Draw every kind of plot; those without data say why."""
    known = marks(variants(frames), baseline(frames))
    return {kind.name: kind.draw(frames, by_case, known) for kind in KINDS}


def shown(operator: str, drawn: Mapping[str, Plot], by_case: Rows) -> dict[str, Any]:
    """Return what a page shows of plots: those with data, and of which case one is where not all.

    Returns
    -------
    dict
        ``open`` and ``folded``: file name and alternative text, as Markdown, of each; ``names``:
        the kinds that are folded; ``main``: the case that stands for all, as Markdown;
        ``rule``: how it is chosen.
    """
    seen = [kind for kind in KINDS if not drawn[kind.name].why]
    files = {kind.name: (file_name(operator, kind.name), escape(kind.shows)) for kind in seen}
    main = choice.main_case(by_case)
    return {
        "open": [files[kind.name] for kind in seen if not kind.folded],
        "folded": [files[kind.name] for kind in seen if kind.folded],
        "names": listing(kind.name for kind in seen if kind.folded),
        "main": MISSING if main is None else code(main),
        "rule": choice.RULE,
    }


def file_name(operator: str, kind: str) -> str:
    """Return the name of a plot's file."""
    return f"{operator}.{kind}.svg"
