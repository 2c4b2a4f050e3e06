"""``python -m benchmarks.ncu FILE…``: what reading files of Nsight Compute costs.

Beside ours runs, for a report, a loop over ``ncu_report`` that yields the names and the values that
are read; for a CSV export ``pandas.read_csv``, which yields texts. Imports are apart, and so is the
first read of a process. ``--launches`` repeats the launches of a report until it has as many.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks.turns import HEADER, compare, measure, say

TIMES = 4
"""Reads of a process, of which the quickest counts: the first ones pay for what is made once."""

REPORT = ("ncu_report alone", "parsers.ncu.parse", "parsers.read")
EXPORT = ("pandas.read_csv", "parsers.ncu_csv.parse", "parsers.read")


def main() -> int:
    """Write a row of a table for each file and reader."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.ncu", description=__doc__)
    options.add_argument("files", type=Path, nargs="*", metavar="FILE")
    options.add_argument("--launches", type=int, default=0)
    options.add_argument("--repeats", type=int, default=5)
    options.add_argument("--read", type=int, help=argparse.SUPPRESS)
    options.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    arguments = options.parse_args()
    if arguments.read is not None:
        _read(arguments.read, arguments.file)
        return 0
    say(HEADER)
    for file in arguments.files:
        with tempfile.TemporaryDirectory() as folder:
            path = _repeated(file, Path(folder) / "all.ncu-rep", arguments.launches)
            compare(
                "benchmarks.ncu", REPORT if _is_report(path) else EXPORT, path, arguments.repeats
            )
    return 0


def _is_report(path: Path) -> bool:
    with path.open("rb") as stream:
        return stream.read(4) == b"NVR\0"


def _repeated(source: Path, target: Path, launches: int) -> Path:
    """Copy a report with its blocks repeated, which ``ncu_report`` reads one after the other."""
    from parsers import ncu_container as container  # noqa: PLC0415 -- no reader pays for it

    if not launches or not _is_report(source):
        return source
    with source.open("rb") as stream:
        blocks = container.blocks(stream)
    there = sum(container.number_of(block.header, container.LAUNCHES) for block in blocks)
    content = source.read_bytes()
    first = blocks[0].start - 4
    target.write_bytes(content[:first] + content[first:] * -(-launches // there))
    return target


def _read(reader: int, path: Path) -> None:
    import pandas as pd  # noqa: PLC0415

    import parsers  # noqa: PLC0415
    from parsers import ncu, ncu_csv  # noqa: PLC0415

    own = ncu if _is_report(path) else ncu_csv
    if reader == 0:
        alone = _alone if own is ncu else _texts
        measure(lambda: alone(path), TIMES)
    else:
        read = own.parse if reader == 1 else parsers.read
        measure(lambda: len(pd.DataFrame(read(path))), TIMES)


def _texts(path: Path) -> int:
    import pandas as pd  # noqa: PLC0415

    return len(pd.read_csv(path, dtype="str"))


def _alone(path: Path) -> int:
    """Yield what is read of a report by its documented interface alone."""
    import ncu_report  # noqa: PLC0415

    from parsers.collection import requested  # noqa: PLC0415

    names, rows = requested(), []
    for group in ncu_report.load_report(str(path)):
        for action in group:
            found = [action.metric_by_name(name) for name in names]
            values = [None if metric is None else metric.value() for metric in found]
            kernel = action.name(action.NameBase_FUNCTION), action.name(action.NameBase_DEMANGLED)
            rows.append((*kernel, *values))
    return len(rows)


if __name__ == "__main__":
    sys.exit(main())
