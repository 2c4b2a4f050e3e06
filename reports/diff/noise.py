"""What two measurements of the same code differ by: ``python -m reports.diff.noise FOLDER…``.

Several processes measured one source in alternating rounds. Each two of them are a comparison in
which nothing changed (A/A), so that what they differ by is noise, and any verdict but *same* and
*undecided* is wrong.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, groupby, pairwise
from pathlib import Path

import numpy as np
import pandas as pd

from reports.__main__ import Parser, write
from reports.columns import Table
from reports.diff.times import Change, Noise, NoiseError, judge, noise_of
from reports.format import (
    MISSING,
    cell_code,
    count,
    digits,
    duration,
    escape,
    listing,
    percent,
    plural,
)
from reports.frames import FramesError, read
from reports.render import page
from reports.timing import Estimate, by_round

LONG_NS = 100_000.0
"""From this duration on, noise is taken for a share of the time; below it, also for a time."""

CLASSES_NS = (10_000.0, 30_000.0, LONG_NS, 1_000_000.0)
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
    change
        What a comparison would call it.
    """

    operator: str
    variant: str
    case: str
    median_ns: float
    ratio: Estimate
    change: Change

    @property
    def moved(self) -> float:
        """How far the medians are apart, as a share of the smaller one."""
        return max(self.ratio.value, 1 / self.ratio.value) - 1

    @property
    def beyond(self) -> float:
        """How far the whole interval lies beyond no change, as a share; 0 where it holds it."""
        low, high = self.ratio.low, self.ratio.high
        return 0.0 if low is None or high is None else max(low - 1, 1 / high - 1, 0.0)


def compare_alike(operator: str, samples: Sequence[pd.DataFrame], noise: Noise) -> list[Alike]:
    """Compare each two processes.

    Parameters
    ----------
    samples
        The frame ``samples`` of each.
    noise
        What the comparisons are judged by.
    """
    times = [
        {
            (str(variant), str(case)): by_round(part)
            for (variant, case), part in frame.groupby(["variant", "case"], observed=True)
        }
        for frame in samples
    ]
    found = []
    for base, head in combinations(times, 2):
        pairs = {row: (base[row], head[row]) for row in base if row in head}
        for (variant, case), timed in judge(pairs, noise, {}).items():
            if timed.ratio is not None:
                median = float(base[variant, case].median())
                about = (operator, variant, case, median, timed.ratio, timed.change)
                found.append(Alike(*about))
    return found


def fitted(found: Iterable[Alike], source: str) -> Noise:
    """Return the least noise by which no interval lies beyond it, rounded up.

    The share comes from times of at least `LONG_NS`; the rest of shorter ones is a time.
    """
    listed = list(found)
    share = max((one.beyond for one in listed if one.median_ns >= LONG_NS), default=0.0)
    share = math.ceil(share * 1000) / 1000
    short = [one for one in listed if one.median_ns < LONG_NS]
    least = max(((one.beyond - share) * one.median_ns for one in short), default=0.0)
    return Noise(share, 100.0 * math.ceil(max(least, 0.0) / 100), source)


def noise_page(found: list[Alike], noise: Noise, judged_by: Noise) -> dict[str, str]:
    """Write what the same code differs by.

    Parameters
    ----------
    noise
        What was fitted to it.
    judged_by
        What the verdicts were judged by.
    """
    changes = Counter(one.change for one in found)
    rows = len({(one.operator, one.variant, one.case) for one in found})
    context = {
        "source": escape(noise.source),
        "rows": f"{count(rows)} variants and cases",
        "verdicts": listing(f"{count(changes[change])} {change}" for change in Change),
        "judged_by": f"{percent(judged_by.share)} and {duration(judged_by.least_ns)}",
        "judged_source": escape(judged_by.source),
        "noise": f"{percent(noise.share)} and {duration(noise.least_ns)}",
        "by_duration": _by_duration(found),
        "by_operator": _by_operator(found),
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
        beyond = max(one.beyond for one in among)
        figures = (*np.percentile(moved, (50, 95)), moved.max(), beyond)
        rows.append((name, count(len(among)), *(digits(100 * value, 2) for value in figures)))
    headers = ("Median time", "Comparisons", "Median change, %", "95th percentile, %")
    return Table((*headers, "Largest, %", "Largest beyond its interval, %"), tuple(rows), left=1)


def _by_operator(found: list[Alike]) -> Table:
    rows = []
    for operator, group in groupby(found, key=lambda one: one.operator):
        among = list(group)
        changes = Counter(one.change for one in among)
        known = len({(one.variant, one.case) for one in among})
        counts = (count(changes[change]) for change in Change)
        rows.append((cell_code(operator), count(known), count(len(among)), *counts))
    headers = ("Operator", "Variants and cases", "Comparisons", *(c.capitalize() for c in Change))
    return Table(headers, tuple(rows), left=1)


def _largest(found: list[Alike], shown: int = 10) -> Table:
    """List what lies furthest beyond its interval, each variant and case once."""
    worst: dict[tuple[str, ...], Alike] = {}
    for one in sorted(found, key=lambda one: -one.beyond):
        worst.setdefault((one.operator, one.variant, one.case), one)
    rows = tuple(
        (
            *(cell_code(name) for name in (one.operator, one.variant, one.case)),
            duration(one.median_ns),
            digits(100 * one.moved, 2),
            digits(100 * one.beyond, 2) if one.beyond else MISSING,
            str(one.change),
        )
        for one in list(worst.values())[:shown]
    )
    headers = ("Operator", "Variant", "Case", "Median", "Change, %", "Beyond its interval, %")
    return Table((*headers, "Verdict"), rows, left=3)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return 2 after one ``error:`` line, else 0."""
    options = _options(arguments)
    try:
        judged_by = noise_of(options.by)
        found, runs = [], []
        for folder in options.folders:
            processes = sorted(path for path in folder.iterdir() if path.is_dir())
            samples = [read(path / "samples.parquet", "samples") for path in processes]
            runs += [read(path / "runs.parquet", "runs") for path in processes]
            found += compare_alike(folder.name, samples, judged_by)
        if not found:
            raise FramesError(options.folders[0], "no two processes", "measure at least two")
        noise = fitted(found, _source(pd.concat(runs), found))
        write(options.out, noise_page(found, noise, judged_by))
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
    comparisons = plural(len(found), "comparison")
    return f"{comparisons} of processes that ran one source on {gpus or 'an unknown GPU'}, {dates}"


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
