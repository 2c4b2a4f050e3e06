"""Columns of frames and the schemas made of them: dtype, meaning, unit and source."""

from __future__ import annotations

import pandera.pandas as pa

INTEGER, FLOAT, TEXT, FLAG = "Int64", "Float64", "string", "boolean"
REPEATED = "category"
"""Texts of which most rows share a few; a million kernel names are kept once each."""


def column(
    dtype: str,
    meaning: str,
    unit: str = "",
    source: str = "",
    *,
    required: bool = False,
    checks: list[pa.Check] | None = None,
) -> pa.Column:
    """Make a column; ``required`` means that every row has a value."""
    return pa.Column(
        dtype,
        checks=checks,
        nullable=not required,
        description=meaning,
        metadata={"unit": unit, "source": source},
    )


def text(meaning: str, source: str = "", *, required: bool = False) -> pa.Column:
    """Make a column of text, which has no unit."""
    return column(TEXT, meaning, source=source, required=required)


def schema(
    name: str, title: str, columns: dict[str, pa.Column], unique: list[str] | None = None
) -> pa.DataFrameSchema:
    """Make a schema whose frames have these columns and no others, in these dtypes."""
    return pa.DataFrameSchema(
        columns, name=name, title=title, strict=True, coerce=True, unique=unique
    )


def launch_shape() -> dict[str, pa.Column]:
    """Make the columns of what a kernel was launched with."""
    return {
        "registers_per_thread": column(INTEGER, "registers a thread", "register", "nsys"),
        **{
            f"{part}_{axis}": column(INTEGER, f"{what} along {axis}", unit, "nsys")
            for part, what, unit in (("grid", "blocks", "block"), ("block", "threads", "thread"))
            for axis in "xyz"
        },
        "static_shared_bytes": column(INTEGER, "static shared memory a block", "B", "nsys"),
        "dynamic_shared_bytes": column(INTEGER, "dynamic shared memory a block", "B", "nsys"),
        "local_bytes_per_thread": column(INTEGER, "local memory a thread", "B", "nsys"),
    }
