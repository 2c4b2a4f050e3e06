"""Write what the page of history is made of: ``python -m workflows.history --gpu GPU --out FILE``.

The file, JSON, lists revisions, the folder of frames of each point of an operator, and notes. Of
each capture it is asked first whether the parsers take it: its contract, its tables, and the hashes
of its reports. One that they refuse becomes a note, so that no job is started that would fail.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from parsers.captures import parse_pass, parse_runs, read_run, verify
from parsers.errors import CaptureError
from workflows.checkouts import checked_out
from workflows.git import RevisionError
from workflows.lineage import Lineage, trace
from workflows.revisions import CAPTURES, Revision

REPORTS = ("nsys", "ncu")
"""Passes whose reports take long to parse: their hashes alone are checked."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return 0, or 2 with one ``error:`` line."""
    options = _options(arguments)
    root = Path.cwd()
    try:
        lineage = trace(
            options.gpu,
            options.passes,
            root,
            options.base,
            options.operators,
            on_disk=options.on_disk,
        )
        content = readable(lineage, options.gpu, options.passes, root)
        options.out.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    except (RevisionError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    return 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m workflows.history", description=__doc__)
    parser.add_argument("--gpu", required=True, help="folder of captures/")
    parser.add_argument("--passes", nargs="+", required=True, help="those that a capture has")
    parser.add_argument("--operators", nargs="*", default=[], help="those to list; all without")
    parser.add_argument("--base", help="revision to begin with")
    parser.add_argument("--on-disk", action="store_true", help="with the files on disk as the last")
    parser.add_argument("--out", type=Path, required=True, help="file to write")
    return parser.parse_args(arguments)


def readable(lineage: Lineage, gpu: str, passes: Collection[str], root: Path) -> dict[str, Any]:
    """Return what the page is made of: a lineage without the captures that the parsers refuse.

    Parameters
    ----------
    passes
        Those of each capture.

    Returns
    -------
    dict
        ``commits``: name, date and subject of each; ``points``: by operator, the commit and the
        folder of frames of each; ``notes``: a line for whatever was left out.
    """
    refused: dict[tuple[str, str], str] = {}
    for commit in lineage.commits:
        name = commit.revision.name
        firsts = {
            operator
            for operator, points in lineage.points.items()
            if any(point.first == name for point in points)
        }
        if firsts:
            with _source(commit.revision, root) as source:
                for operator in sorted(firsts):
                    folder = Path(CAPTURES, gpu, operator)
                    if said := _refusal(source, [folder / one for one in passes]):
                        refused[operator, name] = said
    return {
        "commits": [
            {"name": one.revision.name, "date": one.date, "subject": one.subject}
            for one in lineage.commits
        ],
        "points": {
            operator: [
                {"commit": one.at, "frames": f"results/{one.first}/{gpu}/frames/{operator}"}
                for one in points
                if (operator, one.first) not in refused
            ]
            for operator, points in sorted(lineage.points.items())
        },
        "notes": [
            *lineage.notes,
            *(f"revision {name}: {said}." for (_, name), said in refused.items()),
        ],
    }


@contextmanager
def _source(revision: Revision, root: Path) -> Iterator[Path]:
    """Give the folder of a revision's files, for as long as the block runs."""
    if revision.commit is None:
        yield root
    else:
        with checked_out(revision, Path("results", revision.name, "source"), root) as source:
            yield source


def _refusal(source: Path, folders: list[Path]) -> str | None:
    """Return why the parsers do not take an operator's capture, in one line; None if they do."""
    try:
        parse_runs(source / folder for folder in folders)
        for folder in folders:
            if folder.name in REPORTS:
                verify(read_run(source / folder))
            else:
                parse_pass(source / folder)
    except CaptureError as error:
        return f"{error.path.relative_to(source)} {error.cause}"
    return None


if __name__ == "__main__":
    sys.exit(main())
