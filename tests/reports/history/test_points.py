"""An operator followed over revisions: its numbers, the steps, and what is not compared."""

from __future__ import annotations

from typing import Any

import pytest

from reports.diff.findings import Verdict
from reports.diff.times import SESSIONS
from reports.frames import Frames
from reports.history.points import Track, follow, short
from tests.reports.data import (
    CASE,
    MEDIANS,
    all_rows,
    check_rows,
    counter_rows,
    empty,
    make,
    run_rows,
)
from tests.reports.diff.test_findings import timed

LARGE = "16384x16384-float32"


def recorded(source: str, **changes: Any) -> Frames:
    """Frames of another source, as each commit of a kernel has one."""
    return make(runs=[row | {"source_sha256": source * 64} for row in run_rows()], **changes)


def tracked(*frames: Frames) -> Track:
    return follow("gelu", [(f"{at:012x}", one) for at, one in enumerate(frames)], SESSIONS)


def steps(track: Track) -> list[tuple[str, str, Verdict]]:
    return [(c.commit[-1], s.variant, s.verdict) for c in track.changes for s in c.steps]


def with_registers(number: int) -> list[dict[str, Any]]:
    more = {"registers_per_thread": number}
    return [row | (more if row["variant"] == "triton" else {}) for row in counter_rows()]


def resized(case: str, factor: int = 1) -> dict[str, list[dict[str, Any]]]:
    """Rows of one case under another name, whose fewest bytes are so many times as many."""
    rows = {
        name: [row | ({"case": case} if "case" in row else {}) for row in rows]
        for name, rows in all_rows().items()
    }
    least = ("min_read_bytes", "min_write_bytes")
    rows["cases"] = [row | {key: row[key] * factor for key in least} for row in rows["cases"]]
    return rows


def both(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Rows of two cases; what has no case, such as runs, stands there once."""
    return {
        name: rows + [row for row in second[name] if "case" in row] for name, rows in first.items()
    }


def test_a_change_is_a_step_at_the_revision_that_brought_it() -> None:
    slower, faster = timed(triton=1.5), timed(triton=1.2)
    track = tracked(
        recorded("0"),
        recorded("1", samples=slower, counters=with_registers(64)),
        recorded("2", samples=slower, counters=with_registers(64)),
        recorded("3", samples=faster),
    )
    assert steps(track) == [("1", "triton", Verdict.SLOWER), ("3", "triton", Verdict.FASTER)]
    (first,) = track.changes[0].steps
    assert [str(cause) for cause in first.causes] == ["registers 30 → 64"]


def test_each_point_has_its_numbers() -> None:
    track = tracked(recorded("0"), recorded("1", samples=timed(triton=1.5)))
    (before, after) = (track.row(point, "triton") for point in track.points)
    assert before is not None
    assert after is not None
    assert before["median_ns"] == pytest.approx(MEDIANS["triton"], rel=0.01)
    assert after["median_ns"] == pytest.approx(1.5 * before["median_ns"], rel=1e-6)
    assert after["median_low_ns"] < after["median_ns"] < after["median_high_ns"]
    assert after["registers_per_thread"] == 30
    assert after["dram_bytes"] == 4 * 8192**2 + 10_000 + 244_000_000
    assert [point.date for point in track.points] == ["2026-11-30T07:12:00Z"] * 2
    assert track.row(track.points[0], "nosuch") is None


def test_what_was_measured_otherwise_is_a_gap_and_no_step() -> None:
    runs = [row | {"driver": "590.1", "source_sha256": "1" * 64} for row in run_rows()]
    track = tracked(recorded("0"), make(runs=runs, samples=timed(triton=2.0)), make(runs=runs))
    assert not steps(track)
    first, second = track.changes
    assert [(gap.fact, gap.base, gap.head) for gap in first.gaps] == [
        ("driver", "580.159", "590.1")
    ]
    assert all(first.bars(name) for name in ("time", "ncu"))
    assert not first.bars("check")
    assert not second.gaps


def test_a_gap_of_one_pass_leaves_the_others() -> None:
    runs = [
        row | {"source_sha256": "1" * 64} | ({"tool": "ncu 2030"} if row["pass"] == "ncu" else {})
        for row in run_rows()
    ]
    track = tracked(recorded("0"), make(runs=runs, samples=timed(triton=2.0)))
    assert steps(track) == [("1", "triton", Verdict.SLOWER)]
    assert track.changes[0].bars("ncu")
    assert not track.changes[0].bars("time")


def test_wrong_results_break_and_mend() -> None:
    wrong = [
        row | ({"status": "wrong", "wrong_elements": 5} if row["variant"] == "builtin" else {})
        for row in check_rows()
    ]
    track = tracked(recorded("0"), recorded("1", checks=wrong), recorded("2"))
    assert steps(track) == [("1", "builtin", Verdict.BROKEN), ("2", "builtin", Verdict.MENDED)]


def test_the_main_case_is_the_largest_of_those_that_all_points_have() -> None:
    small, large = resized(CASE), resized(LARGE, 4)
    alone, two = make(), make(**both(small, large))
    assert tracked(alone, two).case == CASE
    assert tracked(two, alone).case == CASE
    assert tracked(two, two).case == LARGE
    assert tracked(alone, make(**large)).case == LARGE


def test_variants_that_are_gone_are_still_followed() -> None:
    kept = {
        name: [r for r in rows if r.get("variant") != "builtin"]
        for name, rows in all_rows().items()
    }
    track = tracked(make(), make(**kept))
    assert track.variants == ["naive", "compiled", "triton", "builtin"]
    assert track.baseline == "naive"
    assert not steps(track)


def test_frames_without_rows_are_followed_too() -> None:
    track = tracked(empty(), empty())
    assert (track.case, track.variants, track.baseline) == (None, [], None)
    assert [point.date for point in track.points] == [None, None]
    assert tracked().case is None


@pytest.mark.parametrize(
    ("name", "shown"), [("0123456789ab", "0123456"), ("worktree", "worktree"), ("v1.0", "v1.0")]
)
def test_hashes_alone_are_cut(name: str, shown: str) -> None:
    assert short(name) == shown
