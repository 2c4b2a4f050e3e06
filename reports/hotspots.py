"""What a kernel waits for and where: pure functions of the frame ``hotspots``."""

from __future__ import annotations

import pandas as pd

from parsers.stalls import STALLS

REASONS = {f"{reason}_samples": reason for reason in STALLS}
ISSUING = ("selected", "not_selected")
"""Reasons of warps that wait for nothing: they issue, or could."""

_WAITING = [column for column, reason in REASONS.items() if reason not in ISSUING]


def stalls(hotspots: pd.DataFrame, counters: pd.DataFrame) -> pd.DataFrame:
    """Share samples out over the reasons of stalls, the most frequent first.

    Parameters
    ----------
    hotspots, counters
        Frames of one variant and case.

    Returns
    -------
    DataFrame
        ``reason``, ``meaning``, ``samples``, ``share`` of all samples, and ``cycles``: how many
        cycles warps are so for each instruction issued, by counters, the mean over launches
        weighted with their instructions. A reason that neither has is left out.
    """
    samples = hotspots[list(REASONS)].sum(min_count=1).rename(index=REASONS)
    weights = counters["instructions"].astype("Float64")
    cycles = {
        reason: (counters[f"stall_{reason}_cycles"] * weights).sum(min_count=1)
        / weights.where(counters[f"stall_{reason}_cycles"].notna()).sum(min_count=1)
        for reason in STALLS
    }
    table = pd.DataFrame(
        {
            "reason": list(STALLS),
            "meaning": list(STALLS.values()),
            "samples": samples.reindex(list(STALLS)).to_numpy(),
            "cycles": list(cycles.values()),
        }
    ).astype({"samples": "Float64", "cycles": "Float64"})
    table["share"] = table["samples"] / (total(hotspots) or 1)
    seen = table["samples"].fillna(0).gt(0) | table["cycles"].round(2).fillna(0).gt(0)
    return table[seen].sort_values(["samples", "cycles"], ascending=False, ignore_index=True)


def total(hotspots: pd.DataFrame) -> float | None:
    """Return the number of samples; None where there is none."""
    number = hotspots["samples"].sum(min_count=1)
    return float(number) if pd.notna(number) and number > 0 else None


def main_reason(rows: pd.DataFrame) -> pd.Series:
    """Return of each row the reason for which most of its samples wait; NA where none does."""
    if rows.empty:
        return pd.Series(index=rows.index, dtype="string")
    waiting = rows[_WAITING].astype("Float64").fillna(0).astype(float)
    reasons = waiting.idxmax(axis=1).map(REASONS).astype("string")
    return reasons.where(waiting.max(axis=1) > 0)


def by_launch(hotspots: pd.DataFrame) -> pd.DataFrame:
    """Return of each launch its samples, its ``main_reason`` and that one's ``reason_share``."""
    sums = hotspots.groupby("launch")[["samples", *REASONS]].sum(min_count=1)
    most = sums[_WAITING].astype("Float64").max(axis=1)
    shown = sums[["samples"]].assign(main_reason=main_reason(sums))
    return shown.assign(reason_share=(most / sums["samples"]).where(sums["samples"] > 0))


def lines(hotspots: pd.DataFrame) -> pd.DataFrame:
    """Add samples up over the source lines that instructions come from, the hottest first.

    Returns
    -------
    DataFrame
        ``kernel``, ``file``, ``line``, ``source``, ``samples``, ``share`` of all samples and
        ``main_reason``; instructions without a line are left out, lines without samples too.
    """
    groups = hotspots.dropna(subset=["file", "line"]).groupby(["kernel", "file", "line"])
    sums = groups[["samples", *REASONS]].sum(min_count=1)
    found = sums.assign(main_reason=main_reason(sums), source=groups["source"].first())
    found = found.reset_index().assign(share=lambda rows: rows["samples"] / (total(hotspots) or 1))
    return _hottest(found)


def instructions(hotspots: pd.DataFrame) -> pd.DataFrame:
    """Return the instructions with samples, the hottest first, with `lines`' last two columns."""
    found = hotspots.assign(
        share=hotspots["samples"] / (total(hotspots) or 1), main_reason=main_reason(hotspots)
    )
    return _hottest(found)


def _hottest(rows: pd.DataFrame) -> pd.DataFrame:
    sampled = rows[rows["samples"].fillna(0) > 0]
    return sampled.sort_values("samples", ascending=False, kind="stable", ignore_index=True)


def excess(hotspots: pd.DataFrame, what: str, ideal: str) -> pd.DataFrame:
    """Return the instructions that need more of something than is ideal, the most first.

    Parameters
    ----------
    what, ideal
        Columns of the frame: sectors or wavefronts, and the fewest.

    Returns
    -------
    DataFrame
        Columns of the frame; ``excess``: how many too many; ``excess_share``: of its own;
        ``total_share``: excess over what all instructions need.
    """
    over = hotspots[what] - hotspots[ideal]
    found = hotspots.assign(
        excess=over,
        excess_share=over / hotspots[what].where(hotspots[what] > 0),
        total_share=over / max(1, hotspots[what].sum()),
    )
    found = found[found["excess"].fillna(0) > 0]
    return found.sort_values("excess", ascending=False, kind="stable", ignore_index=True)


def around_hottest(hotspots: pd.DataFrame, reach: int = 8) -> pd.DataFrame:
    """Return the hottest instruction and its neighbours in the launch, by address."""
    texts = hotspots[hotspots["sass"].notna()]
    if total(texts) is None:
        return texts.head(0)
    hottest = texts.sort_values("samples", ascending=False, kind="stable").iloc[0]
    same = texts[texts["launch"].eq(hottest["launch"])].sort_values("offset_bytes")
    position = int(same["offset_bytes"].lt(hottest["offset_bytes"]).sum())
    first = max(0, position - reach)
    return same.iloc[first : position + reach + 1].reset_index(drop=True)
