from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers import nsys_pages
from parsers.nsys_pages import Pages, UnknownLayout

integers = st.one_of(
    st.none(), st.integers(-2, 300), st.integers(-(2**63), 2**63 - 1), st.sampled_from([0, 1])
)
reals = st.one_of(st.none(), st.floats(allow_nan=False), st.integers(-10, 10).map(float))
texts = st.one_of(
    st.none(), st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=70)
)
rows_of = st.lists(st.tuples(integers, reals, texts, integers), min_size=1, max_size=60)


def _write(path: Path, rows: list[tuple[object, ...]], *more: str, page: int = 512) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA page_size = {page}")
        database.execute("CREATE TABLE other (x)")
        database.execute("CREATE TABLE t (a INTEGER, b REAL, c TEXT, d INTEGER)")
        database.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
        for statement in more:
            database.execute(statement)
        database.commit()


def _read(path: Path, *columns: int, table: str = "t") -> list[list[object]]:
    with closing(sqlite3.connect(path)) as database:
        query = "SELECT rootpage FROM sqlite_master WHERE name = ?"
        (root,) = database.execute(query, (table,)).fetchone()
    values = Pages(path).columns(root, list(columns))
    return [[None if pd.isna(value) else value for value in column] for column in values]


@settings(max_examples=150, deadline=None)
@given(rows_of, st.sampled_from([512, 4096, 65536]))
def test_equals_what_sqlite_says(rows: list[tuple[object, ...]], page: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.sqlite"
        _write(path, rows, page=page)
        a, b, c, d = (list(column) for column in zip(*rows, strict=True))
        assert _read(path, 0, 1, 2, 3) == [a, b, c, d]
        assert _read(path, 3) == [d]


def test_many_pages_and_deleted_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nsys_pages, "CELLS_AT_ONCE", 100)
    path = tmp_path / "t.sqlite"
    rows = [(i * 12345678, i / 3, f"text {i % 7}", None) for i in range(20000)]
    _write(path, list(rows), "DELETE FROM t WHERE rowid % 3 = 0")
    kept = [row for i, row in enumerate(rows, 1) if i % 3]
    assert _read(path, 0, 2) == [[row[0] for row in kept], [row[2] for row in kept]]
    assert _read(path, 3) == [[None] * len(kept)]


def test_an_empty_table(tmp_path: Path) -> None:
    _write(tmp_path / "t.sqlite", [(1, 1.0, "", 1)])
    assert _read(tmp_path / "t.sqlite", 0, table="other") == [[]]


def test_a_long_text_after_what_is_wanted(tmp_path: Path) -> None:
    path = tmp_path / "t.sqlite"
    _write(path, [(7, 1.5, "x" * 5000, 9)] * 3)
    assert _read(path, 0, 1) == [[7] * 3, [1.5] * 3]
    with pytest.raises(UnknownLayout):
        _read(path, 3)


@pytest.mark.parametrize(
    ("rows", "change"),
    [
        ([(1, 1.0, "a", 1)], "ALTER TABLE t ADD COLUMN e INTEGER DEFAULT 5"),
        ([(1, 1.0, b"blob", 1)], "SELECT 1"),
        ([("text", 1.0, "a", 1), (1, 1.0, "a", 1)], "SELECT 1"),
    ],
    ids=["added", "blob", "mixed"],
)
def test_what_is_not_known_is_refused(
    tmp_path: Path, rows: list[tuple[object, ...]], change: str
) -> None:
    _write(tmp_path / "t.sqlite", rows, change)
    with pytest.raises(UnknownLayout):
        _read(tmp_path / "t.sqlite", 0, 2, *([4] if "ADD" in change else []))


def test_damage_is_refused_or_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "t.sqlite"
    _write(path, [(i, i / 2, f"{i}", i) for i in range(2000)])
    content = np.frombuffer(path.read_bytes(), dtype=np.uint8)
    random = np.random.default_rng(0)
    refused = 0
    for _ in range(60):
        damaged = content.copy()
        damaged[random.integers(1024, len(content), 200)] = random.integers(0, 256, 200)
        path.write_bytes(damaged.tobytes())
        try:
            Pages(path).columns(3, [0, 1, 2, 3])
        except UnknownLayout:
            refused += 1
    assert refused > 30


def test_real_tables(shared: Callable[[str], Path]) -> None:
    path = shared("field/nsys-2026.2-two-gpus.sqlite")
    with closing(sqlite3.connect(f"{path.as_uri()}?immutable=1", uri=True)) as database:
        query = "SELECT start, text FROM NVTX_EVENTS"
        expected = database.execute(query).fetchall()
        root = "SELECT rootpage FROM sqlite_master WHERE name = 'NVTX_EVENTS'"
        start, text = Pages(path).columns(database.execute(root).fetchone()[0], [0, 6])
    assert list(zip(start, text, strict=True)) == expected
