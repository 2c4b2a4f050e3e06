from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.metrics import OCCUPANCY_LIMITS
from parsers.reading import read
from reports.frames import records
from reports.occupancy import SMS, Launch, Relief, asked, occupancy, relief, what_if
from tests.captured import Captured
from tests.checkouts import ROOT
from tests.parsers.conftest import shared_report

CAPTURES = ROOT / "captures" / "h200"
OPERATORS = sorted(folder.name for folder in CAPTURES.iterdir())
SHARED = (
    "h200/gelu_4096.ncu-rep",
    "h200/gelu.ncu-raw-base-units.csv",
    "h200/gelu.ncu-details.csv",
    "field/ncu-2020.3-cc86.ncu-rep",
)
TEXTBOOK = Launch(threads=128, registers=160)

launches = st.builds(
    Launch,
    threads=st.integers(1, 1024),
    registers=st.integers(1, 255),
    shared=st.integers(0, 64 << 10),
    barriers=st.integers(0, 16),
)
capabilities = st.sampled_from(sorted(SMS))


def nsight(row: dict[str, Any]) -> dict[str, int]:
    return {
        word: row[column] for column, word in OCCUPANCY_LIMITS.items() if row[column] is not None
    }


def recorded(captured: Captured, operator: str) -> list[tuple[dict[str, Any], Launch]]:
    """Return the launches of a capture: rows of the counters frame, and what each asked for."""
    rows = records(pd.read_parquet(captured.frames(operator) / "counters.parquet"))
    launches = [(row, asked(row)) for row in rows]
    return [(row, launch) for row, launch in launches if launch is not None]


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_launch_of_a_capture_has_the_limits_that_nsight_says(
    captured: Captured, operator: str
) -> None:
    assert recorded(captured, operator)
    for row, launch in recorded(captured, operator):
        found = occupancy(row["compute_capability"], launch)
        assert found.limits == nsight(row)
        assert found.pct == pytest.approx(row["occupancy_theoretical_pct"])
        assert " + ".join(found.limiters) == row["occupancy_limiter"]


@pytest.mark.parametrize("operator", OPERATORS)
def test_the_most_shared_memory_is_no_less_than_the_driver_gave(
    captured: Captured, operator: str
) -> None:
    """The driver never configured so little that a block less fit, so the occupancy is the same."""
    for row, launch in recorded(captured, operator):
        found = occupancy(row["compute_capability"], replace(launch, shared_config=None))
        assert found.limits["shared memory"] >= row["limit_shared_mem_blocks"]
        assert found.pct == pytest.approx(row["occupancy_theoretical_pct"])


@pytest.mark.parametrize("name", SHARED)
def test_reports_of_others(name: str) -> None:
    rows = records(read(shared_report(name)))
    assert rows
    for row in rows:
        launch = asked(row)
        assert launch is not None
        launch = replace(launch, shared_config=None)
        found, said = occupancy(row["compute_capability"], launch), nsight(row)
        assert found.limits["shared memory"] >= said["shared memory"]
        assert {k: v for k, v in found.limits.items() if k != "shared memory"} == {
            k: v for k, v in said.items() if k != "shared memory"
        }
        if row["occupancy_theoretical_pct"] is not None:
            assert found.pct == pytest.approx(row["occupancy_theoretical_pct"])


def test_nsight_2020_took_the_most_that_an_sm_has() -> None:
    """144 B + 1 KiB make 1280 B in units of 128: 102400 / 1280 = 80 blocks.

    Nsight says 80 though that SM was configured with 8192 B, of which 6 blocks would fit.
    """
    (row,) = records(read(shared_report("field/ncu-2020.3-cc86.ncu-rep")))
    launch = asked(row)
    assert launch == Launch(threads=512, registers=18, shared=144, shared_config=8192)
    assert occupancy("8.6", launch).limits["shared memory"] == 6
    most = replace(launch, shared_config=None)
    assert occupancy("8.6", most).limits == nsight(row)
    assert occupancy("8.6", most).limits["shared memory"] == 80


def test_textbook() -> None:
    """160 registers x 32 threads = 5120 a warp; 16384 / 5120 = 3 warps in each of 4 partitions.

    These 12 warps are 3 blocks of 4 warps: 12 / 64 = 18.75 %.
    """
    found = occupancy("9.0", TEXTBOOK)
    assert (found.blocks, found.warps, found.pct) == (3, 12, 18.75)
    assert found.limiters == ("registers",)
    assert found.limits == {
        "registers": 3,
        "shared memory": 228,  # 233472 / 1024
        "warps": 16,  # 64 / 4
        "blocks": 32,
        "barriers": 32,
    }


@pytest.mark.parametrize(
    ("cc", "launch", "blocks", "pct", "limiters"),
    [
        # 96 KiB / 48 KiB = 2 blocks of 8 warps of 64.
        ("7.0", Launch(256, 32, 48 << 10), 2, 25, ("shared memory",)),
        # Nothing is reserved before 8.0: 65536 / 1280 = 51; 32 warps / 8 = 4.
        ("7.5", Launch(256, 16, 1028), 4, 100, ("warps",)),
        # 46 -> 48 registers x 32 = 1536; 16384 / 1536 = 10 x 4 = 40 warps; 40 / 16 = 2.
        ("8.0", Launch(512, 46), 2, 50, ("registers",)),
        # 48 warps / 32 = 1; 40 registers x 32 = 1280; 16384 / 1280 = 12 x 4 = 48 warps, 1 block.
        ("8.6", Launch(1024, 40), 1, 100 * 32 / 48, ("registers", "warps")),
        # 16 blocks of one warp of 48; 8.9 has 24.
        ("8.6", Launch(32, 32), 16, 100 * 16 / 48, ("blocks",)),
        ("8.9", Launch(32, 32), 24, 50, ("blocks",)),
        # 163 KiB + 1 KiB is all of 164 KiB.
        ("8.7", Launch(128, 64, 163 << 10), 1, 100 * 4 / 48, ("shared memory",)),
        # 64 barriers / 16 = 4.
        ("9.0", Launch(128, 32, barriers=16), 4, 25, ("barriers",)),
        # 3 warps: 168 registers x 32 = 5376, 3 a partition, 12 warps, 4 blocks.
        ("10.0", Launch(96, 168), 4, 100 * 12 / 64, ("registers",)),
        # 24 barriers / 2 = 12 blocks of 2 warps of 48.
        ("12.0", Launch(64, 32, barriers=2), 12, 50, ("barriers",)),
        # 12 warps of 8192 registers need 3 in each partition, which holds 2: no such launch.
        ("9.0", Launch(384, 255), 0, 0, ("registers",)),
        ("9.0", Launch(32, 32, 228 << 10), 0, 0, ("shared memory",)),
    ],
)
def test_worked_examples(
    cc: str, launch: Launch, blocks: int, pct: float, limiters: tuple[str, ...]
) -> None:
    found = occupancy(cc, launch)
    assert found.blocks == blocks
    assert found.pct == pytest.approx(pct)
    assert found.limiters == limiters


def test_the_configured_shared_memory_limits() -> None:
    """1024 B + 256 B are 1280 B on 7.5, in units of 256; 32768 / 1280 = 25."""
    launch = Launch(256, 16, 1028, shared_config=32 << 10)
    assert occupancy("7.5", launch).limits["shared memory"] == 25
    # 8.9 without any of its own: 8192 / 1024.
    assert occupancy("8.9", Launch(1024, 40, shared_config=8192)).limits["shared memory"] == 8
    # Where none is used, none is short.
    assert occupancy("7.0", Launch(1024, 32, shared_config=0)).limits["shared memory"] == 32


@pytest.mark.parametrize(
    "changes",
    [{"threads": 0}, {"threads": 1025}, {"registers": 0}, {"registers": 256}, {"shared": -1}],
)
def test_no_such_launch(changes: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"a block has|counted from 0"):
        replace(TEXTBOOK, **changes)


def test_an_unknown_capability_is_said() -> None:
    with pytest.raises(ValueError, match=r"compute capability 6\.1 is not known; known are 7\.0"):
        occupancy("6.1", TEXTBOOK)


def test_a_row_that_does_not_say() -> None:
    row = {
        "block_size": 128,
        "registers_per_thread": 32,
        "static_shared_bytes": 16,
        "dynamic_shared_bytes": 1024,
    }
    assert asked(row) == Launch(128, 32, 1040)
    assert [asked(row | {column: None}) for column in row] == [None] * 4
    more = row | {"barriers": 3, "shared_config_bytes": 32768}
    assert asked(more) == Launch(128, 32, 1040, barriers=3, shared_config=32768)


@settings(deadline=None)
@given(capabilities, launches, st.integers(1, 255), st.integers(0, 64 << 10))
def test_more_never_fits_better(cc: str, launch: Launch, registers: int, shared: int) -> None:
    more = replace(
        launch,
        registers=max(launch.registers, registers),
        shared=max(launch.shared, shared),
        barriers=launch.barriers + 1,
    )
    assert occupancy(cc, more).blocks <= occupancy(cc, launch).blocks


@settings(deadline=None)
@given(capabilities, launches)
def test_what_an_sm_holds_is_held(cc: str, launch: Launch) -> None:
    sm, found = SMS[cc], occupancy(cc, launch)
    assert found.limiters
    assert found.blocks == min(found.limits.values())
    assert 0 <= found.pct <= 100
    assert found.warps <= sm.warps
    assert found.blocks * (launch.shared + sm.shared_reserved) <= sm.shared
    assert found.warps * 32 * launch.registers <= 65536


@settings(deadline=None)
@given(capabilities, launches)
def test_relief_is_the_least(cc: str, launch: Launch) -> None:
    now, found = occupancy(cc, launch), relief(cc, launch)
    if found is None:
        bare = replace(launch, registers=1, shared=0)
        assert occupancy(cc, bare).blocks == now.blocks
        return
    less = replace(
        launch, registers=launch.registers - found.registers, shared=launch.shared - found.shared
    )
    assert found.blocks == now.blocks + 1
    assert occupancy(cc, less).blocks >= found.blocks
    warps = found.blocks * -(-launch.threads // 32)
    assert found.pct == pytest.approx(100 * warps / SMS[cc].warps)
    if found.registers:
        one = replace(less, registers=less.registers + 1)
        assert occupancy(cc, one).blocks < found.blocks
    if found.shared:
        assert occupancy(cc, replace(less, shared=less.shared + 1)).blocks < found.blocks


def test_relief_of_the_textbook_case() -> None:
    """4 blocks of 4 warps are 4 warps a partition: 16384 / 4 = 4096 = 128 x 32; 160 - 128 = 32."""
    assert relief("9.0", TEXTBOOK) == Relief(blocks=4, pct=25, registers=32, shared=0)


def test_relief_of_a_tie_needs_both() -> None:
    """3 blocks by registers, and by 64 KiB of 228: 4 need 233472 / 4 - 1024 = 57344 B."""
    tie = replace(TEXTBOOK, shared=64 << 10)
    assert occupancy("9.0", tie).limiters == ("registers", "shared memory")
    assert relief("9.0", tie) == Relief(blocks=4, pct=25, registers=32, shared=65536 - 57344)


def test_no_relief_where_warps_limit() -> None:
    assert relief("9.0", Launch(1024, 32)) is None


@settings(deadline=None, max_examples=30)
@given(capabilities, launches)
def test_curves_are_the_calculator_at_each_value(cc: str, launch: Launch) -> None:
    curves = what_if(cc, launch)
    for varied, field in (("registers_per_thread", "registers"), ("block_size", "threads")):
        curve = curves[curves["varied"] == varied]
        for row in records(curve.iloc[:: len(curve) // 4]):
            found = occupancy(cc, replace(launch, **{field: row["value"]}))
            assert (row["blocks"], row["warps"]) == (found.blocks, found.warps)
            assert row["occupancy_pct"] == pytest.approx(found.pct)
            assert row["limiter"] == " + ".join(found.limiters)


def test_the_curves_of_the_textbook_case() -> None:
    curves = what_if("9.0", TEXTBOOK)
    registers = curves[curves["varied"] == "registers_per_thread"]
    assert registers["value"].tolist() == list(range(1, 256))
    assert registers["occupancy_pct"].is_monotonic_decreasing
    # 32 x 32 = 1024 is 16 warps a partition; from there each warp less is a step.
    steps = registers.loc[registers["step"], "value"]
    assert steps.tolist() == [33, 41, 49, 57, 65, 73, 81, 97, 129, 169]
    sizes = curves[curves["varied"] == "block_size"].set_index("value")
    assert sizes.index.tolist() == list(range(32, 1025, 32))
    # 12 warps fit: whole blocks of 4, 5, 6 and 7 warps are 3, 2, 2 and 1; 13 are too many.
    assert sizes.loc[[128, 160, 192, 224, 384, 416], "warps"].tolist() == [12, 10, 12, 7, 12, 0]
    assert curves.loc[curves["launched"], "value"].tolist() == [160, 128]
