"""The page of the history, its figures, and the command that writes them."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from reports.diff.times import SESSIONS
from reports.frames import Frames
from reports.history.__main__ import main
from reports.history.figure import BETTER, UNCOMPARED, WORSE, history_figure
from reports.history.page import Revision, history_page
from tests.reports.data import all_rows, check_rows, empty, make, run_rows
from tests.reports.diff.test_findings import timed
from tests.reports.diff.test_page import HOSTILE, hostile, keep
from tests.reports.history.test_points import recorded, tracked

OTHER_DRIVER = [row | {"driver": "590.1"} for row in run_rows()]
WRONG = [
    row | ({"status": "wrong", "wrong_elements": 5} if row["variant"] == "triton" else {})
    for row in check_rows()
]


def revisions(number: int) -> list[Revision]:
    return [Revision(f"{at:012x}", "2026-11-30T08:00:00Z", f"Change {at}") for at in range(number)]


def written(*frames: Frames, **more: Any) -> dict[str, str]:
    return history_page(revisions(len(frames)), [tracked(*frames)], SESSIONS, **more)


def hovers(svg: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(svg).iter() if "title" in element.tag]


def ringed(svg: str) -> list[str]:
    return [text for text in hovers(svg) if re.search(r": [a-z]+$", text)]


def test_steps_stand_on_the_page() -> None:
    files = written(recorded("0"), recorded("1", samples=timed(triton=1.5)), recorded("2"))
    assert sorted(files) == ["history.html", "history.md", "history/gelu.svg"]
    page = files["history.md"]
    assert "1 operator at 3 revisions, the oldest and the newest being" in page
    assert "2 steps: 1 slower and 1 faster." in page
    assert "| [gelu](#gelu) | 3 | 0 | 1 | 0 | 1 | 0 |" in page
    assert re.search(r"\| `0000000` \| `triton` \| `\S+` \| slower \| \+50 % \[\+5", page)
    assert "![Median time" in page
    assert "](history/gelu.svg)" in page


def test_numbers_stand_on_the_page_by_variant_and_revision() -> None:
    page = written(recorded("0"), recorded("1", samples=timed(triton=2.0)))["history.md"]
    table = page.split("The numbers of this case")[1]
    rows = re.findall(
        r"^\| `triton` \| .* Change (\d) \| ok \| ([\d.]+) \[.* \| 30 \| 0.512 \|$", table, re.M
    )
    assert [at for at, _ in rows] == ["0", "1"]
    before, after = (float(time) for _, time in rows)
    assert after == pytest.approx(2 * before, rel=0.01)


def test_what_is_not_comparable_is_said_and_drawn() -> None:
    page = written(make(), make(runs=OTHER_DRIVER))
    assert "no step." in page["history.md"]
    assert "| driver | 580.159 | 590.1 | build, time, nsys and ncu |" in page["history.md"]
    told = f"{UNCOMPARED}: driver 580.159 → 590.1"
    assert hovers(page["history/gelu.svg"]).count(told) == 3
    assert "Measured otherwise" not in written(make(), make())["history.md"]


def lines(svg: str, color: str) -> int:
    """Count the lines of a colour that are as wide as those between points."""
    return svg.count(f"fill: none; stroke: {color}; stroke-linecap: square")


def test_lines_join_what_was_measured_alike() -> None:
    naive = "#8f8f8f"
    alike, otherwise = (
        history_figure(tracked(make(), make(runs=runs))).svg for runs in (run_rows(), OTHER_DRIVER)
    )
    assert lines(alike, naive) - lines(otherwise, naive) == 3


def test_figures_show_values_on_hover_and_ring_steps() -> None:
    slower = recorded("1", samples=timed(triton=1.5))
    svg = history_figure(tracked(recorded("0"), slower, recorded("2"))).svg
    told = hovers(svg)
    assert any(
        re.fullmatch(r"0000000, triton: 195\.\d µs \[\d+\.\d µs, \d+\.\d µs\]", t) for t in told
    )
    assert "0000000, naive: 32" in told
    assert "0000000, triton: 512.4 MB" in told
    assert ringed(svg) == ["0000000, triton: slower", "0000000, triton: faster"]
    assert WORSE in svg
    assert BETTER in svg
    assert svg == history_figure(tracked(recorded("0"), slower, recorded("2"))).svg


def test_no_time_of_a_wrong_variant_is_drawn() -> None:
    svg = history_figure(tracked(recorded("0"), recorded("1", checks=WRONG))).svg
    assert len([t for t in hovers(svg) if re.search("triton: .* µs", t)]) == 1
    assert ringed(svg) == ["0000000, triton: broken"]


def test_many_revisions_have_the_names_that_there_is_room_for() -> None:
    svg = history_figure(tracked(*[recorded(f"{at:x}"[0]) for at in range(12)])).svg
    few = history_figure(tracked(recorded("0"), recorded("1"))).svg
    names = (len(re.findall(">0000000<", one)) for one in (few, svg))
    assert next(names) == 2 * 3
    assert 3 < next(names) < 12 * 3


def test_an_operator_without_measurements_says_so() -> None:
    files = written(empty(), empty())
    assert "Nothing to draw: nothing was measured." in files["history/gelu.svg"]
    assert "There is no step in this case." in files["history.md"]


def test_what_others_wrote_is_data() -> None:
    rows = {name: hostile(listed) for name, listed in all_rows().items()}
    first, second = make(**rows), make(**rows | {"checks": hostile(WRONG)})
    named = [Revision(f"{at:012x}", HOSTILE, HOSTILE) for at in range(2)]
    files = history_page(named, [tracked(first, second)], SESSIONS, [HOSTILE])
    assert "<script>alert" not in files["history.html"]
    lines = [line for line in files["history.md"].splitlines() if line.startswith("| `")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {5, 7, 9}
    assert not re.search(r"^# y", files["history.md"], re.MULTILINE)


@pytest.fixture
def lineage(tmp_path: Path) -> dict[str, Any]:
    """What `workflows.history` writes, of two revisions."""
    for at, frames in enumerate((recorded("0"), recorded("1", samples=timed(triton=1.5)))):
        keep(tmp_path / f"{at}/gelu", frames)
    points = [{"commit": f"{at:012x}", "frames": str(tmp_path / f"{at}/gelu")} for at in range(2)]
    commits = [vars(one) for one in revisions(2)]
    return {"commits": commits, "points": {"gelu": points, "other": []}, "notes": ["left *out*"]}


def run(tmp_path: Path, lineage: object) -> int:
    (tmp_path / "lineage.json").write_text(json.dumps(lineage))
    return main([str(tmp_path / "lineage.json"), "--out", str(tmp_path / "out")])


def test_the_command_writes_the_page_and_figures(tmp_path: Path, lineage: dict[str, Any]) -> None:
    assert run(tmp_path, lineage) == 0
    page = (tmp_path / "out/history.md").read_text()
    assert "1 step: 1 slower." in page
    assert r"- left \*out\*" in page
    assert (tmp_path / "out/history/gelu.svg").read_text().startswith("<?xml")
    assert "<svg" in (tmp_path / "out/history.html").read_text()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"commits": None}, "not a list of revisions"),
        ({"notes": [1]}, "not a list of revisions"),
        ({"points": {"gelu": [{"commit": "nosuch", "frames": "x"}]}}, "not a list of revisions"),
        ({"points": {"gelu": [{"commit": "0" * 12, "frames": "x"}]}}, "no such folder"),
    ],
)
def test_a_mistake_is_one_line(
    tmp_path: Path,
    lineage: dict[str, Any],
    change: dict[str, Any],
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(tmp_path, lineage | change) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert said in line


def test_a_list_that_is_not_there_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path / "nosuch"), "--out", str(tmp_path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
