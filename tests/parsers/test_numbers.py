from __future__ import annotations

import re

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers import numbers

GROUPS = {
    "english": (",", "."),
    "german": (".", ","),
    "swiss": ("\u2019", "."),
    "swiss, typed": ("'", "."),
    "french": ("\u202f", ","),
    "french, older": ("\u00a0", ","),
    "spaced": (" ", "."),
    "ungrouped": ("", "."),
    "ungrouped, comma": ("", ","),
    "indian": (",", "."),
}
"""Locale, then the sign between groups of digits and the decimal sign."""


def show(number: float, locale: str, decimals: int) -> str:
    """Print a number as a locale does."""
    group, decimal = GROUPS[locale]
    whole, _, fraction = f"{abs(number):.{decimals}f}".partition(".")
    last, rest, size = whole[-3:], whole[:-3], 2 if locale == "indian" else 3
    parts = [last]
    while rest:
        parts.insert(0, rest[-size:])
        rest = rest[:-size]
    sign = "-" if number < 0 else ""
    return sign + group.join(parts) + (decimal + fraction if fraction else "")


def read(*texts: str, whole: bool = False, percent: bool = False) -> list[float]:
    flags = [pd.Series([flag] * len(texts), dtype=bool) for flag in (True, whole, percent)]
    return numbers.read(pd.Series(texts, dtype="str"), *flags).tolist()


NUMBERS = st.floats(-1e12, 1e12, allow_nan=False).map(lambda number: round(number, 4))


@settings(deadline=None)
@given(
    st.lists(st.tuples(NUMBERS, st.integers(0, 4)), min_size=1, max_size=8),
    st.sampled_from(list(GROUPS)),
)
def test_what_a_locale_prints_is_read_back_or_refused(
    printed: list[tuple[float, int]], locale: str
) -> None:
    texts = [show(number, locale, decimals) for number, decimals in printed]
    expected = [pytest.approx(round(n, d), rel=1e-12, abs=1e-12) for n, d in printed]
    shape = r"-?(\d{1,3}[.,]\d{3}|\d+)"
    if all(re.fullmatch(shape, text) for text in texts):
        try:
            assert read(*texts) == expected
        except ValueError:
            assert any(not text.lstrip("-").isdigit() for text in texts)
    else:
        assert read(*texts) == expected


@pytest.mark.parametrize("locale", list(GROUPS))
def test_one_number_with_both_signs_settles_the_others(locale: str) -> None:
    texts = [show(number, locale, 0) for number in (1234, 150109880320)]
    both = show(85877134277.125, locale, 2)
    assert read(*texts, both) == [1234, 150109880320, pytest.approx(85877134277.12, abs=0.01)]


def test_two_groups_settle() -> None:
    assert read("1,234", "1,234,567") == [1234, 1234567]
    assert read("1.234", "1.234.567") == [1234, 1234567]


@pytest.mark.parametrize("other", ["1,23", "12,3456", "0,123"])
def test_a_decimal_sign_is_one_that_cannot_group(other: str) -> None:
    assert read("1,234", other) == [1.234, float(other.replace(",", "."))]


@pytest.mark.parametrize("text", ["1,234", "1.234", "-12,345"])
def test_nothing_settles(text: str) -> None:
    with pytest.raises(ValueError, match=f"nothing in it settles whether '{text}' is "):
        read(text, "12", "n/a")


def test_a_count_settles() -> None:
    assert read("1,234", whole=True) == [1234]
    assert read("1,500", whole=True) == [1500]
    with pytest.raises(ValueError, match="nothing in it settles whether '1,000'"):
        read("1,000", whole=True)


def test_a_percentage_settles_where_no_count_does() -> None:
    assert read("85,693", percent=True) == [85.693]
    assert read("1,234.5", percent=True) == [1234.5]


def test_locales_that_contradict_each_other() -> None:
    with pytest.raises(ValueError, match=r"different locales, such as '1,234.5' and '1.234,5'"):
        read("1,234.5", "7,654.3", "1.234,5")
    with pytest.raises(ValueError, match="different locales"):
        read("1,23,456", "123,456")


def test_other_values_settle_but_do_not_contradict() -> None:
    texts, no = pd.Series(["1,234", "0.5", "3,5"]), pd.Series([False] * 3)
    ours = pd.Series([True, False, False])
    assert numbers.read(texts[:2], ours[:2], no[:2], no[:2])[0] == 1234
    assert numbers.read(texts, ours, ours, no)[0] == 1234
    with pytest.raises(ValueError, match="nothing in it settles"):
        numbers.read(texts, ours, no, no)


def test_what_is_no_number_is_no_evidence() -> None:
    found = read("No-CC", "all", "1,2,3", "12:30", "1.2.3", "", "0.50")
    assert pd.isna(found[:6]).all()
    assert found[6] == 0.5


def test_signs_exponents_and_what_ncu_adds() -> None:
    found = read("\u22121.5", "+2", "1.5e+06", "(!) 3.25", "4.75 (1.25; 3.5)")
    assert found == [-1.5, 2, 1.5e6, 3.25, 4.75]


def test_absent() -> None:
    texts = pd.Series(["", " ", "-", "n/a", "N/A", "(!) n/a", "nan", "(!) nan", "inf", "0", "all"])
    assert numbers.absent(texts).tolist() == [True] * 9 + [False] * 2
