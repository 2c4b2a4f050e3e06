"""Write the history of operators: ``python -m reports.history LINEAGE --out FOLDER``.

LINEAGE is JSON: ``commits``, a list of objects with ``name``, ``date`` (or null) and ``subject``,
the oldest first; ``points``, by operator a list of objects with ``commit``, one of those names, and
``frames``, a folder of its frames; ``notes``, lines for the page. A mistake is told in one
``error:`` line, with exit status 2.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from reports.__main__ import Parser, write
from reports.diff.times import SESSIONS
from reports.frames import FramesError, load
from reports.history.page import NAME, Revision, history_page
from reports.history.points import follow

WRITER = "let `snakemake reports/history` write it"


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    options = _options(arguments)
    try:
        files = _pages(options.lineage)
        drawn = {Path(name).name: text for name, text in files.items() if "/" in name}
        write(options.out / NAME, drawn)
        write(options.out, {name: text for name, text in files.items() if "/" not in name})
    except FramesError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        cause = error.strerror or "cannot be written"
        print(f"error: {error.filename or options.out}: {cause}; choose --out", file=sys.stderr)
        return 2
    return 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = Parser(prog="python -m reports.history", description=__doc__)
    parser.add_argument("lineage", type=Path, help="revisions and their frames, as JSON")
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    return parser.parse_args(arguments)


def _pages(path: Path) -> dict[str, str]:
    lineage = _read(path)
    tracks = [
        follow(
            operator,
            ((point["commit"], load(Path(point["frames"]))) for point in points),
            SESSIONS,
        )
        for operator, points in lineage["points"].items()
        if points
    ]
    revisions = [Revision(**commit) for commit in lineage["commits"]]
    return history_page(revisions, tracks, SESSIONS, lineage["notes"])


def _read(path: Path) -> dict[str, Any]:
    """Read the list of revisions; what it lacks is an error in one line."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        named = {Revision(**commit).name for commit in content["commits"]}
        points = [point for listed in content["points"].values() for point in listed]
        whole = all(isinstance(p["frames"], str) and p["commit"] in named for p in points)
        if not whole or not all(isinstance(note, str) for note in content["notes"]):
            raise ValueError(path)
    except OSError as error:
        raise FramesError(path, error.strerror or "cannot be read", WRITER) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise FramesError(path, "not a list of revisions and their frames", WRITER) from None
    return dict(content)


if __name__ == "__main__":
    sys.exit(main())
