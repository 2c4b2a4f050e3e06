"""Compare the frames of two revisions: ``python -m reports.diff BASE HEAD --out FOLDER``.

BASE and HEAD are folders with a folder of frames for each operator. The exit status says what the
diff comes to: 0 nothing is worse, 1 something is, 2 something cannot be compared or decided, or the
command failed, which one ``error:`` line tells.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from reports.__main__ import Parser, write
from reports.diff.checked import compare_checks
from reports.diff.findings import Compared, compare, compare_builds
from reports.diff.page import NOTHING, UNDECIDABLE, diff_page, outcome
from reports.diff.times import Noise, NoiseError, noise_of
from reports.format import code, escape, listing, plural
from reports.frames import Frames, FramesError, load, read


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    options = _options(arguments)
    try:
        noise = noise_of(options.noise)
        compared, notes = _compare(options, noise)
        names = (options.base_name or options.base.name, options.head_name or options.head.name)
        write(options.out, diff_page(*names, compared, noise, [*map(escape, options.note), *notes]))
    except (FramesError, NoiseError) as error:
        print(f"error: {error}", file=sys.stderr)
        return UNDECIDABLE
    except OSError as error:
        cause = error.strerror or "cannot be written"
        print(f"error: {error.filename or options.out}: {cause}; choose --out", file=sys.stderr)
        return UNDECIDABLE
    return NOTHING if options.report_only else outcome(compared)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = Parser(prog="python -m reports.diff", description=__doc__)
    parser.add_argument("base", type=Path, help="folder of the frames of the operators before")
    parser.add_argument("head", type=Path, help="folder of the frames of the operators after")
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    parser.add_argument("--base-name", help="name of the base on the page")
    parser.add_argument("--head-name", help="name of the head on the page")
    parser.add_argument("--operators", nargs="*", help="those to compare; all that both have")
    parser.add_argument("--same", nargs="*", default=[], help="those of which both have the same")
    parser.add_argument("--same-what", default="captures", help="what of them is the same in both")
    parser.add_argument(
        "--noise", default="sessions", help="sessions, alternating, or a file of reports/noise"
    )
    parser.add_argument(
        "--built",
        nargs="*",
        default=[],
        type=Path,
        metavar="FOLDER",
        help="for each operator, folders of builds of base and head, by one toolchain",
    )
    for side, of in (("--checked-base", "base; none of those that"), ("--checked", "head that")):
        parser.add_argument(
            side,
            nargs="*",
            default=[],
            type=Path,
            metavar="FOLDER",
            help=f"folders of an operator's checks without a GPU, of {of} were checked",
        )
    parser.add_argument(
        "--note", action="append", default=[], help="a line of plain text for the page"
    )
    parser.add_argument(
        "--report-only", action="store_true", help="exit with 0 whatever the diff comes to"
    )
    options = parser.parse_args(arguments)
    if len(options.built) % 2:
        parser.error("--built takes two folders for each operator, of base and of head")
    return options


def _compare(options: argparse.Namespace, noise: Noise) -> tuple[list[Compared], list[str]]:
    """Compare the operators that both have; return that and what is said of the others."""
    same = [Compared(name, identical=True) for name in options.same]
    notes = []
    if same:
        names = listing(code(name) for name in options.same)
        of = plural(len(same), "operator")
        notes.append(f"The {options.same_what} of {of} are the same: {names}.")
    if options.operators is not None:
        chosen = [(options.base / name, options.head / name) for name in options.operators]
    else:
        before, after = (_operators(folder) for folder in (options.base, options.head))
        chosen = [(before[name], after[name]) for name in sorted(before.keys() & after.keys())]
        notes += [
            f"Only in {word}: {listing(code(name) for name in sorted(names))}."
            for word, names in (("base", before.keys() - after), ("head", after.keys() - before))
            if names
        ]
    compared = [compare(_load(old), _load(new), noise) for old, new in chosen]
    checked = _checked(options.checked_base, options.checked)
    return [*same, *compared, *_built(options.built), *checked], notes


def _load(folder: Path) -> Frames:
    return load(folder, absent=("timeline",))


def _built(folders: list[Path]) -> list[Compared]:
    """Compare builds: the folders are those of base and head in turn, an operator after another."""
    found = []
    for base, head in zip(folders[::2], folders[1::2], strict=True):
        operator = _operator(head)
        before, after = (read(folder / "builds.parquet", "builds") for folder in (base, head))
        found.append(Compared(operator, builds=compare_builds(operator, before, after)))
    return found


def _checked(base: list[Path], head: list[Path]) -> list[Compared]:
    """Compare checks; of an operator whose base was not checked there is a folder of head alone."""
    before, after = (
        {_operator(folder): read(folder / "checks.parquet", "checks") for folder in folders}
        for folders in (base, head)
    )
    return [
        Compared(
            name,
            checks=compare_checks(name, before.get(name), checks),
            base_checked=name in before,
        )
        for name, checks in after.items()
    ]


def _operator(folder: Path) -> str:
    return str(read(folder / "runs.parquet", "runs")["operator"].iloc[0])


def _operators(folder: Path) -> dict[str, Path]:
    if not folder.is_dir():
        raise FramesError(folder, "no such folder", "parse a revision's captures first")
    return {path.name: path for path in folder.iterdir() if (path / "runs.parquet").is_file()}


if __name__ == "__main__":
    sys.exit(main())
