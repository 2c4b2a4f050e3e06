"""What this machine can measure. Standard library only: it runs while the Snakefile is read."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from functools import cache

REPLAY = "or replay recorded captures with `--config source=replay`"

_QUERY = {
    "gpu": "name",
    "driver": "driver_version",
    "memory_bytes": "memory.total",
    "sm_clock_max_hz": "clocks.max.sm",
    "memory_clock_max_hz": "clocks.max.memory",
}
_UNITS = {"MiB": 2**20, "MHz": 1_000_000}


@cache
def gpu_facts() -> dict[str, str | int]:
    """Return what ``nvidia-smi`` says of the first GPU; empty where there is none.

    Keys are columns of the frame ``runs``; bytes and Hz are integers. A field that the driver
    does not report is left out.
    """
    return _ask(_QUERY)


def clocks_now() -> dict[str, str | int]:
    """Return the clocks of the first GPU at this moment, in Hz, as columns of ``runs``."""
    return _ask({"sm_clock_hz": "clocks.current.sm", "memory_clock_hz": "clocks.current.memory"})


def first_visible() -> str:
    """Return which GPU a CUDA program calls its first, as an index or UUID."""
    return os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0].strip() or "0"


def _ask(fields: dict[str, str]) -> dict[str, str | int]:
    command = [
        "nvidia-smi",
        f"--query-gpu={','.join(fields.values())}",
        "--format=csv,noheader",
        f"--id={first_visible()}",
    ]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return {}
    facts: dict[str, str | int] = {}
    for key, value in zip(fields, answer.stdout.strip().split(", "), strict=False):
        number, _, unit = value.partition(" ")
        if unit in _UNITS and number.isdigit():
            facts[key] = int(number) * _UNITS[unit]
        elif not value.startswith("["):
            facts[key] = value
    return facts


def gpu_slug(name: str) -> str:
    """Return a folder name for a GPU: ``NVIDIA H200`` becomes ``h200``."""
    words = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return words.removeprefix("nvidia-") or "gpu"


def obstacles() -> list[str]:
    """Return, a line each, why this machine cannot measure; empty where it can."""
    found = []
    if not gpu_facts():
        found.append("nvidia-smi: shows no GPU; run on a machine with an NVIDIA GPU")
    for tool, product in (("ncu", "Nsight Compute"), ("nsys", "Nsight Systems")):
        if shutil.which(tool) is None:
            found.append(f"{tool}: not on PATH; install {product} or add its folder")
    found.extend(
        f"{module}: not installed in this Python; install it"
        for module in ("torch", "triton", "nvtx")
        if importlib.util.find_spec(module) is None
    )
    return found
