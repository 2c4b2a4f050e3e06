"""``python -m benchmarks.rollup``: time of rolling up the launches of a made-up export.

CPU seconds, the least of some repeats in one process, of a frame that was read before. Reading is
timed by ``benchmarks.nsys``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.nsys_export import write
from parsers import read
from parsers.grouping import roll_up_by

BY = ("kernel", "range", "kernel,grid", "library,family", "range_path,thread", "correlation")


def main() -> int:
    """Write a row of a table for each of `BY`."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.rollup", description=__doc__)
    options.add_argument("--size", type=int, default=1_000_000)
    options.add_argument("--repeats", type=int, default=3)
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "all.sqlite"
        write(path, arguments.size)
        frame = read(path)
    sys.stdout.write("| `--by` | rows | CPU s |\n|---|---|---|\n")
    for by in BY:
        spent = []
        for _ in range(arguments.repeats):
            before = time.process_time()
            rows = len(roll_up_by(path, frame, by.split(",")))
            spent.append(time.process_time() - before)
        sys.stdout.write(f"| `{by}` | {rows:,} | {min(spent):.2f} |\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
