"""Checks under Triton's interpreter compared: each pair of outcomes, the page and the gate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from parsers.schemas import SCHEMAS
from reports.diff import gate
from reports.diff.__main__ import main
from reports.diff.checked import compare_checks
from reports.diff.findings import Compared, Verdict
from reports.diff.page import NOTHING, REGRESSION, UNDECIDABLE, outcome
from tests.reports.data import run_rows

CASE = "67x129-float32"
WHY = {
    "ok": None,
    "wrong": "9 of 9",
    "failed": "KeyError: x",
    "unsupported": "no float16",
    "unseen": "needs TMA",
}


def checks(**status: str) -> pd.DataFrame:
    rows: list[dict[str, Any]] = [
        {"operator": "gelu", "variant": name, "case": CASE, "status": word, "reason": WHY[word]}
        for name, word in status.items()
    ]
    return SCHEMAS["checks"].conform(rows)


@pytest.mark.parametrize(
    ("before", "after", "verdict", "reason"),
    [
        ("ok", "ok", Verdict.SAME, ""),
        ("ok", "wrong", Verdict.BROKEN, "wrong: 9 of 9"),
        ("ok", "failed", Verdict.BROKEN, "failed: KeyError: x"),
        ("ok", "unseen", Verdict.UNSEEN, "needs TMA"),
        ("ok", "unsupported", Verdict.BROKEN, "refused: no float16"),
        ("unsupported", "unsupported", Verdict.UNSEEN, "no float16"),
        ("wrong", "ok", Verdict.MENDED, "wrong before: 9 of 9"),
        ("failed", "ok", Verdict.MENDED, "failed before: KeyError: x"),
        ("wrong", "wrong", Verdict.SAME, "wrong: 9 of 9; wrong before too"),
        ("failed", "wrong", Verdict.SAME, "wrong: 9 of 9; failed before too"),
        ("wrong", "unseen", Verdict.UNSEEN, "needs TMA"),
        ("unseen", "ok", Verdict.SAME, ""),
        ("unseen", "wrong", Verdict.BROKEN, "wrong: 9 of 9; not seen in base"),
    ],
)
def test_each_pair_of_outcomes(before: str, after: str, verdict: Verdict, reason: str) -> None:
    (found,) = compare_checks("gelu", checks(triton=before), checks(triton=after))
    assert (found.operator, found.variant, found.case) == ("gelu", "triton", CASE)
    assert (found.verdict, found.reason) == (verdict, reason)
    worse = verdict is Verdict.BROKEN
    unseen = verdict is Verdict.UNSEEN
    expected = REGRESSION if worse else UNDECIDABLE if unseen else NOTHING
    assert outcome([Compared("gelu", checks=[found])]) == expected


def test_what_was_not_seen_leaves_open_nothing_else() -> None:
    found = compare_checks("gelu", checks(a="ok", b="ok"), checks(a="ok", b="unseen"))
    assert outcome([Compared("gelu", checks=found)]) == NOTHING


def test_head_alone_counts_where_base_was_not_checked() -> None:
    right, wrong = compare_checks("gelu", None, checks(a="ok", b="wrong"))
    assert (right.verdict, right.reason) == (Verdict.SAME, "")
    assert (wrong.verdict, wrong.reason) == (Verdict.BROKEN, "wrong: 9 of 9; not seen in base")


def test_variants_of_one_side() -> None:
    found = compare_checks("gelu", checks(a="ok", b="ok"), checks(a="ok", c="wrong", d="ok"))
    assert {one.variant: (one.verdict, one.reason) for one in found} == {
        "a": (Verdict.SAME, ""),
        "b": (Verdict.REMOVED, ""),
        "c": (Verdict.BROKEN, "wrong: 9 of 9; not seen in base"),
        "d": (Verdict.NEW, ""),
    }


def keep(folder: Path, frame: pd.DataFrame) -> str:
    folder.mkdir(parents=True)
    frame.to_parquet(folder / "checks.parquet")
    SCHEMAS["runs"].conform(run_rows()[:1]).to_parquet(folder / "runs.parquet")
    return str(folder)


def compared(where: Path, head: str, base: str | None = None) -> tuple[int, str]:
    """Return the status of the command over checks alone, and its page."""
    (where / "none").mkdir()
    options = [*([] if base is None else ["--checked-base", base]), "--checked", head]
    code = main([str(where / "none"), str(where / "none"), "--out", str(where), *options])
    return code, (where / "none..none.md").read_text()


def test_a_wrong_result_is_on_the_page_and_fails_the_gate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = keep(tmp_path / "a", checks(triton="ok", split="ok", tma="ok"))
    head = keep(tmp_path / "b", checks(triton="wrong", split="ok", tma="unseen"))
    code, page = compared(tmp_path, head, base)
    assert code == REGRESSION
    section = page.split("## Checked without a GPU")[1]
    assert "3 rows of 1 operator: 1 broken, 1 not seen and 1 same." in section
    assert f"| `gelu` | `triton` | `{CASE}` | broken | wrong: 9 of 9 |" in section
    assert f"| `gelu` | `tma` | `{CASE}` | not seen | needs TMA |" in section
    assert "`split`" not in section
    assert "Base was not checked" not in section
    content = json.loads((tmp_path / "none..none.json").read_text())
    assert [one["verdict"] for one in content["checks"]] == ["broken", "same", "not seen"]
    assert gate.main([str(tmp_path / "none..none.json")]) == REGRESSION
    (line,) = capsys.readouterr().err.splitlines()
    assert f"1 regression: gelu/triton/{CASE} is broken; the page says why" in line


def test_a_base_that_was_not_checked_is_said(tmp_path: Path) -> None:
    code, page = compared(tmp_path, keep(tmp_path / "b", checks(triton="ok")))
    assert code == NOTHING
    assert "Base was not checked, for its harness cannot: `gelu`;" in page
    assert "\nAll are right.\n" in page


def test_without_checks_there_is_no_section(tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    main([str(tmp_path / "none"), str(tmp_path / "none"), "--out", str(tmp_path)])
    assert "Checked without a GPU" not in (tmp_path / "none..none.md").read_text()
