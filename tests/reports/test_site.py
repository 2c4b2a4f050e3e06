# The multiplication sign and the dash are what pages show.
# ruff: noqa: RUF001
"""The pages in a browser; left out where no Chromium is found."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reports.page import operator_page
from reports.render import site
from tests.reports.chromium import Page, browsing, find
from tests.reports.test_page import hostile

CHROMIUM = find()
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")

WIDTHS = (1280, 390)
CELLS = """
[...document.querySelectorAll("main tbody tr")].map((row) => row.cells[0].textContent)
"""
SORT = "document.querySelector('main th button')"
ORDER = "document.querySelector('main th').getAttribute('aria-sort')"
OVERFLOWING = """
(document.scrollingElement.scrollWidth > innerWidth ? ["the page"] : []).concat(
  [...document.querySelectorAll("body *")]
    .filter((e) => !e.closest(".scroll, pre, svg"))
    .filter((e) => e.getBoundingClientRect().right > innerWidth + 1)
    .map((e) => e.outerHTML.slice(0, 200)))
"""
FACTS = {
    "wide": OVERFLOWING,
    "tables": "document.querySelectorAll('main table').length",
    "figures": "document.querySelectorAll('main figure svg:has(path)').length",
    "scripts": "document.scripts.length",
    "links": "[...document.links].map((a) => a.href)",
    "anchors": "[...document.querySelectorAll('[id]')].map((e) => e.id)",
}


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browsing(str(CHROMIUM), tmp_path_factory.mktemp("profile")) as page:
        yield page


VISITED = ("attention", "gelu", "gelu/triton", "hostile", "index", "metrics", "transpose")
"""Pages that the browser opens: each kind, and the widest tables."""


@pytest.fixture(scope="module")
def pages(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The published pages with their HTML, and one of names that try to break out."""
    folder, published = tmp_path_factory.mktemp("site"), root / "docs/reports/h200"
    for path in published.rglob("*.md"):
        place = path.relative_to(published).with_suffix("")
        figures = {svg.name: svg.read_text() for svg in path.parent.glob(f"{path.stem}.*.svg")}
        (folder / place.parent).mkdir(exist_ok=True)
        html = site(path.stem, path.stem, path.read_text(), figures, place.parts[:-1])
        (folder / f"{place}.html").write_text(html)
        (folder / f"{place}.md").write_text(path.read_text())
    broken = operator_page(hostile(), "replay", stale=True)
    (folder / "hostile.html").write_text(broken["gelu.html"])
    (folder / "hostile.md").write_text(broken["gelu.md"])
    return folder


@pytest.fixture(scope="module")
def seen(tab: Page, pages: Path) -> dict[str, dict[str, Any]]:
    """What the browser shows of each page that it visits, by its name."""
    facts = {}
    for name in VISITED:
        tab.open(pages / f"{name}.html", WIDTHS[0])
        facts[name] = {fact: tab.run(script) for fact, script in FACTS.items()}
        facts[name] |= {"complaints": [*tab.complaints], "requests": [*tab.requests]}
        tab.resize(WIDTHS[1])
        facts[name]["narrow"] = tab.run(OVERFLOWING)
    return facts


def shown(tab: Page, folder: Path, markdown: str) -> None:
    """Show a page of this Markdown alone."""
    path = folder / "page.html"
    path.write_text(site("page", "page", markdown, {}))
    tab.open(path, 1280)


def column(*values: str) -> str:
    return "".join(f"| {value} |\n" for value in ("Value", "--:", *values))


def test_pages_fit_wide_and_narrow_windows(seen: dict[str, dict[str, Any]]) -> None:
    assert {name: facts["wide"] for name, facts in seen.items() if facts["wide"]} == {}
    assert {name: facts["narrow"] for name, facts in seen.items() if facts["narrow"]} == {}


def test_pages_complain_of_nothing_and_ask_for_nothing(seen: dict[str, dict[str, Any]]) -> None:
    for name, facts in seen.items():
        assert facts["complaints"] == [], name
        assert [url for url in facts["requests"] if not url.startswith(("file:", "data:"))] == []
        assert facts["scripts"] == 1, name


def test_every_table_and_figure_of_the_markdown_is_shown(
    seen: dict[str, dict[str, Any]], pages: Path
) -> None:
    for name, facts in seen.items():
        markdown = (pages / f"{name}.md").read_text()
        assert facts["tables"] == len(re.findall(r"^\| :?-", markdown, re.MULTILINE)), name
        assert facts["figures"] == len(re.findall(r"^!\[", markdown, re.MULTILINE)), name


def test_every_link_leads_somewhere(seen: dict[str, dict[str, Any]], pages: Path) -> None:
    there = {path.as_uri() for path in pages.rglob("*.html")}
    anchors = {(pages / f"{name}.html").as_uri(): facts["anchors"] for name, facts in seen.items()}
    asked = {link.partition("#")[::2] for facts in seen.values() for link in facts["links"]}
    assert {page for page, _ in asked} <= there
    known = [(page, at) for page, at in asked if at and page in anchors]
    assert [(page, at) for page, at in known if at not in anchors[page]] == []
    assert len(known) > 10


def test_headers_sort_up_down_and_back(tab: Page, tmp_path: Path) -> None:
    given = ("1,200", "–", "10.91× [10.89, 10.91]", "2.90 %", "baseline", "-3", "1e-05")
    up = ["-3", "1e-05", "2.90 %", "10.91× [10.89, 10.91]", "1,200", "baseline", "–"]
    down = [*up[4::-1], "baseline", "–"]
    shown(tab, tmp_path, column(*given))
    assert tab.run(ORDER) == "none"
    for order, expected in (("ascending", up), ("descending", down), ("none", list(given))):
        tab.run(f"{SORT}.click()")
        assert tab.run(ORDER) == order
        assert tab.run(CELLS) == expected


def test_units_count_and_names_sort_by_the_numbers_in_them(tab: Page, tmp_path: Path) -> None:
    shown(tab, tmp_path, column("1.5 GB/s", "900 MB/s", "2 kB/s", "3 TB/s"))
    tab.run(f"{SORT}.click()")
    assert tab.run(CELLS) == ["2 kB/s", "900 MB/s", "1.5 GB/s", "3 TB/s"]
    shown(tab, tmp_path, column("`8192x8192-a`", "`67x129-b`", "`67x33-c`"))
    tab.run(f"{SORT}.click()")
    assert tab.run(CELLS) == ["67x33-c", "67x129-b", "8192x8192-a"]


def test_the_keyboard_sorts(tab: Page, tmp_path: Path) -> None:
    shown(tab, tmp_path, "| Time, µs | Other |\n| --: | --: |\n| 2 | 1 |\n| 1 | 2 |\n")
    tab.run(f"{SORT}.focus()")
    tab.press("Enter")
    assert tab.run(CELLS) == ["1", "2"]
    tab.press("Tab")
    assert tab.run("document.activeElement.hash") == "#column-time"
    tab.press("Tab")
    tab.press("Enter")
    assert tab.run(CELLS) == ["2", "1"]
    assert tab.run(ORDER) == "none"


def test_contents_stand_beside_the_page_where_there_is_room(tab: Page, pages: Path) -> None:
    box = "document.querySelector('.contents').getBoundingClientRect().%s"
    for width, beside in zip(WIDTHS, (True, False), strict=True):
        tab.open(pages / "gelu.html", width)
        assert tab.run("document.querySelector('.contents details').open") == beside
        right = tab.run(box % "right")
        assert (right <= tab.run("document.querySelector('main').offsetLeft")) == beside
    tab.open(pages / "gelu.html", 1280)
    tab.run("scrollTo(0, 5000)")
    assert 0 < tab.run(box % "top") < 200


def test_colours_follow_the_scheme(tab: Page, pages: Path) -> None:
    ink = "getComputedStyle(document.querySelector('svg text')).fill"
    page = "getComputedStyle(document.body).backgroundColor"
    tab.open(pages / "gelu.html", 1280)
    light = tab.run(ink), tab.run(page)
    tab.open(pages / "gelu.html", 1280, dark=True)
    dark = tab.run(ink), tab.run(page)
    brightness = [[sum(map(int, re.findall(r"\d+", c))) for c in pair] for pair in (light, dark)]
    assert brightness[0][0] + 400 < brightness[0][1]
    assert brightness[1][1] + 400 < brightness[1][0]


def test_a_link_opens_what_is_collapsed(tab: Page, tmp_path: Path) -> None:
    shown(tab, tmp_path, "<details>\n<summary>More</summary>\n\n### Inside\n\n</details>\n")
    assert not tab.run("document.querySelector('details').open")
    tab.run("location.hash = 'inside'")
    tab.run("new Promise((done) => setTimeout(done, 100))")
    assert tab.run("document.querySelector('details').open")


def test_without_scripts_the_page_is_complete(tab: Page, pages: Path) -> None:
    visible = "document.querySelector(%r).getBoundingClientRect().height > 0"
    tab.call("Emulation.setScriptExecutionDisabled", value=True)
    tab.open(pages / "gelu.html", 1280)
    assert tab.run("document.querySelectorAll('th button').length") == 0
    for part in (".contents li", "main table td", "figure svg", "main summary", "a.what"):
        assert tab.run(visible % part), part
    tab.call("Emulation.setScriptExecutionDisabled", value=False)
