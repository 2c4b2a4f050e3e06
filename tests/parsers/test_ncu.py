from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from ncu_report import IMetric

from parsers import ncu, ncu_frame
from parsers.errors import CaptureError
from parsers.metrics import METRICS
from parsers.ncu_ranges import attribute
from parsers.schemas import COUNTERS

PATH = Path("a.ncu-rep")
BY_COLUMN = {metric.column: metric for metric in METRICS}


@dataclass
class Found:
    """Stands in for ``ncu_report.IMetric``."""

    number: Any
    word: str | None = ""

    def kind(self) -> Any:
        kinds = {str: IMetric.ValueKind_STRING, int: IMetric.ValueKind_UINT64}
        kinds |= {float: IMetric.ValueKind_DOUBLE}
        return kinds.get(type(self.number), IMetric.ValueKind_ANY)

    def as_double(self) -> float:
        return float(self.number)

    def as_uint64(self) -> int:
        return int(self.number)

    def unit(self) -> str | None:
        return self.word


@dataclass
class Domain:
    """Stands in for ``ncu_report.INvtxDomainInfo``."""

    label: str
    ranges: tuple[str, ...]
    started: tuple[str, ...] = ()

    def name(self) -> str:
        return self.label

    def push_pop_ranges(self) -> tuple[str, ...]:
        return self.ranges

    def start_end_ranges(self) -> tuple[str, ...]:
        return self.started


@dataclass
class Action:
    """Stands in for ``ncu_report.IAction`` and its ``INvtxState``."""

    metrics: dict[str, Found]
    open_ranges: list[Domain] | None = None
    label: str | None = "k"
    NameBase_FUNCTION = 0
    NameBase_DEMANGLED = 1

    def name(self, base: int) -> str | None:
        return self.label if base == self.NameBase_FUNCTION else ""

    def metric_names(self) -> list[str]:
        return list(self.metrics)

    def metric_by_name(self, name: str) -> Found | None:
        return self.metrics.get(name)

    def nvtx_state(self) -> Action | None:
        return None if self.open_ranges is None else self

    def domains(self) -> range:
        return range(len(self.open_ranges or []))

    def domain_by_id(self, identifier: int) -> Domain:
        assert self.open_ranges is not None
        return self.open_ranges[identifier]


@pytest.mark.parametrize(
    ("column", "number", "unit", "value"),
    [
        ("duration_ns", 1.5, "us", 1500),
        ("duration_ns", 2.25, "msecond", 2_250_000),
        ("duration_ns", 3, "s", 3_000_000_000),
        ("dram_read_bytes", 1.25, "Mbyte", 1_250_000),
        ("static_shared_bytes", 2.048, "Kbyte/block", 2048),
        ("sm_clock_hz", 1.98, "Ghz", 1.98e9),
        ("sm_clock_hz", 1.5, "cycle/nsecond", 1.5e9),
        ("sm_clock_hz", 1.5, "cycle/msecond", 1500.0),
        ("dram_rate_bytes_per_s", 4.5, "Tbyte/s", 4.5e12),
        ("load_bytes_per_sector", 32.0, "byte/sector", 32.0),
        ("l2_hit_pct", 52.3, "%", 52.3),
        ("registers_per_thread", 32, "register/thread", 32),
        ("instructions", 7602176.0000001, "inst", 7602176),
        ("global_load_requests", 0, None, 0),
        ("duration_ns", float("nan"), "ns", None),
        ("duration_ns", None, "ns", None),
        ("waves", "all", "", None),
    ],
)
def test_values_come_in_base_units(column: str, number: Any, unit: str | None, value: Any) -> None:
    found = ncu._value(PATH, BY_COLUMN[column], Found(number, unit))
    assert found == (value if not isinstance(value, float) else pytest.approx(value))


@pytest.mark.parametrize(
    ("column", "unit"), [("duration_ns", "fortnight"), ("l2_bytes", ""), ("instructions", "Kinst")]
)
def test_an_unknown_unit_is_refused(column: str, unit: str) -> None:
    metric = BY_COLUMN[column]
    with pytest.raises(CaptureError, match=f"{metric.names[0]} has the unit '{unit}'"):
        ncu._value(PATH, metric, Found(1, unit))


@pytest.mark.parametrize(
    ("limits", "limiter"),
    [
        ({"limit_registers_blocks": 4, "limit_warps_blocks": 3}, "warps"),
        ({"limit_registers_blocks": 16, "limit_warps_blocks": 16}, "registers + warps"),
        ({"limit_registers_blocks": None, "limit_barriers_blocks": 32}, "barriers"),
        ({}, None),
    ],
)
def test_occupancy_limiter(limits: dict[str, int | None], limiter: str | None) -> None:
    assert ncu_frame.limiter(dict(limits)) == limiter


def test_keys_and_launch_numbers() -> None:
    ours, theirs = "gelu/naive/small", "gelu/other/small"
    metrics = {"gpu__time_duration.sum": Found(1, "ns")}
    states: list[list[Domain] | None] = [
        [Domain("roofsnake", (ours,))],
        [Domain("torch", (theirs,)), Domain("roofsnake", ("step", ours))],
        [Domain("roofsnake", (ours, theirs))],
        [Domain("roofsnake", (), (theirs,))],
        [Domain("roofsnake", (ours,), (theirs,))],
        [Domain("torch", (ours,), (ours,))],
        [Domain("roofsnake", ("gelu.naive", "a/b", "a//c"))],
        None,
    ]
    frame, _ = attribute([ncu._open(Action(metrics, state)) for state in states])
    assert frame["variant"].fillna("").tolist() == ["naive"] * 2 + ["other"] * 2 + [
        "naive",
        *[""] * 3,
    ]
    assert frame["launch"].fillna(-1).tolist() == [0, 1, 0, 1, 2, -1, -1, -1]


def test_aliases_and_what_is_absent() -> None:
    row = ncu._row(PATH, Action({"dram__bytes_op_read.sum": Found(64, "byte")}))
    assert row["dram_read_bytes"] == 64
    assert "dram_write_bytes" not in row
    assert row["compute_capability"] is None
    assert row["kernel_demangled"] == "k"


@pytest.mark.parametrize("action", [Action({}), Action({"m": Found(1)}, label=None)])
def test_a_launch_that_did_not_load(action: Action) -> None:
    with pytest.raises(CaptureError, match="the report is truncated"):
        ncu._row(PATH, action)


def test_real_report(shared: Callable[[str], Path]) -> None:
    frame = ncu.parse(shared("h200/gelu_4096.ncu-rep"))
    assert list(frame.columns) == list(COUNTERS.columns)
    naive = [31200, 30848, 44576, 44448, 45376, 31168, 32160, 31136, 45920]
    assert frame["duration_ns"].tolist() == [*naive, 30816]
    assert frame["kernel"].tolist() == ["vectorized_elementwise_kernel"] * 9 + ["gelu_k"]
    assert set(frame["compute_capability"]) == {"9.0"}
    assert set(frame["nsight_compute"]) == {"2025.3.1.0"}
    assert set(frame["occupancy_limiter"]) == {"registers + warps"}
    assert frame[["operator", "launch", "dram_read_bytes"]].isna().all(axis=None)
    assert frame["registers_per_thread"].iloc[-1] == 30


def test_real_ranges(shared: Callable[[str], Path], ncu_report_path: Path) -> None:
    frame = ncu.parse(shared("h200/gelu_4096.ncu-rep"))
    assert frame["range"].tolist() == ["naive"] * 9 + ["triton"]
    assert frame["range_path"].equals(frame["range"].rename("range_path"))
    assert set(frame["domain"]) == {"kp"}
    assert frame.attrs["notes"] == []
    ours = ncu.parse(ncu_report_path)
    keys = ours["operator"] + "/" + ours["variant"] + "/" + ours["case"]
    assert ours["range"].tolist() == keys.tolist()
    assert set(ours["domain"]) == {"roofsnake"}
    (old,) = ncu.parse(shared("field/ncu-2020.3-cc86.ncu-rep")).to_dict("records")
    assert all(pd.isna(old[name]) for name in ("domain", "range", "range_path"))


def test_report_of_another_chip_and_version(shared: Callable[[str], Path]) -> None:
    (row,) = ncu.parse(shared("field/ncu-2020.3-cc86.ncu-rep")).to_dict("records")
    assert row["kernel"] == "kernel"
    assert row["duration_ns"] == 336704
    assert row["registers_per_thread"] == 18
    assert row["compute_capability"] == "8.6"
    assert row["static_shared_bytes"] == 144
    assert row["occupancy_limiter"] == "warps"
    assert row["nsight_compute"] == "2020.3.1.0"
