"""Every operator is recorded, and the published reports are what replay writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernels.harness import discovery
from tests.checkouts import copy_checkout
from tests.workflows.running import snakemake


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout in which every operator was reported."""
    where = copy_checkout(tmp_path_factory.mktemp("published") / "checkout")
    code, output = snakemake(where, "reports/all", "--config", "source=replay")
    assert code == 0, output
    return where


def test_the_published_examples_are_what_replay_writes(published: Path) -> None:
    written, examples = published / "results/reports", published / "docs/reports/h200"
    names = sorted(path.relative_to(examples) for path in examples.rglob("*") if path.is_file())
    assert names == sorted(
        path.relative_to(written) for path in written.rglob("*") if path.suffix in {".md", ".svg"}
    )
    for name in names:
        assert (examples / name).read_bytes() == (written / name).read_bytes(), name


def test_every_operator_has_a_capture(published: Path) -> None:
    for operator in discovery.names():
        page = (published / f"results/reports/{operator}.md").read_text()
        assert "**Replayed**: recorded on NVIDIA H200 on " in page
        assert "Older than the source" not in page
        assert f"]({operator}.md)" in (published / "results/reports/index.md").read_text()
