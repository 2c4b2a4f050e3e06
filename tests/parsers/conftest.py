from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.parsers.exports import write_export

ROOT = Path(__file__).parents[2]


def shared_report(name: str) -> Path:
    """Return a real report kept beside the checkout; skip the test where there is none."""
    for folder in (ROOT, *ROOT.parents):
        path = folder.parent / "shared" / "reports" / name
        if path.is_file():
            return path
    pytest.skip(f"shared/reports/{name} is not beside the checkout")


@pytest.fixture
def shared() -> Callable[[str], Path]:
    return shared_report


@pytest.fixture
def ncu_report_path() -> Path:
    """A real Nsight Compute report: the recorded capture, else the one beside the checkout."""
    recorded = ROOT / "captures" / "h200" / "gelu" / "ncu" / "all.ncu-rep"
    return recorded if recorded.is_file() else shared_report("h200/gelu_4096.ncu-rep")


@pytest.fixture
def export_path(tmp_path: Path) -> Path:
    """A hand-made export with the traps of `tests.parsers.exports`."""
    return write_export(tmp_path / "all.sqlite")
