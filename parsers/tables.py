"""Frames as text for people, as files for programs, and what their columns mean."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from parsers.formats import FORMATS
from parsers.schemas import SCHEMAS

KINDS = ("parquet", "csv", "json")
_FIRST = ("file", "kernel", "duration_ns")
"""What a table begins with, for there may be no room for all."""
_COUNTED = ("launches", "duration_ns", "busy_ns")
"""What follows the keys in a table of launches that were rolled up."""
_CELL = 32
_NONE, _CUT = "\N{EN DASH}", "\N{HORIZONTAL ELLIPSIS}"


def join(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return the rows of all frames, led by ``file`` and ``format``; what one lacks is NA.

    ``attrs["sources"]`` holds the ``attrs`` of each.
    """
    parts = [
        frame.assign(file=frame.attrs["file"], format=frame.attrs["format"]) for frame in frames
    ]
    sources = [dict(frame.attrs) for frame in frames]
    for part in parts:
        part.attrs = {}
    joined = pd.concat(parts, ignore_index=True)
    joined = joined.astype({"file": "string", "format": "string"})
    joined.attrs = {"sources": sources}
    leading = ["file", "format"]
    return joined[[*leading, *(name for name in joined.columns if name not in leading)]]


def show(frames: Sequence[pd.DataFrame], width: int, rows: int) -> str:
    """Return frames as tables, one for each kind, so many signs wide and so many rows of each.

    Left out are columns without a value, the long kernel names, and what does not fit; the last
    line says how much.
    """
    kinds: dict[tuple[str, ...], list[pd.DataFrame]] = {}
    for frame in frames:
        kinds.setdefault(tuple(frame.columns), []).append(frame)
    return "\n\n".join(_table(alike, width, rows) for alike in kinds.values())


def _table(frames: list[pd.DataFrame], width: int, rows: int) -> str:
    joined = join([frame.iloc[:rows] for frame in frames])
    joined["file"] = [_end(name) for name in joined["file"]]
    by = frames[0].attrs.get("by", [])
    first = dict.fromkeys(["file", *by, *_COUNTED] if by else _FIRST)
    hidden = {"format", "kernel_demangled"} - {*by} | ({"file"} if len(frames) == 1 else set())
    names = [name for name in first if name in joined]
    names += [str(name) for name in joined if name not in names]
    shown = joined[[name for name in names if name not in hidden]]
    shown = shown.dropna(axis="columns", how="all")
    columns = [[str(name), *_cells(shown[name])] for name in shown]
    sizes = [max(map(len, column)) for column in columns]
    fitting = 1
    while fitting < len(sizes) and sum(sizes[: fitting + 1]) + 2 * fitting <= width:
        fitting += 1
    numbers = [pd.api.types.is_numeric_dtype(dtype) for dtype in shown.dtypes]
    padded = [
        [text.rjust(size) if number else text.ljust(size) for text in column]
        for column, size, number in zip(columns[:fitting], sizes, numbers, strict=False)
    ]
    lines = ["  ".join(row).rstrip() for row in zip(*padded, strict=True)]
    left = [
        f"{count} more {what}"
        for count, what in (
            (sum(map(len, frames)) - len(shown), "rows"),
            (len(columns) - fitting, "columns"),
        )
        if count
    ]
    if left:
        lines.append(f"({' and '.join(left)}: --out FILE writes all)")
    return "\n".join(lines)


def _end(name: str) -> str:
    return name if len(name) <= _CELL else _CUT + name[1 - _CELL :]


def _cells(values: pd.Series) -> list[str]:
    return [
        _cell(value) if there else _NONE
        for value, there in zip(values, values.notna(), strict=True)
    ]


def _cell(value: object) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else " ".join(str(value).split())
    return text if len(text) <= _CELL else text[: _CELL - 1] + _CUT


def text_of(frame: pd.DataFrame, kind: str) -> str:
    """Return a frame as CSV or JSON; NA is an empty cell or null."""
    if kind == "csv":
        return frame.to_csv(index=False)
    return str(frame.to_json(orient="records", indent=1)) + "\n"


def write(frame: pd.DataFrame, path: Path, kind: str) -> None:
    """Write a frame as Parquet, CSV or JSON, so that the file is either whole or not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    try:
        if kind == "parquet":
            frame.to_parquet(partial, index=False)
        else:
            partial.write_text(text_of(frame, kind), encoding="utf-8")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def reference() -> str:
    """Return what every column of the frames of reports means, with its unit and its source."""
    names = dict.fromkeys(form.frame for form in FORMATS if form.frame)
    return "\n\n".join(_reference(name) for name in names)


def _reference(name: str) -> str:
    schema = SCHEMAS[name]
    formats = ", ".join(form.name for form in FORMATS if form.frame == name)
    rows: Iterable[tuple[str, ...]] = (
        (
            str(column),
            about.dtype,
            about.unit or "-",
            about.meaning,
        )
        + ((f"[{about.source}]",) if about.source else ())
        for column, about in schema.columns.items()
    )
    lines = [f"  {row[0]:<28} {row[1]:<8} {row[2]:<12} {' '.join(row[3:])}" for row in rows]
    return "\n".join([f"{name} ({formats}): {schema.title}", *lines])
