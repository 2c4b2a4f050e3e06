# The multiplication sign is what pages show.
# ruff: noqa: RUF001
"""The row of answers of a variant: at each boundary, and with values missing."""

from __future__ import annotations

import re
from typing import Any

import pytest

from reports.answers import answers_table
from reports.bottleneck import diagnose
from reports.explain import FULL_SECTOR, MOSTLY_TMA, SECTOR_SLACK
from reports.format import MISSING
from reports.steps import FEW_WARPS_PCT
from tests.reports.test_bottleneck import variant

PARTIAL = FULL_SECTOR * SECTOR_SLACK


def answers(**changes: Any) -> dict[str, str]:
    row = variant(**changes)
    shown = answers_table([row], diagnose([row]))
    ((name, *cells),) = shown.rows
    assert name == "`a`"
    return dict(zip(shown.headers[1:], cells, strict=True))


def test_a_row_says_what_there_is_to_know() -> None:
    shown = answers(
        dram_throughput_pct=90.0,
        equal_copy_share=0.97,
        amplification=1.02,
        occupancy_achieved_pct=70.2,
        occupancy_theoretical_pct=75.0,
        occupancy_limiter="registers",
        measured_share=0.96,
    )
    assert shown == {
        "Limit": "DRAM-bound",
        "Next": "nothing left",
        "Moved over fewest, ×": "1.02",
        "Sectors used": "in full",
        "Achieved occupancy": "70.2 of 75.0 %",
        "Limiter": "registers",
        "Would more help": "no",
        "Of measured roof, %": "96.0",
    }


def test_missing_is_shown_as_missing() -> None:
    shown = answers(load_bytes_per_sector=None, store_bytes_per_sector=None)
    for header in ("Moved over fewest, ×", "Sectors used", "Achieved occupancy", "Limiter"):
        assert shown[header] == MISSING
    assert shown["Would more help"] == shown["Of measured roof, %"] == MISSING


@pytest.mark.parametrize(
    ("load", "store", "said"),
    [
        (PARTIAL, None, "in full"),
        (PARTIAL - 0.1, 32.0, "loads 30 of 32 B"),
        (4.0, 8.0, "loads 4.0 of 32 B and stores 8.0 of 32 B"),
    ],
)
def test_sectors_are_judged_by_the_bytes_used(
    load: float | None, store: float | None, said: str
) -> None:
    shown = answers(load_bytes_per_sector=load, store_bytes_per_sector=store)
    assert shown["Sectors used"] == said


def test_tma_is_not_judged_by_sectors() -> None:
    mostly = {"load_bytes_per_sector": 4.0, "tma_share": MOSTLY_TMA}
    assert answers(**mostly)["Sectors used"] == "by TMA"
    assert answers(**mostly | {"tma_share": MOSTLY_TMA - 0.01})["Sectors used"] != "by TMA"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"occupancy_theoretical_pct": FEW_WARPS_PCT - 0.1}, "yes"),
        ({"occupancy_theoretical_pct": FEW_WARPS_PCT}, "hardly"),
        ({"occupancy_theoretical_pct": 10.0, "wave_blocks": 131, "wave_sms": 132}, "more blocks"),
        ({"occupancy_theoretical_pct": 10.0, "wave_blocks": 132, "wave_sms": 132}, "yes"),
        ({"occupancy_theoretical_pct": 10.0, "dram_throughput_pct": 90.0}, "no"),
        ({"occupancy_theoretical_pct": None}, MISSING),
    ],
)
def test_more_warps_help_where_latency_is_the_limit(changes: dict[str, Any], said: str) -> None:
    assert answers(**changes)["Would more help"].startswith(said)


def test_variants_of_which_nothing_is_known_are_left_out() -> None:
    row, silent = variant(), variant("b", median_ns=None, parts_limit=None)
    assert len(answers_table([row, silent], diagnose([row, silent])).rows) == 1


def test_pipes_in_next_steps_do_not_end_a_cell() -> None:
    slow, fast = variant(slowdown=2.0), variant("b|c", slowdown=1.0)
    shown = answers_table([slow, fast], diagnose([slow, fast]))
    assert r"b\|c" in shown.rows[0][2]
    assert not re.search(r"[^\\]\|", "".join(cell for row in shown.rows for cell in row))
