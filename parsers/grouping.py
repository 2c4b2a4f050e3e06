"""What a user may roll up by: words and columns, and the keys that they stand for.

A word stands for the columns that each frame has for it; any other name is a column that names
something (a device, a stream, a graph) or a property of a launch, or a field of
`parsers.names.KernelName`, read from the kernel's name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path

import pandas as pd

from parsers.columns import Schema
from parsers.contract import DOMAIN, split_range
from parsers.errors import CaptureError
from parsers.names import KernelName, decode_names
from parsers.nsys_schemas import LAUNCHES
from parsers.rollup import PROPERTIES, roll_up
from parsers.schemas import COUNTERS

_RANGE = ("operator", "variant", "case")
_EXTENTS = {part: tuple(f"{part}_{axis}" for axis in "xyz") for part in ("grid", "block")}
_WORDS: dict[str, tuple[str, ...]] = {
    "range": ("domain", "range"),
    "variant": _RANGE[:2],
    **_EXTENTS,
}
"""The columns of a word. The last of them is what a launch without a key lacks."""
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
        Words, columns, or fields of a name. ``range`` is domain and name of the innermost NVTX
        range, ``variant`` what a range of the harness says without its case.

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
    words = {name: _WORDS.get(name, (name,)) for name in by}
    keys = list(dict.fromkeys(column for columns in words.values() for column in columns))
    keyed = _with(frame, keys)
    rolled = roll_up(keyed, keys).sort_values(
        "duration_ns", ascending=False, kind="stable", ignore_index=True
    )
    notes = [*frame.attrs["notes"], *_notes(keyed, rolled.drop(columns=keys), words)]
    rolled.attrs = frame.attrs | {"by": keys, "notes": notes}
    return rolled


def _names(schema: Schema) -> list[str]:
    columns = [
        str(name) for name, about in schema.columns.items() if not about.unit or name in PROPERTIES
    ]
    return list(dict.fromkeys([*_WORDS, *_RANGE, *columns, *_DECODED]))


def _with(frame: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Add the keys that are no columns: what a range or a kernel's name says."""
    added = []
    if said := [key for key in _RANGE if key in keys and key not in frame]:
        ranges = frame["range"].where(frame["domain"] == DOMAIN)
        added.append(_read(ranges, _harness, said))
    if said := [key for key in _DECODED if key in keys]:
        kernels = frame["kernel_demangled"]
        if kernels.isna().any():
            kernels = kernels.astype("string").fillna(frame["kernel"].astype("string"))
        added.append(_read(kernels, decode_names, said))
    return pd.concat([frame, *added], axis=1)


def _read(
    texts: pd.Series, reader: Callable[[pd.Series], pd.DataFrame], columns: list[str]
) -> pd.DataFrame:
    """Return columns of what a reader makes of texts, each distinct one read once."""
    codes, distinct = pd.factorize(texts)
    # One more row, all NA: factorize gives -1, the last, where there is no text.
    said = reader(pd.Series(distinct))[columns].reindex(range(len(distinct) + 1))
    return said.take(codes).set_axis(texts.index)


def _harness(ranges: pd.Series) -> pd.DataFrame:
    """Return what ranges of the harness say; NA for others of its domain."""
    parts = [split_range(str(name)) or (None,) * len(_RANGE) for name in ranges]
    return pd.DataFrame(parts, columns=[*_RANGE], dtype="string")


def _notes(
    launches: pd.DataFrame, rolled: pd.DataFrame, words: dict[str, tuple[str, ...]]
) -> list[str]:
    """Say how many launches have no key, and which columns are NA because some have no value."""
    notes = []
    for name, columns in words.items():
        if count := launches[columns[-1]].isna().sum():
            whose = f" of the NVTX domain {DOMAIN}" if columns[0] in _RANGE else ""
            lack = f"{count} of {len(launches)} launches have no {name}{whose}"
            notes.append(f"{lack}: in rows of their own")
    gaps = [column for column in rolled if column in launches and rolled[column].isna().any()]
    there = launches[gaps].notna()
    if partly := [str(name) for name in gaps if there[name].any() and not there[name].all()]:
        notes.append(f"NA where one launch of a row has no value: {', '.join(partly)}")
    return notes
