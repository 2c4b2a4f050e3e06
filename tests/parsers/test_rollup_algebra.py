"""What holds of every roll-up: how launches are cut, ordered and grouped changes nothing."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.metric import Rollup
from parsers.metrics import METRICS
from parsers.nsys_schemas import LAUNCHES
from parsers.rollup import busy_ns, roll_up
from parsers.schemas import COUNTERS
from reports.frames import records

COUNTED = ("duration_ns", "dram_read_bytes", "global_load_sectors", "instructions", "bytes")
LISTED = ("registers_per_thread", "grid_x", "waves", "local_bytes_per_thread")
MEANS = {m.column: m.weight for m in METRICS if m.rollup is Rollup.MEAN and m.weight in COUNTED}
AVERAGED = ("sm_throughput_pct", "load_bytes_per_sector", "threads_per_instruction")
SCHEMAS = {"counters": COUNTERS, "launches": LAUNCHES}
FEW = settings(max_examples=10, deadline=None)
Rows = list[dict[str, Any]]


@st.composite
def drawn_rows(draw: st.DrawFn, kind: str) -> Rows:
    """Launches of few kernels, ranges, GPUs and values, any of which may be missing."""
    columns: dict[str, st.SearchStrategy[Any]] = {"kernel": st.sampled_from("ab")}
    columns |= {column: st.integers(0, 3) for column in (*COUNTED, *LISTED)}
    columns |= {column: st.floats(0, 100) for column in AVERAGED}
    lost = sorted(columns.keys() & SCHEMAS[kind].columns.keys() - {"kernel", "duration_ns"})
    columns["occupancy_limiter"] = st.sampled_from(["warps", "blocks", "registers + warps"])
    if kind == "launches":
        columns |= {"kind": st.just("kernel"), "range": st.none() | st.sampled_from("xy")}
        columns |= {"start_ns": st.integers(0, 40), "duration_ns": st.integers(0, 20)}
        columns |= {"machine": st.just(0), "gpu": st.integers(0, 1), "device": st.just(0)}
    known = {name: values for name, values in columns.items() if name in SCHEMAS[kind].columns}
    rows = draw(st.lists(st.fixed_dictionaries(known), min_size=1, max_size=12))
    for _ in range(draw(st.integers(0, 5))):
        draw(st.sampled_from(rows))[draw(st.sampled_from(lost))] = None
    return rows


def frame(rows: Rows, kind: str) -> pd.DataFrame:
    """Make a frame of the schema's dtypes; to check it against the schema takes its time."""
    made = pd.DataFrame(rows)
    return made.astype({name: SCHEMAS[kind].columns[str(name)].dtype for name in made})


def rolled(rows: Rows, kind: str, by: str = "kernel") -> dict[Any, dict[str, Any]]:
    found = records(roll_up(frame(rows, kind), [by]))
    assert len({row[by] for row in found}) == len(found)
    return {row[by]: row for row in found}


def same(left: dict[str, Any], right: dict[str, Any]) -> None:
    assert left.keys() == right.keys()
    for column, value in left.items():
        if isinstance(value, float):
            assert right[column] == pytest.approx(value, rel=1e-9, abs=1e-9), column
        else:
            assert right[column] == value, column


@pytest.mark.parametrize(("kind", "by"), [("counters", "grid_x"), ("launches", "range")])
@FEW
@given(st.data())
def test_each_launch_is_in_one_group_and_each_group_stands_alone(
    kind: str, by: str, data: st.DataObject
) -> None:
    rows = data.draw(drawn_rows(kind))
    found = rolled(rows, kind, by)
    assert {key: row["launches"] for key, row in found.items()} == Counter(r[by] for r in rows)
    for key, row in found.items():
        own = rolled([r for r in rows if r[by] == key], kind, by)
        assert own == {key: row}


@pytest.mark.parametrize("kind", SCHEMAS)
@FEW
@given(st.data())
def test_the_order_of_launches_does_not_matter(kind: str, data: st.DataObject) -> None:
    rows = data.draw(drawn_rows(kind))
    before = rolled(rows, kind)
    after = rolled(data.draw(st.permutations(rows)), kind)
    assert before.keys() == after.keys()
    for key in before:
        same(before[key], after[key])


def merged(parts: list[tuple[Rows, dict[str, Any]]], column: str) -> Any:
    """Combine the values of a column of two roll-ups, by the launches that each was made of."""
    values = [row[column] for _, row in parts]
    if column in AVERAGED:
        weights = [sum(r[MEANS[column]] or 0 for r in rows) for rows, _ in parts]
        pairs = [(v, w) for v, w in zip(values, weights, strict=True) if w]
        if not pairs or any(value is None for value, _ in pairs):
            return None
        return sum(v * w for v, w in pairs) / sum(w for _, w in pairs)
    if column.endswith("_values") or column in {"kind", "occupancy_limiter"}:
        words = {word for value in values if value for word in value.split(", ")}
        in_order = sorted(words, key=float) if column.endswith("_values") else sorted(words)
        return ", ".join(in_order) or None
    if any(value is None for value in values):
        return None
    return max(values) if column in LISTED else sum(values)


@pytest.mark.parametrize("kind", SCHEMAS)
@FEW
@given(st.data())
def test_two_halves_make_the_whole(kind: str, data: st.DataObject) -> None:
    rows = data.draw(drawn_rows(kind))
    rows = [row | {"kernel": "a"} for row in rows]
    cut = data.draw(st.integers(0, len(rows)))
    halves = [half for half in (rows[:cut], rows[cut:]) if half]
    parts = [(half, rolled(half, kind)["a"]) for half in halves]
    whole = rolled(rows, kind)["a"]
    columns = [column for column in whole if column not in {"kernel", "busy_ns"}]
    same({c: merged(parts, c) for c in columns}, {c: whole[c] for c in columns})
    if kind == "launches":
        busy = [row["busy_ns"] for _, row in parts]
        assert max(busy) <= whole["busy_ns"] <= sum(busy)


@st.composite
def real_launches(draw: st.DrawFn) -> Rows:
    """Launches whose rates and ratios are those of their own counters."""
    rows = []
    for _ in range(draw(st.integers(1, 6))):
        whole: dict[str, Any] = {
            "duration_ns": draw(st.integers(1, 10**9)),
            "sm_cycles": draw(st.integers(0, 10**9)),
            "dram_read_bytes": draw(st.integers(0, 10**9)),
            "dram_write_bytes": draw(st.integers(0, 10**9)),
        }
        moved = whole["dram_read_bytes"] + whole["dram_write_bytes"]
        whole["sm_clock_hz"] = whole["sm_cycles"] / whole["duration_ns"] * 1e9
        whole["dram_rate_bytes_per_s"] = moved / whole["duration_ns"] * 1e9
        rows.append({"kernel": "a"} | whole)
    return rows


@FEW
@given(real_launches())
def test_rates_are_those_of_the_sums(rows: Rows) -> None:
    row = rolled(rows, "counters")["a"]
    moved = row["dram_read_bytes"] + row["dram_write_bytes"]
    assert row["dram_rate_bytes_per_s"] == pytest.approx(moved / row["duration_ns"] * 1e9)
    assert row["sm_clock_hz"] == pytest.approx(row["sm_cycles"] / row["duration_ns"] * 1e9)


@FEW
@given(st.data())
def test_a_launch_cut_in_two_in_time_is_as_busy_as_before(data: st.DataObject) -> None:
    rows = data.draw(drawn_rows("launches"))
    before = rolled(rows, "launches")
    first = rows[0]
    cut = data.draw(st.integers(0, first["duration_ns"]))
    parts = [
        first | {"duration_ns": cut},
        first | {"start_ns": first["start_ns"] + cut, "duration_ns": first["duration_ns"] - cut},
    ]
    after = rolled([*parts, *rows[1:]], "launches")
    for key, row in before.items():
        for column in ("duration_ns", "busy_ns"):
            assert after[key][column] == row[column]
        assert after[key]["launches"] == row["launches"] + (key == first["kernel"])


@FEW
@given(st.data())
def test_busy_time_counts_each_moment_of_a_gpu_once(data: st.DataObject) -> None:
    rows = data.draw(drawn_rows("launches"))
    moments = {
        (row["kernel"], row["gpu"], moment)
        for row in rows
        for moment in range(row["start_ns"], row["start_ns"] + row["duration_ns"])
    }
    found = rolled(rows, "launches")
    by_kernel = Counter(kernel for kernel, *_ in moments)
    assert {key: row["busy_ns"] for key, row in found.items()} == {k: by_kernel[k] for k in found}
    of_gpus = {(gpu, moment) for _, gpu, moment in moments}
    every = busy_ns(frame(rows, "launches"))
    assert int(every.sum()) == len(of_gpus)


def test_a_launch_without_a_start_leaves_busy_time_unknown() -> None:
    row = {"kind": "kernel", "kernel": "a", "start_ns": 0, "duration_ns": 5, "device": 0}
    rows = [row, row | {"start_ns": None}, row | {"kernel": "b"}]
    found = rolled(rows, "launches")
    assert (found["a"]["busy_ns"], found["b"]["busy_ns"]) == (None, 5)
    assert found["a"]["duration_ns"] == 10


def test_a_sum_that_no_integer_holds_is_missing() -> None:
    row = {"kernel": "a", "tensor_bf16_flops": 2**62, "instructions": 1}
    found = rolled([row, row], "counters")["a"]
    assert (found["tensor_bf16_flops"], found["instructions"]) == (None, 2)


def test_columns_that_are_keys_are_not_rolled_up_beside() -> None:
    rows = [{"kind": kind, "duration_ns": 1, "grid_x": 4} for kind in ("memcpy", "kernel")]
    found = roll_up(frame(rows, "launches"), ["grid_x"])
    assert list(found.columns) == ["grid_x", "launches", "duration_ns", "kind"]
    assert found["kind"].tolist() == ["kernel, memcpy"], "ascending"


def test_an_index_of_its_own_does_not_matter() -> None:
    rows = [{"kernel": name, "duration_ns": i, "grid_x": i} for i, name in enumerate("abab")]
    launches = frame(rows, "launches")
    shuffled = launches.set_axis(np.array([7, 7, 3, 0]))
    pd.testing.assert_frame_equal(roll_up(shuffled, ["kernel"]), roll_up(launches, ["kernel"]))
