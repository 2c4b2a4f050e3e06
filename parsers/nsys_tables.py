"""The tables of an export of Nsight Systems: a SQLite file, or a folder of Parquet files.

Tables and columns come and go with the version of nsys, and an empty table is left out. What is
absent reads as NA; `Tables.lacks` says which. Of schema 3 the columns and their meaning stand in
the comments of the exports' own ``CREATE TABLE`` statements.
"""

from __future__ import annotations

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from parsers.errors import CaptureError
from parsers.files import SQLITE_MAGIC, check_format, check_whole_database
from parsers.nsys_pages import Pages, UnknownLayout, Values, categorical, category

REMEDY = "measure it again with `snakemake reports/OPERATOR -R nsys`"

KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME"
COPIES = "CUPTI_ACTIVITY_KIND_MEMCPY"
FILLS = "CUPTI_ACTIVITY_KIND_MEMSET"
GRAPHS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
GRAPH_NODES = "CUDA_GRAPH_NODE_EVENTS"
RANGES = "NVTX_EVENTS"
STRINGS = "StringIds"
META = ("META_DATA_EXPORT", "EXPORT_META_DATA")
"""What says which export it is; the latter name until 2022."""


PROCESS_MASK = ~0xFFFFFF
"""A global thread id holds, from its low bits up, 24 of thread, 24 of process, then the machine."""

CHECKED_BYTES = 32 << 20
"""Up to here SQLite checks the whole file, which takes it 10 ns a byte; beyond, only the size."""

PARQUET = ".parquet"


class Tables(ABC):
    """The tables of one export; one that is absent reads as empty."""

    def __init__(self, path: Path, columns: dict[str, list[str]]) -> None:
        self.path = path
        self.names = columns
        self.lacks: dict[str, list[str]] = {}
        self._strings: tuple[pd.Index, list[str]] | None = None
        if not {*META, STRINGS} & self.names.keys():
            kind = "is a folder of Parquet files" if path.is_dir() else "is a SQLite database"
            raise CaptureError(path, f"{kind} but not an nsys export", REMEDY)

    def read(self, name: str, columns: Iterable[str]) -> pd.DataFrame:
        """Read columns of a table; those that it lacks are NA.

        Integers are exact (``Int64``), texts categorical. A table that is absent has no rows.
        """
        wanted = list(columns)
        there = [column for column in wanted if column in self.names.get(name, ())]
        if name in self.names and len(there) < len(wanted):
            lacking = [column for column in wanted if column not in there]
            self.lacks[name] = [*dict.fromkeys([*self.lacks.get(name, ()), *lacking])]
        frame = self._read(name, there) if there else pd.DataFrame()
        for column in set(wanted) - set(there):
            frame[column] = _nothing(len(frame))
        return frame[wanted]

    @abstractmethod
    def _read(self, name: str, columns: list[str]) -> pd.DataFrame:
        """Read columns that a table has."""

    def texts(self, column: pd.Series) -> pd.Series:
        """Return the strings behind identifiers; texts stay as they are, as in old exports."""
        if isinstance(column.dtype, pd.CategoricalDtype):
            return column
        if self._strings is None:
            rows = self.read(STRINGS, ("id", "value"))
            values = category_of(rows["value"])
            names = values.categories.to_numpy(object)[values.codes].tolist()
            self._strings = pd.Index(rows["id"].to_numpy("int64")), names
        known, names = self._strings
        codes, used = pd.factorize(column.to_numpy("int64", na_value=-1))
        places = known.get_indexer(pd.Index(used))
        found = categorical(np.arange(len(used)), [names[i] for i in places])
        text = found.codes[codes]
        text[(places < 0)[codes] | column.isna().to_numpy()] = -1
        made = pd.Categorical.from_codes(text, found.categories, validate=False)
        return pd.Series(made, index=column.index)

    def schema_version(self) -> str:
        """Return the version of the export's schema, such as 3.20.3."""
        name = next((name for name in META if name in self.names), META[0])
        rows = self.read(name, ("name", "value")).astype("string")
        found = rows.loc[rows["name"] == "EXPORT_SCHEMA_VERSION", "value"].dropna()
        return str(found.iloc[0]) if len(found) else "unknown"


def category_of(column: pd.Series) -> pd.Categorical[Any]:
    """Return a column of texts, or one without a value, as a categorical."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return pd.Categorical(column)
    return pd.Categorical(column.astype("str").where(column.notna()))


@contextmanager
def open_tables(path: Path) -> Iterator[Tables]:
    """Open an export: a file of ``nsys export --type sqlite``, or a folder of ``parquetdir``.

    Raises
    ------
    CaptureError
        When it is missing, empty, a Git LFS pointer, of another format, damaged, or a database or
        folder of something else.
    """
    if path.is_dir():
        yield _ParquetTables(path)
        return
    check_format(path, SQLITE_MAGIC, "an SQLite export of Nsight Systems", REMEDY)
    uri = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as database:
            database.text_factory = lambda text: text.decode("utf-8", "replace")
            _check_whole(path, database)
            yield _SqliteTables(path, database)
    except (sqlite3.DatabaseError, pd.errors.DatabaseError) as error:
        cause = f"the database is truncated or damaged ({error})"
        raise CaptureError(path, cause, REMEDY) from None


def _check_whole(path: Path, database: sqlite3.Connection) -> None:
    """Check what costs little: that no page is missing, and of a small file every page."""
    check_whole_database(path, REMEDY)
    if path.stat().st_size <= CHECKED_BYTES:
        (health,) = database.execute("PRAGMA quick_check(1)").fetchone()
        if health != "ok":
            raise sqlite3.DatabaseError(str(health).splitlines()[0])


class _SqliteTables(Tables):
    def __init__(self, path: Path, database: sqlite3.Connection) -> None:
        self.database = database
        rows = database.execute("SELECT name, rootpage FROM sqlite_master WHERE type = 'table'")
        self._roots = {name: root for name, root in rows if root}
        self._special: set[str] = set()
        super().__init__(path, {name: self._columns(name) for name in self._roots})

    def _columns(self, name: str) -> list[str]:
        query = "SELECT name, pk OR hidden FROM pragma_table_xinfo(?)"
        rows = self.database.execute(query, (name,)).fetchall()
        if any(special for _, special in rows):
            self._special.add(name)
        return [column for column, _ in rows]

    def _read(self, name: str, columns: list[str]) -> pd.DataFrame:
        # An integer primary key is not in the record, nor is a generated column.
        if name not in self._special:
            try:
                places = [self.names[name].index(column) for column in columns]
                values = Pages(self.path).columns(self._roots[name], places)
                return pd.DataFrame(dict(zip(columns, values, strict=True)), copy=False)
            except UnknownLayout:
                pass
        return self._ask(name, columns)

    def _ask(self, name: str, columns: list[str]) -> pd.DataFrame:
        """Read by SQLite what `Pages` does not."""
        quoted = ", ".join(f'"{column}"' for column in columns)
        query = f'SELECT {quoted} FROM "{name}"'  # noqa: S608 -- names are from the database
        frame = pd.read_sql_query(query, self.database, dtype_backend="numpy_nullable")
        texts = frame.select_dtypes(["string", "object"]).columns
        return frame.assign(**{column: pd.Categorical(frame[column]) for column in texts})


class _ParquetTables(Tables):
    def __init__(self, path: Path) -> None:
        files = {file.stem: file for file in sorted(path.glob(f"*{PARQUET}"))}
        if not files:
            cause = "is a folder, and without the Parquet files of an export"
            raise CaptureError(path, cause, "give the path of the export")
        self._files = {}
        for name, file in files.items():
            try:
                self._files[name] = pq.ParquetFile(file)
            except (OSError, pa.ArrowInvalid) as error:
                cause = f"is truncated or damaged ({str(error).splitlines()[0]})"
                raise CaptureError(file, cause, REMEDY) from None
        columns = {name: file.schema_arrow.names for name, file in self._files.items()}
        super().__init__(path, columns)

    def _read(self, name: str, columns: list[str]) -> pd.DataFrame:
        try:
            table = self._files[name].read(columns=columns)
        except (OSError, pa.ArrowInvalid) as error:
            cause = f"is truncated or damaged ({str(error).splitlines()[0]})"
            raise CaptureError(self.path / f"{name}{PARQUET}", cause, REMEDY) from None
        return pd.DataFrame({column: _plain(table[column]) for column in columns}, copy=False)


def _plain(column: pa.ChunkedArray) -> Values:
    """Return a Parquet column as `Tables.read` promises it."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_null(column.type):
        return _nothing(len(column))
    missing = column.is_null().to_numpy()
    if pa.types.is_floating(column.type):
        return pd.arrays.FloatingArray(column.fill_null(0.0).to_numpy().astype("float64"), missing)
    if pa.types.is_integer(column.type):
        return pd.arrays.IntegerArray(column.fill_null(0).to_numpy().astype("int64"), missing)
    return category(column.cast(pa.large_string()))


def _nothing(rows: int) -> pd.arrays.IntegerArray:
    return pd.arrays.IntegerArray(np.zeros(rows, dtype=np.int64), np.ones(rows, dtype=bool))
