"""Where, when and with what a pass ran: one row of the frame ``runs``."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from kernels.harness import discovery, machine
from kernels.harness.spec import Operator

ROOT = Path(__file__).resolve().parents[2]


def commit() -> str | None:
    """Return the commit of this checkout, with ``+changes`` where tracked files differ from it.

    Where the environment variable ``ROOFSNAKE_COMMIT`` is set, it names the commit: that of a tree
    without git, such as a container image, or with another's. Without either there is none.
    """
    if named := os.environ.get("ROOFSNAKE_COMMIT"):
        return named
    head = _git("rev-parse", "HEAD")
    if head is None:
        return None
    return f"{head}+changes" if _git("status", "--porcelain", "--untracked-files=no") else head


def _git(*arguments: str) -> str | None:
    try:
        answer = subprocess.run(
            ["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return answer.stdout.strip()


def tool_version(tool: str) -> str | None:
    """Return ``tool`` and the version that it prints of itself, such as ``ncu 2025.3.1.0``."""
    try:
        answer = subprocess.run([tool, "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    version = re.search(r"\d+(?:\.\d+){2,}", answer.stdout)
    return f"{tool} {version.group()}" if version else None


def device_facts() -> dict[str, Any]:
    """Return what torch says of the current CUDA device; empty without one."""
    import torch

    if not torch.cuda.is_available():
        return {}
    properties = torch.cuda.get_device_properties(torch.cuda.current_device())
    return {
        "compute_capability": f"{properties.major}.{properties.minor}",
        "sm_count": properties.multi_processor_count,
        "l2_bytes": properties.L2_cache_size,
    }


def origin(operator: str) -> dict[str, Any]:
    """Return what identifies a pass that begins now: its date, commit and source."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "source_sha256": discovery.source_sha256(operator),
    }


def run_row(
    operator: Operator,
    pass_name: str,
    began: dict[str, Any],
    *,
    tool: str | None,
    settings: dict[str, Any],
) -> dict[str, Any]:
    """Return the row of ``runs`` for a pass.

    ``began`` is the `origin` taken before it; ``tool`` is the profiler's command; ``settings`` is
    whatever shaped the pass.
    """
    import torch

    return {
        "operator": operator.name,
        "summary": operator.summary,
        "pass": pass_name,
        **began,
        "roofsnake": _version("roofsnake") or _declared_version(),
        **machine.gpu_facts(),
        **device_facts(),
        "clock_policy": "left as found" if machine.gpu_facts() else None,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "triton": _version("triton"),
        "tool": tool_version(tool) if tool else None,
        "settings": json.dumps(settings, sort_keys=True),
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _declared_version() -> str | None:
    declared = re.search(
        r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE
    )
    return declared.group(1) if declared else None
