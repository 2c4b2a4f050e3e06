"""Run Snakemake in a copy of the checkout, as a user would."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path


def snakemake(where: Path, *arguments: str, path: Path | None = None) -> tuple[int, str]:
    """Run Snakemake and return its exit code and all that it printed.

    Folder ``path`` comes first on PATH.
    """
    environment = dict(os.environ)
    if path is not None:
        environment["PATH"] = f"{path}:{environment['PATH']}"
    answer = subprocess.run(
        [sys.executable, "-m", "snakemake", "--nocolor", *arguments],
        cwd=where,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return answer.returncode, answer.stdout


def planned(where: Path, *arguments: str, path: Path | None = None) -> dict[str, int]:
    """Return how many jobs of each rule a dry run would run."""
    code, output = snakemake(where, *arguments, "--dry-run", path=path)
    assert code == 0, output
    return jobs(output)


def jobs(output: str) -> dict[str, int]:
    """Return how many jobs of each rule Snakemake said that it runs."""
    if "Nothing to be done" in output:
        return {}
    stats = output.split("Job stats:")[1].split("\n\n", maxsplit=1)[0]
    found = re.findall(r"^(\S+) +(\d+)$", stats, re.MULTILINE)
    return {rule: int(count) for rule, count in found if rule != "total"}


def errors(output: str) -> list[str]:
    """Return the lines of output that name an error of ours, without repeats."""
    return list(dict.fromkeys(re.findall(r"^error: .*$", output, re.MULTILINE)))
