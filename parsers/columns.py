"""Columns of frames and the schemas made of them: dtype, meaning, unit and source.

What a frame must be is said here once. Whether it is so, dtypes and missing values tell in a
millisecond; only where something is amiss is pandera asked what, for to import it takes half a
second, and more where hypothesis is installed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

import pandas as pd

INTEGER: Final = "Int64"
FLOAT: Final = "Float64"
TEXT: Final = "string"
FLAG: Final = "boolean"
REPEATED: Final = "category"
"""Texts of which most rows share a few; a million kernel names are kept once each."""

Dtype = Literal["Int64", "Float64", "string", "boolean", "category"]


class Within(NamedTuple):
    """Bounds of the values of a column; the lower one itself may be left out."""

    low: float
    high: float
    low_too: bool = True

    def holds(self, values: pd.Series) -> bool:
        """Say whether all values that are there are within."""
        sides: Literal["both", "right"] = "both" if self.low_too else "right"
        return bool(values.dropna().between(self.low, self.high, inclusive=sides).all())


@dataclass(frozen=True)
class Column:
    """A column of a frame; ``required`` means that every row has a value."""

    dtype: Dtype
    meaning: str
    unit: str = ""
    source: str = ""
    required: bool = False
    within: Within | None = None


class Misfit(Exception):  # noqa: N818 -- it says what does not fit, in one line
    """Rows that break a schema."""


@dataclass(frozen=True)
class Schema:
    """A kind of frame: its name, what a row is, and its columns, in order; it has no others."""

    name: str
    title: str
    columns: dict[str, Column]

    def conform(self, rows: pd.DataFrame | list[dict[str, Any]]) -> pd.DataFrame:
        """Give rows the columns, order and dtypes of the schema; what is not there becomes NA.

        Raises
        ------
        Misfit
            When a required value is missing, or a value does not fit its dtype or its bounds.
        """
        frame = pd.DataFrame(rows).reindex(columns=list(self.columns))
        try:
            typed = frame.astype({name: column.dtype for name, column in self.columns.items()})
        except Exception:  # what a value can fail to convert by is pandas' own
            return self._asked(frame)
        return self.validate(typed)

    def validate(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return a frame that has these columns, with these dtypes.

        Raises
        ------
        Misfit
            As `conform` does, and when a column is missing or is one too many.
        """
        return frame if self._fits(frame) else self._asked(frame)

    def _fits(self, frame: pd.DataFrame) -> bool:
        dtypes = frame.dtypes
        return list(frame.columns) == list(self.columns) and all(
            dtypes[name] == column.dtype
            and not (column.required and frame[name].isna().any())
            and (column.within is None or column.within.holds(frame[name]))
            for name, column in self.columns.items()
        )

    def _asked(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Let pandera convert a frame, or say what does not fit."""
        import pandera.pandas as pa  # noqa: PLC0415 -- see above
        from pandera.errors import SchemaError, SchemaErrors  # noqa: PLC0415

        columns = {
            name: pa.Column(
                column.dtype,
                nullable=not column.required,
                checks=None
                if column.within is None
                else pa.Check.in_range(*column.within[:2], include_min=column.within.low_too),
            )
            for name, column in self.columns.items()
        }
        schema = pa.DataFrameSchema(columns, name=self.name, strict=True, coerce=True)
        try:
            return schema.validate(frame)
        except SchemaError as error:
            raise Misfit(_line(error)) from None
        except SchemaErrors as error:
            first = error.failure_cases.iloc[0]
            dtype = self.columns[first["column"]].dtype
            held = f"column {first['column']!r} holds {first['failure_case']!r}, no {dtype}"
            raise Misfit(held) from None


def _line(error: Exception) -> str:
    """Return the first line of a message, which is the one that names the column or place."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__).rstrip(":;. ")


def text(meaning: str, source: str = "", *, required: bool = False) -> Column:
    """Make a column of text, which has no unit."""
    return Column(TEXT, meaning, source=source, required=required)


def launch_shape() -> dict[str, Column]:
    """Make the columns of what a kernel was launched with."""
    return {
        "registers_per_thread": Column(INTEGER, "registers a thread", "register", "nsys"),
        **{
            f"{part}_{axis}": Column(INTEGER, f"{what} along {axis}", unit, "nsys")
            for part, what, unit in (("grid", "blocks", "block"), ("block", "threads", "thread"))
            for axis in "xyz"
        },
        "static_shared_bytes": Column(INTEGER, "static shared memory a block", "B", "nsys"),
        "dynamic_shared_bytes": Column(INTEGER, "dynamic shared memory a block", "B", "nsys"),
        "local_bytes_per_thread": Column(INTEGER, "local memory a thread", "B", "nsys"),
    }
