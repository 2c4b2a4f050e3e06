"""``python -m parsers FILE…``: any Nsight report or export as a table.

``python -m parsers frames`` and ``record`` are the workflow's: the frames of the harness's own
captures, and scrubbed copies of them. A file of such a name is ``./frames``.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

import pandas as pd

from parsers.captures import parse_pass, parse_runs
from parsers.errors import CaptureError
from parsers.grouping import roll_up_by, unknown
from parsers.reading import read
from parsers.record import record
from parsers.sources import expand
from parsers.tables import KINDS, join, reference, show, text_of, write

_COMMANDS = ("frames", "record")


def main(arguments: list[str] | None = None) -> int:
    """Run the command; 0 when all is done, 2 with a line of error for each file that is not."""
    given = sys.argv[1:] if arguments is None else arguments
    try:
        if given and given[0] in _COMMANDS:
            options = _commands().parse_args(given)
            options.run(options)
            return 0
        return _read(_options(given))
    except BrokenPipeError:
        # Whoever read the output has enough; nothing is left to flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (CaptureError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _read(options: argparse.Namespace) -> int:
    if options.columns:
        print(reference(), flush=True)
        return 0
    paths, errors = expand(options.files)
    frames = []
    for path in paths:
        try:
            frame = read(path)
            if options.by:
                frame = roll_up_by(path, frame, options.by)
        except CaptureError as unreadable:
            errors.append(unreadable)
            continue
        frame.attrs["file"] = str(path)
        frames.append(frame)
    if frames:
        _give(frames, options)
    for frame in frames:
        for note in frame.attrs["notes"]:
            print(f"note: {frame.attrs['file']}: {note}", file=sys.stderr)
    for error in errors:
        print(f"error: {error}", file=sys.stderr)
    return 2 if errors else 0


def _give(frames: list[pd.DataFrame], options: argparse.Namespace) -> None:
    if options.out is not None:
        write(join(frames), options.out, options.format)
    elif options.format is not None:
        print(text_of(join(frames), options.format), end="", flush=True)
    else:
        width = shutil.get_terminal_size((120, 24)).columns
        print(show(frames, width, options.rows), flush=True)


def _options(given: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m parsers",
        description="Any report or export of Nsight Compute and Nsight Systems as a table, a row a "
        "launch, in base units. The format is told by content; files may be packed by gzip or "
        "Zstandard. Exit status 2 when a file could not be read; the others still are.",
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help="a file, a folder or a pattern")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write all columns there")
    parser.add_argument("--format", choices=KINDS, help="otherwise by the suffix of --out")
    parser.add_argument(
        "--rows", type=int, default=100, help="rows of a file to print (default: 100)"
    )
    parser.add_argument(
        "--by",
        type=lambda text: text.split(","),
        metavar="NAME,…",
        help="a row a group of launches, not a launch: range, variant, kernel, grid, block, "
        "library, family, or a column that names something; the longest time first",
    )
    parser.add_argument("--columns", action="store_true", help="what the columns mean, and stop")
    options = parser.parse_args(given)
    if not options.files and not options.columns:
        parser.error("give a file, a folder or a pattern")
    if options.by and (fault := unknown(options.by)):
        parser.error(f"--by: {fault}")
    if options.out is not None and options.format is None:
        options.format = options.out.suffix.removeprefix(".")
        if options.format not in KINDS:
            parser.error(f"--out {options.out}: end it in .{', .'.join(KINDS)}, or give --format")
    if options.out is None and options.format == "parquet":
        parser.error("--format parquet needs --out")
    return options


def _frames(options: argparse.Namespace) -> None:
    parts = [parse_runs(options.folders), *map(parse_pass, options.folders)]
    for name in dict.fromkeys(name for frames in parts for name in frames):
        found = [frames[name] for frames in parts if name in frames]
        frame = pd.concat(found, ignore_index=True)
        write(frame, options.out / f"{name}.parquet", "parquet")


def _record(options: argparse.Namespace) -> None:
    for folder in record(options.folder, options.out, options.operators, options.passes):
        print(f"recorded {folder}")


def _commands() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m parsers")
    commands = parser.add_subparsers(required=True)
    frames = commands.add_parser("frames", help="the frames of an operator's passes")
    frames.add_argument("folders", type=Path, nargs="+", metavar="PASS_FOLDER")
    keep = commands.add_parser("record", help="scrubbed copies of captures, for replay elsewhere")
    keep.add_argument("folder", type=Path, metavar="CAPTURES_FOLDER")
    keep.add_argument("--operators", nargs="+", required=True)
    keep.add_argument("--passes", nargs="+", required=True)
    for command, run in ((frames, _frames), (keep, _record)):
        command.add_argument("--out", type=Path, required=True, metavar="FOLDER")
        command.set_defaults(run=run)
    return parser


if __name__ == "__main__":
    sys.exit(main())
