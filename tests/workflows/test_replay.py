"""Reports from recorded captures, on a machine without a GPU."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from pathlib import Path

import pytest

from parsers.__main__ import main
from tests.checkouts import copy_checkout
from tests.workflows.running import errors, jobs, planned, snakemake

REPLAY = ("--config", "source=replay", "operators=[gelu]")
PAGES = ("reports/all", "report", "index")


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout in which one operator was reported, without deep profiles."""
    where = copy_checkout(tmp_path_factory.mktemp("replay") / "checkout")
    shutil.rmtree(where / "captures/h200/gelu/deep", ignore_errors=True)
    code, output = snakemake(where, "reports/all", *REPLAY)
    assert code == 0, output
    last = [line for line in output.splitlines() if line.startswith("Reports: ")]
    assert last == ["Reports: results/reports/index.md (in a browser: results/reports/index.html)"]
    return where


@pytest.fixture
def changing(rendered: Path, tmp_path: Path) -> Path:
    """Return a copy of it, times and Snakemake's own records included, for a test to change."""
    return Path(shutil.copytree(rendered, tmp_path / "checkout"))


def test_every_page_is_there_and_says_that_it_is_a_replay(rendered: Path) -> None:
    reports = rendered / "results/reports"
    for name in ("gelu", "index"):
        page = (reports / f"{name}.md").read_text()
        assert "**Replayed**: recorded on NVIDIA H200 on " in page
        assert "Older than the source" not in page
        assert (reports / f"{name}.html").stat().st_size > 1000
    assert "](gelu.md)" in (reports / "index.md").read_text()
    assert 'href="gelu.html"' in (reports / "index.html").read_text()
    for name in ("gelu.time.svg", "gelu.bytes.svg"):
        assert (reports / name).read_text().startswith("<?xml")


def test_pages_ask_for_nothing_from_outside(rendered: Path) -> None:
    for page in (rendered / "results/reports").glob("*.html"):
        html = page.read_text()
        assert not re.search(r'(?:src|href)="(?!data:|#)[a-z]+:', html)
        assert html.count("<script") == 1


def test_snakemake_makes_a_report_of_its_own(rendered: Path, tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    code, output = snakemake(rendered, "reports/all", *REPLAY, "--report", str(target))
    assert code == 0, output
    report = target.read_text()
    for caption in ("Median time of each variant of", "DRAM bytes that each variant of"):
        assert caption in report
    for category in ("All operators", "gelu"):
        assert f'"{category}"' in report


def test_figures_agree_with_what_was_measured_by_hand(rendered: Path) -> None:
    """Nine launches, 3.49 GB read and 2.22 GB written: known of this chip and formula."""
    page = (rendered / "results/reports/gelu.md").read_text().split("## `8192x8192-float32`")[1]
    memory = page.split("### Memory (ncu pass)")[1].split("###")[0]
    naive = next(line for line in memory.splitlines() if line.startswith("| `naive`"))
    assert naive.startswith("| `naive` | 9 | 3.49 | 2.22 | 0.537 | 10.6 |")
    triton = next(line for line in memory.splitlines() if line.startswith("| `triton`"))
    assert triton.startswith("| `triton` | 1 | 0.268 | 0.24")


def test_nothing_is_done_twice(rendered: Path) -> None:
    assert planned(rendered, "reports/all", *REPLAY) == {}


def test_touching_files_rebuilds_nothing(rendered: Path) -> None:
    for folder in ("kernels", "reports", "parsers", "captures"):
        for path in (rendered / folder).rglob("*.*"):
            path.touch()
    assert planned(rendered, "reports/all", *REPLAY) == {}


def test_a_deleted_figure_is_made_again(changing: Path) -> None:
    (changing / "results/reports/gelu.time.svg").unlink()
    assert "report" in planned(changing, "reports/all", *REPLAY)


def test_a_broken_or_misnamed_operator_stops_no_other(changing: Path) -> None:
    (changing / "kernels/gelu.py").write_text("def broken(:\n")
    (changing / "kernels/all.py").write_text("")
    code, output = snakemake(changing, "reports/all", *REPLAY)
    assert code == 0, output
    assert "kernels/all.py: no operator can have that name; use lower-case letters" in output
    page = (changing / "results/reports/gelu.md").read_text()
    assert "**Older than the source**: `kernels/gelu.py` has changed" in page


def test_a_capture_without_one_of_its_passes_is_said(changing: Path) -> None:
    shutil.rmtree(changing / "captures/h200/gelu/nsys")
    code, output = snakemake(changing, "reports/all", *REPLAY)
    assert code != 0
    assert (
        "captures/h200/gelu/nsys/run.json: no such file; restore it with `git checkout`" in output
    )


def test_a_template_rebuilds_pages_only(changing: Path) -> None:
    template = changing / "reports/templates/operator.md.j2"
    template.write_text(template.read_text() + "\nOne more line.\n")
    assert planned(changing, "reports/all", *REPLAY) == dict.fromkeys((*PAGES, "metrics"), 1)


def test_a_changed_kernel_marks_pages_as_older_than_the_source(changing: Path) -> None:
    source = changing / "kernels/gelu.py"
    source.write_text(source.read_text() + "\n# changed\n")
    code, output = snakemake(changing, "reports/all", *REPLAY)
    assert code == 0, output
    assert jobs(output) == dict.fromkeys(PAGES, 1)
    page = (changing / "results/reports/gelu.md").read_text()
    assert "**Older than the source**: `kernels/gelu.py` has changed" in page
    assert "older than the source" in (changing / "results/reports/index.md").read_text()


def test_a_changed_parser_reads_captures_again(changing: Path) -> None:
    parser = changing / "parsers/ncu.py"
    parser.write_text(parser.read_text() + "\n# changed\n")
    jobs = planned(changing, "reports/all", *REPLAY)
    assert {"parse", "report", "index"} <= set(jobs)
    assert not {"check", "build", "time", "nsys", "ncu"} & set(jobs)


def written(where: Path) -> dict[Path, bytes]:
    """Return the operator's page and frames."""
    frames = sorted((where / "results/worktree/h200/frames/gelu").iterdir())
    return {path: path.read_bytes() for path in (where / "results/reports/gelu.md", *frames)}


def damage(path: Path, content: bytes | float) -> None:
    """Replace what a file holds, or cut it to a share."""
    if isinstance(content, float):
        content = path.read_bytes()[: int(path.stat().st_size * content)]
    path.write_bytes(content)


NCU, NSYS = "captures/h200/gelu/ncu/all.ncu-rep.gz", "captures/h200/gelu/nsys/all.sqlite.gz"
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 7\n"


@pytest.mark.parametrize(
    ("name", "content", "cause", "remedy"),
    [
        (NCU, b"", "empty", "snakemake reports/gelu -R ncu"),
        (NCU, POINTER, "Git LFS pointer", "git lfs pull"),
        (NCU, b"ID,Name\n1,kernel\n", "not a file packed by gzip but text", "-R ncu"),
        (NCU, gzip.compress(b"ID,Name\n", mtime=0), "not an Nsight Compute report", "-R ncu"),
        (NCU, 0.5, "truncated", "-R ncu"),
        (NSYS, b"", "empty", "snakemake reports/gelu -R nsys"),
        (NSYS, gzip.compress(b"NVR\x00 and more", mtime=0), "not an SQLite export", "-R nsys"),
        (NSYS, 0.5, "damaged", "-R nsys"),
    ],
)
def test_a_damaged_capture_is_one_line(
    *,
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    content: bytes | float,
    cause: str,
    remedy: str,
) -> None:
    gelu = Path("captures/h200/gelu")
    shutil.copytree(root / gelu, tmp_path / gelu)
    monkeypatch.chdir(tmp_path)
    damage(Path(name), content)
    folders = [str(gelu / one) for one in ("check", "build", "time", "nsys", "ncu")]
    assert main(["frames", *folders, "--out", "frames"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: {name}: ")
    assert cause in line
    assert remedy in line
    assert not Path("frames").exists()


def test_a_damaged_capture_costs_no_page_and_no_frame(changing: Path) -> None:
    before = written(changing)
    damage(changing / NCU, 0.5)
    damage(changing / NSYS, 0.5)
    code, output = snakemake(changing, "reports/all", *REPLAY)
    assert code != 0
    (line,) = errors(output)
    assert line.startswith(f"error: {NSYS}: ")
    assert written(changing) == before
    assert planned(changing, "reports/all", *REPLAY)["parse"] == 1


def test_a_report_without_the_expected_ranges_is_one_line(changing: Path) -> None:
    path = changing / "captures/h200/gelu/ncu/run.json"
    run = json.loads(path.read_text())
    run["outcomes"].append({**run["outcomes"][0], "variant": "imagined", "status": "ok"})
    path.write_text(json.dumps(run))
    code, output = snakemake(changing, "reports/all", *REPLAY)
    assert code != 0
    (line,) = errors(output)
    lack = "no launches in NVTX domain roofsnake in the expected ranges"
    assert f"error: {NCU}: {lack} gelu/imagined/" in line


def test_an_operator_without_a_capture_is_said_and_left_out(changing: Path) -> None:
    (changing / "kernels/relu.py").write_text((changing / "kernels/gelu.py").read_text())
    config = ("--config", "source=replay", "operators=[gelu,relu]")
    code, output = snakemake(changing, "reports/all", *config, "--dry-run")
    assert code == 0, output
    assert "relu: captures/h200 has no capture of it; left out of the reports" in output
    code, output = snakemake(changing, "reports/relu", "--config", "source=replay")
    assert code != 0
    assert "captures/h200/relu/" in output
    assert "no recorded capture; measure relu on a GPU" in output
