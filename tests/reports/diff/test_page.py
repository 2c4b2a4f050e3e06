"""The page of a diff, its JSON, and the command that writes both."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from reports.diff.__main__ import main
from reports.diff.findings import Verdict, compare
from reports.diff.page import NOTHING, REGRESSION, UNDECIDABLE, diff_page
from reports.diff.times import SESSIONS
from reports.frames import NAMES, Frames
from tests.reports.data import MEDIANS, all_rows, build_rows, make, run_rows, sample_rows
from tests.reports.diff.test_findings import changed, timed

HOSTILE = "a|b<script>alert(1)</script>`x`\n# y"


def written(head: Frames, base: Frames | None = None, **more: Any) -> dict[str, str]:
    compared = [compare(base or make(), head, SESSIONS)]
    return diff_page("abc", "worktree", compared, SESSIONS, **more)


def keep(folder: Path, frames: Frames) -> None:
    folder.mkdir(parents=True)
    for name in NAMES:
        getattr(frames, name).to_parquet(folder / f"{name}.parquet")


def test_the_worst_stands_first() -> None:
    factors = {"triton": 1.5, "builtin": 2.0, "compiled": 0.5}
    page = written(changed(samples=timed(**factors), counters=[]))["abc..worktree.md"]
    assert page.startswith("# `abc` → `worktree`\n")
    assert "4 rows of 1 operator: 2 slower, 1 faster and 1 same." in page
    body = page.split("## What changed")[1]
    order = re.findall(r"^\| `gelu` \| `(\w+)` ", body, re.MULTILINE)
    assert order == ["builtin", "triton", "compiled", "naive"]
    assert re.search(r"`triton` .* slower .* \+50 % \[\+5[\d.]*, \+5[\d.]*\]", body)


def test_what_is_the_same_says_so() -> None:
    page = written(make())["abc..worktree.md"]
    assert "Nothing changed that can be told from noise." in page
    assert "<summary>The same: 4</summary>" in page
    assert "Measured otherwise" not in page


def test_counters_stand_there_also_where_the_time_is_the_same() -> None:
    builds = [row | {"spill_loads": 12} for row in build_rows()]
    page = written(changed(builds=builds))["abc..worktree.md"]
    assert "| spill loads (gelu_kernel) | worse | 0 | 12 | " in page


def test_configurations_show_what_differs_of_them() -> None:
    config = '{"block": 1024, "num_warps": 8}'
    builds = [row | {"config": config} for row in build_rows()]
    page = written(changed(builds=builds))["abc..worktree.md"]
    assert "num_warps=4 | num_warps=8" in page
    assert "block=1024" not in page


def test_what_was_measured_otherwise_is_listed() -> None:
    head = make(runs=[row | {"driver": HOSTILE} for row in run_rows()])
    page = written(head)["abc..worktree.md"]
    assert "| driver | 580.159 | " in page
    assert "build, time, nsys and ncu" in page


def hostile(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give the variant ``triton`` a name that is Markdown and HTML."""
    named = [{"variant": HOSTILE} if row.get("variant") == "triton" else {} for row in rows]
    return [row | name for row, name in zip(rows, named, strict=True)]


def test_names_of_reports_are_data() -> None:
    rest = {name: hostile(rows) for name, rows in all_rows().items()}
    kernels = [row | {"kernel": HOSTILE} for row in rest["counters"]]
    files = written(make(**rest | {"counters": kernels}), make(**rest))
    assert "<script>alert" not in files["abc..worktree.html"]
    table = files["abc..worktree.md"].split("## What changed")[1]
    lines = [line for line in table.splitlines() if line.startswith("| `")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {9, 10}
    assert not re.search(r"^# y", table, re.MULTILINE)


def test_the_json_says_what_the_page_says() -> None:
    files = written(changed(samples=timed(triton=1.5)))
    content = json.loads(files["abc..worktree.json"])
    assert (content["base"], content["head"], content["outcome"]) == ("abc", "worktree", REGRESSION)
    (slower,) = [f for f in content["findings"] if f["verdict"] == Verdict.SLOWER]
    assert slower["variant"] == "triton"
    assert slower["ratio"]["value"] == pytest.approx(1.5, rel=0.01)
    assert slower["base_ns"] == pytest.approx(MEDIANS["triton"], rel=0.01)
    assert 0 < slower["p"] < 0.01


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (make(), NOTHING),
        (changed(samples=timed(triton=1.5)), REGRESSION),
        (changed(samples=timed(triton=0.5)), NOTHING),
        (changed(samples=sample_rows(rounds=3)), UNDECIDABLE),
    ],
)
def test_the_command_tells_by_its_status(tmp_path: Path, head: Frames, status: int) -> None:
    keep(tmp_path / "a/gelu", make())
    keep(tmp_path / "b/gelu", head)
    out = tmp_path / "out"
    assert main([str(tmp_path / "a"), str(tmp_path / "b"), "--out", str(out)]) == status
    assert {path.name for path in out.iterdir()} == {"a..b.md", "a..b.html", "a..b.json"}


def test_operators_of_one_side_alone_are_said(tmp_path: Path) -> None:
    keep(tmp_path / "a/gelu", make())
    keep(tmp_path / "b/gelu", make())
    keep(tmp_path / "b/other", make())
    main([str(tmp_path / "a"), str(tmp_path / "b"), "--out", str(tmp_path)])
    assert "- Only in head: `other`." in (tmp_path / "a..b.md").read_text()


def test_notes_are_plain_text(tmp_path: Path) -> None:
    keep(tmp_path / "a/gelu", make())
    folder = str(tmp_path / "a")
    main([folder, folder, "--out", str(tmp_path), "--note=<script>alert(1)</script>|`x`"])
    assert "<script>alert" not in (tmp_path / "a..a.html").read_text()


@pytest.mark.parametrize("wrong", [["--built", "one"], ["--nonsense"], []])
def test_a_wrong_option_is_one_line(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([*(["a", "b", "--out", "c"] if wrong else []), *wrong])
    assert caught.value.code == UNDECIDABLE
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")


def test_a_folder_that_is_not_there_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path / "a"), str(tmp_path), "--out", str(tmp_path)]) == UNDECIDABLE
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert "no such folder" in line
