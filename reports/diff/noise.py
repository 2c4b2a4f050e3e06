"""What two measurements of the same code differ by: ``python -m reports.diff.noise FOLDER…``.

Several processes measured one source in alternating rounds. Each two of them are a session of a
comparison in which nothing changed (A/A): what they differ by is noise. Several pairs of them are a
comparison as a diff makes it, whose verdict, were it *faster* or *slower*, would be wrong.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pandas as pd

from reports.__main__ import Parser, write
from reports.columns import Table
from reports.diff.times import Change, Noise, NoiseError, Row, judge, noise_of
from reports.format import (
    cell_code,
    count,
    digits,
    duration,
    escape,
    listing,
    percent,
)
from reports.frames import FramesError, read
from reports.render import page
from reports.timing import Estimate, by_round, ratio

COMPARISONS = 20
SESSIONS_EACH = 3
"""Comparisons of an operator with itself, and sessions of each: as many as a diff takes."""

LEAST = Noise(0.005, 500.0, "what is worth a verdict")
"""The least that counts as a change, however quiet a machine is; noise is a multiple of it."""

FEWEST = 2

CLASSES_NS = (10_000.0, 30_000.0, 100_000.0, 1_000_000.0)
"""Bounds between the rows of the table by duration."""


@dataclass(frozen=True)
class Alike:
    """A variant and case in two processes that ran the same code.

    Attributes
    ----------
    median_ns
        Of the first one.
    ratio
        Of their medians, with its interval.
    """

    operator: str
    variant: str
    case: str
    median_ns: float
    ratio: Estimate

    @property
    def moved(self) -> float:
        """How far the medians are apart, as a share of the smaller one."""
        return max(self.ratio.value, 1 / self.ratio.value) - 1


def beyond(moved: Estimate) -> float:
    """Return how far a whole interval lies beyond no change, as a share; 0 where it holds it."""
    low, high = moved.low, moved.high
    return 0.0 if low is None or high is None else max(low - 1, 1 / high - 1, 0.0)


@dataclass(frozen=True)
class Judged:
    """Comparisons of an operator with itself.

    Attributes
    ----------
    rows
        Variants and cases of each comparison.
    changes
        The verdicts on them.
    needed
        The least multiple of `LEAST` by which nothing would be called faster or slower.
    """

    operator: str
    rows: int
    changes: Counter[Change]
    needed: float


def times_of(samples: pd.DataFrame) -> dict[Row, pd.Series[float]]:
    """Return the times of one process by variant and case, each by round."""
    groups = samples.groupby(["variant", "case"], observed=True)
    return {(str(variant), str(case)): by_round(part) for (variant, case), part in groups}


def compare_alike(operator: str, times: Sequence[Mapping[Row, pd.Series[float]]]) -> list[Alike]:
    """Compare each two processes, given the `times_of` each."""
    found = []
    for base, head in combinations(times, 2):
        for row in base.keys() & head.keys():
            moved = ratio(head[row], base[row])
            if moved is not None:
                found.append(Alike(operator, *row, float(base[row].median()), moved))
    return sorted(found, key=lambda one: (one.variant, one.case))


def judge_alike(
    operator: str, times: Sequence[Mapping[Row, pd.Series[float]]], noise: Noise
) -> Judged:
    """Judge `COMPARISONS` comparisons of `SESSIONS_EACH` sessions, of two processes each.

    The processes of a comparison are other ones in each session. Which they are is drawn, always
    alike. Where there are too few processes, a comparison has fewer sessions.
    """
    draws, sessions = random.Random(0), min(SESSIONS_EACH, len(times) // 2)  # noqa: S311
    rounds = 1 + int(max(part.index.max() for one in times for part in one.values()))
    changes: Counter[Change] = Counter()
    needed = 0.0
    rows = set.intersection(*(set(one) for one in times))
    for _ in range(COMPARISONS):
        drawn = draws.sample(range(len(times)), 2 * sessions)
        base, head = drawn[::2], drawn[1::2]
        pairs = {
            row: (_joined(times, base, row, rounds), _joined(times, head, row, rounds))
            for row in rows
        }
        judged = judge(pairs, noise, {}, [one * rounds for one in range(sessions)])
        changes.update(timed.change for timed in judged.values())
        for row, timed in judged.items():
            if timed.ratio is not None:
                least = LEAST.of(float(pairs[row][0].median()))
                needed = max(needed, beyond(timed.ratio) / least)
    return Judged(operator, len(rows), changes, needed)


def _joined(
    times: Sequence[Mapping[Row, pd.Series[float]]], processes: Sequence[int], row: Row, rounds: int
) -> pd.Series[float]:
    """Join the times of a row in several processes, whose rounds count on from one to the next."""
    parts = [times[process][row] for process in processes]
    return pd.concat(
        [part.set_axis(part.index + number * rounds) for number, part in enumerate(parts)]
    )


def fitted(judged: Iterable[Judged], source: str) -> Noise:
    """Return the least whole multiple of `LEAST` by which nothing is called faster or slower."""
    multiple = max(1, *(math.ceil(one.needed) for one in judged))
    return Noise(multiple * LEAST.share, multiple * LEAST.least_ns, source)


def noise_page(
    found: list[Alike], judged: list[Judged], noise: Noise, judged_by: Noise
) -> dict[str, str]:
    """Write what the same code differs by.

    Parameters
    ----------
    found, judged
        What `compare_alike` and `judge_alike` found of all operators.
    noise
        What was fitted to it.
    judged_by
        What the verdicts were judged by.
    """
    changes = sum((one.changes for one in judged), Counter[Change]())
    context = {
        "source": escape(noise.source),
        "comparisons": count(COMPARISONS),
        "sessions": count(SESSIONS_EACH),
        "rows": f"{count(sum(one.rows for one in judged))} variants and cases",
        "verdicts": listing(f"{count(changes[change])} {change}" for change in Change),
        "judged_by": f"{percent(judged_by.share)} and {duration(judged_by.least_ns)}",
        "judged_source": escape(judged_by.source),
        "noise": f"{percent(noise.share)} and {duration(noise.least_ns)}",
        "least": f"{percent(LEAST.share)} and {duration(LEAST.least_ns)}",
        "by_duration": _by_duration(found),
        "by_operator": _by_operator(judged),
        "largest": _largest(found),
    }
    return page("noise", "Noise", "noise.md.j2", context)


def _by_duration(found: list[Alike]) -> Table:
    bounds = (0.0, *CLASSES_NS, math.inf)
    rows = []
    for low, high in pairwise(bounds):
        among = [one for one in found if low <= one.median_ns < high]
        if not among:
            continue
        if math.isinf(high):
            name = f"from {duration(low)}"
        else:
            name = f"{duration(low)} to {duration(high)}" if low else f"below {duration(high)}"
        moved = np.array([one.moved for one in among])
        far = np.array([beyond(one.ratio) for one in among])
        apart = np.percentile(moved, (50, 95))
        figures = (*apart, moved.max(), np.percentile(far, 95), far.max())
        rows.append((name, count(len(among)), *(digits(100 * value, 2) for value in figures)))
    headers = ("Median time", "Comparisons", "Median change, %", "95th percentile, %")
    beyond_it = ("Largest, %", "Beyond its interval, 95th percentile, %", "largest, %")
    return Table((*headers, *beyond_it), tuple(rows), left=1)


def _by_operator(judged: list[Judged]) -> Table:
    rows = tuple(
        (cell_code(one.operator), count(one.rows), *(count(one.changes[c]) for c in Change))
        for one in judged
    )
    headers = ("Operator", "Variants and cases", *(change.capitalize() for change in Change))
    return Table(headers, rows, left=1)


def _largest(found: list[Alike], shown: int = 10) -> Table:
    """List what lies furthest beyond its interval, each variant and case once."""
    worst: dict[tuple[str, ...], Alike] = {}
    for one in sorted(found, key=lambda one: -beyond(one.ratio)):
        worst.setdefault((one.operator, one.variant, one.case), one)
    rows = tuple(
        (
            *(cell_code(name) for name in (one.operator, one.variant, one.case)),
            duration(one.median_ns),
            digits(100 * one.moved, 2),
            digits(100 * beyond(one.ratio), 2),
        )
        for one in list(worst.values())[:shown]
    )
    headers = ("Operator", "Variant", "Case", "Median", "Change, %", "Beyond its interval, %")
    return Table(headers, rows, left=3)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return 2 after one ``error:`` line, else 0."""
    options = _options(arguments)
    try:
        judged_by = noise_of(options.by)
        found: list[Alike] = []
        judged: list[Judged] = []
        runs: list[pd.DataFrame] = []
        for folder in options.folders:
            processes = sorted(path for path in folder.iterdir() if path.is_dir())
            if len(processes) < FEWEST:
                raise FramesError(folder, "fewer than two processes", "measure at least two")
            times = [times_of(read(path / "samples.parquet", "samples")) for path in processes]
            runs += [read(path / "runs.parquet", "runs") for path in processes]
            found += compare_alike(folder.name, times)
            judged.append(judge_alike(folder.name, times, judged_by))
        noise = fitted(judged, _source(pd.concat(runs), found))
        write(options.out, noise_page(found, judged, noise, judged_by))
        options.keep.parent.mkdir(parents=True, exist_ok=True)
        options.keep.write_text(json.dumps(asdict(noise), indent=1) + "\n", encoding="utf-8")
    except (FramesError, NoiseError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    except OSError as error:
        cause = error.strerror or "cannot be read"
        sys.stderr.write(f"error: {error.filename}: {cause}; measure the noise again\n")
        return 2
    return 0


def _source(runs: pd.DataFrame, found: list[Alike]) -> str:
    """Say where a noise comes from: what was compared, on which GPU and when."""
    gpus, dates = (listing(sorted(set(runs[name].dropna().str[:n]))) for name, n in _WHERE)
    pairs = f"{count(len(found))} pairs of processes that ran one source"
    return f"{pairs} on {gpus or 'an unknown GPU'}, {dates}"


_WHERE = (("gpu", None), ("date", len("2026-11-30")))


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = Parser(prog="python -m reports.diff.noise", description=__doc__)
    parser.add_argument(
        "folders",
        type=Path,
        nargs="+",
        help="of an operator each, with a folder of frames for each process",
    )
    parser.add_argument("--out", type=Path, required=True, help="folder of the page")
    parser.add_argument("--keep", type=Path, required=True, help="JSON to write the noise to")
    parser.add_argument("--by", default="alternating", help="noise by which they are judged")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
