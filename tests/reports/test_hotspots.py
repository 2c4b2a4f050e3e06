from __future__ import annotations

import pandas as pd
import pytest

from reports import hotspots as hot
from tests.reports.deep_data import frame, hotspot_rows, instruction, launch


def made() -> pd.DataFrame:
    return frame("hotspots", hotspot_rows())


def counters() -> pd.DataFrame:
    return frame("counters", [launch(0), launch(1)])


def test_samples_are_shared_out_over_reasons() -> None:
    table = hot.stalls(made(), counters())
    assert table["reason"].tolist() == [
        *("long_scoreboard", "drain", "selected", "wait", "barrier")
    ]
    assert table["share"].tolist() == [0.6, 0.15, 0.1, 0.08, 0.07]
    assert table["share"].sum() == pytest.approx(1)


def test_counters_are_weighted_with_instructions() -> None:
    table = hot.stalls(made(), counters()).set_index("reason")
    assert table["cycles"]["long_scoreboard"] == pytest.approx((8 * 100 + 5 * 200) / 300)
    assert pd.isna(table["cycles"]["drain"])


def test_a_launch_without_the_counter_has_no_weight() -> None:
    some = frame("counters", [launch(0), launch(1, stall_long_scoreboard_cycles=None)])
    assert hot.stalls(made(), some)["cycles"][0] == 8.0


def test_counters_alone_make_a_table() -> None:
    table = hot.stalls(frame("hotspots", []), counters())
    assert table["reason"].tolist() == ["long_scoreboard"]
    assert table["share"].isna().all()


def test_what_issues_is_no_reason_to_wait() -> None:
    reasons = hot.main_reason(made())
    assert reasons.fillna("").tolist() == ["", "long_scoreboard", "barrier", "wait", "drain"]
    assert hot.main_reason(frame("hotspots", [])).empty


def test_launches() -> None:
    table = hot.by_launch(made())
    assert table["samples"].tolist() == [75, 25]
    assert table["main_reason"].tolist() == ["long_scoreboard", "drain"]
    assert table["reason_share"].tolist() == [0.8, 0.6]
    assert hot.by_launch(frame("hotspots", [])).empty


def test_lines_add_up_their_instructions() -> None:
    rows = hotspot_rows()
    rows[2] |= {"line": 11}
    rows[3] |= {"file": None}
    table = hot.lines(frame("hotspots", rows))
    assert table["line"].tolist() == [11, 11, 10]
    assert table["kernel"].tolist() == ["kernel_0", "kernel_1", "kernel_0"]
    assert table["samples"].tolist() == [65, 20, 10]
    assert table["share"].tolist() == [0.65, 0.2, 0.1]
    assert table["source"].tolist()[0] == "line of FMUL R1, R1"


def test_instructions_stand_hottest_first() -> None:
    table = hot.instructions(made())
    assert table["samples"].tolist() == [60, 20, 10, 5, 5]
    assert table["launch"].tolist() == [0, 1, 0, 0, 1]
    assert table["share"][0] == 0.6


def test_excess_is_of_an_instruction_and_of_all() -> None:
    rows = [*hotspot_rows(), instruction(1, 32, "STG", global_sectors=80, global_ideal_sectors=80)]
    (row,) = hot.excess(frame("hotspots", rows), "global_sectors", "global_ideal_sectors").to_dict(
        "records"
    )
    assert (row["offset_bytes"], row["excess"]) == (0, 240)
    assert row["excess_share"] == 0.75
    assert row["total_share"] == 0.6


def test_conflicts_are_excess_too() -> None:
    found = hot.excess(made(), "shared_wavefronts", "shared_ideal_wavefronts")
    assert found["sass"].tolist() == ["STS [R3], R1"]
    assert found["excess_share"].tolist() == [0.5]


def test_nothing_collected_is_no_excess() -> None:
    rows = [instruction(0, 0, "LDG")]
    assert hot.excess(frame("hotspots", rows), "global_sectors", "global_ideal_sectors").empty


def test_an_excerpt_is_of_one_launch() -> None:
    rows = [instruction(0, 16 * i, f"I{i}", samples=i == 30) for i in range(40)]
    window = hot.around_hottest(frame("hotspots", [*rows, instruction(1, 480, "J")]), reach=2)
    assert window["sass"].tolist() == ["I28", "I29", "I30", "I31", "I32"]
    first = hot.around_hottest(made(), reach=1)
    assert first["offset_bytes"].tolist() == [0, 16, 32]


@pytest.mark.parametrize("change", [{"sass": None}, {"samples": 0}, {"samples": None}])
def test_no_excerpt_without_sass_or_samples(change: dict[str, None]) -> None:
    rows = [row | change for row in hotspot_rows()]
    assert hot.around_hottest(frame("hotspots", rows)).empty
