"""Measure revisions of an operator in alternating rounds, so that drift meets all of them alike.

Each is measured by its own harness, in its own checkout and process. Two revisions are measured
again, by new processes, while a change is undecided or no more than near the noise, up to a limit
of sessions: what two processes differ by is the same in all rounds of one session.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from kernels.harness.alternation import Participant, alternate
from parsers.captures import parse_pass
from parsers.errors import CaptureError
from reports.diff.times import Noise, NoiseError, Row, judge, noise_of
from reports.timing import by_round
from workflows.git import RevisionError
from workflows.revisions import Revision, checked_out, resolve

TIME = "time"
COMMIT = "ROOFSNAKE_COMMIT"
"""Names the commit of the user's tree where that has no git; a checkout has its own."""


@dataclass(frozen=True)
class Side:
    """A revision that is measured: its folder, and that of its check pass."""

    revision: Revision
    source: Path
    check: Path


@dataclass(frozen=True)
class Settings:
    """What is measured of each revision, and how.

    Attributes
    ----------
    operator, cases
        The operator and its set of cases.
    rounds
        Rounds of a session: samples of each variant and case, of each revision.
    warm_up_s
        Seconds that each case warms up.
    sessions
        Most sessions of two revisions.
    variants
        The variants to measure; all where none is named.
    """

    operator: str
    cases: str
    rounds: int
    warm_up_s: float
    sessions: int
    variants: tuple[str, ...] = ()


def measure(sides: Sequence[Side], settings: Settings, noise: Noise, out: Path) -> int:
    """Take the time pass of each side, session after session; return the number of sessions.

    The capture of a session's side is ``out/<session>/<side>/time``; both count from 0. Rounds
    count on from session to session.

    Raises
    ------
    RevisionError
        When a side cannot be measured, or not in alternating rounds.
    """
    for session in range(settings.sessions):
        folders = [out / str(session) / str(number) / TIME for number in range(len(sides))]
        _session(sides, settings, session, folders)
        starts = [one * settings.rounds for one in range(session + 1)]
        if len(sides) != 2 or not unsettled(*_captures(out, session), noise, starts):
            return session + 1
    return settings.sessions


def _captures(out: Path, last: int) -> tuple[list[Path], list[Path]]:
    """Return the captures of both sides up to a session."""
    base, head = (
        [out / str(session) / side / TIME for session in range(last + 1)] for side in "01"
    )
    return base, head


def _session(
    sides: Sequence[Side], settings: Settings, session: int, folders: Sequence[Path]
) -> None:
    participants = [
        Participant(
            [
                *(sys.executable, "-m", "kernels.harness", TIME, settings.operator),
                *("--out", str(folder.absolute()), "--check", str(side.check.absolute())),
                *("--cases", settings.cases, "--rounds", str(settings.rounds)),
                *("--warm-up-s", str(settings.warm_up_s)),
                *("--first-round", str(session * settings.rounds)),
                *(("--variants", *settings.variants) if settings.variants else ()),
            ],
            side.source,
            {
                name: value
                for name, value in os.environ.items()
                if name != COMMIT or side.revision.commit is None
            },
        )
        for side, folder in zip(sides, folders, strict=True)
    ]
    for side, ended in zip(sides, alternate(participants), strict=True):
        sys.stderr.write(ended.output)
        name = f"revision {side.revision.text}"
        if ended.status:
            said = re.findall(r"^error: (.*)$", ended.output, re.MULTILINE)
            cause = said[-1] if said else f"its harness ended with status {ended.status}"
            raise RevisionError(f"{name}: {cause}", "the log holds all that it printed")
        if not ended.rounds:
            raise RevisionError(
                f"{name}: its harness was given no round", "measure again, or a later revision"
            )


def unsettled(
    base: Iterable[Path], head: Iterable[Path], noise: Noise, starts: Sequence[int]
) -> list[Row]:
    """Return the variants and cases of which another session may change the verdict.

    Raises
    ------
    CaptureError
        When a capture cannot be read.
    """
    before, after = (_by_row(folders) for folders in (base, head))
    pairs = {row: (before[row], after[row]) for row in before.keys() & after.keys()}
    judged = judge(pairs, noise, {}, starts)
    return sorted(row for row, timed in judged.items() if not timed.settled)


def _by_row(folders: Iterable[Path]) -> dict[Row, pd.Series[float]]:
    samples = pd.concat([parse_pass(folder)["samples"] for folder in folders])
    groups = samples.groupby(["variant", "case"], observed=True)
    return {(str(v), str(c)): by_round(part) for (v, c), part in groups}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m workflows.alternate", description=__doc__)
    parser.add_argument("operator")
    parser.add_argument("revisions", nargs="+", metavar="REV", help="worktree is the files on disk")
    parser.add_argument("--checks", nargs="+", type=Path, required=True, help="a folder a revision")
    parser.add_argument("--out", type=Path, required=True, help="folder of the captures")
    parser.add_argument("--cases", default="default")
    parser.add_argument("--variants", nargs="+", default=[], help="default: all")
    parser.add_argument("--rounds", type=int, default=100, help="of a session")
    parser.add_argument("--warm-up-s", type=float, default=0.5)
    parser.add_argument("--sessions", type=int, default=1, help="most, while not settled")
    parser.add_argument("--noise", default="alternating", help="by which changes are judged")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return 0, or 2 with one line on standard error for a user's mistake."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if len(options.checks) != len(options.revisions):
        parser.error("--checks takes as many folders as there are revisions")
    root = Path.cwd()
    try:
        noise = noise_of(options.noise)
        with ExitStack() as stack:
            sides = []
            for text, check in zip(options.revisions, options.checks, strict=True):
                revision, source = resolve(text, root), root
                if revision.commit is not None:
                    target = root / "results" / revision.name / "source"
                    source = stack.enter_context(checked_out(revision, target, root))
                sides.append(Side(revision, source, check))
            if options.out.exists():
                shutil.rmtree(options.out)
            settings = Settings(
                options.operator,
                options.cases,
                options.rounds,
                options.warm_up_s,
                options.sessions,
                tuple(options.variants),
            )
            measure(sides, settings, noise, options.out)
    except (RevisionError, CaptureError, NoiseError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
