from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from parsers.files import plain
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


@pytest.fixture(scope="session")
def ncu_report_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real Nsight Compute report, unpacked."""
    recorded = ROOT / "tests/data/gelu.ncu-rep.gz"
    with plain(recorded, "restore it") as report:
        return Path(shutil.copy(report, tmp_path_factory.mktemp("ncu")))


@pytest.fixture
def export_path(tmp_path: Path) -> Path:
    """A hand-made export with the traps of `tests.parsers.exports`."""
    return write_export(tmp_path / "all.sqlite")
