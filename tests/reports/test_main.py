from __future__ import annotations

from pathlib import Path

import pytest

from parsers.schemas import SCHEMAS
from reports.__main__ import main
from tests.reports.data import check_rows, make
from tests.reports.test_frames import store


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return store(make(), tmp_path / "frames" / "gelu")


def test_operator_and_index(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert main(["operator", str(folder), "--out", str(out), "--source", "live"]) == 0
    assert main(["index", str(folder), "--out", str(out), "--source", "live"]) == 0
    assert sorted(path.name for path in out.iterdir()) == [
        *("gelu.bytes.svg", "gelu.html", "gelu.md", "gelu.occupancy.svg", "gelu.roofline.svg"),
        *("gelu.scaling.svg", "gelu.time.svg", "gelu.timeline.svg", "gelu.waves.svg"),
        *("index.html", "index.md"),
    ]


def test_the_reference_of_the_metrics(tmp_path: Path) -> None:
    assert main(["metrics", "--out", str(tmp_path / "out")]) == 0
    page = (tmp_path / "out/metrics.md").read_text()
    assert "| `dram_read_bytes` | bytes read from DRAM | B | sum |" in page
    assert (tmp_path / "out/metrics.html").exists()


def test_builds_alone(folder: Path, tmp_path: Path) -> None:
    assert main(["builds", str(folder), "--out", str(tmp_path / "out")]) == 0
    page = (tmp_path / "out/gelu.builds.md").read_text()
    assert "for each architecture, with Triton " in page
    assert "| sm_90 | ok |" in page
    assert (tmp_path / "out/gelu.builds.html").exists()


def test_checks_of_several_operators(folder: Path, tmp_path: Path) -> None:
    SCHEMAS["sanitizer"].conform([]).to_parquet(folder / "sanitizer.parquet")
    assert main(["checks", str(folder), str(folder), "--out", str(tmp_path / "out")]) == 0
    page = (tmp_path / "out/checks.md").read_text()
    assert "compared 1 operator, 4 variants and 1 case with float64 references" in page
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "checks.html",
        "checks.md",
    ]


def test_the_gate_is_open_where_nothing_is_wrong(folder: Path) -> None:
    SCHEMAS["sanitizer"].conform([]).to_parquet(folder / "sanitizer.parquet")
    assert main(["gate", str(folder), "--page", "checks.md"]) == 0


def test_the_gate_names_three_faults_and_counts_the_others(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = [row | {"status": "wrong"} for row in check_rows()]
    SCHEMAS["checks"].conform(wrong).to_parquet(folder / "checks.parquet")
    SCHEMAS["sanitizer"].conform([]).to_parquet(folder / "sanitizer.parquet")
    assert main(["gate", str(folder), "--page", "results/reports/checks.md"]) == 2
    assert capsys.readouterr().err == (
        "error: results/reports/checks.md: 4 faults: gelu/naive/8192x8192-float32 is wrong, "
        "gelu/builtin/8192x8192-float32 is wrong, gelu/compiled/8192x8192-float32 is wrong and "
        "1 more; mend the kernels and run `snakemake checks/all` again\n"
    )


@pytest.mark.parametrize(("current", "stale"), [("5e" * 32, False), ("00" * 32, True)])
def test_a_changed_source_is_marked(
    folder: Path, tmp_path: Path, current: str, *, stale: bool
) -> None:
    options = ["--out", str(tmp_path), "--source", "replay", "--source-sha256", f"gelu={current}"]
    assert main(["operator", str(folder), *options]) == 0
    assert ("Older than the source" in (tmp_path / "gelu.md").read_text()) == stale
    assert main(["index", str(folder), *options]) == 0
    assert ("older than the source" in (tmp_path / "index.md").read_text()) == stale


def test_errors_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--out", str(tmp_path / "out"), "--source", "live"]
    assert main(["operator", str(tmp_path / "none"), *options]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("error: ")
    assert said.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_an_out_that_is_a_file(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out").touch()
    assert main(["index", str(folder), "--out", str(tmp_path / "out"), "--source", "live"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_usage_errors_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["operator"])
    assert caught.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert said.count("\n") == 1
