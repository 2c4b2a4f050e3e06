"""NVTX ranges, and which of them a launch belongs to.

A push/pop range holds for its thread, a start/end range for its process: its *scope*. Ranges of
one scope may nest, follow and overlap each other in any way, for domains do not know of each
other. A launch belongs to the range that was opened last of those that were open when its call
began; the path names all of those, from outside in.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from parsers.nsys_pages import categorical
from parsers.nsys_tables import PROCESS_MASK, RANGES, Tables, category_of

Integers = npt.NDArray[np.int64]

PUSH_POP, START_END, DOMAIN_NAME = (59, 70), (60, 71), 75
"""Event types; the second of a pair is of the ranges that a text file gave (NVTXT)."""

SEPARATOR = " > "
NEVER = np.iinfo(np.int64).max

_PAYLOADS = (
    "jsonText", "jsonTextId", "uint64Value", "int64Value", "uint32Value", "int32Value",
    "doubleValue", "floatValue", "binaryData",
)  # fmt: skip


def read_ranges(tables: Tables, *, payloads: bool = False) -> pd.DataFrame:
    """Read the ranges of an export, in the order of their opening, an inner one later.

    Returns
    -------
    DataFrame
        ``range`` (name) and ``domain`` as categoricals, NA where there is none; ``scope``, the
        global id of the thread or process; ``open`` and ``close`` in ns, the latter `NEVER` where
        the capture ended first; where asked for, ``payload`` as text, NA where there is none.
    """
    columns = ("start", "end", "eventType", "globalTid", "domainId", "text", "textId")
    events = tables.read(RANGES, (*columns, *(_PAYLOADS if payloads else ())))
    kind = events["eventType"].to_numpy("int64", na_value=-1)
    thread = events["globalTid"].to_numpy("int64", na_value=-1)
    begin = events["start"].to_numpy("int64", na_value=NEVER)
    end = events["end"].to_numpy("int64", na_value=NEVER)
    chosen = np.flatnonzero(np.isin(kind, (*PUSH_POP, *START_END)) & (end > begin))
    chosen = chosen[np.lexsort((-end[chosen], begin[chosen]))]
    scope = np.where(np.isin(kind, PUSH_POP), thread, thread & PROCESS_MASK)
    names = _names(tables, events)
    frame = pd.DataFrame(
        {
            "range": names[chosen],
            "domain": _domains(events, kind, thread & PROCESS_MASK, names)[chosen],
            "scope": scope[chosen],
            "open": begin[chosen],
            "close": end[chosen],
        },
        copy=False,
    )
    return frame.assign(payload=_payloads(tables, events, chosen)) if payloads else frame


def _names(tables: Tables, events: pd.DataFrame) -> pd.Categorical:
    """Return each event's text, or where there is none, its registered string."""
    text, known = category_of(events["text"]), category_of(tables.texts(events["textId"]))
    registered = np.where(known.codes < 0, -1, known.codes.astype("int64") + len(text.categories))
    codes = np.where(text.codes < 0, registered, text.codes)
    return categorical(codes, [*text.categories, *known.categories])


def _domains(
    events: pd.DataFrame, kind: Integers, process: Integers, names: pd.Categorical
) -> pd.Categorical:
    """Name each event's domain; their ids, like correlation ids, are unique in a process only."""
    number = events["domainId"].to_numpy("int64", na_value=-1)
    (owner, owners), (domain, domains) = pd.factorize(process), pd.factorize(number)
    named = np.flatnonzero((kind == DOMAIN_NAME) & (names.codes >= 0))
    called = np.full((len(owners), len(domains)), -1)
    called[owner[named], domain[named]] = names.codes[named]
    return categorical(called[owner, domain], list(names.categories))


def _payloads(tables: Tables, rows: pd.DataFrame, chosen: Integers) -> pd.Series:
    """Return the payloads of the chosen rows, as text, NA where there is none."""
    found = pd.Series(pd.NA, index=range(len(chosen)), dtype="str")
    for column in reversed(_PAYLOADS):
        if rows[column].isna().all():
            continue
        values = rows[column] if column != "jsonTextId" else tables.texts(rows[column])
        values = values.take(chosen).reset_index(drop=True).dropna()
        if column == "uint64Value":
            values = values.astype("int64").astype("uint64")  # SQLite's integers are signed
        found.loc[values.index] = values.astype("str")
    return found.astype("category")


class Attribution:
    """Finds the ranges that are open at moments of a thread or process.

    Ranges are in order of scope and opening; a place is a position in that order. `_levels` is a
    tree of the latest close in blocks of 1, 2, 4, … ranges, so that each search takes log n steps
    however the ranges overlap.
    """

    def __init__(self, ranges: pd.DataFrame) -> None:
        scope = ranges["scope"].to_numpy()
        self.order, _, _ = _grouped(scope)
        self.scope = scope[self.order]
        self.open, self.close = (ranges[key].to_numpy()[self.order] for key in ("open", "close"))
        self._levels = [self.close]
        while len(self._levels[-1]) > 1:
            if len(self._levels[-1]) % 2:
                self._levels[-1] = np.append(self._levels[-1], -NEVER)
            self._levels.append(np.maximum(self._levels[-1][::2], self._levels[-1][1::2]))
        self._outer = self._last_open(np.arange(len(scope)), self.open, self.scope)

    def innermost(self, scope: Integers, time: Integers) -> Integers:
        """Return the place of the range opened last and open at each moment; -1 for none."""
        before = np.zeros(len(scope), dtype=np.int64)
        by_scope, scopes, starts = _grouped(scope)
        first, last = (np.searchsorted(self.scope, scopes, side) for side in ("left", "right"))
        for rows, low, high in zip(np.split(by_scope, starts[1:]), first, last, strict=False):
            opened = np.searchsorted(self.open[low:high], time[rows], side="right")
            before[rows] = low + opened
        return self._last_open(before, time, scope)

    def outward(self, place: Integers, time: Integers) -> Integers:
        """Return the place of the next range outside of one that is open at the same moment."""
        outer = self._outer[place]
        closed = np.flatnonzero((outer >= 0) & (self.close[outer] <= time))
        outer[closed] = self._last_open(outer[closed], time[closed], self.scope[place[closed]])
        return outer

    def stacks(
        self, thread: Integers, process: Integers, time: Integers
    ) -> Iterator[tuple[Integers, Integers]]:
        """Yield from inside out the ranges open at moments: the moments that have one, and which.

        Those of the thread and of the process are merged in the order of their opening.
        """
        rows = np.arange(len(time))
        own, shared = self.innermost(thread, time), self.innermost(process, time)
        rank = np.append(self.order, -1)
        while True:
            inner = np.where(rank[own] > rank[shared], own, shared)
            there = inner >= 0
            if not there.any():
                return
            rows, own, shared, inner, time = (
                values[there] for values in (rows, own, shared, inner, time)
            )
            yield rows, self.order[inner]
            outer = self.outward(inner, time)
            own, shared = np.where(inner == own, outer, own), np.where(inner == own, shared, outer)

    def _last_open(self, before: Integers, time: Integers, scope: Integers) -> Integers:
        """Return the last place before one whose range is of the scope and closes after a time."""
        found = np.full(len(before), -1)
        level = np.zeros(len(before), dtype=np.int8)
        rows = np.flatnonzero(before > 0)
        end = before[rows]
        for height, latest in enumerate(self._levels):
            block = end - 1
            hit = (end % 2 == 1) & (latest[block] > time[rows])
            found[rows[hit]], level[rows[hit]] = block[hit], height
            rows, end = rows[~hit], end[~hit] >> 1
            rows, end = rows[end > 0], end[end > 0]
        for height in range(len(self._levels) - 1, 0, -1):
            rows = np.flatnonzero(level >= height)
            right = 2 * found[rows] + 1
            found[rows] = right - (self._levels[height - 1][right] <= time[rows])
        foreign = np.flatnonzero(found >= 0)
        foreign = foreign[self.scope[found[foreign]] != scope[foreign]]
        found[foreign] = -1
        return found


def _grouped(scope: Integers) -> tuple[Integers, Integers, Integers]:
    """Return the order that groups equal scopes, their distinct ones, and where each begins."""
    codes, scopes = pd.factorize(scope, sort=True)
    order = np.argsort(codes.astype(np.min_scalar_type(len(scopes))), kind="stable")
    starts = np.cumsum(np.bincount(codes, minlength=len(scopes)))[:-1]
    return order, scopes, np.append(0, starts)


def attribute(ranges: pd.DataFrame, calls: pd.DataFrame) -> tuple[Integers, pd.Categorical]:
    """Find the ranges that calls began in.

    Parameters
    ----------
    ranges
        As `read_ranges` returns them.
    calls
        ``thread``, a global id, and ``api_start_ns``, both ``Int64``; NA where none is known.

    Returns
    -------
    tuple
        For each call the row of its innermost range, -1 for none; and the names of all of them
        from outside in, joined by `SEPARATOR`, NA for none.
    """
    thread = calls["thread"].to_numpy("int64", na_value=-1)
    time = calls["api_start_ns"].to_numpy("int64", na_value=-NEVER)
    process = thread & PROCESS_MASK
    inner = np.full(len(time), -1)
    stacks = list(Attribution(ranges).stacks(thread, process, time)) if len(ranges) else []
    if stacks:
        inner[stacks[0][0]] = stacks[0][1]
    names = ranges["range"].array
    words = pa.array([*names.categories, ""], pa.large_string())  # the last is of a nameless range
    path = np.zeros(len(time), dtype=np.int64)
    nothing, separator = (pa.scalar(text, pa.large_string()) for text in ("", SEPARATOR))
    texts = pa.array([], pa.large_string())
    prefixes = pa.array([""], pa.large_string())
    for rows, taken in reversed(stacks):
        word = names.codes[taken].astype(np.int64) % len(words)
        codes, pairs = pd.factorize(path[rows] * len(words) + word)
        outside, inside = np.divmod(pairs, len(words))
        texts = pc.binary_join_element_wise(
            prefixes.take(pa.array(outside)), words.take(pa.array(inside)), nothing
        )
        longer = pc.binary_join_element_wise(texts, separator, nothing)
        prefixes = pa.concat_arrays([prefixes[:1], longer])
        path[rows] = codes + 1
    return inner, categorical(path - 1, texts.to_pylist())
