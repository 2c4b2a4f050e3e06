"""``python -m benchmarks.nsys``: time and memory of `parsers.nsys.launches` on a made-up export.

Each reader runs in a process of its own, in turn, and counts from before it opens the file to
when it has its frame; imports are apart. Beside ours runs the plainest approach that there is,
pandas' ``read_sql`` of the table of kernels alone: no names, no calls, no ranges.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

READERS = ("parsers.nsys.launches", "pandas.read_sql of the kernel table alone")


def main() -> int:
    """Write exports of the sizes asked for, and a row of a table for each reader and size."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.nsys", description=__doc__)
    options.add_argument("--size", type=int, nargs="+", default=[1_000_000])
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--read", type=int, help=argparse.SUPPRESS)
    options.add_argument("--file", type=Path, help="an export that is there, instead")
    arguments = options.parse_args()
    if arguments.read is not None:
        sys.stdout.write(json.dumps(_read(arguments.read, arguments.file)))
        return 0
    _say("| kernels | reader | wall s | CPU s | peak GB |")
    _say("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for size in arguments.size:
            path = arguments.file or _written(Path(folder) / "all.sqlite", size)
            _compare(path, arguments.repeats)
    return 0


def _written(path: Path, size: int) -> Path:
    from benchmarks.nsys_export import write  # noqa: PLC0415 -- no reader pays for it

    path.unlink(missing_ok=True)
    write(path, size)
    return path


def _compare(path: Path, repeats: int) -> None:
    """Run the readers in turn, and say of each the run that took the least wall time."""
    runs: list[list[dict[str, float]]] = [[] for _ in READERS]
    for _ in range(repeats):
        for reader, done in enumerate(runs):
            command = [sys.executable, "-m", "benchmarks.nsys", "--read", str(reader)]
            command += ["--file", str(path)]
            result = subprocess.run(command, check=True, capture_output=True, text=True)
            done.append(json.loads(result.stdout))
    for name, done in zip(READERS, runs, strict=True):
        best = min(done, key=lambda run: run["wall"])
        figures = f"{best['wall']:.2f} | {best['cpu']:.2f} | {best['peak']:.2f}"
        _say(f"| {best['rows']:,} | {name} | {figures} |")


def _read(reader: int, path: Path) -> dict[str, float]:
    import sqlite3  # noqa: PLC0415

    import pandas as pd  # noqa: PLC0415

    from parsers import nsys  # noqa: PLC0415

    before = time.perf_counter(), time.process_time()
    if reader == 0:
        rows = len(nsys.launches(path))
    else:
        query = "SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL"
        rows = len(pd.read_sql_query(query, sqlite3.connect(path)))
    return {
        "rows": rows,
        "wall": time.perf_counter() - before[0],
        "cpu": time.process_time() - before[1],
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9,
    }


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
