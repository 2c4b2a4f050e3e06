"""A pass's folder made by hand."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

VARIANTS = [
    {"operator": "gelu", "variant": "naive", "summary": "nine launches", "baseline": True},
    {"operator": "gelu", "variant": "triton", "summary": "one launch", "baseline": False},
]
CASES = [{"operator": "gelu", "case": "small", "shape": "8x8", "dtype": "float32", "elements": 64}]


def outcome(pass_: str, variant: str, status: str = "ok") -> dict[str, Any]:
    """Return a row of outcomes."""
    return {
        "pass": pass_,
        "operator": "gelu",
        "variant": variant,
        "case": "small",
        "status": status,
    }


def write_pass(folder: Path, pass_: str, contents: dict[str, bytes], **changes: Any) -> Path:
    """Write files and a ``run.json`` that lists them with their hashes, then change its keys."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in contents.items():
        (folder / name).write_bytes(data)
    run = {
        "operator": "gelu",
        "pass": pass_,
        "date": "2026-01-02T03:04:05Z",
        "source_sha256": "0" * 64,
        "gpu": "NVIDIA H200",
        "sm_count": 132,
    }
    content = {
        "format": 1,
        "operator": "gelu",
        "pass": pass_,
        "run": run,
        "variants": VARIANTS,
        "cases": CASES,
        "outcomes": [outcome(pass_, "naive"), outcome(pass_, "triton")],
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in contents.items()},
    } | changes
    (folder / "run.json").write_text(json.dumps(content), encoding="utf-8")
    return folder
