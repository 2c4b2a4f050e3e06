# The dash is what pages show.
# ruff: noqa: RUF001
from __future__ import annotations

from typing import Any

import pandas as pd

from parsers.schemas import SCHEMAS
from reports.checks import CHECK_FRAMES, checks_page, faults
from tests.reports.data import run_rows
from tests.reports.test_page import HOSTILE, TAGS, Outline

NUMBERS = {"elements": 4096, "wrong_elements": 0, "relative_error": 2.5e-7, "tolerance_share": 0.5}
LIMITS = {"rtol": 1e-5, "atol": 1e-6}


def pair(operator: str, variant: str, status: str, **more: Any) -> dict[str, Any]:
    return {"operator": operator, "variant": variant, "case": "64x64", "status": status} | more


def frames(operator: str, **rows: list[dict[str, Any]]) -> dict[str, pd.DataFrame]:
    case = {"operator": operator, "case": "64x64", "shape": "64x64", "dtype": "float32"}
    known: dict[str, Any] = {name: [] for name in CHECK_FRAMES}
    known |= {"cases": [case | {"summed": 64}]}
    known |= {"runs": [run_rows()[0] | {"operator": operator}]}
    return {name: SCHEMAS[name].conform((known | rows)[name]) for name in CHECK_FRAMES}


def sanitized(tool: str, **more: Any) -> dict[str, Any]:
    row = {"operator": "sum", "variant": "triton", "tool": tool, "status": "ok", "errors": 0}
    return row | {"cases": "64x64 65x65"} | more


def both() -> list[dict[str, pd.DataFrame]]:
    checks = [
        pair("sum", "naive", "ok", **NUMBERS, **LIMITS),
        pair("sum", "triton", "wrong", **NUMBERS | {"wrong_elements": 12}, **LIMITS),
    ]
    tools = [
        sanitized("memcheck"),
        sanitized("racecheck", status="failed", errors=3, reason="hazards"),
    ]
    lost = pair("gelu", "triton", "failed", reason="the process died") | {"pass": "check"}
    refused = pair("gelu", "tma", "unsupported", reason="no float32")
    timed = pair("gelu", "other", "ok") | {"pass": "time"}
    return [
        frames("sum", checks=checks, sanitizer=tools),
        frames("gelu", checks=[refused], outcomes=[lost, refused | {"pass": "check"}, timed]),
    ]


def test_the_page_of_all_checks() -> None:
    page = checks_page(both())
    assert list(page) == ["checks.md", "checks.html"]
    markdown = page["checks.md"]
    assert markdown.startswith(
        "# Checks\n\nThe check pass compared 2 operators, 4 variants and 2 cases with float64 "
        "references: of 4 pairs of variant and case 1 ok, 1 wrong, 1 failed and 1 unsupported.\n\n"
        "compute-sanitizer (memcheck and racecheck) counted 3 errors in 2 runs; 1 run failed.\n"
    )
    lines = markdown.splitlines()
    start = lines.index(
        "| Operator | Case | Variant | Status | Elements | Outside | Summed | Relative error "
        "| Error over tolerance | rtol | atol | Reason |"
    )
    assert lines[start + 2 : start + 6] == [
        "| `sum` | `64x64` | `naive` | ok | 4,096 | 0 | 64 | 2.5e-07 | 0.50 | 1e-05 | 1e-06 | – |",
        "| `sum` | `64x64` | `triton` | wrong | 4,096 | 12 | 64 | 2.5e-07 | 0.50 | 1e-05 | 1e-06 "
        "| – |",
        "| `gelu` | `64x64` | `triton` | failed | – | – | 64 | – | – | – | – | the process died |",
        "| `gelu` | `64x64` | `tma` | unsupported | – | – | 64 | – | – | – | – | no float32 |",
    ]
    assert "| `sum` | `triton` | racecheck | failed | 3 | 64x64 65x65 | hazards |" in lines
    assert "| GPU | NVIDIA H200 |" in lines
    assert "| `gelu` | `check` | 2026-11-30T07:12:00Z | `0123456789ab` |" in markdown


def test_errors_that_are_not_known_are_not_zero() -> None:
    tools = [sanitized("memcheck", errors=None, status="failed"), sanitized("racecheck", errors=1)]
    markdown = checks_page([frames("sum", sanitizer=tools)])["checks.md"]
    assert (
        "\ncompute-sanitizer (memcheck and racecheck) counted 1 error in 1 run, and of 1 run the "
        "errors are not known; 1 run failed.\n" in markdown
    )
    assert "| `sum` | `triton` | memcheck | failed | – | 64x64 65x65 | – |" in markdown


def test_faults_are_what_is_neither_right_nor_refused() -> None:
    assert faults(both()) == [
        "sum/triton/64x64 is wrong",
        "sum/triton under racecheck is failed",
        "gelu/triton/64x64 is failed",
    ]


def test_right_and_refused_is_no_fault() -> None:
    checks = [pair("sum", "naive", "ok"), pair("sum", "triton", "unsupported")]
    assert faults([frames("sum", checks=checks, sanitizer=[sanitized("memcheck")])]) == []


def test_nothing_checked() -> None:
    for page in (checks_page([]), checks_page([frames("sum", runs=[], cases=[])])):
        assert "compared 0 operators, 0 variants and 0 cases" in page["checks.md"]
        assert "\n\nNothing was checked.\n" in page["checks.md"]
        assert page["checks.md"].count("No kernel ran under compute-sanitizer.") == 2


def test_names_are_data() -> None:
    checks = [pair(HOSTILE, HOSTILE, HOSTILE, reason=HOSTILE)]
    tools = [sanitized(HOSTILE, variant=HOSTILE, cases=HOSTILE, reason=HOSTILE)]
    page = checks_page([frames(HOSTILE, checks=checks, sanitizer=tools)])
    outline = Outline(page["checks.html"])
    assert set(outline.tags) <= TAGS
    assert all(len(set(table)) == 1 for table in outline.tables)
