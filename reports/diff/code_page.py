"""Write the code of two revisions side by side: ``python -m reports.diff.code_page --out FOLDER``.

A file of each unified diff, and a page that shows them.
"""

from __future__ import annotations

import argparse
import html
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

import pandas as pd

from parsers.errors import CaptureError
from reports.__main__ import Parser, write
from reports.columns import Table
from reports.diff.code import CodeDiff, builds, code_diffs, paired
from reports.diff.launched import LaunchDiff, launch_diffs
from reports.diff.unified import KINDS, changed
from reports.format import MISSING, block, cell_code, code, count, escape, plural
from reports.frames import KEY, FramesError, read
from reports.render import page

SHOWN_LINES = 200
"""Lines of a diff that the page shows; its file has all."""

SHOWN_BLOCKS = 100
"""Diffs of kernels that the page shows, of those that differ from one another."""

LAUNCHES_FILE = "kernels.diff"


@dataclass
class Found:
    """What two revisions' code comes to.

    Attributes
    ----------
    builds, pairs
        How many compiled kernels, and pairs of variant and case, were compared.
    kernels, launches
        What differs in them.
    """

    builds: int = 0
    pairs: int = 0
    kernels: list[CodeDiff] = field(default_factory=list)
    launches: list[LaunchDiff] = field(default_factory=list)


def code_page(base: str, head: str, found: Found, notes: Iterable[str] = ()) -> dict[str, str]:
    """Write the diffs of code between two revisions.

    Parameters
    ----------
    base, head
        Their names.
    notes
        Lines of Markdown: what was left out, and why.

    Returns
    -------
    dict
        Text by path: ``<base>..<head>.code.md`` and ``.html``; in the folder of that name
        a file of each diff of a compiled kernel, and ``kernels.diff``, of launches.
    """
    name = f"{base}..{head}.code"
    paths = _paths(name, found.kernels)
    files = {
        path: _text([*one.notes, *one.lines])
        for path, one in zip(paths, found.kernels, strict=True)
    }
    blocks = list(_kernel_blocks(paths, found.kernels))
    launches = f"{name}/{LAUNCHES_FILE}"
    left = len(blocks) - SHOWN_BLOCKS
    context = {
        "title": f"Code: {code(base)} → {code(head)}",
        "summary": _summary(found),
        "builds": found.builds,
        "pairs": found.pairs,
        "notes": list(notes),
        "kernels": _kernels_table(paths, found.kernels),
        "kernel_blocks": blocks[:SHOWN_BLOCKS],
        "blocks_left": f"{plural(left, 'more diff')} stand in {code(name)}." if left > 0 else "",
        "launches": _launches_table(launches, found.launches),
        "launch_blocks": [_launch_block(launches, one) for one in found.launches],
    }
    files[launches] = _text(line for one in found.launches for line in one.lines)
    title = f"Code: {base} → {head}"
    return files | page(name, title, "code.md.j2", context, above=("diff",), unlinked=("diff",))


def _paths(folder: str, found: list[CodeDiff]) -> list[str]:
    """Name the file of each diff; names that come out alike are numbered."""
    paths: dict[str, None] = {}
    for one in found:
        above, _, kernel = one.build.file_name(one.kind).rpartition("/")
        stem, number = f"{folder}/{above}.{kernel}", 1
        path = f"{stem}.diff"
        while path in paths:
            number += 1
            path = f"{stem}-{number}.diff"
        paths[path] = None
    return list(paths)


def _text(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _summary(found: Found) -> str:
    differ = len({id(one.build) for one in found.kernels})
    said = [
        f"{count(part)} of {plural(whole, noun)} {verb}"
        for part, whole, noun, verb in (
            (differ, found.builds, "compiled kernel", "differ in code"),
            (len(found.launches), found.pairs, "pair", "of variant and case in what they launch"),
        )
        if whole
    ]
    return f"{'; '.join(said)}." if said else "Nothing was compared."


_ABOUT = ("operator", "variant", "case", "kernel", "arch")


def _kernels_table(paths: list[str], found: list[CodeDiff]) -> Table:
    """List the kernels whose code differs, with a link to each diff."""
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for path, one in zip(paths, found, strict=True):
        about = *(cell_code(one.build.row[column]) for column in _ABOUT), str(one.build.nth)
        rows.setdefault(about, {})[one.kind] = _link(path, one.lines)
    return Table(
        (
            "Operator",
            "Variant",
            "Case",
            "Kernel",
            "GPU",
            *(f"Lines of {kind.upper()}" for kind in KINDS),
        ),
        tuple(
            (*about[:-1], *(links.get(kind, MISSING) for kind in KINDS))
            for about, links in rows.items()
        ),
        left=len(_ABOUT),
    )


def _launches_table(path: str, found: list[LaunchDiff]) -> Table:
    rows = tuple((*map(cell_code, one.key), _link(path, one.lines)) for one in found)
    return Table(("Operator", "Variant", "Case", "Lines"), rows, left=3)


def _link(path: str, lines: list[str]) -> str:
    """Link to the file of a diff by how many lines it adds and removes."""
    return f"[{_size(lines)}]({quote(path)})"


def _size(lines: list[str]) -> str:
    added, removed = changed(lines)
    return f"+{added:,} -{removed:,}"


def _kernel_blocks(paths: list[str], found: list[CodeDiff]) -> Iterator[dict[str, Any]]:
    """Give what the page shows of each diff; those with the same lines share one."""
    alike: dict[tuple[str, ...], list[int]] = {}
    for at, one in enumerate(found):
        alike.setdefault((one.kind, *one.notes, *one.lines[2:]), []).append(at)
    for first, *others in alike.values():
        one = found[first]
        notes = [escape(note) for note in one.notes]
        if others:
            names = ", ".join(code(_name(found[at])) for at in others)
            notes.append(f"The same for {names}.")
        yield _block(_name(one), paths[first], one.lines, notes)


def _name(one: CodeDiff) -> str:
    row = one.build.row
    above = "/".join(str(row[column]) for column in _ABOUT[:-1])
    return f"{above}, {row['arch']}, {one.kind.upper()}"


def _launch_block(path: str, one: LaunchDiff) -> dict[str, Any]:
    return _block("/".join(one.key), path, one.lines, [])


def _block(name: str, path: str, lines: list[str], notes: list[str]) -> dict[str, Any]:
    """Return a folded diff: HTML of its summary, and Markdown of what it folds."""
    left = len(lines) - SHOWN_LINES
    where = f"[{escape(PurePosixPath(path).name)}]({quote(path)})"
    return {
        # Markdown is not read within a block of HTML, and a blank line would end it.
        "summary": html.escape(" ".join(f"{name}: {_size(lines)}".split())),
        "notes": notes,
        "block": block(lines[:SHOWN_LINES], "diff"),
        "rest": f"{plural(left, 'more line')} stand in {where}." if left > 0 else "",
    }


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return 2 after one ``error:`` line, else 0."""
    options = _options(arguments)
    try:
        files = code_page(
            options.base_name, options.head_name, _found(options), map(escape, options.note)
        )
        for path, text in files.items():
            write((options.out / path).parent, {PurePosixPath(path).name: text})
    except (CaptureError, FramesError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    return 0


def _found(options: argparse.Namespace) -> Found:
    found = Found()
    for base, head in zip(options.built[::2], options.built[1::2], strict=True):
        before, after = builds(base), builds(head)
        found.builds += len(list(paired(before, after)))
        found.kernels += code_diffs(before, after)
    for base, head in zip(options.launched[::2], options.launched[1::2], strict=True):
        old, new = (read(folder / "counters.parquet", "counters") for folder in (base, head))
        found.pairs += len(pd.concat([old, new])[KEY].dropna().drop_duplicates())
        found.launches += launch_diffs(old, new)
    return found


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = Parser(prog="python -m reports.diff.code_page", description=__doc__)
    parser.add_argument("--base-name", required=True, help="name of the base on the page")
    parser.add_argument("--head-name", required=True, help="name of the head on the page")
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    for name, what in (("built", "build captures"), ("launched", "frames")):
        parser.add_argument(
            f"--{name}",
            nargs="*",
            default=[],
            type=Path,
            metavar="FOLDER",
            help=f"for each operator, folders of {what} of base and head",
        )
    parser.add_argument(
        "--note", action="append", default=[], help="a line of plain text for the page"
    )
    options = parser.parse_args(arguments)
    for name in ("built", "launched"):
        if len(getattr(options, name)) % 2:
            parser.error(f"--{name} takes two folders for each operator, of base and of head")
    return options


if __name__ == "__main__":
    sys.exit(main())
