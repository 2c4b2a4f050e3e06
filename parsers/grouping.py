"""What a user may roll up by: words and columns, and the keys that they stand for.

A word stands for the columns that each frame has for it; any other name is a column that names
something (a device, a stream, a graph) or a property of a launch, or a field of
`parsers.names.KernelName`, read from the kernel's name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

import pandas as pd
import pandera.pandas as pa

from parsers.contract import DOMAIN, split_range
from parsers.errors import CaptureError
from parsers.names import KernelName, decode_names
from parsers.nsys_schemas import LAUNCHES
from parsers.rollup import PROPERTIES, roll_up
from parsers.schemas import COUNTERS

_RANGE = ("operator", "variant", "case")
_EXTENTS = {part: tuple(f"{part}_{axis}" for axis in "xyz") for part in ("grid", "block")}
_WORDS: dict[str, dict[str, tuple[str, ...]]] = {
    str(COUNTERS.name): {"range": _RANGE, "variant": _RANGE[:2], **_EXTENTS},
    str(LAUNCHES.name): {"range": ("domain", "range"), "variant": _RANGE[:2], **_EXTENTS},
}
"""By frame: the columns of a word. The last of them is what a launch without a key lacks."""
_DECODED = tuple(field.name for field in fields(KernelName))
_REMEDY = (
    "name some of range, variant, kernel, grid, block, library, family, or a column that "
    "names something (python -m parsers --columns)"
)


def unknown(by: Sequence[str]) -> str | None:
    """Say which names no report can be rolled up by, and which there are; None where all can."""
    known = {*_names(COUNTERS), *_names(LAUNCHES)}
    strange = [name for name in by if name not in known]
    return f"no report has {', '.join(map(repr, strange))}; {_REMEDY}" if strange else None


def roll_up_by(path: Path, frame: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Roll the launches of a report up to what a user names.

    Parameters
    ----------
    path
        The report, for errors.
    frame
        What `parsers.read` gives of it.
    by
        Words, columns, or fields of a name. ``range`` is the innermost NVTX range: of a report of
        Nsight Systems its domain and name, of one of Nsight Compute what the harness's range says,
        for others are not read. ``variant`` is that without the case.

    Returns
    -------
    DataFrame
        As `parsers.rollup.roll_up` gives it, the longest time first. ``attrs`` are the frame's,
        with ``by``, the key columns, and with notes of launches that have no key and of columns
        that not every launch has.

    Raises
    ------
    CaptureError
        When the frame holds no launches but a summary, or has nothing of such a name.
    """
    schema = next((s for s in (COUNTERS, LAUNCHES) if list(s.columns) == list(frame)), None)
    if schema is None:
        cause = "is a summary of nsys stats, which has no launches to roll up"
        raise CaptureError(path, cause, "give the report, or leave out --by")
    if strange := [name for name in by if name not in _names(schema)]:
        raise CaptureError(path, f"has no {', '.join(strange)} to roll up by", _REMEDY)
    words = {name: _WORDS[str(schema.name)].get(name, (name,)) for name in by}
    keys = list(dict.fromkeys(column for columns in words.values() for column in columns))
    keyed = _with(frame, keys)
    rolled = roll_up(keyed, keys).sort_values(
        "duration_ns", ascending=False, kind="stable", ignore_index=True
    )
    lacking = {name: keyed[columns[-1]].isna().sum() for name, columns in words.items()}
    notes = [
        f"{count} of {len(frame)} launches have no {name}: in rows of their own"
        for name, count in lacking.items()
        if count
    ]
    if partly := _in_part(frame, rolled.drop(columns=keys)):
        notes.append(f"NA where one launch of a row has no value: {', '.join(partly)}")
    rolled.attrs = frame.attrs | {"by": keys, "notes": [*frame.attrs["notes"], *notes]}
    return rolled


def _names(schema: pa.DataFrameSchema) -> list[str]:
    columns = [
        str(name)
        for name, about in schema.columns.items()
        if not about.metadata["unit"] or name in PROPERTIES
    ]
    return list(dict.fromkeys([*_WORDS[str(schema.name)], *_RANGE, *columns, *_DECODED]))


def _with(frame: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Add the keys that are no columns: what a range or a kernel's name says."""
    added = []
    if missing := [key for key in _RANGE if key in keys and key not in frame]:
        added.append(_harness(frame)[missing])
    if missing := [key for key in _DECODED if key in keys]:
        name = frame["kernel_demangled"].astype("string").fillna(frame["kernel"].astype("string"))
        added.append(decode_names(name)[missing])
    return pd.concat([frame, *added], axis=1)


def _harness(launches: pd.DataFrame) -> pd.DataFrame:
    """Return what the innermost range says where it is one of the harness; else NA."""
    ranges = launches["range"].where(launches["domain"] == DOMAIN)
    codes, distinct = pd.factorize(ranges)
    table = [split_range(str(name)) or (None,) * 3 for name in distinct]
    # One more row: factorize gives -1, the last, where there is no range.
    said = pd.DataFrame([*table, (None,) * 3], columns=[*_RANGE], dtype="string")
    return said.take(codes).set_axis(launches.index)


def _in_part(launches: pd.DataFrame, rolled: pd.DataFrame) -> list[str]:
    """Return the columns that some launches lack, and some rows for it."""
    columns = [column for column in rolled if column in launches and rolled[column].isna().any()]
    there = launches[columns].notna()
    return [str(column) for column in columns if there[column].any() and not there[column].all()]
