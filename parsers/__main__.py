"""``python -m parsers``: write the frames of captures as Parquet files."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pandas as pd

from parsers.captures import parse_pass, parse_runs
from parsers.errors import CaptureError


def main(arguments: list[str] | None = None) -> int:
    """Run the command; 0 when the frames are written, 2 with one line of error when not."""
    options = _options().parse_args(arguments)
    try:
        if options.command == "frames":
            frames = parse_pass(options.folder)
        else:
            frames = parse_runs(options.folders)
        for name, frame in frames.items():
            _write(frame, options.out / f"{name}.parquet")
    except (CaptureError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m parsers", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    frames = commands.add_parser("frames", help="the frames of one pass")
    frames.add_argument("folder", type=Path, metavar="PASS_FOLDER")
    runs = commands.add_parser("runs", help="runs, cases, variants and outcomes of all passes")
    runs.add_argument("folders", type=Path, nargs="+", metavar="PASS_FOLDER")
    for command in (frames, runs):
        command.add_argument("--out", type=Path, required=True, metavar="FOLDER")
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
