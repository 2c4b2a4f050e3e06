"""Deep profiles of single variants: from captures, and what a live one would run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from parsers import ncu
from parsers.files import plain, sha256
from tests.checkouts import ROOT, copy_checkout
from tests.workflows.running import errors, jobs, planned, snakemake

REPORT = ROOT / "tests/data/gelu.ncu-rep.gz"
REPLAY = ("--config", "source=replay")
TARGET, DEEP = "reports/gelu/triton", Path("captures/h200/gelu/deep")
PAGE = "results/reports/gelu/triton.md"


def keep(where: Path, variant: str) -> None:
    """Put a capture of the deep pass there, whose report has counters alone."""
    run = json.loads((where / "captures/h200/gelu/ncu/run.json").read_text())
    with plain(REPORT, "") as report:
        frame = ncu.parse(report)
    cases = set(frame.loc[frame["variant"] == variant, "case"])
    folder = where / DEEP / variant
    folder.mkdir(parents=True)
    shutil.copy(REPORT, folder / "all.ncu-rep.gz")
    run["pass"] = run["run"]["pass"] = "deep"
    run["cases"] = [row for row in run["cases"] if row["case"] in cases]
    run["outcomes"] = [
        row | {"pass": "deep"}
        for row in run["outcomes"]
        if row["variant"] == variant and row["case"] in cases
    ]
    run["files"] = {"all.ncu-rep.gz": sha256(folder / "all.ncu-rep.gz")}
    (folder / "run.json").write_text(json.dumps(run))


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout with one recorded deep profile, whose page was written."""
    where = copy_checkout(tmp_path_factory.mktemp("deep") / "checkout")
    shutil.rmtree(where / DEEP, ignore_errors=True)
    keep(where, "triton")
    code, output = snakemake(where, TARGET, *REPLAY)
    assert code == 0, output
    assert jobs(output) == dict.fromkeys(
        ("parse_deep", "keep_deep_frames", "report_deep", TARGET), 1
    )
    assert f"Reports: {PAGE} (in a browser: results/reports/gelu/triton.html)" in output
    return where


@pytest.fixture
def changing(rendered: Path, tmp_path: Path) -> Path:
    """Return a copy of it for a test to change."""
    return Path(shutil.copytree(rendered, tmp_path / "checkout"))


def test_a_recorded_profile_is_replayed(rendered: Path) -> None:
    page = (rendered / PAGE).read_text()
    assert page.startswith("# gelu: triton, in depth\n")
    assert "**Replayed**: recorded on NVIDIA H200 on " in page
    assert "Older than the source" not in page
    assert "The report holds nothing by instruction" in page
    frames = rendered / "results/worktree/h200/frames/gelu/deep/triton"
    assert {"counters.parquet", "hotspots.parquet", "advice.parquet"} <= {
        path.name for path in frames.iterdir()
    }


def test_a_template_rebuilds_the_page_only(changing: Path) -> None:
    assert planned(changing, TARGET, *REPLAY) == {}
    template = changing / "reports/templates/deep.md.j2"
    template.write_text(template.read_text() + "\nOne more line.\n")
    assert planned(changing, TARGET, *REPLAY) == {"report_deep": 1, TARGET: 1}


def test_one_that_is_not_recorded_names_those_that_are(rendered: Path) -> None:
    code, output = snakemake(rendered, "reports/gelu/naive", *REPLAY)
    assert code != 0
    (line,) = [line for line in output.splitlines() if "no deep profile" in line]
    assert "reports/gelu/naive: no deep profile of it is recorded; measure it on a GPU" in line
    assert "gelu/triton" in line


def test_a_damaged_capture_is_one_line(changing: Path) -> None:
    report = changing / DEEP / "triton/all.ncu-rep.gz"
    report.write_bytes(report.read_bytes()[:1000])
    code, output = snakemake(changing, TARGET, *REPLAY)
    assert code != 0
    (line,) = errors(output)
    assert line.startswith(f"error: {DEEP}/triton/all.ncu-rep.gz: is truncated or damaged")
    assert f"`snakemake {TARGET} -R deep`" in line
    assert (changing / PAGE).is_file()


def test_the_comparison_links_to_what_is_recorded(changing: Path) -> None:
    keep(changing, "naive")
    code, output = snakemake(changing, "reports/gelu", *REPLAY)
    assert code == 0, output
    page = (changing / "results/reports/gelu.md").read_text()
    links = [line for line in page.splitlines() if "[in depth](" in line]
    assert [line.split("]")[-1] for line in links] == ["(gelu/naive.md))", "(gelu/triton.md))"]
    assert (changing / "results/reports/gelu/naive.md").is_file()
    assert 'href="gelu/naive.html"' in (changing / "results/reports/gelu.html").read_text()
    assert planned(changing, "reports/gelu", *REPLAY) == {}


def test_a_live_one_measures_that_variant_alone(root: Path, live: Path) -> None:
    assert planned(root, TARGET, "--config", "source=live", path=live) == dict.fromkeys(
        ("check", "deep", "parse_deep", "keep_deep_frames", "report_deep", TARGET), 1
    )


def test_the_comparison_asks_for_no_deep_profile(root: Path, live: Path) -> None:
    assert "deep" not in planned(root, "reports/gelu", "--config", "source=live", path=live)
