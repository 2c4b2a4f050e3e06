"""Frames → the files of an operator's page: Markdown, HTML and figures, by file name."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pandas as pd

from reports import analysis, tables
from reports.answers import answers_table
from reports.bottleneck import Bottleneck, diagnose
from reports.builds import builds_table
from reports.checks import checks_table
from reports.columns import Table
from reports.coverage import coverage_of
from reports.evidence import gather
from reports.figures import bytes_figure, time_figure
from reports.format import (
    MISSING,
    TIMES,
    code,
    escape,
    listing,
    plural,
    quantity,
)
from reports.frames import Frames, Row, records
from reports.index import rows_by_case, verdict_cells, verdicts_of
from reports.launches import launch_table
from reports.notes import reading_table, recorded
from reports.plots import choice, gallery
from reports.render import page
from reports.status import cases, variants
from reports.summary import compare
from reports.timing import floor
from reports.verdict import Verdict


def operator_page(
    frames: Frames,
    source: str,
    *,
    stale: bool = False,
    comparison: pd.DataFrame | None = None,
    deep: Collection[str] = (),
) -> dict[str, str]:
    """Write one operator's comparison.

    Parameters
    ----------
    frames
        What is known of it.
    source
        ``"live"`` or ``"replay"``.
    stale
        Whether the operator's source has changed since it was measured.
    comparison
        The frame that `compare` makes of ``frames``, where it is at hand.
    deep
        Names of the variants whose deep profile has a page, ``<op>/<variant>.md``.

    Returns
    -------
    dict
        Text by file name: ``<op>.md``, ``<op>.html``, ``<op>.time.svg``, ``<op>.bytes.svg``, and
        one more figure of each of `reports.plots.gallery.KINDS`.
    """
    by_case = rows_by_case(
        frames, gather(frames, compare(frames) if comparison is None else comparison)
    )
    name = frames.operator
    figures = {
        f"{name}.time.svg": time_figure(by_case),
        f"{name}.bytes.svg": bytes_figure(by_case),
    }
    drawn = gallery.plots(frames, by_case)
    figures |= {gallery.file_name(name, kind): plot.svg for kind, plot in drawn.items()}
    context = _context(frames, by_case, source)
    context |= {"stale": stale, "variants": _variants(frames, deep)}
    context |= {"plots": gallery.shown(name, drawn, by_case)}
    return page(name, name, "operator.md.j2", context, figures)


def _context(frames: Frames, by_case: dict[str, list[Row]], source: str) -> dict[str, Any]:
    """Return what the template of an operator's page shows."""
    found = {case: diagnose(rows) for case, rows in by_case.items()}
    verdicts, name = verdicts_of(frames, by_case, found), frames.operator
    return {
        "title": escape(name),
        "computes": [escape(text) for text in frames.runs["summary"].dropna().unique()[:1]],
        "summary": _summary(frames),
        "source": source,
        "recorded": recorded(frames.runs),
        "source_file": code(f"kernels/{name}.py"),
        "sources": frames.runs["source_sha256"].nunique(),
        "apart": listing(code(name) for name in _measured_apart(frames)),
        "figures": {"time": f"{name}.time.svg", "bytes": f"{name}.bytes.svg"},
        "glance": _glance(verdicts, found),
        "answers": _answers(by_case, found),
        "parts": _parts(frames, by_case, verdicts, found),
        "build_note": _build_note(frames),
        "times": TIMES,
        "missing": MISSING,
        "reading": reading_table(),
        **_appendix(frames, source),
    }


def _glance(verdicts: list[Verdict], found: dict[str, list[Bottleneck]]) -> Table:
    rows = []
    for verdict in verdicts:
        case, fastest, *others = verdict_cells(verdict)
        kinds = {one.variant: str(one.kind) for one in found[verdict.case]}
        limit = kinds.get(verdict.fastest[0], MISSING) if verdict.fastest else MISSING
        rows.append((case, fastest, limit, *others))
    headers = ("Case", "Fastest", "Limit", "Speed-up [95 %]", "Of equal copy")
    return Table(headers, tuple(rows), left=3)


def _answers(
    by_case: dict[str, list[Row]], found: dict[str, list[Bottleneck]]
) -> dict[str, Any] | None:
    """Return the main case and what is asked of its variants; None without such a case."""
    main = choice.main_case(by_case)
    if main is None:
        return None
    table = answers_table(by_case[main], found[main])
    return {"case": code(main), "rule": choice.RULE, "table": table}


def _parts(
    frames: Frames,
    by_case: dict[str, list[Row]],
    verdicts: list[Verdict],
    found: dict[str, list[Bottleneck]],
) -> list[dict[str, Any]]:
    order = {name: i for i, name in enumerate(variants(frames))}
    launches = records(launch_table(frames.counters, frames.timeline))
    launches.sort(key=lambda row: order.get(row["variant"], len(order)))
    facts = {row["case"]: _facts(row) for row in records(frames.cases)}
    parts = []
    for verdict in verdicts:
        rows = by_case[verdict.case]
        parts.append(
            {
                "heading": code(verdict.case),
                "facts": facts.get(verdict.case, "Its sizes are not recorded."),
                "verdict": verdict,
                "time": tables.time_table(rows, floor(frames.ceilings)),
                "limits": analysis.limits_table(found[verdict.case]),
                "unseen": analysis.unseen(found[verdict.case]),
                "memory": analysis.memory_table(rows),
                "coalescing": analysis.coalescing_table(rows),
                "below_fewest": any((row["amplification"] or 1) < 1 for row in rows),
                "occupancy": analysis.occupancy_table(rows),
                "throughput": analysis.throughput_table(rows),
                "compute": analysis.compute_table(rows),
                "between": analysis.between_table(rows),
                "launches": tables.launches_table(
                    [row for row in launches if row["case"] == verdict.case]
                ),
            }
        )
    return parts


def _facts(case: Row) -> str:
    """Say what a case is, and the least that it takes by the cost model."""
    least = (
        f"at least {quantity(case['min_read_bytes'], 'B')} to read, "
        f"{quantity(case['min_write_bytes'], 'B')} to write, "
        f"{quantity(case['flops'], 'FLOP')} (model)"
    )
    words = [*_extents(case), case["dtype"], *(case["labels"] or "").split()]
    return f"Input: {', '.join(map(escape, words))}; {least}."


def _extents(case: Row) -> list[str]:
    """Return each extent with its name, or the shape where the names do not fit it."""
    axes, extents = (case["axes"] or "").split(), case["shape"].split("x")
    if len(axes) != len(extents):
        return [f"shape {case['shape']}"]
    return [f"{axis} {extent}" for axis, extent in zip(axes, extents, strict=True)]


def _variants(frames: Frames, deep: Collection[str]) -> list[str]:
    return [
        f"{code(row['variant'])}{', the baseline' if row['baseline'] else ''}: "
        f"{escape(row['summary'])}{_link(frames.operator, row['variant'], deep)}"
        for row in records(frames.variants)
    ]


def _link(operator: str, variant: str, deep: Collection[str]) -> str:
    return f" ([in depth]({operator}/{variant}.md))" if variant in deep else ""


def _appendix(frames: Frames, source: str) -> dict[str, Any]:
    runs = records(frames.runs)
    return {
        "coverage": coverage_of(frames.coverage, frames.flags),
        "checks": checks_table(frames.checks, frames.cases),
        "builds": builds_table(records(frames.builds)),
        "machine": tables.machine_table(runs, source),
        "passes": tables.passes_table(runs),
    }


def _measured_apart(frames: Frames) -> list[str]:
    """Return the passes in which each variant ran in a process of its own."""
    alone = '"each_variant_alone": true'
    return [run["pass"] for run in records(frames.runs) if alone in (run["settings"] or "")]


def _summary(frames: Frames) -> str:
    number = plural(len(variants(frames)), "variant")
    gpus = [escape(gpu) for gpu in frames.runs["gpu"].dropna().unique()]
    where = f", measured on {listing(gpus)}" if gpus else ""
    return f"{number} of {code(frames.operator)} in {plural(len(cases(frames)), 'case')}{where}."


def _build_note(frames: Frames) -> str:
    said = "What the recorded toolchain compiled, for each architecture"
    versions = [escape(v) for v in frames.builds["triton"].dropna().unique()]
    note = f"{said}: Triton {listing(versions)}." if versions else f"{said}."
    passes = {run["pass"]: run for run in records(frames.runs)}
    measured = escape(passes.get("ncu", {}).get("triton") or "")
    others = [measured] if versions and measured and measured not in versions else []
    return f"{note} The counters are of kernels by Triton {listing(others)}." if others else note
