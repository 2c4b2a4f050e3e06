# The multiplication sign and the dash are what pages show.
# ruff: noqa: RUF001
from __future__ import annotations

import base64
import hashlib
import re

import pytest

from parsers.metrics import METRICS
from reports.html import Body, body
from reports.index import index_page
from reports.notes import reading_table
from reports.page import operator_page
from reports.reference import metrics_page
from reports.render import site
from reports.svg import HOVER, inline, titled
from reports.terms import OTHERS, Anchors, anchor
from tests.reports.data import make
from tests.reports.test_page import HOSTILE, Outline, hostile

HEADER = re.compile(r"<th(?: [^>]*)?>(.*?)</th>", re.DOTALL)
FIGURE = (
    '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" '
    'xmlns:xlink="http://www.w3.org/1999/xlink" width="9pt" height="8pt" viewBox="0 0 9 8">'
    "<metadata><a/></metadata><defs><style>*{color: red}</style><path id='p' d='M 0 0\n'/></defs>"
    '<g clip-path="url(#c)"><use xlink:href="#p" style="font-family: A, B; fill: red"/></g>'
    "<text>url(#c) &lt;b&gt;</text></svg>"
)


def rendered(markdown: str, **figures: str) -> Body:
    return body(markdown, figures, "../metrics.html", explains=False)


def ids(html: str) -> list[str]:
    return [str(value) for name, value in Outline(html).attributes if name == "id"]


def test_sections_have_the_anchors_that_github_gives_them() -> None:
    page = rendered("# A\n\n## `8x9-float32`\n\n## Time (ncu pass)\n\n## `8x9-float32`\n\n### C")
    assert page.sections == (
        ("8x9-float32", "8x9-float32"),
        ("time-ncu-pass", "Time (ncu pass)"),
        ("8x9-float32-1", "8x9-float32"),
    )
    assert ids(page.html) == ["a", "8x9-float32", "time-ncu-pass", "8x9-float32-1", "c"]


def test_banners_are_named_by_their_first_words() -> None:
    page = rendered("> **Replayed**: here.\n\n> **Mixed sources**: there.\n\n> plain\n")
    assert page.banners == (("banner-1", "Replayed"), ("banner-2", "Mixed sources"))
    assert '<blockquote id="banner-2">' in page.html


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("gelu.md", "gelu.html"),
        ("../gelu.md#a", "../gelu.html#a"),
        ("https://e.x/gelu.md", "https://e.x/gelu.md"),
        ("a.mdx", "a.mdx"),
    ],
)
def test_links_lead_to_html_pages(target: str, expected: str) -> None:
    assert f'href="{expected}"' in rendered(f"[gelu]({target})").html


def test_headers_link_to_what_they_mean() -> None:
    html = rendered("| Time, µs [95 %] | Odd |\n| --: | --: |\n| 1 | `dram__bytes_read.sum` |").html
    first, second = HEADER.findall(html)
    link = '<a class="what" href="../metrics.html#column-time" aria-label="what it means">?</a>'
    assert first == f"Time, µs [95 %]{link}"
    assert second == "Odd"
    assert '<a href="../metrics.html#column-dram_read_bytes"><code>dram__<wbr>bytes_<wbr>' in html


@pytest.mark.parametrize(
    ("header", "column"),
    [
        ("Time, ms [95 %]", "Time"),
        ("Time over it [95 %]", "Time over it"),
        ("SM, % of peak", "SM, % of peak"),
        ("DRAM, % of peak", "DRAM, % of peak"),
        ("DRAM read, kB", "DRAM read"),
        ("Registers, most", "Registers"),
        ("Share by nsys, %", "Share"),
        ("Used of a sector loaded, B", "Used of a sector"),
        ("#", "#"),
    ],
)
def test_the_column_that_a_header_is_of(header: str, column: str) -> None:
    assert Anchors().column(header) == anchor(column)


def test_a_column_that_nothing_explains() -> None:
    assert Anchors().column("Timeliness") is None
    assert Anchors().metric("kernel") is None


def test_anchors_tell_columns_apart() -> None:
    explained = [row[0] for row in (*reading_table().rows, *OTHERS)]
    names = [*explained, *(metric.column for metric in METRICS)]
    double = {n for n in map(anchor, names) if [*map(anchor, names)].count(n) > 1}
    # A page's column of the same name is the metric's.
    assert double <= {anchor(metric.column) for metric in METRICS}


def test_every_number_has_a_header_that_says_what_it_means() -> None:
    """All right-aligned columns of an operator's page and of the index."""
    anchors = set(ids(metrics_page()["metrics.html"]))
    pages = operator_page(make(), "live") | index_page([make()], "live")
    for name in ("gelu.html", "index.html"):
        headers = re.findall(r'<th style="text-align:right">(.*?)</th>', pages[name])
        assert len(headers) > 3
        for header in headers:
            target = re.search(r'href="metrics\.html#([^"]+)"', header)
            assert target, header
            assert target[1] in anchors


def test_the_reference_explains_every_counter_and_links_to_itself() -> None:
    html = metrics_page()["metrics.html"]
    anchors = ids(html)
    assert len(anchors) == len(set(anchors))
    assert {anchor(metric.column) for metric in METRICS} <= set(anchors)
    links = [v for n, v in Outline(html).attributes if n == "href" and str(v).startswith("#")]
    assert {str(link)[1:] for link in links} <= set(anchors)
    assert "metrics.html" not in html
    assert 'class="what"' not in html


def test_a_page_in_a_folder_links_upwards() -> None:
    html = site("triton", "triton", "# triton\n\n| Time |\n| --: |\n| 1 |\n", {}, ["gelu"])
    links = [str(v) for n, v in Outline(html).attributes if n == "href"]
    assert links == [
        *("data:,", "../index.html", "../gelu.html", "../metrics.html"),
        "../metrics.html#column-time",
    ]
    assert '<li aria-current="page">triton</li>' in html


def test_the_page_runs_no_script_but_its_own() -> None:
    html = operator_page(hostile(), "live")["gelu.html"]
    (script,) = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert "content=\"default-src 'none'; " in html
    assert f"; script-src 'sha256-{digest}'\">" in html


def test_titles_of_pages_are_escaped() -> None:
    html = site("x", HOSTILE, f"> **{'a'}**\n\n## `<script>`\n\n## b\n\n## c\n", {})
    assert html.count("<script") == 1
    assert "<img" not in html


def test_a_figure_stands_in_the_page() -> None:
    html = rendered(
        "![What <it> shows](a.svg)\n\n![Other](b.svg)\n\nText ![x](c.png)",
        **{"a.svg": FIGURE, "b.svg": FIGURE},
    ).html
    assert html.count('<figure class="scroll"') == html.count("</figure>") == 2
    assert 'aria-label="What &lt;it&gt; shows"' in html
    assert ids(html) == ["f1-p", "f2-p"]
    assert '<p>Text <img src="c.png" alt="x"' in html


def test_ids_and_styles_of_a_figure_are_its_own() -> None:
    svg = inline(FIGURE, "f1-", "Label")
    assert svg == (
        '<svg viewBox="0 0 9 8" role="img" aria-label="Label"><defs><path id="f1-p" d="M 0 0 " />'
        '</defs><g clip-path="url(#f1-c)"><use href="#f1-p" style="fill: red" /></g>'
        "<text>url(#c) &lt;b&gt;</text></svg>"
    )


def test_values_show_on_hover() -> None:
    link = f'<a xlink:href=\'{HOVER}a &lt;b&gt; "c"\' target="_blank"><path/></a>'
    other = '<a xlink:href="#x"><path/></a>'
    assert titled(f"<svg>{link}{other}{link}</svg>") == (
        '<svg><g><title>a &lt;b&gt; "c"</title><path/></g><a xlink:href="#x"><path/></a>'
        '<g><title>a &lt;b&gt; "c"</title><path/></g></svg>'
    )


def test_bars_show_their_values_on_hover() -> None:
    page = operator_page(make(), "live")
    told = "<title>triton: 130.1 µs [130.0 µs, 130.2 µs], 10.70× [10.70, 10.71] as fast"
    assert told in page["gelu.time.svg"]
    assert told in page["gelu.html"]
    assert "<title>naive: 3.49 GB read</title>" in page["gelu.bytes.svg"]


def test_hostile_names_stay_names_in_tables_headings_and_figures() -> None:
    page = operator_page(hostile(), "replay")["gelu.html"]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert len(ids(page)) == len(set(ids(page)))
