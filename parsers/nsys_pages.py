"""Whole columns of a SQLite table, decoded from the pages of its file at once.

SQLite's interface hands out one value at a time, which takes seconds for a million launches. Its
file format is public and stable (https://www.sqlite.org/fileformat2.html): a table is a tree of
pages, a leaf page holds cells, a cell holds a record: the type of each value, then the values.
Here every step is done for many cells together. What this module does not know it refuses with
`UnknownLayout`; the reader of tables then asks SQLite.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

Integers = npt.NDArray[np.int64]
Values = pd.api.extensions.ExtensionArray
_Part = tuple[Any, npt.NDArray[np.bool_]]
"""Values, as integers, floats or texts, and where they are missing."""

INTERIOR, LEAF = 0x05, 0x0D
NULL, REAL, ZERO, ONE, FIRST_TEXT = 0, 7, 8, 9, 13
CELLS_AT_ONCE = 1 << 15
"""Cells decoded together: enough to be fast, few enough to stay in the cache."""
THREADS = 2
"""Threads that decode cells; more gain nothing, as Python's part of a step is done one by one."""

_SIZES = np.array([0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0], dtype=np.int64)
_FIRST_PAGE_HEADER = 100


class UnknownLayout(Exception):  # noqa: N818 -- no error for a caller: SQLite reads it instead
    """Something in the file that this module does not decode, or damage."""


class Pages:
    """The pages of a SQLite file, UTF-8 and without a write-ahead log."""

    def __init__(self, path: Path) -> None:
        self.bytes: npt.NDArray[np.uint8] = np.asarray(np.memmap(path, dtype=np.uint8, mode="r"))
        header = self.bytes[:_FIRST_PAGE_HEADER].tobytes()
        size = int.from_bytes(header[16:18], "big")
        self.size = 65536 if size == 1 else size
        self.usable = self.size - header[20]
        log = path.with_name(f"{path.name}-wal")
        utf8 = int.from_bytes(header[56:60], "big") == 1
        if not utf8 or len(self.bytes) % self.size or (log.exists() and log.stat().st_size):
            raise UnknownLayout
        self._words = {width: self._view(f">i{width}", width) for width in (1, 2, 4, 8)}

    def _view(self, dtype: str, width: int) -> npt.NDArray[Any]:
        """See the file as a big-endian integer at every byte."""
        count = len(self.bytes) - width + 1
        return np.ndarray((count,), dtype, self.bytes.data, strides=(1,))

    def columns(self, root: int, wanted: list[int]) -> list[Values]:
        """Read columns, by position, of the table whose root page is given, in order of rowid."""
        try:
            with ThreadPoolExecutor(THREADS) as pool:
                decoded = pool.map(lambda cells: self._decode(cells, wanted), self._cells(root))
                chunks = list(decoded)
        except IndexError:
            raise UnknownLayout from None
        return [_join(list(parts)) for parts in zip(*chunks, strict=True)]

    def _starts(self, pages: Integers) -> Integers:
        if len(pages) and not (pages.min() > 0 and pages.max() * self.size <= len(self.bytes)):
            raise UnknownLayout
        return (pages - 1) * self.size

    def _pointers(self, starts: Integers, header: int) -> tuple[Integers, Integers]:
        """Return where the cells of pages are, and how many each page has."""
        heads = starts + np.where(starts == 0, _FIRST_PAGE_HEADER, 0)
        counts = self._words[2][heads + 3].astype(np.int64)
        first = np.repeat(heads + header, counts)
        inside = np.arange(len(first)) - np.repeat(np.cumsum(counts) - counts, counts)
        offsets = self._words[2][first + 2 * inside].astype(np.int64) & 0xFFFF
        return np.repeat(starts, counts) + offsets, counts

    def _kinds(self, starts: Integers) -> npt.NDArray[np.uint8]:
        return self.bytes[starts + np.where(starts == 0, _FIRST_PAGE_HEADER, 0)]

    def _leaves(self, root: int) -> Integers:
        """Walk down the tree a level at a time; all leaves are equally deep."""
        starts = self._starts(np.array([root], dtype=np.int64))
        for _ in range(20):
            kinds = self._kinds(starts)
            if (kinds == LEAF).all():
                return starts
            if not (kinds == INTERIOR).all():
                raise UnknownLayout
            cells, counts = self._pointers(starts, header=12)
            heads = starts + np.where(starts == 0, _FIRST_PAGE_HEADER, 0)
            rightmost = self._words[4][heads + 8].astype(np.int64)
            pages = np.insert(self._words[4][cells].astype(np.int64), np.cumsum(counts), rightmost)
            starts = self._starts(pages)
        raise UnknownLayout

    def _cells(self, root: int) -> Iterator[Integers]:
        """Yield where the cells of a table are, some pages at a time."""
        leaves = self._leaves(root)
        counts = self._words[2][leaves + np.where(leaves == 0, _FIRST_PAGE_HEADER, 0) + 3]
        total = np.cumsum(counts.astype(np.int64))
        cuts = np.searchsorted(total, np.arange(CELLS_AT_ONCE, int(total[-1]), CELLS_AT_ONCE))
        for pages in np.split(leaves, cuts):
            yield self._pointers(pages, header=8)[0]

    def _varints(self, at: Integers) -> tuple[Integers, Integers]:
        """Read integers of variable length; return them and where each ends."""
        first = self.bytes[at]
        value, after = first.astype(np.int64), at + 1
        if len(first) and first.max() < 0x80:
            return value, after
        more = np.flatnonzero(first >= 0x80)
        value[more] &= 0x7F
        for _ in range(7):
            if not len(more):
                return value, after
            byte = self.bytes[after[more]]
            value[more] = value[more] << 7 | byte & 0x7F
            after[more] += 1
            more = more[byte >= 0x80]
        raise UnknownLayout

    def _decode(self, cells: Integers, wanted: list[int]) -> list[_Part]:
        """Decode columns of the records in cells."""
        length, at = self._varints(cells)
        start = self._varints(at)[1]
        header, at = self._varints(start)
        body = value = start + header
        limit = start + self._local(length)
        found: dict[int, _Part] = {}
        for column in range(max(wanted) + 1):
            kind, at = self._varints(at)
            if (kind == kind[:1]).all():
                kind = kind[:1]  # the rows agree, as most do: what follows is done once for all
            size = _SIZES[np.minimum(kind, 11)]
            long = np.flatnonzero(kind > 11)
            size[long] = (kind[long] - 12) // 2
            end = value + size
            if column in wanted:
                if (end > limit).any():
                    raise UnknownLayout  # the value goes on in another page
                found[column] = self._values(value, kind, size)
            value = end
        if (at > body).any():
            raise UnknownLayout  # a column that was added after the row
        return [found[column] for column in wanted]

    def _local(self, length: Integers) -> Integers:
        """Return how much of a record is in its cell; the rest of a long one is elsewhere."""
        least = (self.usable - 12) * 32 // 255 - 23
        spilled = least + (length - least) % (self.usable - 4)
        kept = np.where(spilled <= self.usable - 35, spilled, least)
        return np.where(length <= self.usable - 35, length, kept)

    def _values(self, at: Integers, kind: Integers, size: Integers) -> _Part:
        missing = np.broadcast_to(kind == NULL, at.shape)
        if (kind > ONE).any():
            return self._texts(at, kind, size), missing
        integers = self._integers(at, kind, size)
        real = np.flatnonzero(np.broadcast_to(kind == REAL, at.shape))
        if not len(real):
            return integers, missing
        numbers = integers.astype(np.float64)
        numbers[real] = integers[real].view(np.float64)
        return numbers, missing

    def _integers(self, at: Integers, kind: Integers, size: Integers) -> Integers:
        """Read integers; of any width, the eight bytes that end where they end, then shifted."""
        if len(kind) == 1 and not size[0]:
            return np.full(len(at), int(kind[0] == ONE))
        if len(kind) == 1 and size[0] in self._words:
            narrow: Integers = self._words[int(size[0])][at].astype(np.int64)
            return narrow
        value: Integers = self._words[8][at + size - 8].astype(np.int64)
        spare = np.where(size == 0, 0, 64 - 8 * size)
        value = (value << spare) >> spare
        value[np.broadcast_to(size == 0, value.shape)] = 0
        value[np.broadcast_to(kind == ONE, value.shape)] = 1
        return value

    def _texts(self, at: Integers, kind: Integers, size: Integers) -> pa.Array:
        kind, size = np.broadcast_to(kind, at.shape), np.broadcast_to(size, at.shape)
        missing = kind == NULL
        if (~missing & ((kind < FIRST_TEXT) | (kind % 2 == 0))).any():
            raise UnknownLayout  # numbers or blobs among texts
        ends = np.cumsum(size)
        inside = np.arange(ends[-1]) - np.repeat(ends - size, size)
        data = self.bytes[np.repeat(at, size) + inside]
        offsets = np.concatenate([[0], ends])
        valid = np.packbits(~missing, bitorder="little")
        buffers = [pa.py_buffer(valid), pa.py_buffer(offsets), pa.py_buffer(data)]
        return pa.Array.from_buffers(pa.large_binary(), len(at), buffers)


def _join(parts: list[_Part]) -> Values:
    """Join a column's parts; one without a value has no type of its own."""
    missing = np.concatenate([missing for _, missing in parts])
    valued = [values for values, missing in parts if not missing.all()]
    texts = [isinstance(values, pa.Array) for values in valued]
    if any(texts):
        if not all(texts):
            raise UnknownLayout
        binary = pa.large_binary()
        chunks = [v if isinstance(v, pa.Array) else pa.nulls(len(v), binary) for v, _ in parts]
        return category(pa.chunked_array(chunks))
    values = np.concatenate([values for values, _ in parts])
    if values.dtype == np.float64:
        return pd.arrays.FloatingArray(values, missing)
    return pd.arrays.IntegerArray(values, missing)


def category(texts: pa.ChunkedArray) -> pd.Categorical:
    """Return texts as a categorical: each distinct one is decoded once."""
    encoded = texts.combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    decoded = [_text(value) for value in encoded.dictionary.to_pylist()]
    return categorical(codes, decoded)


def categorical(codes: Integers, names: list[str]) -> pd.Categorical:
    """Make a categorical of codes into names, of which some may be equal."""
    merged, distinct = pd.factorize(np.array([*names, None], dtype=object)[:-1])
    merged = np.append(merged, -1)  # the code of a missing value finds the last
    return pd.Categorical.from_codes(merged[codes], pd.Index(distinct, dtype="str"), validate=False)


def _text(value: bytes | str) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
