"""What the verdict of each variant is drawn from: the comparison, the counters and the timeline.

Every value keeps its pass: durations of one are never set against those of another, but to say
that two passes contradict each other.
"""

from __future__ import annotations

import pandas as pd

from parsers.rollup import roll_up
from reports import chips, limits, roofline, timing, waves
from reports.frames import KEY, Frames, records
from reports.launches import between
from reports.occupancy import SMS, asked, relief

_PAIR = ["variant", "case"]


def gather(frames: Frames, compared: pd.DataFrame) -> pd.DataFrame:
    """Put beside each row of the comparison frame what explains it.

    Returns
    -------
    DataFrame
        The rows of ``compared`` with: every counter, rolled up (`parsers.rollup.roll_up`);
        ``parts_limit`` and ``parts_share``: what limits most of its kernel time, by launch, and how
        much of it, and ``part_<column>``: the counters of those launches alone;
        ``nsys_<column>``: `reports.launches.between`; ``wave_<column>``: `reports.waves` of its
        longest launch, and ``more_<field>``: what one block more of it on an SM would take
        (`reports.occupancy.relief`); ``roof_<column>``: `reports.roofline.place` under the
        datasheet's roof, ``measured_<column>``: the same of the time pass, under the measured roof;
        ``asked_over_fewest``: the bytes that kernels ask the memory system for, of all sectors and
        of TMA, over the fewest; ``tma_share``: that of TMA among them; ``wave_loss``: what the last
        wave leaves unused; ``floor_ns``: what the timer reads for nothing; ``triton``: whether the
        build pass compiled kernels of it; ``opcodes``: its tensor-core instructions in the build
        for this GPU.
    """
    counters = frames.counters.dropna(subset=KEY)
    rolled = frames.rolled
    added = [
        rolled.drop(columns=[c for c in rolled if c in compared and c not in KEY]),
        _parts(counters),
        _longest(counters),
        between(frames.timeline).rename(columns=lambda c: c if c in _PAIR else f"nsys_{c}"),
        _opcodes(frames),
    ]
    frame = compared
    for more in added:
        frame = frame.merge(more, on=[c for c in KEY if c in more], how="left")
    frame = frame.assign(**_asked(frame), wave_loss=1 - frame["wave_efficiency"])
    built = frames.builds["variant"].dropna().unique()
    frame["triton"] = frame["variant"].isin(built)
    frame["floor_ns"] = pd.Series(timing.floor(frames.ceilings), frame.index, dtype="Float64")
    return pd.concat([frame, *_roofs(frames, frame, compared)], axis="columns")


def _asked(frame: pd.DataFrame) -> dict[str, pd.Series]:
    """Return the bytes asked for, before any cache, over the fewest, and the share of TMA."""
    sectors = (frame["global_load_sectors"] + frame["global_store_sectors"]).astype("Float64")
    carried = (frame["tma_load_bytes"].fillna(0) + frame["tma_store_bytes"].fillna(0)).where(
        sectors.notna()
    )
    whole = sectors * limits.SECTOR_BYTES + carried
    least = frame["min_bytes"].where(frame["min_bytes"] > 0)
    share = (carried / whole.where(whole > 0)).where(carried > 0)
    return {"asked_over_fewest": whole / least, "tma_share": share}


def _parts(counters: pd.DataFrame) -> pd.DataFrame:
    """Roll up the launches of each variant by what limits them; keep the kind with most time."""
    parts = roll_up(counters.assign(limit=limits.of_launches(counters)), [*KEY, "limit"])
    total = parts.groupby(KEY)["duration_ns"].transform("sum").astype("Float64")
    parts["share"] = (parts["duration_ns"] / total).where(total > 0)
    first = parts.sort_values("share", ascending=False, kind="stable").drop_duplicates(KEY)
    named = {"limit": "parts_limit", "share": "parts_share"}
    return first.rename(columns=lambda c: c if c in KEY else named.get(c, f"part_{c}"))


def _longest(counters: pd.DataFrame) -> pd.DataFrame:
    """Return waves and relief of the longest launch of each variant."""
    filled = counters[KEY].join(waves.of_launches(counters).add_prefix("wave_"))
    order = counters["duration_ns"].sort_values(ascending=False, kind="stable").index
    longest = ~counters.loc[order, KEY].duplicated().reindex(counters.index)
    rows = records(counters[longest])
    eased = []
    for row in rows:
        launch = asked(row) if row["compute_capability"] in SMS else None
        more = None if launch is None else relief(row["compute_capability"], launch)
        fields = ("blocks", "pct", "registers", "shared")
        eased.append({f"more_{name}": getattr(more, name, None) for name in fields})
    extra = pd.DataFrame(eased, index=counters.index[longest], dtype="Float64")
    columns = [f"more_{name}" for name in ("blocks", "pct", "registers", "shared")]
    return filled[longest].join(extra.reindex(columns=columns))


def _opcodes(frames: Frames) -> pd.DataFrame:
    """Return the tensor-core instructions of each build for this GPU."""
    capabilities = frames.runs["compute_capability"].dropna()
    arch = "" if capabilities.empty else f"sm_{str(capabilities.iloc[0]).replace('.', '')}"
    builds = frames.builds[frames.builds["arch"] == arch].dropna(subset=["tensor_opcodes"])
    words = builds.groupby(_PAIR)["tensor_opcodes"].agg(lambda texts: " ".join(sorted(set(texts))))
    return words.astype("string").rename("opcodes").reset_index()


def _roofs(frames: Frames, frame: pd.DataFrame, compared: pd.DataFrame) -> list[pd.DataFrame]:
    """Place the variants under the datasheet's roof by counters, under the measured by the time."""
    chip = chips.of_runs(frames.runs)
    stated = roofline.Roof("unknown", None) if chip is None else roofline.datasheet(chip)
    points = roofline.modelled(compared, frames.cases)
    placed = []
    for case, rows in points.groupby(compared["case"], sort=False):
        timed = frames.ceilings[frames.ceilings["case"].eq(case)]
        peaks = roofline.matmul_peaks(timed, frames.cases)
        placed.append(roofline.place(rows, roofline.measured(frames.ceilings, peaks)))
    reached = pd.concat(placed) if placed else roofline.place(points, stated)
    counted = roofline.place(roofline.counted(frame), stated)
    return [counted.add_prefix("roof_"), reached.reindex(frame.index).add_prefix("measured_")]
