"""Unified diffs of compiled kernels: ``python -m reports.diff.code BASE HEAD``.

BASE and HEAD are build captures of one operator: folders with ``run.json``, ``builds.csv`` and the
PTX and SASS texts. The exit status is that of diff: 0 nothing differs, 1 something does, 2 the
command failed, which one ``error:`` line tells.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

from parsers.captures import Run, parse_pass, read_run
from parsers.errors import CaptureError
from parsers.files import PACKED, plain
from reports.__main__ import Parser
from reports.diff.unified import KINDS, Kind, unified
from reports.frames import Row, records

ALIKE, DIFFERENT, FAILED = 0, 1, 2
"""Exit statuses, those of diff(1)."""

CHOICES = ("variant", "case", "kernel", "arch")
"""Columns of the frame ``builds`` by which builds are chosen."""


@dataclass(frozen=True)
class Build:
    """One compiled kernel of a capture.

    Attributes
    ----------
    run
        The capture that it is of.
    row
        Its row of the frame ``builds``.
    nth
        Tells configurations of one kernel apart, in the order of the capture.
    """

    run: Run = field(repr=False)
    row: Row
    nth: int

    @property
    def place(self) -> tuple[str, ...]:
        """Variant, case and architecture, within which kernels are compared."""
        return tuple(str(self.row[column]) for column in ("variant", "case", "arch"))

    @property
    def known_as(self) -> tuple[str, int]:
        """What tells it from others of its place."""
        return str(self.row["kernel"]), self.nth

    def text(self, kind: Kind) -> str | None:
        """Return the PTX or SASS; None where it was not built.

        Raises
        ------
        CaptureError
            When the capture does not list the file, or it is damaged.
        """
        name = self.row[kind]
        if name is None:
            return None
        for file in (name, f"{name}{PACKED}"):
            if file in self.run.files:
                with plain(self.run.folder / file, self.run.remedy) as path:
                    return path.read_text(encoding="utf-8", errors="replace")
        raise CaptureError(self.run.path, f"lists no {name}", self.run.remedy)

    def file_name(self, kind: Kind) -> str:
        """Return ``operator/variant/case/kernel.arch.kind``, in characters that any path may hold.

        Others, such as a slash in the name of a kernel, are underscores.
        """
        which = f"-{self.nth + 1}" if self.nth else ""
        kernel = f"{self.row['kernel']}{which}.{self.row['arch']}.{kind}"
        above = (self.row[column] for column in ("operator", "variant", "case"))
        return "/".join(path_part(name) for name in (*above, kernel))


@dataclass(frozen=True)
class CodeDiff:
    """What differs in one compiled kernel.

    Attributes
    ----------
    build
        The build that names it: the head's, or the base's where the head has none.
    lines
        The unified diff.
    notes
        Why a side has no text, where a build of it failed.
    """

    kind: Kind
    build: Build
    lines: list[str] = field(repr=False)
    notes: tuple[str, ...] = ()


def path_part(text: object) -> str:
    """Return data as one part of a path."""
    return re.sub(r"[^\w.+-]|^\.", "_", str(text)) or "_"


def builds(folder: Path) -> list[Build]:
    """Read the builds of a capture, in its order.

    Raises
    ------
    CaptureError
        As `parsers.captures.parse_pass`, and when the capture is of another pass.
    """
    run = read_run(folder)
    frames = parse_pass(folder)
    if "builds" not in frames:
        raise CaptureError(run.path, "is of another pass", "give a build capture")
    seen: Counter[tuple[str, ...]] = Counter()
    found = []
    for row in records(frames["builds"]):
        key = tuple(str(row[column]) for column in CHOICES)
        found.append(Build(run, row, seen[key]))
        seen[key] += 1
    return found


def code_diffs(
    base: Iterable[Build], head: Iterable[Build], kinds: Iterable[Kind] = KINDS
) -> Iterator[CodeDiff]:
    """Compare compiled kernels of one operator, and give what differs.

    Within a variant, case and architecture, kernels of one name are compared, one configuration
    after another; then the others in their order, so that a renamed kernel meets its former self.
    """
    listed = list(kinds)
    for old, new in paired(base, head):
        build = new or old
        if build is None:
            continue
        for kind in listed:
            before, after = (None if side is None else side.text(kind) for side in (old, new))
            names = (
                f"a/{(old or build).file_name(kind)}",
                f"b/{(new or build).file_name(kind)}",
            )
            if lines := unified(before, after, kind, names):
                yield CodeDiff(kind, build, lines, _failures((old, before), (new, after)))


def paired(
    base: Iterable[Build], head: Iterable[Build]
) -> Iterator[tuple[Build | None, Build | None]]:
    """Give the builds of base and head that are compared, in the order of the head."""
    sides = [_by_place(builds) for builds in (base, head)]
    for place in dict.fromkeys(key for side in reversed(sides) for key in side):
        before, after = (side.get(place, {}) for side in sides)
        yield from ((before[key], after[key]) for key in after if key in before)
        yield from zip_longest(
            (before[key] for key in before if key not in after),
            (after[key] for key in after if key not in before),
        )


def _by_place(found: Iterable[Build]) -> dict[tuple[str, ...], dict[tuple[str, int], Build]]:
    groups: dict[tuple[str, ...], dict[tuple[str, int], Build]] = {}
    for build in found:
        groups.setdefault(build.place, {})[build.known_as] = build
    return groups


def _failures(*sides: tuple[Build | None, str | None]) -> tuple[str, ...]:
    """Say why there is no text where a build failed."""
    return tuple(
        f"No build in {word}: {build.row['reason']}"
        for word, (build, text) in zip(("base", "head"), sides, strict=True)
        if build is not None and text is None
    )


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    options = _options(arguments)
    try:
        base, head = _chosen(options)
        found = ALIKE
        for diff in code_diffs(base, head, [options.kind]):
            found = DIFFERENT
            sys.stdout.writelines(f"{line}\n" for line in (*diff.notes, *diff.lines))
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read the output has enough; nothing is left to flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DIFFERENT
    except (CaptureError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return FAILED
    return found


def _chosen(options: argparse.Namespace) -> list[list[Build]]:
    """Return the builds of base and head that the options choose."""
    sides = [builds(folder) for folder in (options.base, options.head)]
    runs = [read_run(folder) for folder in (options.base, options.head)]
    if runs[0].operator != runs[1].operator:
        cause = f"is of operator {runs[1].operator}, not {runs[0].operator}"
        raise CaptureError(runs[1].path, cause, "give build captures of one operator")
    for column in CHOICES:
        wanted = getattr(options, column)
        known = dict.fromkeys(build.row[column] for side in sides for build in side)
        if wanted is not None and wanted not in known:
            there = ", ".join(known) or "none"
            raise CaptureError(f"--{column} {wanted}", "not in either capture", f"there: {there}")
        if wanted is not None:
            sides = [[build for build in side if build.row[column] == wanted] for side in sides]
    return sides


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = Parser(prog="python -m reports.diff.code", description=__doc__)
    parser.add_argument("base", type=Path, metavar="BASE", help="folder of the build before")
    parser.add_argument("head", type=Path, metavar="HEAD", help="folder of the build after")
    for column in CHOICES:
        parser.add_argument(f"--{column}", metavar="NAME", help=f"this {column} alone")
    parser.add_argument("--kind", choices=KINDS, default=KINDS[0], help="%(default)s by default")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
