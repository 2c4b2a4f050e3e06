"""Write a scrubbed copy only where it still says the same of the launches."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from parsers.errors import CaptureError
from parsers.leaks import Blot


def replace(
    target: Path,
    write: Callable[[Path], object],
    parse: Callable[[Path], pd.DataFrame],
    before: pd.DataFrame,
    blot: Blot,
) -> None:
    """Write a scrubbed file beside its target and rename it once it parses as before.

    Kernels must keep their names; other texts, such as names of ranges, may lose what gives
    something away.

    Raises
    ------
    CaptureError
        As ``parse``, and when the copy parses to another frame.
    """
    partial = target.with_name(f".partial-{target.name}")
    partial.unlink(missing_ok=True)
    try:
        write(partial)
        if not _same(parse(partial), before, blot):
            cause = "scrubbing it changes what it says of the launches"
            raise CaptureError(target, cause, "choose secrets that are no part of kernel names")
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def _same(after: pd.DataFrame, before: pd.DataFrame, blot: Blot) -> bool:
    """Tell whether frames are equal, but for texts of launches that gave something away.

    What is left of those is not asked: a path that is overwritten can run on to what is behind it.
    """
    if len(after) != len(before):
        return False
    texts = [
        str(name)
        for name, dtype in before.dtypes.items()
        if isinstance(dtype, pd.StringDtype) and not str(name).startswith("kernel")
    ]
    distinct = {text for name in texts for text in before[name].dropna().unique()}
    told = {text for text in distinct if blot.text(text) != text}
    gone = before[texts].isin(told).any(axis=1)
    left, right = (
        frame.assign(**{name: frame[name].mask(gone) for name in texts})
        for frame in (after, before)
    )
    return left.equals(right)
