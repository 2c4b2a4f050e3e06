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
        if not parse(partial).equals(_without_secrets(before, blot)):
            cause = "scrubbing it changes what it says of the launches"
            raise CaptureError(target, cause, "choose secrets that are no part of kernel names")
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def _without_secrets(frame: pd.DataFrame, blot: Blot) -> pd.DataFrame:
    kept = {
        name: frame[name]
        .map({t: blot.text(t) for t in frame[name].dropna().unique()})
        .astype(dtype)
        for name, dtype in frame.dtypes.items()
        if isinstance(dtype, pd.StringDtype) and not str(name).startswith("kernel")
    }
    return frame.assign(**{str(name): texts for name, texts in kept.items()})
