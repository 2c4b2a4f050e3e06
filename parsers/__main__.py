"""``python -m parsers``: write the frames of captures as Parquet files, or keep captures."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pandas as pd

from parsers.captures import parse_pass, parse_runs
from parsers.errors import CaptureError
from parsers.record import record


def main(arguments: list[str] | None = None) -> int:
    """Run the command; 0 when all is written, 2 with one line of error when not."""
    options = _options().parse_args(arguments)
    try:
        options.run(options)
    except (CaptureError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _frames(options: argparse.Namespace) -> None:
    parts = [parse_runs(options.folders), *map(parse_pass, options.folders)]
    for name in dict.fromkeys(name for frames in parts for name in frames):
        found = [frames[name] for frames in parts if name in frames]
        _write(pd.concat(found, ignore_index=True), options.out / f"{name}.parquet")


def _record(options: argparse.Namespace) -> None:
    for folder in record(options.folder, options.out, options.operators, options.passes):
        print(f"recorded {folder}")


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m parsers", description=__doc__)
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


def _write(frame: pd.DataFrame, path: Path) -> None:
    """Write a frame so that the file is either whole or not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    try:
        frame.to_parquet(partial, index=False)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main())
