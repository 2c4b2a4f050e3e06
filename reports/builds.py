"""What the compiler made of the Triton kernels: the table of builds, and which of them spill."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from reports.columns import Table, counts, json_words, names, table, texts
from reports.format import MISSING, code, count, escape, listing, plural, short_commit
from reports.frames import Row, records
from reports.render import page


def builds_page(builds: pd.DataFrame, runs: pd.DataFrame) -> dict[str, str]:
    """Write what an operator compiles to here. Returns text by file name.

    Parameters
    ----------
    builds, runs
        Frames of a build of the present checkout; the operator is that of ``runs``.
    """
    run = records(runs)[0]
    name = run["operator"]
    context = {
        "title": escape(name),
        "source_file": code(f"kernels/{name}.py"),
        "toolchain": listing(
            f"{tool} {escape(run[key])}"
            for tool, key in (("Triton", "triton"), ("torch", "torch"), ("Python", "python"))
            if run[key] is not None
        ),
        "commit": MISSING if run["commit"] is None else code(short_commit(run["commit"])),
        "builds": builds_table(records(builds)),
        "missing": MISSING,
    }
    return page(f"{name}.builds", f"{name}: builds", "builds.md.j2", context)


def builds_table(rows: list[Row]) -> Table:
    """Tabulate what the compiler made of each Triton kernel and architecture.

    Rows that are alike but for the case are joined: kernels tuned at run time would else fill
    hundreds. A note below the table names the kernels that spill.
    """
    listed = table(
        [
            names(rows, "case", "Case"),
            names(rows),
            names(rows, "kernel", "Kernel"),
            texts("Arch", rows, "arch"),
            texts("Status", rows, "status"),
            counts("Registers", rows, "registers_per_thread"),
            counts("Stack, B", rows, "stack_bytes"),
            counts("Shared, B", rows, "shared_bytes"),
            counts("Threads", rows, "threads_per_block"),
            counts("Spill loads", rows, "spill_loads"),
            counts("Spill stores", rows, "spill_stores"),
            counts("Load, bit", rows, "load_bits"),
            counts("Store, bit", rows, "store_bits"),
            counts("Tensor", rows, "tensor_instructions"),
            counts("SASS", rows, "sass_instructions"),
            texts("Config", rows, "config", json_words),
            texts("Triton", rows, "triton"),
            texts("Reason", rows, "reason"),
        ],
        left=5,
    )
    return replace(listed, rows=_joined(listed.rows), note=spilling(rows))


def _joined(rows: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
    """Join rows that are alike but for their first cell, the case; the first decides the order."""
    cases = dict.fromkeys(row[0] for row in rows)
    groups: dict[tuple[str, ...], dict[str, None]] = {}
    for row in rows:
        groups.setdefault(row[1:], {})[row[0]] = None
    whole = f"all {len(cases)} cases"
    return tuple(
        (whole if 1 < len(cases) == len(held) else ", ".join(held), *rest)
        for rest, held in groups.items()
    )


def spilling(rows: list[Row]) -> str:
    """Say in one sentence of Markdown which kernels spill, by local accesses in their SASS."""
    if not rows:
        return ""
    kernels: dict[str, list[int | None]] = {}
    for row in rows:
        known = None not in {row["spill_loads"], row["spill_stores"]}
        name = f"{code(row['kernel'])} of {code(row['variant'])}"
        spills = row["spill_loads"] + row["spill_stores"] if known else None
        kernels.setdefault(name, []).append(spills)
    said = [
        f"{name} in {sum(n > 0 for n in known)} of {len(known)}, "
        f"with at most {count(max(known))} loads plus stores"
        for name, known in ((k, [n for n in v if n is not None]) for k, v in kernels.items())
        if any(known)
    ]
    unknown = sum(n is None for spills in kernels.values() for n in spills)
    lost = f"; of {plural(unknown, 'build')} that is not known" if unknown else ""
    if unknown == len(rows):
        return "Whether a kernel spills registers is not known (build pass)."
    if not said:
        return f"No kernel spills registers (build pass){lost}."
    return f"Builds that spill registers (build pass): {listing(said)}{lost}."
