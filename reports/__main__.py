"""Write pages: ``python -m reports operator FOLDER --out results/reports --source live``."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from reports.builds import builds_page
from reports.checks import CHECK_FRAMES, ChecksError, checks_page, faults
from reports.deep import Deep, deep_page, load_deep
from reports.frames import Frames, FramesError, load, read
from reports.index import index_page
from reports.notes import LIVE, REPLAY
from reports.reference import metrics_page
from reports.summary import compare

COMPARISON = "comparison.parquet"
"""Beside the frames of an operator: what its page compares, which the index reads again."""

_BUILD_FRAMES = ("builds", "runs")


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return 2 after one ``error:`` line, else 0."""
    options = _options(arguments)
    try:
        if options.command == "gate":
            _gate(options)
        else:
            write(options.out, _pages(options))
    except (FramesError, ChecksError) as error:
        print(f"error: {error}", file=sys.stderr)
    except OSError as error:
        cause = error.strerror or "cannot be written"
        print(f"error: {error.filename or options.out}: {cause}; choose --out", file=sys.stderr)
    else:
        return 0
    return 2


class Parser(argparse.ArgumentParser):
    """A command line whose mistakes are told in one line."""

    def error(self, message: str) -> None:  # type: ignore[override]
        """Say it in one line; argparse would print its usage as well."""
        self.exit(2, f"error: {message}; see {self.prog} --help\n")


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = Parser(prog="python -m reports", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, parser_class=Parser)
    operator = commands.add_parser("operator", help="write one operator's comparison")
    operator.add_argument("folder", type=Path, help="folder of the operator's frames")
    operator.add_argument(
        "--deep",
        nargs="+",
        default=[],
        metavar="VARIANT",
        help="variants whose deep profile to link",
    )
    index = commands.add_parser("index", help="write the index of the operators")
    index.add_argument("folders", type=Path, nargs="+", help="folders of frames")
    deep = commands.add_parser("deep", help="write the deep profile of a variant")
    deep.add_argument("folder", type=Path, help="folder of the frames of its capture")
    builds = commands.add_parser("builds", help="write what an operator compiles to here")
    builds.add_argument("folder", type=Path, help="folder of the frames builds and runs")
    checks = commands.add_parser("checks", help="write what the checks of operators found")
    checks.add_argument("folders", type=Path, nargs="+", help="folders of frames of check passes")
    gate = commands.add_parser("gate", help="fail where the checks of operators found a fault")
    gate.add_argument("folders", type=Path, nargs="+", help="folders of frames of check passes")
    gate.add_argument("--page", type=Path, required=True, help="the page that shows what was found")
    metrics = commands.add_parser("metrics", help="write what columns and counters mean")
    for command in (operator, index, deep, builds, checks, metrics):
        command.add_argument("--out", type=Path, required=True, help="folder to write to")
    for command in (operator, index, deep):
        command.add_argument("--source", choices=(LIVE, REPLAY), required=True)
        command.add_argument(
            "--source-sha256",
            nargs="+",
            default=[],
            type=_named_hash,
            metavar="OPERATOR=HASH",
            help="hash of an operator's source as it is now",
        )
    return parser.parse_args(arguments)


def _named_hash(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator:
        raise argparse.ArgumentTypeError(f"expected OPERATOR=HASH, found {text!r}")
    return name, value


def _pages(options: argparse.Namespace) -> dict[str, str]:
    if options.command == "metrics":
        return metrics_page()
    if options.command == "builds":
        return builds_page(**_some(options.folder, _BUILD_FRAMES))
    if options.command == "checks":
        return checks_page(_check_frames(options))
    current = dict(options.source_sha256)
    if options.command == "deep":
        profile = load_deep(options.folder)
        return deep_page(profile, options.source, stale=_stale(profile, current))
    if options.command == "index":
        operators = [load(folder) for folder in options.folders]
        stale = [frames.operator for frames in operators if _stale(frames, current)]
        return index_page(operators, options.source, stale, _comparisons(options.folders))
    from reports.page import operator_page  # noqa: PLC0415 -- with matplotlib, half a second

    frames = load(options.folder)
    comparison = compare(frames)
    _keep(comparison, options.folder / COMPARISON)
    stale_now = _stale(frames, current)
    return operator_page(
        frames, options.source, stale=stale_now, comparison=comparison, deep=options.deep
    )


def _gate(options: argparse.Namespace) -> None:
    if found := faults(_check_frames(options)):
        raise ChecksError(options.page, found)


def _check_frames(options: argparse.Namespace) -> Iterator[dict[str, pd.DataFrame]]:
    return (_some(folder, CHECK_FRAMES) for folder in options.folders)


def _comparisons(folders: list[Path]) -> dict[str, pd.DataFrame]:
    """Read the comparison frames that are there, by operator."""
    paths = [folder / COMPARISON for folder in folders]
    frames = [pd.read_parquet(path) for path in paths if path.is_file()]
    return {str(frame["operator"].iloc[0]): frame for frame in frames if len(frame)}


def _keep(frame: pd.DataFrame, path: Path) -> None:
    """Write a frame so that it is never seen half written."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        frame.to_parquet(partial, index=False)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _some(folder: Path, frames: tuple[str, ...]) -> dict[str, pd.DataFrame]:
    return {name: read(folder / f"{name}.parquet", name) for name in frames}


def _stale(frames: Frames | Deep, current: dict[str, str]) -> bool:
    """Say whether a pass ran on another source than the current one, where that is given."""
    now = current.get(frames.operator)
    measured = frames.runs["source_sha256"].dropna()
    return now is not None and bool((measured != now).any())


def write(folder: Path, files: dict[str, str]) -> None:
    """Write files so that none is ever seen half written."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        temporary = folder / f".{name}.{os.getpid()}.tmp"
        try:
            temporary.write_text(text, encoding="utf-8", newline="\n")
            temporary.replace(folder / name)
        finally:
            temporary.unlink(missing_ok=True)


if __name__ == "__main__":
    # What a page is made of lives until it is written; to look for garbage took an eighth of the
    # time.
    gc.disable()
    sys.exit(main())
