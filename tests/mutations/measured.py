"""What planted changes did on a GPU: the frames of base and head of each.

Each was measured live on an H200, 2026-11-30 and 2026-12-01, by ``snakemake reports/diff`` with
``diff_sessions=1`` and ``variants`` that name the changed one: two processes in alternating rounds,
100 rounds each, counters by ``ncu``. Of the frames, the rows of the changed variant are kept, and
of the builds those for sm_90.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from parsers.schemas import SCHEMAS
from reports.frames import NAMES, Frames
from tests.mutations.planted import Planted

FOLDER = Path(__file__).with_suffix("")


def frames(planted: Planted, side: str) -> Frames:
    """Return what was measured of ``base`` or ``head``; what was not asked for is empty."""
    return Frames(planted.operator, **{name: _frame(planted, side, name) for name in NAMES})


def _frame(planted: Planted, side: str, name: str) -> pd.DataFrame:
    path = FOLDER / f"{name}.parquet"
    if not path.exists():
        return SCHEMAS[name].conform([])
    rows = pd.read_parquet(path)
    mine = rows[rows["planted"].eq(planted.name) & rows["side"].eq(side)]
    return SCHEMAS[name].conform(mine.drop(columns=["planted", "side"]))
