"""One row a launch: what Nsight Compute counted beside how long Nsight Systems saw it run."""

from __future__ import annotations

import pandas as pd

from parsers.names import short_name
from reports.frames import KEY, records

_LAUNCH = [*KEY, "launch", "kernel"]


def launch_table(counters: pd.DataFrame, timeline: pd.DataFrame) -> pd.DataFrame:
    """Join the launches of the ncu pass and of the nsys pass.

    Launches are matched by their position in the range and by their kernel: where the passes
    disagree, both rows stay and show what is missing on either side.

    Returns
    -------
    pandas.DataFrame
        Columns of ``counters``, and ``name``: the kernel's short name; ``ncu_ns``: duration in the
        ncu pass; ``nsys_ns``: median duration over the repeats of the nsys pass, both in ns;
        ``nsys_spread``: interquartile range of these over their median; NA below two repeats;
        ``share``: of the variant's kernel time, by nsys where it saw every launch of the variant,
        else by ncu; ``share_pass``: which.
    """
    counted = counters.dropna(subset=KEY).rename(columns={"duration_ns": "ncu_ns"})
    seen = timeline.dropna(subset=KEY).groupby(_LAUNCH, dropna=False, sort=False)
    medians = seen.agg(
        nsys_ns=("duration_ns", "median"),
        nsys_demangled=("kernel_demangled", "first"),
        repeats=("duration_ns", "count"),
    )
    first, third = (seen["duration_ns"].quantile(q) for q in (0.25, 0.75))
    spread = ((third - first) / medians["nsys_ns"]).where(medians["repeats"] > 1)
    medians["nsys_spread"] = spread.astype("Float64")
    medians = medians.drop(columns="repeats").reset_index()
    joined = counted.merge(medians, on=_LAUNCH, how="outer", sort=False)
    joined["nsys_ns"] = joined["nsys_ns"].astype("Float64")
    names = joined["kernel_demangled"].fillna(joined["nsys_demangled"])
    joined["name"] = names.map(short_name).astype("string")
    shares = {p: _share(joined, f"{p}_ns") for p in ("nsys", "ncu")}
    joined["share"] = shares["nsys"].fillna(shares["ncu"])
    joined["share_pass"] = pd.array(
        [
            "nsys" if by_nsys else "ncu" if by_ncu else pd.NA
            for by_nsys, by_ncu in zip(shares["nsys"].notna(), shares["ncu"].notna(), strict=True)
        ],
        dtype="string",
    )
    return joined.drop(columns="nsys_demangled").sort_values([*KEY, "launch"], kind="stable")


def _share(launches: pd.DataFrame, column: str) -> pd.Series[float]:
    """Return each launch's part of its variant's total; NA where one launch has no duration."""
    groups = launches.groupby(KEY, sort=False)[column]
    total = groups.transform("sum").astype("Float64")
    complete = launches[column].notna().groupby([launches[k] for k in KEY]).transform("all")
    return (launches[column].astype("Float64") / total).where(complete & total.gt(0))


def launches_per_repeat(timeline: pd.DataFrame) -> dict[tuple[str, str], list[int]]:
    """Return how many launches nsys saw in each repeat of a (variant, case)."""
    rows = timeline.dropna(subset=KEY)
    sizes = rows.groupby(["variant", "case", "repeat"], dropna=False).size()
    counts: dict[tuple[str, str], list[int]] = {}
    for row in records(sizes.rename("size").reset_index()):
        counts.setdefault((row["variant"], row["case"]), []).append(int(row["size"]))
    return counts


def between(timeline: pd.DataFrame) -> pd.DataFrame:
    """Measure what lies between the launches of a range, by nsys; the medians over its repeats.

    Returns
    -------
    pandas.DataFrame
        By ``variant`` and ``case``, all Float64: ``span_ns``: from the start of the first to the
        end of the last launch; ``busy_ns``: of that, the time in which any of them ran;
        ``idle_share``: the rest, as a share; the profiler lengthens launches, so it is an upper
        bound; ``gap_ns``: median time in which none ran before a launch, NA for one launch alone;
        ``api_ns``: time of the CPU's launching calls, summed over the range.
    """
    names = ["variant", "case", "repeat"]
    rows = timeline.dropna(subset=[*KEY, "start_ns"]).sort_values("start_ns")
    spans = rows[[*names, "api_duration_ns"]].assign(
        start=rows["start_ns"], end=rows["start_ns"] + rows["duration_ns"]
    )
    spans["latest"] = spans.groupby(names, dropna=False)["end"].cummax()
    before = spans.groupby(names, dropna=False)["latest"].shift()
    spans["gap"] = (spans["start"] - before).clip(lower=0)
    groups = spans.groupby(names, dropna=False)
    ranges = groups.agg(
        gaps=("gap", "sum"), gap_ns=("gap", "median"), first=("start", "min"), last=("end", "max")
    )
    ranges["api_ns"] = groups["api_duration_ns"].sum(min_count=1)
    whole = ranges["last"] - ranges["first"]
    ranges["span_ns"], ranges["busy_ns"] = whole, whole - ranges["gaps"]
    ranges["idle_share"] = (ranges["gaps"] / whole).where(whole > 0, 0.0)
    kept = ranges[["span_ns", "busy_ns", "idle_share", "gap_ns", "api_ns"]].astype("Float64")
    return kept.groupby(level=["variant", "case"]).median().reset_index()


def idle_shares(timeline: pd.DataFrame) -> dict[tuple[str, str], float]:
    """Return the share of a range's time on the GPU in which no kernel of it ran (`between`)."""
    rows = records(between(timeline).dropna(subset=["idle_share"]))
    return {(row["variant"], row["case"]): float(row["idle_share"]) for row in rows}
