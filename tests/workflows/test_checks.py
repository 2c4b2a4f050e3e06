"""``checks/all`` fails over what its page shows, and leaves the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from tests.reports.test_checks import frames, pair, sanitized
from tests.workflows.running import errors, snakemake

ALL = ("checks/all", "--config", "operators=[gelu]")


def store(checkout: Path, **rows: list[dict[str, Any]]) -> Path:
    """Write frames as if gelu had just been checked; return their folder."""
    checks = checkout / "results/worktree/h200/checks/gelu"
    for name in ("check", "sanitize", "frames"):
        (checks / name).mkdir(parents=True, exist_ok=True)
        (checks / name).touch()
    for name, frame in frames("gelu", **rows).items():
        frame.to_parquet(checks / f"frames/{name}.parquet")
    return checks / "frames"


def test_what_is_wrong_fails_after_the_page_is_written(checkout: Path, live: Path) -> None:
    clean = [sanitized("memcheck", operator="gelu")]
    folder = store(checkout, checks=[pair("gelu", "triton", "wrong")], sanitizer=clean)
    code, output = snakemake(checkout, *ALL, path=live)
    assert code != 0
    assert errors(output) == [
        "error: results/reports/checks.md: 1 fault: gelu/triton/64x64 is wrong;"
        " mend the kernels and run `snakemake checks/all` again"
    ]
    assert "Traceback" not in output
    page = checkout / "results/reports/checks.md"
    assert "of 1 pair of variant and case 0 ok, 1 wrong, 0 failed" in page.read_text()
    assert page.with_suffix(".html").is_file()
    assert pd.read_parquet(folder / "checks.parquet")["status"].tolist() == ["wrong"]

    store(checkout, checks=[pair("gelu", "triton", "ok")], sanitizer=clean)
    code, output = snakemake(checkout, *ALL, path=live)
    assert code == 0, output
    assert "of 1 pair of variant and case 1 ok, 0 wrong, 0 failed" in page.read_text()
