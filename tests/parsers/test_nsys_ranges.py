from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.nsys_ranges import NEVER, SEPARATOR, attribute

PROCESSES = (1 << 24, 2 << 24)
THREADS = tuple(process | number for process in PROCESSES for number in (1, 2))
SCOPES = (*PROCESSES, *THREADS)

Range = tuple[int, int, int]
"""Scope, start and length; a length of 0 stands for a range that the capture cut off."""

ranges_of = st.lists(
    st.tuples(st.sampled_from(SCOPES), st.integers(-5, 30), st.integers(0, 12)), max_size=30
)
calls_of = st.lists(
    st.tuples(st.sampled_from(THREADS), st.integers(-6, 45)), min_size=1, max_size=30
)


def _frame(ranges: list[Range]) -> pd.DataFrame:
    frame = pd.DataFrame(ranges, columns=["scope", "open", "length"], dtype="int64")
    frame["close"] = np.where(frame["length"] == 0, NEVER, frame["open"] + frame["length"])
    frame = frame.assign(key=-frame["close"]).sort_values(["open", "key"], kind="stable")
    frame = frame.reset_index(drop=True)
    frame["range"] = pd.Categorical(frame.index.astype("str"))
    return frame


def _calls(calls: list[tuple[int, int]]) -> pd.DataFrame:
    return pd.DataFrame(calls, columns=["thread", "api_start_ns"], dtype="Int64")


def _open(ranges: pd.DataFrame, thread: int, time: int) -> list[int]:
    """Look at every range, one after the other."""
    return [
        int(row)
        for row, scope, begin, end in ranges[["scope", "open", "close"]].itertuples()
        if scope in (thread, thread & ~0xFFFFFF) and begin <= time < end
    ]


@settings(max_examples=300, deadline=None)
@given(ranges_of, calls_of)
def test_equals_looking_at_every_range(ranges: list[Range], calls: list[tuple[int, int]]) -> None:
    frame = _frame(ranges)
    inner, path = attribute(frame, _calls(calls))
    expected = [_open(frame, *call) for call in calls]
    assert inner.tolist() == [opened[-1] if opened else -1 for opened in expected]
    names = [SEPARATOR.join(map(str, opened)) for opened in expected]
    assert [name if isinstance(name, str) else "" for name in path] == names


def test_many_ranges_that_never_end() -> None:
    count = 3000
    frame = _frame([(PROCESSES[0], 0, 0)] + [(THREADS[0], time, 1) for time in range(count)])
    inner, path = attribute(frame, _calls([(THREADS[0], time) for time in range(count + 2)]))
    assert inner.tolist() == [*range(1, count + 1), 0, 0]
    assert path[-1] == "0"
    assert path[5] == "0 > 6"


def test_a_call_of_an_unknown_thread_or_time_has_no_range() -> None:
    calls = pd.DataFrame({"thread": [pd.NA, THREADS[0]], "api_start_ns": [3, pd.NA]}, dtype="Int64")
    inner, path = attribute(_frame([(THREADS[0], 0, 9)]), calls)
    assert inner.tolist() == [-1, -1]
    assert path.isna().all()


def test_without_ranges() -> None:
    inner, path = attribute(_frame([]), _calls([(THREADS[0], 1)]))
    assert inner.tolist() == [-1]
    assert path.isna().all()


def test_a_nameless_range_is_in_the_path() -> None:
    frame = _frame([(THREADS[0], 0, 9), (THREADS[0], 1, 5)])
    frame["range"] = pd.Categorical([None, "inside"])
    _, path = attribute(frame, _calls([(THREADS[0], 2), (THREADS[0], 7)]))
    assert path.tolist() == [" > inside", ""]
