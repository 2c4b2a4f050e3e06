"""Numbers as a locale prints them, read by the evidence of the whole file, never by a guess."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

_SPACES = " \u00a0\u2009\u202f"
_APOSTROPHES = "'\u2019"
_IMPLAUSIBLE_PCT = 1000
"""Only a percentage misread as grouped digits is as large; a last resort among the evidence."""

_DECORATION = r"^\(!\)\s*|\s+\([^()]*\)$|\s+\{[^{}]*\}$"
"""Nsight Compute's mark of a failed metric before a value, and the metric's instances behind it."""

_ABSENT = {"", "-", "\u2013", "n/a", "na", "nan", "-nan", "-nan(ind)", "inf", "-inf", "no data"}


@dataclass(frozen=True)
class Style:
    """How a locale prints numbers: its decimal sign, and the signs that may group its digits."""

    decimal: str
    grouping: str
    sizes: str = r"[1-9]\d{0,2}(?:G\d{3})+"
    """Grouped digits as a regular expression, where ``G`` stands for a grouping sign."""

    @property
    def pattern(self) -> str:
        """The regular expression that a number of this style matches as a whole."""
        grouped = self.sizes.replace("G", f"[{self.grouping}]")
        return rf"[+-]?(?:\d+|{grouped})(?:\{self.decimal}\d+)?(?:[eE][+-]?\d+)?"

    def values(self, texts: pd.Series) -> pd.Series:
        """Return the numbers of texts of this style; NaN for the others."""
        ours = texts.where(texts.str.fullmatch(self.pattern))
        plain = ours.str.replace(f"[{self.grouping}]", "", regex=True)
        return pd.to_numeric(plain.str.replace(self.decimal, ".")).astype("float64")


STYLES = (
    Style(".", ","),
    Style(".", ",", r"[1-9]\d?(?:G\d{2})*G\d{3}"),
    Style(".", _APOSTROPHES),
    Style(".", _SPACES),
    Style(",", r"\."),
    Style(",", _APOSTROPHES),
    Style(",", _SPACES),
)
"""English, Indian, Swiss, SI; German, Swiss with a comma, French. None has to group its digits."""


def absent(texts: pd.Series) -> pd.Series:
    """Tell which texts stand for no value: empty, a dash, ``n/a``, ``nan`` and the like."""
    distinct = pd.Series(texts.unique(), dtype="str")
    return texts.isin(distinct[_bare(distinct).str.casefold().isin(_ABSENT)])


def read(texts: pd.Series, wanted: pd.Series, whole: pd.Series, percent: pd.Series) -> pd.Series:
    """Read the numbers of a file in the one style that they agree on.

    A number that only some styles can print settles which one it is: one with both signs, two
    groups, or other than three digits behind its only sign. Where none of the wanted does, the
    other values are asked, which may hold what only looks like a number; then the numbers that
    must be integers, and last the percentages, which are not in the thousands.

    Parameters
    ----------
    texts
        Values as printed; what no style could print is not evidence.
    wanted
        Which of them have to be read.
    whole
        Which of them are counts in their base unit.
    percent
        Which of them are percentages.

    Returns
    -------
    Series
        float64, NaN where a text is no number, with the index of ``texts``.

    Raises
    ------
    ValueError
        When the wanted numbers contradict each other, or could be read in two ways.
    """
    codes, distinct = pd.factorize(texts)
    unique = _bare(pd.Series(distinct, dtype="str"))
    fits = {style: unique.str.fullmatch(style.pattern).astype(bool) for style in STYLES}
    table = pd.concat(fits, axis=1)
    numeric = table.any(axis=1)

    def those(flags: pd.Series) -> pd.Series:
        return numeric & numeric.index.isin(codes[flags.to_numpy(dtype=bool)])

    read = those(wanted)
    agreed = [style for style in STYLES if fits[style][read].all()]
    if not agreed:
        raise ValueError(_contradiction(unique[read], table[read]))
    readings = {style: style.values(unique) for style in agreed}
    readings = _narrow(readings, numeric, lambda v: v.notna())
    readings = _narrow(readings, those(whole), lambda v: v % 1 == 0)
    readings = _narrow(readings, those(percent), lambda v: v.abs() < _IMPLAUSIBLE_PCT)
    return pd.Series(_only(readings, unique[read]).to_numpy()[codes], index=texts.index)


def _only(readings: dict[Style, pd.Series], wanted: pd.Series) -> pd.Series:
    """Return the readings, which must be the same for the wanted texts."""
    first, *others = readings.values()
    for other in others:
        differ = wanted[first[wanted.index] != other[wanted.index]]
        if len(differ):
            at = differ.index[0]
            raise ValueError(
                f"nothing in it settles whether {differ[at]!r} is {first[at]:.10g} or "
                f"{other[at]:.10g}"
            )
    return first


def _bare(texts: pd.Series) -> pd.Series:
    bare = texts.astype("str").str.strip().str.replace(_DECORATION, "", regex=True)
    return bare.str.replace("\u2212", "-").str.strip()


def _narrow(
    readings: dict[Style, pd.Series],
    evidence: pd.Series,
    plausible: Callable[[pd.Series], pd.Series],
) -> dict[Style, pd.Series]:
    """Keep the styles in which the evidence is plausible; all where it is so in none."""
    kept = {s: v for s, v in readings.items() if plausible(v[evidence]).all()}
    return kept or readings


def _contradiction(unique: pd.Series, fits: pd.DataFrame) -> str:
    """Name a number of the style that most numbers have, and one that it does not print."""
    common = fits.sum().idxmax()
    misfit = fits[~fits[common]].index[0]
    shared = fits.loc[:, fits.loc[misfit]].any(axis=1)
    alone = fits[fits[common] & ~shared].index
    example = alone[0] if len(alone) else fits[fits[common]].index[0]
    return (
        f"its numbers are of different locales, such as {unique[example]!r} and {unique[misfit]!r}"
    )
