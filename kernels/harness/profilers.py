"""The command lines of ``nsys`` and ``ncu``, and what their complaints mean."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kernels.harness.errors import HarnessError, without_folders
from kernels.harness.machine import REPLAY
from parsers.contract import DOMAIN


@dataclass(frozen=True)
class Complaint:
    """What ``ncu`` says of itself: the sign in its output, what it means, and the way out.

    One that is not ``general`` is about the one program that was profiled, not about the machine.
    """

    sign: str
    cause: str
    remedy: str
    general: bool = True


NCU_COMPLAINTS = (
    Complaint(
        "ERR_NVGPUCTRPERM",
        "this user may not read GPU performance counters (ERR_NVGPUCTRPERM)",
        "run as root, or have an administrator load the nvidia module with"
        f" NVreg_RestrictProfilingToAdminUsers=0, {REPLAY}",
    ),
    Complaint(
        "driver is not compatible",
        "the NVIDIA driver is too old for this Nsight Compute",
        "update the driver, or put an older ncu first on PATH",
    ),
    Complaint(
        "LibraryNotLoaded",
        "the profiler's driver library could not be loaded",
        f"profile on the host or in a container that brings the whole driver, {REPLAY}",
    ),
    Complaint(
        "No kernels were profiled",
        f"no kernel was launched inside an NVTX range of the domain {DOMAIN}",
        "check that the variants launch GPU kernels and that NVTX is not disabled",
        general=False,
    ),
    Complaint(
        "ERR_NVGPUCTR",
        "the GPU's performance counters are in use or not available",
        "end other profilers on this GPU (DCGM among them) and measure again",
    ),
)


def complaint(output: str) -> Complaint | None:
    """Return the first known complaint in ``ncu``'s output, if any."""
    return next((known for known in NCU_COMPLAINTS if known.sign in output), None)


def require(tool: str) -> None:
    """Raise HarnessError where a profiler is not on PATH."""
    if shutil.which(tool) is None:
        product = {
            "ncu": "NVIDIA Nsight Compute",
            "nsys": "NVIDIA Nsight Systems",
            "compute-sanitizer": "the CUDA toolkit",
        }[tool]
        raise HarnessError(
            tool, "not on PATH", f"install {product} or add its folder to PATH, {REPLAY}"
        )


def chip_counters() -> frozenset[str]:
    """Return the counters of the GPU here, without suffix; empty where ``ncu`` does not list any.

    A line of ``ncu --query-metrics`` begins with a counter, or with blanks where it goes on with
    the description of the one before.
    """
    answer = run(["ncu", "--query-metrics"], longest_s=120)
    first = (line.split(" ", 1)[0] for line in answer.stdout.splitlines())
    return frozenset(word for word in first if "__" in word)


COUNTERS_ALONE = ("--import-sass", "off")
"""Cubins stay out of the report: PyTorch's elementwise kernels bring a whole module each."""

ALL_THERE_IS = ("--set", "full", "--import-source", "yes")
"""Every section and rule, and the SASS, PTX and source of each kernel."""


def ncu_command(report: Path, metrics: Iterable[str], options: Iterable[str]) -> list[str]:
    """Return the prefix that profiles a program's launches inside our ranges with ``ncu``.

    ``metrics`` are the names to collect, ``options`` what else: `COUNTERS_ALONE` or
    `ALL_THERE_IS`. Clocks are left as they are.
    """
    return [
        "ncu",
        "--nvtx",
        "--nvtx-include",
        f"regex:{DOMAIN}@.*",
        "--metrics",
        ",".join(metrics),
        *options,
        "--clock-control",
        "none",
        "--target-processes",
        "all",
        "--force-overwrite",
        "--export",
        str(report.with_suffix("")),
    ]


def nsys_command(report: Path) -> list[str]:
    """Return the prefix that records a program's timeline with ``nsys``: CUDA and NVTX alone."""
    return [
        "nsys",
        "profile",
        "--trace=cuda,nvtx",
        "--sample=none",
        "--cpuctxsw=none",
        "--cuda-graph-trace=node",
        "--force-overwrite=true",
        f"--output={report.with_suffix('')}",
    ]


def export_sqlite(report: Path) -> Path:
    """Export an ``.nsys-rep`` to the SQLite file beside it and return its path.

    Raises
    ------
    HarnessError
        When ``nsys export`` fails.
    """
    target = report.with_suffix(".sqlite")
    command = ["nsys", "export", "--type=sqlite", "--force-overwrite=true"]
    answer = run([*command, f"--output={target}", str(report)])
    if answer.returncode != 0 or not target.exists():
        raise HarnessError(
            "nsys export", last_line(answer.stdout), f"run it by hand on {report} to see more"
        )
    return target


def run(
    command: list[str], extra: dict[str, str] | None = None, longest_s: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command, standard error joined to its standard output, and keep the output.

    ``extra`` adds to the environment; after ``longest_s`` seconds the command is ended.
    """
    return subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
        env={**os.environ, **(extra or {})},
        timeout=longest_s,
    )


def last_line(output: str) -> str:
    """Return the last line of output that says something, without prefix and folders."""
    lines = [re.sub(r"^==\w+== ?", "", line).strip() for line in output.splitlines()]
    return without_folders(next((line for line in reversed(lines) if line), "it printed nothing"))
