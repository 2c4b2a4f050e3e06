"""Which kernels each variant and case launches, before and after, as unified diffs."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import unified_diff

import pandas as pd

from reports.diff.code import path_part
from reports.diff.unified import ABSENT
from reports.format import MISSING
from reports.frames import KEY

Launches = dict[tuple[str, ...], list[str]]


@dataclass(frozen=True)
class LaunchDiff:
    """What differs in the launches of a variant and case: its key, and the unified diff."""

    key: tuple[str, ...]
    lines: list[str]


def launch_diffs(base: pd.DataFrame, head: pd.DataFrame) -> list[LaunchDiff]:
    """Compare the launches of each variant and case: name, grid and block, in their order.

    Parameters
    ----------
    base, head
        The frame ``counters`` of each. What only one of them has is compared with nothing.
    """
    before, after = _launches(base), _launches(head)
    found = []
    for key in dict.fromkeys([*after, *before]):
        path = "/".join(path_part(name) for name in key)
        old, new = (
            f"{side}/{path}.launches" if key in known else ABSENT
            for side, known in (("a", before), ("b", after))
        )
        lines = list(unified_diff(before.get(key, []), after.get(key, []), old, new, lineterm=""))
        if lines:
            found.append(LaunchDiff(key, lines))
    return found


def _launches(counters: pd.DataFrame) -> Launches:
    """Return a line for each launch, by operator, variant and case."""
    rows = counters.dropna(subset=KEY).sort_values("launch", kind="stable")
    names = rows["kernel_demangled"].str.split().str.join(" ")
    grid, block = (_extents(rows, what) for what in ("grid", "block"))
    lines = names + ", grid " + grid + ", block " + block
    groups = lines.groupby([rows[column] for column in KEY], sort=False)
    return {tuple(map(str, key)): list(group) for key, group in groups}


def _extents(rows: pd.DataFrame, what: str) -> pd.Series[str]:
    x, y, z = (rows[f"{what}_{axis}"].astype("string").fillna(MISSING) for axis in "xyz")
    return x + "x" + y + "x" + z
