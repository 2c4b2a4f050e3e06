"""``python -m benchmarks.nsys``: time and memory of `parsers.nsys.launches` on a made-up export.

Each reader runs in a process of its own, in turn, and counts from before it opens the file to
when it has its frame; imports are apart. Beside ours runs the plainest approach that there is,
pandas' ``read_sql`` of the table of kernels alone: no names, no calls, no ranges; and where it is
installed (``pip install nsys-ai``), a public reader that says the range of each kernel.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
from pathlib import Path

from benchmarks.turns import HEADER, compare, measure, say

READERS = (
    "parsers.nsys.launches",
    "pandas.read_sql of the kernel table alone",
    *(["nsys_ai: kernels with their ranges"] if importlib.util.find_spec("nsys_ai") else []),
)


def main() -> int:
    """Write exports of the sizes asked for, and a row of a table for each reader and size."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.nsys", description=__doc__)
    options.add_argument("--size", type=int, nargs="+", default=[1_000_000])
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--read", type=int, help=argparse.SUPPRESS)
    options.add_argument("--file", type=Path, help="an export that is there, instead")
    arguments = options.parse_args()
    if arguments.read is not None:
        _read(arguments.read, arguments.file)
        return 0
    say(HEADER)
    with tempfile.TemporaryDirectory() as folder:
        for size in arguments.size:
            path = arguments.file or _written(Path(folder) / "all.sqlite", size)
            compare("benchmarks.nsys", READERS, path, arguments.repeats)
    return 0


def _written(path: Path, size: int) -> Path:
    from benchmarks.nsys_export import write  # noqa: PLC0415 -- no reader pays for it

    path.unlink(missing_ok=True)
    write(path, size)
    return path


def _read(reader: int, path: Path) -> None:
    import sqlite3  # noqa: PLC0415

    import pandas as pd  # noqa: PLC0415

    from parsers import nsys  # noqa: PLC0415

    if reader == 0:
        measure(lambda: len(nsys.launches(path)))
    elif reader == 1:
        query = "SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL"
        measure(lambda: len(pd.read_sql_query(query, sqlite3.connect(path))))
    else:
        from nsys_ai import nvtx_attribution  # noqa: PLC0415

        attribute = nvtx_attribution.attribute_kernels_to_nvtx
        measure(lambda: len(attribute(sqlite3.connect(path), str(path))))


if __name__ == "__main__":
    sys.exit(main())
