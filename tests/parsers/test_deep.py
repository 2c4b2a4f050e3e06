"""Deep reports: instructions, their sources and Nsight's advice, from stand-ins for a launch."""

from __future__ import annotations

import gzip
import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from parsers import deep
from parsers.captures import parse_pass
from parsers.deep_advice import advice_of, plain
from parsers.deep_hotspots import instructions
from parsers.deep_schemas import ADVICE, HOTSPOTS
from parsers.errors import CaptureError
from parsers.stalls import STALLS
from tests.parsers.folders import outcome, write_pass

START = 0x7F0000001000
STALLED = "smsp__pcsamp_warps_issue_stalled_"
TEXTS = ("LDG.E  R1, desc[UR4][R2.64]", "@!P0  BRA 0x7f0000001030", "STS [R3], R1", "EXIT")


@dataclass
class Metric:
    """Stands in for ``ncu_report.IMetric`` and for the metric of its addresses."""

    values: dict[int, int]

    def has_correlation_ids(self) -> bool:
        return bool(self.values)

    def correlation_ids(self) -> Metric:
        return self

    def num_instances(self) -> int:
        return len(self.values)

    def value(self, index: int) -> int:
        return list(self.values.values())[index]

    def as_uint64(self, index: int) -> int:
        return START + 16 * list(self.values)[index]


@dataclass
class Source:
    """Stands in for ``ncu_report.ISourceInfo``."""

    name: str
    number: int

    def file_name(self) -> str:
        return self.name

    def line(self) -> int:
        return self.number


@dataclass
class Action:
    """Stands in for ``ncu_report.IAction``: values by position of an instruction."""

    metrics: dict[str, dict[int, int]]
    sass: bool = True
    place: Source | None = None
    files: dict[str, str] = field(default_factory=dict)
    results: list[dict[str, Any]] = field(default_factory=list)

    def metric_by_name(self, name: str) -> Metric | None:
        return Metric(self.metrics[name]) if name in self.metrics else None

    def sass_by_pc(self, address: int) -> str:
        return TEXTS[(address - START) // 16] if self.sass else ""

    def ptx_by_pc(self, address: int) -> str:
        return "ld.global.b32 \t%r1, [%rd1];" if self.sass and address == START else ""

    def source_info(self, address: int) -> Source | None:
        return self.place if address == START else None

    def source_files(self) -> dict[str, str]:
        return self.files

    def rule_results_as_dicts(self) -> list[dict[str, Any]]:
        return self.results


COUNTED: dict[str, dict[int, int]] = {
    "inst_executed": {2: 6, 0: 8, 1: 8, 3: 8},
    "smsp__pcsamp_sample_count": {1: 7, 2: 3},
    f"{STALLED}long_scoreboard": {1: 6, 2: 0},
    f"{STALLED}warpgroup_arrive": {1: 1, 2: 3},
    f"{STALLED}long_scoreboard_not_issued": {1: 5, 2: 0},
    f"{STALLED}warpgroup_arrive_not_issued": {1: 0, 2: 2},
    "memory_type": {0: 4, 1: 0, 2: 16, 3: 20},
    "memory_access_type": {0: 2, 1: 0, 2: 4},
    "memory_access_size_type": {0: 128, 1: 0, 2: 2, 3: 3},
    "memory_l2_theoretical_sectors_global": {0: 32},
    "memory_l2_theoretical_sectors_global_ideal": {0: 4},
}


def rows(action: Action) -> pd.DataFrame:
    frame = instructions(action)
    return HOTSPOTS.conform(frame.assign(kernel="k")) if len(frame) else frame


def test_instructions_stand_by_address_with_what_each_cost() -> None:
    frame = rows(Action(COUNTED))
    assert frame["offset_bytes"].tolist() == [0, 16, 32, 48]
    assert frame["warp_instructions"].tolist() == [8, 8, 6, 8]
    assert frame["samples"].tolist() == [0, 7, 3, 0]
    assert frame["not_issued_samples"].tolist() == [0, 5, 2, 0]
    assert frame["gmma_samples"].tolist() == [0, 1, 3, 0]
    assert frame["sass"].tolist()[0] == "LDG.E R1, desc[UR4][R2.64]"
    assert frame["ptx"].tolist()[0] == "ld.global.b32 %r1, [%rd1];"
    assert frame["ptx"].isna().tolist() == [False, True, True, True]


def test_reasons_add_up_to_the_samples() -> None:
    frame = rows(Action(COUNTED))
    reasons = frame[[f"{reason}_samples" for reason in STALLS]]
    assert (reasons.sum(axis=1) == frame["samples"]).all()


def test_targets_of_branches_are_offsets() -> None:
    assert rows(Action(COUNTED))["sass"][1] == "@!P0 BRA 0x30"


def test_an_access_is_said_in_words_and_an_unknown_width_is_missing() -> None:
    frame = rows(Action(COUNTED))
    assert frame["memory"].fillna("").tolist() == [
        *("global load", "", "shared store", "global and shared")
    ]
    assert frame["access_bits"].fillna(0).tolist() == [128, 0, 8, 0]


def test_what_was_not_collected_is_missing_and_not_zero() -> None:
    frame = rows(Action(COUNTED))
    assert frame["global_sectors"].fillna(-1).tolist() == [32, -1, -1, -1]
    assert frame["shared_wavefronts"].isna().all()
    assert frame["barrier_samples"].isna().all()
    unsampled = rows(Action({"inst_executed": {0: 1}}))
    assert unsampled[["samples", "not_issued_samples"]].isna().all(axis=None)


def test_a_launch_without_values_by_address_has_no_rows() -> None:
    assert instructions(Action({})).empty
    assert instructions(Action({"inst_executed": {}})).empty


def test_without_sass_instructions_have_no_text() -> None:
    frame = rows(Action(COUNTED, sass=False))
    assert len(frame) == 4
    assert frame["sass"].isna().all()


@pytest.mark.parametrize(
    ("name", "files", "text"),
    [
        ("/a/b/gelu.py", {"/a/b/gelu.py": "one\n  two  = 2\n"}, "two = 2"),
        ("xxxx/gelu.py", {"xxxxxxxxxxxx": "one\ntwo\n", "xxxx": ""}, "two"),
        ("xxxx/gelu.py", {"xxxxxxxxxxxx": "one\n"}, None),
        ("/a/b/gelu.py", {"/a/c/gelu.py": "one\ntwo\n"}, None),
        ("/a/b/gelu.py", {}, None),
    ],
)
def test_the_line_of_an_instruction(name: str, files: dict[str, str], text: str | None) -> None:
    frame = rows(Action(COUNTED, place=Source(name, 2), files=files))
    assert frame["file"].fillna("").tolist() == ["gelu.py", "", "", ""]
    assert frame["line"].fillna(0).tolist() == [2, 0, 0, 0]
    assert frame["source"].fillna("").tolist()[0] == (text or "")


def test_a_line_that_is_not_known() -> None:
    frame = rows(Action(COUNTED, place=Source("", 0)))
    assert frame[["file", "line", "source"]].isna().all(axis=None)


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("the @section:SourceCounters:Source Counters@ section", "the Source Counters section"),
        ("see @url:the Guide:https://docs.nvidia.com/a/b.html#c:d@.", "see the Guide."),
        ("at @source:gelu.py:84:gelu.py, line 85@", "at gelu.py, line 85"),
        ("@url:a:https://b@ and @section:C:d@", "a and d"),
        ("a@b.c  is\nno link", "a@b.c is no link"),
    ],
)
def test_markup_becomes_text(markup: str, text: str) -> None:
    assert plain(markup) == text


def result(**changes: Any) -> dict[str, Any]:
    return {
        "rule_identifier": "CPIStall",
        "name": "Warp Stall",
        "section_identifier": "WarpStateStats",
        "rule_message": {"title": "", "message": "Look at @section:A:B@.", "type": 2},
    } | changes


def test_advice_is_a_row_a_result_that_says_something() -> None:
    gain = {"type": 2, "speedup": 14.5}
    focus = [{"name": "m", "value": 1.5, "severity": 0, "info": "Increase @section:A:it@"}]
    silent = {"title": "", "message": "", "type": 0}
    results = [
        result(),
        result(rule_message=silent),
        result(speedup_estimation=gain, focus_metrics=focus),
    ]
    rows = ADVICE.conform([r | {"kernel": "k"} for r in advice_of(Action({}, results=results))])
    assert rows["message"].tolist() == ["Look at B."] * 2
    assert rows["title"].tolist() == ["Warp Stall"] * 2
    assert rows["kind"].tolist() == ["optimization"] * 2
    assert rows["speedup_pct"].fillna(0).tolist() == [0, 14.5]
    assert rows["speedup_scope"].fillna("").tolist() == ["", "global"]
    assert json.loads(rows["metrics"][1]) == [{"name": "m", "value": 1.5, "info": "Increase it"}]


@pytest.mark.parametrize(("code", "kind"), [(1, "info"), (2, "optimization"), (3, "warning")])
def test_kinds_of_advice(code: int, kind: str) -> None:
    said = {"title": "t", "message": "m", "type": code}
    (row,) = advice_of(Action({}, results=[result(rule_message=said)]))
    assert row["kind"] == kind


def test_a_report_without_sass_and_rules_gives_empty_frames(tmp_path: Path) -> None:
    report = tmp_path / "gelu.ncu-rep"
    packed = Path(__file__).parents[1] / "data" / "gelu.ncu-rep.gz"
    with gzip.open(packed) as stream, report.open("wb") as file:
        shutil.copyfileobj(stream, file)
    frames = deep.parse(report)
    assert len(frames["counters"]) > 0
    assert frames["hotspots"].empty
    assert list(frames["hotspots"].columns) == list(HOTSPOTS.columns)
    assert frames["advice"].empty
    assert list(frames["advice"].columns) == list(ADVICE.columns)


def test_another_file_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "a.ncu-rep"
    path.write_bytes(b"hello\n")
    with pytest.raises(CaptureError, match="is not an Nsight Compute report but text"):
        deep.parse(path)


def test_a_capture_of_the_deep_pass(tmp_path: Path) -> None:
    packed = (Path(__file__).parents[1] / "data" / "gelu.ncu-rep.gz").read_bytes()
    ran = [{**outcome("deep", "triton"), "case": "8192x8192-float32"}]
    files = {"all.ncu-rep.gz": packed}
    frames = parse_pass(write_pass(tmp_path / "gelu/deep/triton", "deep", files, outcomes=ran))
    assert set(frames) == {"counters", "coverage", "flags", "hotspots", "advice"}
    assert len(frames["counters"]) > 0
    assert frames["hotspots"].dtypes.equals(HOTSPOTS.conform([]).dtypes)


def test_a_capture_in_which_nothing_was_measured(tmp_path: Path) -> None:
    skipped = [outcome("deep", "triton", "skipped")]
    frames = parse_pass(write_pass(tmp_path / "gelu/deep/triton", "deep", {}, outcomes=skipped))
    assert [len(frames[name]) for name in ("counters", "hotspots", "advice")] == [0, 0, 0]
    assert list(frames["hotspots"].columns) == list(HOTSPOTS.columns)
    assert list(frames["advice"].columns) == list(ADVICE.columns)
