"""Frames of a deep profile → the page of one variant."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pandas as pd

from parsers.names import short_name
from parsers.stalls import STALLS
from reports import deep_tables, tables
from reports import hotspots as hot
from reports.advice import set_aside
from reports.format import (
    MISSING,
    block,
    code,
    count,
    duration,
    escape,
    listing,
    percent,
    plural,
)
from reports.frames import KEY, FramesError, read, records
from reports.notes import recorded
from reports.render import page

_WORTH_NAMING = 0.05
"""Share of the samples below which the headline leaves a reason out."""


@dataclass(frozen=True)
class Deep:
    """What is known of one variant by its deep profile: a frame a schema, of its name."""

    operator: str
    variant: str
    counters: pd.DataFrame
    hotspots: pd.DataFrame
    advice: pd.DataFrame
    runs: pd.DataFrame
    cases: pd.DataFrame
    variants: pd.DataFrame
    outcomes: pd.DataFrame


DEEP_FRAMES = tuple(f.name for f in fields(Deep) if f.name not in {"operator", "variant"})


def load_deep(folder: Path) -> Deep:
    """Read ``<frame>.parquet`` for each of `DEEP_FRAMES`.

    Raises
    ------
    FramesError
        As `reports.frames.read`, and when the frames are not of one operator and variant whose
        names can name a file.
    """
    frames = {name: read(folder / f"{name}.parquet", name) for name in DEEP_FRAMES}
    known = frames["outcomes"][["operator", "variant"]].drop_duplicates()
    if len(known) != 1:
        cause = f"outcomes of {plural(len(known), 'variant')}, expected one"
        raise FramesError(folder, cause, "parse the capture of one variant")
    operator, variant = map(str, known.iloc[0])
    for name in (operator, variant):
        if not re.fullmatch(r"\w[\w.-]*", name):
            raise FramesError(folder, f"{name!r} cannot name a file", "rename it")
    return Deep(operator, variant, **frames)


def deep_page(deep: Deep, source: str, *, stale: bool = False) -> dict[str, str]:
    """Write what one variant's deep profile shows: why it takes as long as it does, and where.

    Parameters
    ----------
    deep
        What is known of it.
    source
        ``"live"`` or ``"replay"``.
    stale
        Whether the operator's source has changed since it was measured.

    Returns
    -------
    dict
        Text by file name: ``<variant>.md`` and ``<variant>.html``.
    """
    advice = set_aside(deep.advice, deep.counters, deep.hotspots)
    known = dict.fromkeys(deep.cases["case"])
    ours = deep.variants[deep.variants["variant"] == deep.variant]
    measured = set(deep.counters["case"].dropna())
    runs = records(deep.runs)
    context = {
        "title": f"{escape(deep.operator)}: {escape(deep.variant)}, in depth",
        "operator": escape(deep.operator),
        "summaries": [escape(text) for text in ours["summary"].dropna()],
        "source": source,
        "recorded": recorded(deep.runs),
        "stale": stale,
        "source_file": code(f"kernels/{deep.operator}.py"),
        "parts": [_part(deep, advice, case) for case in known if case in measured],
        "absent": [_absent(deep, case) for case in known if case not in measured],
        "machine": tables.machine_table(runs, source),
        "passes": tables.passes_table(runs),
        "missing": MISSING,
    }
    title = f"{deep.operator}: {deep.variant}, in depth"
    return page(deep.variant, title, "deep.md.j2", context, above=(deep.operator,))


def _part(deep: Deep, advice: pd.DataFrame, case: str) -> dict[str, Any]:
    """Return what the template shows of one case."""
    counters, hotspots, said = (
        frame[(frame[KEY] == [deep.operator, deep.variant, case]).all(axis=1)]
        for frame in (deep.counters, deep.hotspots, advice)
    )
    kept, aside = deep_tables.advice_tables(said, counters)
    window = records(hot.around_hottest(hotspots))
    ptx = [row["ptx"] for row in window if row["ptx"] is not None]
    return {
        "heading": code(case),
        "headline": [*_time(counters), *_waits(hotspots), *_memory(hotspots, counters)],
        "launches": deep_tables.launches_table(counters, hotspots),
        "stalls": deep_tables.stalls_table(hotspots, counters),
        "lines": deep_tables.lines_table(hotspots),
        "instructions": deep_tables.instructions_table(hotspots),
        "sectors": deep_tables.sectors_table(hotspots),
        "conflicts": deep_tables.conflicts_table(hotspots),
        "note": _note(hotspots),
        "sass": _sass(window),
        "ptx": block(line for at, line in enumerate(ptx) if line not in ptx[at - 1 : at]),
        "has_ptx": bool(ptx),
        "kept": kept,
        "aside": aside,
    }


def _absent(deep: Deep, case: str) -> str:
    """Say why a case was not measured."""
    rows = records(deep.outcomes[deep.outcomes["case"] == case])
    why = next((f": {escape(row['reason'])}" for row in rows if row["reason"] is not None), "")
    status = next((escape(row["status"]) for row in rows), "no outcome")
    return f"{code(case)} was not measured ({status}{why})."


def _time(counters: pd.DataFrame) -> list[str]:
    """Say how long the launches took, and which was the longest."""
    rows = records(counters.sort_values("duration_ns", ascending=False, kind="stable"))
    times = [row["duration_ns"] for row in rows]
    whole = None if None in times else sum(times)
    longest = code(short_name(rows[0]["kernel_demangled"]))
    if len(rows) == 1:
        return [f"One launch, of {longest}, took {duration(whole)} under the profiler."]
    share = percent(times[0] / whole) if whole else MISSING
    return [
        f"{plural(len(rows), 'launch')[:-1]}es took {duration(whole)} under the profiler; the "
        f"longest, #{rows[0]['launch']}, of {longest}, {share} of that."
    ]


def _waits(hotspots: pd.DataFrame) -> list[str]:
    """Say what warps wait for most, and where."""
    number = hot.total(hotspots)
    if number is None:
        return []
    shares = {
        reason: float(hotspots[column].sum()) / number
        for column, reason in hot.REASONS.items()
        if reason not in hot.ISSUING
    }
    ranked = sorted(shares.items(), key=lambda item: -item[1])
    named = [
        f"{percent(share)} were {STALLS[reason]} ({code(reason)})"
        for reason, share in ranked[:3]
        if share >= _WORTH_NAMING
    ]
    said = f"Of {count(number)} samples of its warps, {listing(named)}." if named else ""
    place = records(hot.lines(hotspots).head(1))
    where = [
        f"The hottest line is {code(row['file'])}, {row['line']}, with {percent(row['share'])} of "
        "the samples."
        for row in place
    ]
    return [*([said] if said else []), *where]


def _memory(hotspots: pd.DataFrame, counters: pd.DataFrame) -> list[str]:
    """Say how much more sectors and wavefronts there are than is ideal."""
    said = []
    for noun, what, ideal in (
        (
            "sectors that addresses in global memory ask for",
            "global_sectors",
            "global_ideal_sectors",
        ),
        ("wavefronts of shared memory", "shared_wavefronts", "shared_ideal_wavefronts"),
    ):
        needed, fewest = hotspots[what].sum(min_count=1), hotspots[ideal].sum(min_count=1)
        if pd.isna(needed) or pd.isna(fewest) or needed == 0:
            continue
        over = float(needed - fewest) / float(needed)
        share = f"{percent(over)} are more than would do" if over > 0 else "none is too many"
        said.append(f"Of {count(needed)} {noun}, {share}.")
    tma = counters[["tma_load_bytes", "tma_store_bytes"]].sum().sum()
    if tma > 0:
        said.append("Blocks come or go by TMA, whose accesses are not judged by instruction.")
    return said


def _note(hotspots: pd.DataFrame) -> str:
    """Say what the report lacks."""
    if hotspots.empty:
        return "The report holds nothing by instruction: it needs the section SourceCounters."
    if hotspots["sass"].isna().all():
        return "The report holds no SASS: it was taken with `--import-sass off`."
    if hotspots["file"].isna().all():
        return "The kernel was built without line information."
    return ""


def _sass(window: list[dict[str, Any]]) -> str:
    """Return instructions as code: address, samples, text."""
    return block(
        f"{row['offset_bytes']:#8x} {row['samples'] or 0:>8,}  {row['sass']}" for row in window
    )
