"""Every operator is recorded, and the published reports are what replay writes.

Pages are made by the commands of the rules; `test_replay` runs the rules themselves.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kernels.harness import discovery
from reports.__main__ import main as report
from tests.captured import REPLAY, Captured
from tests.checkouts import ROOT

PUBLISHED = ROOT / "docs/reports/h200"
SHOWN = {".md", ".svg"}


def assert_published(pages: Path, published: dict[Path, Path]) -> None:
    written = {path.relative_to(pages): path for path in pages.rglob("*") if path.suffix in SHOWN}
    assert written.keys() == published.keys()
    for name, path in written.items():
        assert path.read_bytes() == published[name].read_bytes(), name


@pytest.mark.parametrize("operator", discovery.names())
def test_the_pages_of_an_operator(captured: Captured, operator: str) -> None:
    pages = captured.pages(operator)
    own = [*PUBLISHED.glob(f"{operator}.*"), *PUBLISHED.glob(f"{operator}/*")]
    assert_published(pages, {path.relative_to(PUBLISHED): path for path in own})
    page = (pages / f"{operator}.md").read_text(encoding="utf-8")
    assert "**Replayed**: recorded on NVIDIA H200 on " in page
    assert "Older than the source" not in page


def test_the_index_and_the_reference(captured: Captured, tmp_path: Path) -> None:
    for operator in discovery.names():
        captured.pages(operator)  # keeps the comparison that the index reads
    frames = [str(captured.frames(operator)) for operator in discovery.names()]
    hashes = [f"{name}={discovery.source_sha256(name)}" for name in discovery.names()]
    assert report(["index", *frames, "--out", str(tmp_path), *REPLAY, *hashes]) == 0
    assert report(["metrics", "--out", str(tmp_path)]) == 0
    names = [Path("index.md"), Path("metrics.md")]
    assert_published(tmp_path, {name: PUBLISHED / name for name in names})


def test_nothing_else_is_published() -> None:
    operators = set(discovery.names())
    known = operators | {"index", "metrics", "noise"}
    assert {path.name.split(".")[0] for path in PUBLISHED.iterdir()} <= known
