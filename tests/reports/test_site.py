# The multiplication sign and the dash are what pages show.
# ruff: noqa: RUF001
"""The pages in a browser; left out where no Chromium is found."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

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
[...document.querySelectorAll("body *")]
  .filter((e) => !e.closest(".scroll, svg") && e.getBoundingClientRect().right > innerWidth + 1)
  .map((e) => e.outerHTML.slice(0, 200))
"""


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browsing(str(CHROMIUM), tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.fixture(scope="module")
def pages(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The published pages as HTML, one of names that try to break out, and one in a folder."""
    folder = tmp_path_factory.mktemp("site")
    for path in (root / "docs/reports/h200").glob("*.md"):
        figures = {svg.name: svg.read_text() for svg in path.parent.glob(f"{path.stem}.*.svg")}
        html = site(path.stem, path.stem, path.read_text(), figures)
        (folder / f"{path.stem}.html").write_text(html)
    broken = operator_page(hostile(), "replay", stale=True)
    (folder / "hostile.html").write_text(broken["gelu.html"])
    (folder / "hostile.md").write_text(broken["gelu.md"])
    return folder


def shown(tab: Page, folder: Path, markdown: str) -> None:
    """Show a page of this Markdown alone."""
    path = folder / "page.html"
    path.write_text(site("page", "page", markdown, {}))
    tab.open(path, 1280)


def column(*values: str) -> str:
    return "".join(f"| {value} |\n" for value in ("Value", "--:", *values))


def names(root: Path) -> list[str]:
    return sorted(path.stem for path in (root / "docs/reports/h200").glob("*.md"))


def test_pages_fit_show_everything_and_complain_of_nothing(
    tab: Page, pages: Path, root: Path
) -> None:
    published = {name: root / f"docs/reports/h200/{name}.md" for name in names(root)}
    assert {"gelu", "index", "metrics"} <= set(published)
    for name, path in (published | {"hostile": pages / "hostile.md"}).items():
        markdown = path.read_text()
        for width in WIDTHS:
            tab.complaints.clear()
            tab.requests.clear()
            tab.open(pages / f"{name}.html", width)
            assert tab.run("document.scrollingElement.scrollWidth") <= width, (name, width)
            assert tab.run(OVERFLOWING) == [], (name, width)
            assert tab.complaints == [], name
            assert [url for url in tab.requests if not url.startswith(("file:", "data:"))] == []
        tables = len(re.findall(r"^\| :?-", markdown, re.MULTILINE))
        assert tab.run("document.querySelectorAll('main table').length") == tables, name
        figures = len(re.findall(r"^!\[", markdown, re.MULTILINE))
        assert tab.run("document.querySelectorAll('main figure svg path').length > 0") == bool(
            figures
        )
        assert tab.run("document.querySelectorAll('main figure svg').length") == figures, name
        assert tab.run("document.querySelectorAll('script').length") == 1, name


def test_every_link_leads_somewhere(tab: Page, pages: Path, root: Path) -> None:
    links = "[...document.links].map((a) => a.href)"
    anchors = "[...document.querySelectorAll('[id]')].map((e) => e.id)"
    known: dict[str, list[str]] = {}
    asked: set[tuple[str, str]] = set()
    for name in names(root):
        path = pages / f"{name}.html"
        tab.open(path, 1280)
        known[path.as_uri()] = tab.run(anchors)
        asked |= {tuple(link.partition("#")[::2]) for link in tab.run(links)}
    assert len({page for page, _ in asked}) > 3
    lost = [(page, at) for page, at in asked if at and at not in known.get(page, ())]
    assert lost == []
    assert {page for page, _ in asked} <= set(known)


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
