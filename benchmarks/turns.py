"""Run readers in turn, each in a process of its own, and say what each took."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

HEADER = "| rows | reader | wall s | CPU s | of the first | peak GB |\n|---|---|---|---|---|---|"


def compare(module: str, readers: Sequence[str], path: Path, repeats: int) -> None:
    """Run ``python -m module --read NUMBER --file path`` for each reader, round by round.

    A row of a table tells of each reader the run that took the least CPU time.
    """
    runs: list[list[dict[str, float]]] = [[] for _ in readers]
    for _ in range(repeats):
        for reader, done in enumerate(runs):
            command = [sys.executable, "-m", module, "--read", str(reader), "--file", str(path)]
            result = subprocess.run(command, check=True, capture_output=True, text=True)
            done.append(json.loads(result.stdout))
    best = [min(done, key=lambda run: run["cpu"]) for done in runs]
    for name, run in zip(readers, best, strict=True):
        figures = f"{run['wall']:.3f} | {run['cpu']:.3f} | {run['cpu'] / best[0]['cpu']:.2f}"
        say(f"| {run['rows']:,} | {name} | {figures} | {run['peak']:.2f} |")


def measure(read: Callable[[], int], times: int = 1) -> None:
    """Print what a reader, which returns how many rows it read, takes at its quickest."""
    runs = []
    for _ in range(times):
        before = time.perf_counter(), time.process_time()
        rows = read()
        runs.append((time.process_time() - before[1], time.perf_counter() - before[0]))
    cpu, wall = min(runs)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    sys.stdout.write(json.dumps({"rows": rows, "wall": wall, "cpu": cpu, "peak": peak}))


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
