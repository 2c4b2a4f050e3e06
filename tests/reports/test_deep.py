# The dash is what pages show.
# ruff: noqa: RUF001
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reports.__main__ import main
from reports.deep import DEEP_FRAMES, Deep, deep_page, load_deep
from reports.format import block
from reports.frames import FramesError
from reports.page import operator_page
from tests.reports.data import make
from tests.reports.deep_data import (
    CASE,
    KEY,
    Rows,
    advice_row,
    case_row,
    deep,
    hotspot_rows,
    launch,
)
from tests.reports.test_page import HOSTILE, TAGS, Outline

ADVICE = "### Nsight's own advice"


def markdown(profile: Deep, **options: Any) -> str:
    return deep_page(profile, "replay", **options)["naive.md"]


def section(page: str, heading: str) -> str:
    """Return what stands below a heading, up to the next one."""
    return page.split(f"\n{heading}\n", 1)[1].split("\n#", 1)[0]


def store(profile: Deep, folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name in DEEP_FRAMES:
        getattr(profile, name).to_parquet(folder / f"{name}.parquet")
    return folder


def test_the_headline_says_what_warps_wait_for_and_where() -> None:
    page = markdown(deep())
    assert page.startswith("# gelu: naive, in depth\n\nVariant: term by term.\n")
    assert "2 launches took 3.00 µs under the profiler" in page
    assert "the longest, #1, of `kernel_1`, 66.7 % of that." in page
    assert (
        "Of 100 samples of its warps, 60.0 % were waiting for data from L1, L2 or DRAM "
        "(`long_scoreboard`), 15.0 % were at the end, until their stores are done (`drain`) and "
        "8.00 % were waiting a fixed number of cycles for their own previous instruction (`wait`)."
    ) in page
    assert "The hottest line is `gelu.py`, 11, with 60.0 % of the samples." in page
    assert "Of 320 sectors that addresses in global memory ask for, 75.0 % are more" in page
    assert "Of 64 wavefronts of shared memory, 50.0 % are more than would do." in page
    assert "TMA" not in page


def test_one_launch_by_tma_with_nothing_in_excess() -> None:
    rows = [row | {"global_ideal_sectors": row.get("global_sectors")} for row in hotspot_rows()]
    page = markdown(deep(counters=[launch(0, tma_load_bytes=64)], hotspots=rows[:2]))
    assert "One launch, of `kernel_0`, took 1.00 µs under the profiler." in page
    assert "Of 320 sectors that addresses in global memory ask for, none is too many." in page
    assert "Blocks come or go by TMA, whose accesses are not judged" in page
    assert "None was seen: no access asks for more sectors" in page


def test_tables_show_what_each_costs() -> None:
    page = markdown(deep())
    stalls = section(page, "### What its warps wait for")
    assert "| `long_scoreboard` | waiting for data from L1, L2 or DRAM | 60.0 | 6.00 |" in stalls
    lines = section(page, "### Hottest source lines")
    first = "| `kernel_0` | `gelu.py:11` | `line of FMUL R1, R1` | `long_scoreboard` | 60.0 |"
    assert lines.split("\n")[3] == first
    hottest = section(page, "### Hottest instructions")
    row = (
        "| 0 | `kernel_0` | `0x10` | `FMUL R1, R1` | `gelu.py:11` | `long_scoreboard` | 60.0 | 8 |"
    )
    assert row in hottest
    sectors = section(page, "### Uncoalesced accesses to global memory")
    assert "| global load | – | 320 | 80 | 75.0 | 75.0 |" in sectors
    conflicts = section(page, "### Bank conflicts in shared memory")
    assert "| shared store | – | 64 | 32 | 50.0 | 50.0 |" in conflicts


def test_excerpts_are_code_in_the_order_of_addresses() -> None:
    page = markdown(deep())
    sass = "```\n     0x0       10  LDG R1, [R2]\n    0x10       60  FMUL R1, R1\n"
    assert sass in page
    assert "```\nptx of LDG R1, [R2]\nptx of FMUL R1, R1\n" in page


def test_advice_that_misleads_stands_apart_with_its_reason() -> None:
    rows = [
        advice_row("CPIStall", "Long Stalls", speedup_pct=12.5, speedup_scope="global"),
        advice_row("CPIStall", "Long Stalls", launch=1, message="The longest says so."),
        advice_row("Balance", kind="info"),
        advice_row("SOLFPRoofline", kind="info"),
    ]
    counters = [launch(0, tensor_active_pct=50.0), launch(1)]
    kept, aside = section(markdown(deep(counters=counters, advice=rows)), ADVICE).split(
        "Set aside,"
    )
    assert "| Long Stalls | optimization | – | – | 2 | The longest says so. |" in kept
    assert kept.index("Long Stalls") < kept.index("Balance")
    assert "SOLFPRoofline" not in kept
    assert "| SOLFPRoofline | its FLOPs are those of tensor cores, 50.0 % busy" in aside


def test_no_advice() -> None:
    assert "None stands." in section(markdown(deep(advice=[])), ADVICE)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "The report holds nothing by instruction"),
        ([row | {"sass": None, "ptx": None} for row in hotspot_rows()], "holds no SASS"),
        (
            [row | {"file": None, "line": None} for row in hotspot_rows()],
            "without line information",
        ),
    ],
)
def test_what_the_report_lacks_is_said(rows: Rows, said: str) -> None:
    page = markdown(deep(hotspots=rows))
    assert said in page
    assert "2 launches took 3.00 µs" in page


def test_a_missing_time_is_missing() -> None:
    page = markdown(deep(counters=[launch(0), launch(1, duration_ns=None)]))
    assert "2 launches took – under the profiler" in page


def test_a_case_that_was_not_measured_is_said() -> None:
    outcome = KEY | {"case": "8x8-float16", "pass": "deep", "status": "failed", "reason": "x|y"}
    cases = [case_row(CASE), case_row("8x8-float16")]
    page = markdown(deep(cases=cases, outcomes=[outcome]))
    assert r"`8x8-float16` was not measured (failed: x\|y)." in page
    assert f"## `{CASE}`" in page


def test_a_stale_and_a_live_page() -> None:
    page = markdown(deep(), stale=True)
    assert "**Older than the source**: `kernels/gelu.py` has changed" in page
    assert "**Replayed**: recorded on NVIDIA H200 on 2026-01-02 at commit 0123456789ab" in page
    assert "Replayed" not in deep_page(deep(), "live")["naive.md"]


def test_names_messages_and_lines_are_data() -> None:
    texts = ("kernel", "sass", "ptx", "file", "source", "memory")
    pages = deep_page(
        deep(
            counters=[launch(0, kernel_demangled=HOSTILE, occupancy_limiter=HOSTILE), launch(1)],
            hotspots=[row | dict.fromkeys(texts, HOSTILE) for row in hotspot_rows()],
            advice=[
                advice_row("CPIStall", HOSTILE, message=HOSTILE, kind=HOSTILE),
                advice_row("SOLFPRoofline", HOSTILE, message=HOSTILE, speedup_scope=HOSTILE),
            ],
            variants=[
                {**KEY, "summary": HOSTILE, "baseline": True},
                {**KEY, "variant": "other", "summary": "of another", "baseline": False},
            ],
        ),
        "live",
    )
    assert "of another" not in pages["naive.md"]
    outline = Outline(pages["naive.html"])
    usual = Outline(deep_page(deep(), "live")["naive.html"])
    assert set(outline.tags) <= {*TAGS, "pre"}
    assert outline.tags.count("img") == 0
    assert outline.attributes.count(("href", "../gelu.html")) == 2, "where one is, and the text"
    assert not [
        value for name, value in outline.attributes if name == "href" and "e.x" in str(value)
    ]
    assert [len(set(table)) for table in outline.tables] == [1] * len(usual.tables)
    assert outline.tags.count("h2") == usual.tags.count("h2")


def test_a_block_of_code_ends_where_it_ends() -> None:
    assert block(["a", "b"]) == "```\na\nb\n```"
    assert block(["a ```` b", "c\nd"]) == "`````\na ```` b\nc d\n`````"


def test_the_page_does_not_depend_on_the_order_of_advice_or_on_the_run() -> None:
    rows = [advice_row("A", speedup_pct=1.0), advice_row("B", speedup_pct=2.0)]
    assert markdown(deep(advice=rows)) == markdown(deep(advice=rows[::-1]))


def test_frames_are_read_back(tmp_path: Path) -> None:
    folder = store(deep(), tmp_path / "frames")
    assert markdown(load_deep(folder)) == markdown(deep())


@pytest.mark.parametrize(
    ("variants", "said"),
    [
        ([], "outcomes of 0 variants, expected one"),
        ([("gelu", "a"), ("gelu", "b")], "outcomes of 2 variants, expected one"),
        ([("gelu", "../a")], "'../a' cannot name a file"),
    ],
)
def test_frames_of_no_variant_are_refused(
    variants: list[tuple[str, str]], said: str, tmp_path: Path
) -> None:
    rows = [
        {"pass": "deep", "operator": o, "variant": v, "case": CASE, "status": "ok"}
        for o, v in variants
    ]
    folder = store(deep(outcomes=rows), tmp_path / "frames")
    with pytest.raises(FramesError, match=said):
        load_deep(folder)


def test_the_command_writes_both_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = store(deep(), tmp_path / "frames")
    arguments = ["deep", str(folder), "--out", str(tmp_path / "gelu"), "--source", "replay"]
    assert main([*arguments, "--source-sha256", "gelu=b"]) == 0
    assert sorted(path.name for path in (tmp_path / "gelu").iterdir()) == ["naive.html", "naive.md"]
    assert "Older than the source" in (tmp_path / "gelu/naive.md").read_text()
    (folder / "advice.parquet").unlink()
    assert main(arguments) == 2
    assert capsys.readouterr().err.startswith(f"error: {folder / 'advice.parquet'}: no such file;")


def test_the_comparison_links_to_profiles_that_are_there() -> None:
    page = operator_page(make(), "live", deep=["naive"])["gelu.md"]
    assert page.count("([in depth](gelu/naive.md))\n") == page.count("in depth") == 1
