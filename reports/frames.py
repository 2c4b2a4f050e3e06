"""The frames of one operator, read from a folder and validated."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from parsers.columns import Misfit
from parsers.rollup import roll_up
from parsers.schemas import SCHEMAS

KEY = ["operator", "variant", "case"]
"""What names a row of measurements in every frame."""

Row = dict[str, Any]
"""One row of a frame by column; a missing value is None."""


class FramesError(Exception):
    """Frames that cannot be read. The message is one line: ``PATH: CAUSE; REMEDY``."""

    def __init__(self, path: Path, cause: str, remedy: str) -> None:
        super().__init__(f"{path}: {' '.join(cause.split())}; {remedy}")


@dataclass(frozen=True)
class Frames:
    """What is known of one operator: a frame a schema, of its name. Any of them may be empty."""

    operator: str
    samples: pd.DataFrame
    ceilings: pd.DataFrame
    timeline: pd.DataFrame
    counters: pd.DataFrame
    coverage: pd.DataFrame
    flags: pd.DataFrame
    checks: pd.DataFrame
    builds: pd.DataFrame
    cases: pd.DataFrame
    variants: pd.DataFrame
    outcomes: pd.DataFrame
    runs: pd.DataFrame

    @cached_property
    def rolled(self) -> pd.DataFrame:
        """The counters of each variant and case, as `parsers.rollup.roll_up` makes them."""
        return roll_up(self.counters.dropna(subset=KEY), KEY)


NAMES = tuple(field.name for field in fields(Frames) if field.name != "operator")
"""The frames of an operator's page. Schemas of others, such as ``sanitizer``, are no part of it."""


def records(frame: pd.DataFrame) -> list[Row]:
    """Return the rows as dictionaries, with None for NA."""
    rows: list[Row] = pa.Table.from_pandas(frame, preserve_index=False).to_pylist()
    return rows


def load(folder: Path, *, absent: Collection[str] = ()) -> Frames:
    """Read ``<frame>.parquet`` for each of `NAMES`; the operator is the one that the rows name.

    Parameters
    ----------
    absent
        Frames that may be missing, for their pass was not asked for; they are empty then.

    Raises
    ------
    FramesError
        When the folder or a file is missing, is not Parquet or breaks its schema, or when the files
        speak of several operators or of one whose name cannot name a file.
    """
    if not folder.is_dir():
        raise FramesError(folder, "no such folder", "run the parsing rules first")
    paths = {name: folder / f"{name}.parquet" for name in NAMES}
    frames = {
        name: SCHEMAS[name].conform([])
        if name in absent and not path.exists()
        else read(path, name)
        for name, path in paths.items()
    }
    operators = {
        str(name)
        for frame in frames.values()
        if "operator" in frame
        for name in frame["operator"].dropna().unique()
    }
    if len(operators) > 1:
        named = ", ".join(sorted(operators))
        raise FramesError(folder, f"frames of several operators ({named})", "parse them again")
    operator = next(iter(operators), folder.name)
    if not re.fullmatch(r"\w[\w.-]*", operator):
        raise FramesError(folder, f"operator {operator!r} cannot name a file", "rename it")
    return Frames(operator=operator, **frames)


def read(path: Path, name: str) -> pd.DataFrame:
    """Read one frame and validate it by the schema of that name.

    Raises
    ------
    FramesError
        When the file is missing, is not Parquet or breaks the schema.
    """
    if not path.is_file():
        raise FramesError(path, "no such file", "run the parsing rules first")
    try:
        return SCHEMAS[name].validate(pd.read_parquet(path))
    except (OSError, ValueError) as error:
        raise FramesError(path, f"not a Parquet file ({error})", "parse it again") from error
    except Misfit as misfit:
        cause = f"breaks the schema {name!r} ({misfit})"
        raise FramesError(path, cause, "parse it again") from misfit
