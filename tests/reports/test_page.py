# The multiplication sign and the dash are what pages show.
# ruff: noqa: RUF001
from __future__ import annotations

import functools
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import jinja2
import pytest

from parsers.schemas import SCHEMAS
from reports.columns import Table
from reports.figures import bytes_figure, time_figure
from reports.frames import NAMES, Frames, records
from reports.index import index_page
from reports.page import operator_page
from reports.render import TEMPLATES
from reports.summary import compare
from reports.tables import SHOWN_LAUNCHES, launches_table
from tests.reports.data import (
    CASE,
    Rows,
    check_rows,
    counter_rows,
    empty,
    key,
    make,
    run_rows,
    sample_rows,
    timeline_rows,
)

HOSTILE = "k|`<script>alert(1)</script>`\n## |x| **b** [l](http://e.x) <img src=x>"
TAGS = {
    *("html", "head", "meta", "link", "title", "style", "script", "body", "header", "nav", "main"),
    *("div", "details", "summary", "figure"),
    *("h1", "h2", "h3", "p", "ul", "ol", "li", "strong", "code", "wbr", "blockquote", "a"),
    *("table", "thead", "tbody", "tr", "th", "td"),
    *("svg", "defs", "g", "path", "use", "text", "clippath", "rect"),
}


class Outline(HTMLParser):
    """Every tag, and the cells of every row of every table."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.tables: list[list[int]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append(0)
        elif tag in {"td", "th"}:
            self.tables[-1][-1] += 1


def hostile() -> Frames:
    counters = [r | {"kernel": HOSTILE, "kernel_demangled": HOSTILE} for r in counter_rows()]
    outcomes = [key("triton") | {"pass": "nsys", "status": "failed", "reason": HOSTILE}]
    runs = [
        r | dict.fromkeys(("gpu", "commit", "clock_policy", "settings"), HOSTILE)
        for r in run_rows()
    ]
    checks = check_rows()
    checks[1] |= {"status": "wrong", "reason": HOSTILE}
    builds = [
        key("triton") | {"kernel": HOSTILE, "arch": "sm_90", "config": "{}", "status": HOSTILE}
    ]
    variants: Rows = [
        {"operator": "gelu", "variant": v, "summary": HOSTILE, "baseline": v == "naive"}
        for v in ("naive", "builtin", "compiled", "triton", HOSTILE)
    ]
    return make(
        counters=counters,
        outcomes=outcomes,
        runs=runs,
        checks=checks,
        builds=builds,
        variants=variants,
    )


@functools.cache
def gelu_page() -> dict[str, str]:
    return operator_page(make(), "live")


def test_page_of_gelu() -> None:
    page = gelu_page()
    kinds = ("time", "bytes", "roofline", "scaling", "waves", "occupancy", "timeline")
    assert list(page) == ["gelu.md", "gelu.html", *(f"gelu.{kind}.svg" for kind in kinds)]
    markdown = page["gelu.md"]
    assert "Replayed" not in markdown
    assert "Older than" not in markdown
    assert "| `naive` | 9 | 3.49 | 2.20 | 0.537 | 10.6 |" in markdown
    assert "what it wrote may still lie in L2 then" in markdown
    assert "`naive`, the baseline: how naive does" in markdown
    assert "Nsight Compute 2025.3.1" in markdown
    assert "rounds=100" in markdown
    assert "\n\n\n" not in markdown


def test_banners() -> None:
    runs = run_rows()
    runs[0] |= {"source_sha256": "0"}
    frames = make(runs=runs, samples=[], timeline=[])
    markdown = operator_page(frames, "replay", stale=True)["gelu.md"]
    assert "> **Mixed sources**: the passes ran on 2 versions of `kernels/gelu.py`" in markdown
    assert (
        "> **Replayed**: recorded on NVIDIA H200 on 2026-11-30 at commit 0123456789ab; "
        "no GPU was used here." in markdown
    )
    assert "> **Older than the source**: `kernels/gelu.py` has changed since" in markdown


def test_html_is_self_contained() -> None:
    page = gelu_page()
    outline = Outline(page["gelu.html"])
    assert set(outline.tags) <= TAGS
    assert not [value for name, value in outline.attributes if name == "src"]
    assert not re.search(r"url\((?!#)", page["gelu.html"])
    assert page["gelu.html"].count('<div class="scroll"') == len(outline.tables)
    assert page["gelu.html"].count('<figure class="scroll"') == page["gelu.md"].count("\n![") > 2


@pytest.mark.parametrize("frames", [make(), hostile()], ids=["gelu", "hostile"])
def test_tables_are_rectangular(frames: Frames) -> None:
    for table in Outline(operator_page(frames, "live")["gelu.html"]).tables:
        assert len(set(table)) == 1


def test_names_are_data() -> None:
    page = operator_page(hostile(), "replay") | index_page([hostile()], "replay")
    for name in ("gelu.html", "index.html"):
        outline = Outline(page[name])
        assert set(outline.tags) <= TAGS
        assert not [v for n, v in outline.attributes if n == "href" and str(v).startswith("http")]
        assert outline.tags.count("script") == page[name].count("<script") == 1
    assert "## |x|" not in [line[:6] for line in page["gelu.md"].splitlines()]
    for figure in (name for name in page if name.endswith(".svg")):
        ET.fromstring(page[figure])


def test_rendering_twice_gives_the_same_bytes() -> None:
    assert operator_page(make(), "live") == gelu_page()
    assert index_page([make()], "replay") == index_page([make()], "replay")


def test_everything_empty() -> None:
    page = operator_page(empty(), "replay")
    assert "There are no cases." in page["gelu.md"]
    assert "an unknown GPU" in page["gelu.md"]
    ET.fromstring(page["gelu.time.svg"])
    assert "Nothing was measured." in index_page([empty()], "live")["index.md"]
    assert index_page([], "live")["index.md"].startswith("# Operators\n\n0 operators, 0 cases.")


@pytest.mark.parametrize("lost", [n for n in NAMES if n not in {"cases", "variants"}])
def test_each_frame_may_be_empty(lost: str) -> None:
    page = operator_page(make(**({"samples": sample_rows(rounds=3)} | {lost: []})), "live")
    assert "None" not in page["gelu.md"].replace("None was", "")
    assert not re.search(r"\bnan\b|<NA>", page["gelu.md"])


def test_every_optional_value_may_be_missing() -> None:
    frames = make()
    blank = {}
    for name in NAMES:
        frame, schema = getattr(frames, name).copy(), SCHEMAS[name]
        for column, definition in schema.columns.items():
            if not definition.required and column not in {"operator", "variant", "case", "launch"}:
                frame[column] = frame[column].where(frame[column].isna())
        blank[name] = schema.validate(frame)
    page = operator_page(Frames("gelu", **blank), "replay")
    assert "No counters: the ncu pass has nothing for this case." not in page["gelu.time.svg"]
    assert not re.search(r"\bnan\b|<NA>|\bNone\b", page["gelu.md"])


def test_a_wrong_variant_is_shown_as_wrong() -> None:
    checks = check_rows()
    checks[3] |= {"status": "wrong", "wrong_elements": 12}
    left = dict.fromkeys(("naive", "builtin", "compiled"), 100000.0)
    rows = [r for r in counter_rows() if r["variant"] != "triton"]
    lines = [r for r in timeline_rows() if r["variant"] != "triton"]
    frames = make(checks=checks, samples=sample_rows(left), counters=rows, timeline=lines)
    markdown = operator_page(frames, "live")["gelu.md"]
    assert "`triton` is **wrong**: 12 of 67,108,864 elements" in markdown
    assert "| `triton` | – | – | – | – | – | – | 0 | wrong |" in markdown
    assert "| 1 wrong |" in index_page([frames], "live")["index.md"]


def few(**changes: Rows) -> Frames:
    """Frames with too few samples for intervals, which take time."""
    return make(**{"samples": sample_rows(rounds=3), "timeline": []} | changes)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "rows 8192, columns 8192, float32"),
        ({"labels": "causal strided"}, "rows 8192, columns 8192, float32, causal, strided"),
        ({"axes": None}, "shape 8192x8192, float32"),
        ({"axes": "rows"}, "shape 8192x8192, float32"),
    ],
)
def test_a_case_is_told_by_its_axes(changes: dict[str, str | None], said: str) -> None:
    cases = [records(make().cases)[0] | changes]
    markdown = operator_page(few(cases=cases), "live")["gelu.md"]
    least = "at least 268 MB to read, 268 MB to write, 604 MFLOP (model)."
    assert f"\nInput: {said}; {least}\n" in markdown


def test_a_variant_that_does_not_take_a_case() -> None:
    checks = check_rows()
    checks[3] = key("triton") | {"status": "unsupported", "reason": "no float32"}
    samples = [s for s in sample_rows(rounds=3) if s["variant"] != "triton"]
    frames = few(checks=checks, samples=samples)
    markdown = operator_page(frames, "live")["gelu.md"]
    assert "\n- `triton` does not take this case: no float32.\n" in markdown
    assert "| `triton` | – | – | – | – | – | – | 0 | unsupported |" in markdown
    assert index_page([frames], "live")["index.md"].count("| ok |") == 1


def test_an_intense_case_shows_flops_in_place_of_shares() -> None:
    cases = [records(make().cases)[0] | {"flops": 100 * 2 * 4 * 8192**2}]
    counters = [row | {"tensor_active_pct": 71.0} for row in counter_rows()]
    frames = few(cases=cases, counters=counters)
    markdown = operator_page(frames, "live")["gelu.md"]
    times = "| Variant | Time, ms [95 %] | Spread, % | Speed-up, × [95 %] | Rate, TFLOP/s |"
    assert f"{times} Samples | Status |" in markdown
    assert "Tensor pipe, % of peak | SM, % of peak" in markdown
    assert re.search(r"\| `triton` \| [^|]+ \| [^|]+ \| [^|]+ \| 41\d \|", markdown)
    row, _ = [s for s in index_page([frames], "live")["index.md"].splitlines() if "[gelu]" in s]
    assert row.endswith("× | – | ok |")
    assert "Tensor pipe, % of peak | SM" not in gelu_page()["gelu.md"]


def test_the_length_of_a_sum_stands_beside_the_error() -> None:
    cases = [records(make().cases)[0] | {"summed": 8192}]
    markdown = operator_page(few(cases=cases), "live")["gelu.md"]
    assert "| Outside | Largest error | Summed | Relative error |" in markdown
    assert f"| `{CASE}` | `naive` | ok | 67,108,864 | 0 | 4.8e-07 | 8,192 | 3.1e-08 |" in markdown


def test_index() -> None:
    page = index_page([make()], "live")
    assert f"| [gelu](gelu.md) | `{CASE}` |" in page["index.md"]
    assert page["index.md"].count("| ok |") == 1
    assert page == index_page([make()], "live", (), {"gelu": compare(make())})
    assert 'href="gelu.html"' in page["index.html"]


def test_templates_refuse_what_is_undefined() -> None:
    assert TEMPLATES.undefined is jinja2.StrictUndefined
    for name in ("operator.md.j2", "index.md.j2", "builds.md.j2", "checks.md.j2", "page.html.j2"):
        with pytest.raises(jinja2.UndefinedError):
            TEMPLATES.get_template(name).render()


def test_long_lists_of_launches_are_cut() -> None:
    frames = make()
    row = records(compare(frames))[0]
    blank = dict.fromkeys(SCHEMAS["counters"].columns) | row
    extra = {
        "name": "k",
        "nsys_ns": 1.0,
        "nsys_spread": 0.01,
        "ncu_ns": 1,
        "share": 0.1,
        "share_pass": "ncu",
        "launch": 0,
    }
    table = launches_table([blank | extra] * (SHOWN_LAUNCHES + 5))
    assert len(table.rows) == SHOWN_LAUNCHES
    assert table.note == "5 more launches follow."


def test_a_table_without_values_is_empty() -> None:
    assert Table(("a", "b"), (("x", "–"),)).empty
    assert Table(("a", "b"), ()).empty
    assert not Table(("a",), (("x",),)).empty


def test_figures() -> None:
    rows = {CASE: records(compare(make()))}
    times, dram = time_figure(rows), bytes_figure(rows)
    assert "1.393 ms" in times
    assert "10.7×" in times
    assert "fewest" in dram
    for svg in (times, dram):
        assert "<dc:date>" not in svg
        assert "Matplotlib" not in svg
        ET.fromstring(svg)


@pytest.mark.parametrize(("cases", "columns"), [(4, 1), (5, 2)])
def test_many_cases_stand_in_two_columns(cases: int, columns: int) -> None:
    rows = [row | {"variant": f"v{i}"} for i in range(2) for row in records(compare(few()))[:1]]
    svg = ET.fromstring(time_figure({f"case-{i}": rows for i in range(cases)}))
    height = float(svg.attrib["height"].removesuffix("pt")) / 72
    panels, bar, margin = -(-cases // columns), *((0.30, 0.95) if columns == 1 else (0.19, 0.72))
    assert height == pytest.approx(panels * (2 * bar + margin), abs=0.01)
    titles = [e for e in svg.iter() if (e.text or "").startswith("case-")]
    assert len(titles) == cases


def test_one_legend_for_all_panels() -> None:
    rows = records(compare(few()))
    svg = ET.fromstring(bytes_figure({"a": rows, "b": [], "c": rows}))
    assert [e.text for e in svg.iter()].count("written") == 1
    assert [e.text for e in svg.iter()].count("nothing was measured") == 1


def test_wide_ranges_are_logarithmic() -> None:
    frames = make(samples=sample_rows({"naive": 1e6, "triton": 1e3}))
    svg = time_figure({CASE: records(compare(frames))})
    assert "(log)" in svg
    assert {"10", "100"} <= {e.text for e in ET.fromstring(svg).iter()}


def test_long_names_make_figures_wider() -> None:
    (row, *_) = records(compare(few()))
    figures = [time_figure({CASE: [row | {"variant": "v" * size}]}) for size in (8, 80)]
    short, long = (float(ET.fromstring(f).attrib["width"].removesuffix("pt")) for f in figures)
    assert short == pytest.approx(7.2 * 72)
    assert long > short
