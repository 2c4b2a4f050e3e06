"""Every operator is recorded, and the published reports are what replay writes.

The steps are those of the rules, in this process: `test_replay` runs the rules themselves. Workers
of one test run share the pages that they need.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kernels.harness import discovery
from parsers.__main__ import main as parse
from reports.__main__ import main as report
from tests.checkouts import ROOT

PUBLISHED, RECORDED = ROOT / "docs/reports/h200", ROOT / "captures/h200"
PASSES = ("check", "build", "time", "nsys", "ncu")
REPLAY = ("--source", "replay", "--source-sha256")
SHOWN = {".md", ".svg"}


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all workers of this test run have in common."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


def run(command: list[str | Path], main: Callable[[list[str]], int]) -> None:
    assert main([str(word) for word in command]) == 0


def replayed(shared: Path, operator: str) -> tuple[Path, Path]:
    """Return the folders of an operator's frames and pages, made by whoever asks first."""
    frames, pages = shared / "frames" / operator, shared / "pages" / operator
    frames.parent.mkdir(exist_ok=True)
    with frames.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not pages.is_dir():
            replay(operator, frames, pages)
    return frames, pages


def replay(operator: str, frames: Path, pages: Path) -> None:
    captures = RECORDED / operator
    source = [*REPLAY, f"{operator}={discovery.source_sha256(operator)}"]
    folders = {name: captures / "deep" / name for name in discovery.variants(operator)}
    deep = [name for name, folder in folders.items() if folder.is_dir()]
    run(["frames", *(captures / name for name in PASSES), "--out", frames], parse)
    option = ["--deep", *deep] if deep else []
    run(["operator", frames, "--out", pages, *source, *option], report)
    for name in deep:
        run(["frames", folders[name], "--out", frames / "deep" / name], parse)
        run(["deep", frames / "deep" / name, "--out", pages / operator, *source], report)


def assert_published(pages: Path, published: dict[Path, Path]) -> None:
    written = {path.relative_to(pages): path for path in pages.rglob("*") if path.suffix in SHOWN}
    assert written.keys() == published.keys()
    for name, path in written.items():
        assert path.read_bytes() == published[name].read_bytes(), name


@pytest.mark.parametrize("operator", discovery.names())
def test_the_pages_of_an_operator(shared: Path, operator: str) -> None:
    _, pages = replayed(shared, operator)
    own = [*PUBLISHED.glob(f"{operator}.*"), *PUBLISHED.glob(f"{operator}/*")]
    assert_published(pages, {path.relative_to(PUBLISHED): path for path in own})
    page = (pages / f"{operator}.md").read_text(encoding="utf-8")
    assert "**Replayed**: recorded on NVIDIA H200 on " in page
    assert "Older than the source" not in page


def test_the_index_and_the_reference(shared: Path, tmp_path: Path) -> None:
    frames = [replayed(shared, operator)[0] for operator in discovery.names()]
    hashes = [f"{name}={discovery.source_sha256(name)}" for name in discovery.names()]
    run(["index", *frames, "--out", tmp_path, *REPLAY, *hashes], report)
    run(["metrics", "--out", tmp_path], report)
    names = [Path("index.md"), Path("metrics.md")]
    assert_published(tmp_path, {name: PUBLISHED / name for name in names})


def test_nothing_else_is_published() -> None:
    operators = set(discovery.names())
    known = operators | {"index", "metrics"}
    assert {path.name.split(".")[0] for path in PUBLISHED.iterdir()} <= known
