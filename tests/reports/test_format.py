from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from reports import format as f

HOSTILE = "a|b <script>alert(1)</script> `x` **y** [z](u) & \\| \n# t _w_"


@pytest.mark.parametrize(
    ("value", "significant", "expected"),
    [
        (1394.2, 3, "1394"),
        (130.13, 4, "130.1"),
        (9.996, 3, "10.0"),
        (0.9996, 3, "1.00"),
        (0.0904, 3, "0.0904"),
        (-5.714, 3, "-5.71"),
        (0.0, 3, "0"),
        (4.8e-7, 2, "4.8e-07"),
        (float("nan"), 3, f.MISSING),
        (float("inf"), 3, "inf"),
    ],
)
def test_digits(value: float, significant: int, expected: str) -> None:
    assert f.digits(value, significant) == expected


@given(st.floats(1e-3, 1e12))
def test_digits_keep_the_value(value: float) -> None:
    assert float(f.digits(value, 4)) == pytest.approx(value, rel=1e-3)


def test_column_shares_one_unit() -> None:
    assert f.column([5.71e9, 5.12e8, None], "B") == ("GB", ["5.71", "0.512", f.MISSING])
    assert f.column([1.394e-3, 1.301e-4], "s", 4) == ("ms", ["1.394", "0.1301"])
    assert f.column([85.5], "%") == ("%", ["85.5"])
    assert f.column([None, None], "B") == ("B", [f.MISSING] * 2)
    assert f.column([], "B") == ("B", [])


def test_quantities() -> None:
    assert f.quantity(4.26e12, "B/s") == "4.26 TB/s"
    assert f.quantity(12, "B") == "12.0 B"
    assert f.duration(130_900) == "131 µs"
    assert f.duration(None) == f.MISSING
    assert f.duration(0.2) == "0.200 ns"
    assert f.count(67_108_864) == "67,108,864"
    assert f.percent(0.973) == "97.3 %"
    assert f.bracket("1", f.MISSING) == ""
    assert f.bracket("1", "2") == " [1, 2]"
    assert [f.listing(words) for words in ("a", "ab", "abc")] == ["a", "a and b", "a, b and c"]


@pytest.mark.parametrize("wrap", [f.escape, f.cell_code])
def test_data_show_as_they_are_in_a_cell(wrap: object) -> None:
    assert callable(wrap)
    table = f"| a | b |\n| :-- | :-- |\n| {wrap(HOSTILE)} | end |\n"
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(table)
    cells = re.findall(r"<td[^>]*>(.*?)</td>", html, re.DOTALL)
    shown = cells[0].removeprefix("<code>").removesuffix("</code>")
    for entity, character in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&amp;", "&")):
        assert not re.search("<(?!/?code)", cells[0])
        shown = shown.replace(entity, character)
    assert shown == " ".join(HOSTILE.split())
    assert cells[1:] == ["end"]


def test_code_spans_hold_backticks() -> None:
    assert f.code("a`b") == "``a`b``"
    assert f.code("`a`") == "`` `a` ``"
    assert f.code(" \n ") == f.MISSING
    assert f.cell(None) == f.cell("") == f.MISSING
