"""How a grid fills the GPU: waves, what the last of them wastes, and what tiles waste at the edges.

A wave is as many blocks as the GPU holds at once. The efficiency supposes that all blocks take the
same time, however many share an SM, so that a last wave lasts as long as a full one. Real blocks
start as others end: it says what there is to lose, not what was lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from parsers.metrics import OCCUPANCY_LIMITS

COLUMNS: dict[str, str] = {
    **dict.fromkeys(("blocks", "sms", "blocks_per_sm"), "Int64"),
    "waves": "Float64",
    **dict.fromkeys(("full_waves", "tail_blocks"), "Int64"),
    "tail_share": "Float64",
    "idle_sms": "Int64",
    "efficiency": "Float64",
}

_SOMETIMES = "limit_barriers_blocks"


@dataclass(frozen=True)
class Waves:
    """How a grid of ``blocks`` fills ``sms`` SMs that hold ``blocks_per_sm`` each.

    ``waves`` is blocks over the capacity, as Nsight Compute gives it. ``full_waves`` of them are
    full; ``tail_blocks`` are left for the last and fill ``tail_share`` of the capacity, with none
    for ``idle_sms``. These three are 0 where no block is left.

    ``efficiency`` is the share used of the SMs' time. Of several waves it is the blocks over the
    capacity of all of them. In a single one, such as that of a persistent kernel, no block waits
    for another: it is the share of SMs that have a block.
    """

    blocks: int
    sms: int
    blocks_per_sm: int
    waves: float
    full_waves: int
    tail_blocks: int
    tail_share: float
    idle_sms: int
    efficiency: float


def waves(blocks: int, sms: int, blocks_per_sm: int) -> Waves:
    """Compute how a grid fills the GPU.

    Raises
    ------
    ValueError
        When one of the counts is below 1.
    """
    if min(blocks, sms, blocks_per_sm) < 1:
        raise ValueError(f"{blocks} blocks on {sms} SMs at {blocks_per_sm} each: counts are from 1")
    filled = _filled(*np.array([blocks, sms, blocks_per_sm]))
    return Waves(blocks, sms, blocks_per_sm, **{name: v.item() for name, v in filled.items()})


def of_launches(counters: pd.DataFrame) -> pd.DataFrame:
    """Compute how each launch of the frame ``counters`` fills its GPU.

    The blocks an SM are the fewest that Nsight's limits allow; a launch of clusters can hold fewer
    (`reports.occupancy`).

    Returns
    -------
    DataFrame
        A row a launch with the index of ``counters``, columns `COLUMNS`, the fields of `Waves`; NA
        where the grid, the SMs or a limit were not collected. Not all chips have one by barriers.
    """
    limits = counters[list(OCCUPANCY_LIMITS)]
    given = counters[["grid_size", "sm_count"]].join(limits.drop(columns=_SOMETIMES))
    held = limits.min(axis="columns")
    known = given.notna().all(axis="columns") & given.gt(0).all(axis="columns") & held.gt(0)
    frame = pd.DataFrame(
        {"blocks": counters["grid_size"], "sms": counters["sm_count"], "blocks_per_sm": held}
    )[known.astype(bool)].astype("int64")
    filled = _filled(*(frame[name].to_numpy() for name in frame))
    return frame.assign(**filled).reindex(counters.index)[list(COLUMNS)].astype(COLUMNS)


def _filled(blocks: Any, sms: Any, blocks_per_sm: Any) -> dict[str, Any]:
    """Return the fields of `Waves` that follow from its counts."""
    capacity = sms * blocks_per_sm
    full, tail = blocks // capacity, blocks % capacity
    used = blocks / (-(-blocks // capacity) * capacity)
    return {
        "waves": blocks / capacity,
        "full_waves": full,
        "tail_blocks": tail,
        "tail_share": tail / capacity,
        "idle_sms": np.where(tail > 0, np.maximum(sms - tail, 0), 0),
        "efficiency": np.where(blocks <= capacity, np.minimum(blocks / sms, 1), used),
    }


@dataclass(frozen=True)
class Tiles:
    """The tiles that cover a matrix, and ``useful``: the share of their elements that it has."""

    down: int
    across: int
    useful: float

    @property
    def count(self) -> int:
        """Return how many there are."""
        return self.down * self.across


def tiles(m: int, n: int, tile_m: int, tile_n: int) -> Tiles:
    """Cover an ``m`` by ``n`` output with tiles of ``tile_m`` by ``tile_n`` elements.

    Raises
    ------
    ValueError
        When one of the extents is below 1.
    """
    if min(m, n, tile_m, tile_n) < 1:
        raise ValueError(f"{m}x{n} in tiles of {tile_m}x{tile_n}: extents are from 1")
    down, across = -(-m // tile_m), -(-n // tile_n)
    return Tiles(down, across, m * n / (down * tile_m * across * tile_n))
