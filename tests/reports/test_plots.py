"""Each number that a plot shows is a frame's: on hover, and by where its mark stands."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest

from reports.format import TIMES
from reports.frames import Frames, Row, records
from reports.page import operator_page
from reports.plots import canvas, choice
from reports.plots.canvas import Plot, marks
from reports.plots.gallery import KINDS, plots
from reports.plots.scaling import families, regimes
from reports.plots.waves import sweep
from reports.summary import compare
from tests.reports.data import (
    CASE,
    ELEMENTS,
    VARIANTS,
    Rows,
    all_rows,
    counter_rows,
    empty,
    key,
    make,
    sample_rows,
    timeline_rows,
)
from tests.reports.test_page import HOSTILE

SVG = "{http://www.w3.org/2000/svg}"
BUILT = {"static_shared_bytes": 0, "dynamic_shared_bytes": 0, "block_size": 128}
NO_FLOPS = {
    f"{op}_thread_instructions": 0
    for op in ("fadd", "fmul", "ffma", "hadd", "hmul", "hfma", "dadd", "dmul", "dfma")
} | {f"tensor_{dtype}_flops": 0 for dtype in ("fp16", "bf16", "tf32")}
FFMA = {"naive": 1, "builtin": 11, "compiled": 7, "triton": 4}


def counted() -> Rows:
    """Launches of which each variant's FLOPs differ, and all that occupancy needs."""
    return [
        r
        | NO_FLOPS
        | BUILT
        | {"ffma_thread_instructions": FFMA[r["variant"]] * ELEMENTS, "kernel_demangled": "k"}
        for r in counter_rows()
    ]


def cases(*shapes: str, dtype: str = "float32", labels: str = "") -> Rows:
    """Cases that read and write as many float32 as their shapes have, and 9 FLOPs for each."""
    rows: Rows = []
    row: Row
    for shape in shapes:
        size = int(np.prod([int(n) for n in shape.split("x")]))
        name = "-".join([shape, dtype, *labels.split()])
        axes = "m n k" if shape.count("x") == 2 else "rows columns"
        row = {"operator": "gelu", "case": name, "shape": shape, "dtype": dtype, "axes": axes}
        row |= {"min_read_bytes": 4 * size, "min_write_bytes": 4 * size, "flops": 9 * size}
        rows.append(row | {"labels": labels or None})
    return rows


def timed(rows: Rows, **medians: list[float]) -> Frames:
    """Frames with one sample of each variant in each of the cases."""
    samples = [
        key(variant, row["case"]) | {"round": 0, "duration_ns": value}
        for variant, values in medians.items()
        for row, value in zip(rows, values, strict=True)
    ]
    return make(cases=rows, samples=samples, counters=[], timeline=[], checks=[], outcomes=[])


def by_case(frames: Frames) -> dict[str, list[Row]]:
    rows = records(compare(frames))
    return {name: [r for r in rows if r["case"] == name] for name in frames.cases["case"]}


def drawn(kind: str, frames: Frames) -> Plot:
    return plots(frames, by_case(frames))[kind]


def told(plot: Plot) -> dict[str, ET.Element]:
    """Return the drawn elements by what they show on hover."""
    found = {}
    for group in ET.fromstring(plot.svg).iter(f"{SVG}g"):
        title = group.find(f"{SVG}title")
        if title is not None:
            drawings = (e for e in group.iter() if e.tag in {f"{SVG}use", f"{SVG}path"})
            found[str(title.text)] = next(drawings)
    return found


def bars(plot: Plot) -> dict[str, tuple[float, float]]:
    """Return left end and length of bars by what they show on hover."""
    defined = {path.get("id"): path for path in ET.fromstring(plot.svg).iter(f"{SVG}path")}
    found = {}
    for text, element in told(plot).items():
        target = element.get("{http://www.w3.org/1999/xlink}href", "").removeprefix("#")
        shape = defined.get(target, element).attrib["d"]
        xs = [float(x) for x in re.findall(r"[ML] (\S+)", shape)]
        found[text] = min(xs) + float(element.get("x", 0)), max(xs) - min(xs)
    return found


def texts(plot: Plot) -> list[str]:
    return [str(element.text) for element in ET.fromstring(plot.svg).iter(f"{SVG}text")]


def straight(values: Any, places: Any) -> None:
    """Fail unless places follow from values by one straight line."""
    slope, offset = np.polyfit(values, places, 1)
    assert np.allclose(slope * np.asarray(values) + offset, places, atol=0.01)
    assert abs(slope) > 0


def test_roofline_points_stand_at_intensity_and_rate() -> None:
    plot = drawn("roofline", make(counters=counted()))
    points = told(plot)
    assert len(points) == len(VARIANTS)
    hover = "triton: 4.29 TFLOP/s fp32 at 1.05 FLOP/B, 85.4 % of the 5.03 TFLOP/s attainable"
    assert f"{hover} (memory roof)" in points
    xs, ys, intensities, rates = [], [], [], []
    for text, use in points.items():
        variant = text.split(":")[0]
        rows = [r for r in counted() if r["variant"] == variant]
        flops = sum(2 * r["ffma_thread_instructions"] for r in rows)
        moved = sum(r["dram_read_bytes"] + r["dram_write_bytes"] for r in rows)
        intensities.append(flops / moved)
        rates.append(flops / sum(r["duration_ns"] for r in rows))
        xs.append(float(use.attrib["x"]))
        ys.append(float(use.attrib["y"]))
    straight(np.log(intensities), xs)
    straight(np.log(rates), ys)
    assert {"fp32 67.0 T", "ridge 14.0", "data sheet: DRAM 4.80 TB/s"} <= set(texts(plot))
    assert "measured: copy 4.26 TB/s" in texts(plot)


def test_roofline_of_an_unknown_gpu_has_the_measured_roof_alone() -> None:
    runs = [row | {"gpu": "NVIDIA Z1"} for row in all_rows()["runs"]]
    plot = drawn("roofline", make(counters=counted(), runs=runs))
    assert len(told(plot)) == len(VARIANTS)
    assert not [text for text in texts(plot) if "data sheet" in text or "ridge" in text]


def test_roofline_needs_flops() -> None:
    rows = [row | NO_FLOPS for row in counter_rows()]
    assert drawn("roofline", make(counters=rows)).why == "no FLOPs and DRAM bytes were counted"


SIZES = ("64x64", "256x256", "1024x1024", "4096x4096")


def test_scaling_points_stand_at_size_and_time() -> None:
    rows = cases(*SIZES)
    times = [5e3, 5.5e3, 20e3, 320e3]
    plot = drawn("scaling", timed(rows, naive=[8 * t for t in times], triton=times))
    points = told(plot)
    assert (
        f"1024x1024-float32, 8.39 MB: triton: 20.00 µs, 8.000{TIMES} as fast as the baseline"
        in points
    )
    own = [points[text] for text in points if ": triton: " in text]
    straight(np.log([row["min_read_bytes"] for row in rows]), [float(u.attrib["x"]) for u in own])
    straight(np.log(times), [float(u.attrib["y"]) for u in own])
    assert {"constant", "between", "as bytes"} <= set(texts(plot))


def test_regimes() -> None:
    assert [(r.low, r.high, r.word) for r in regimes([1, 4, 16, 64, 256], [5, 5, 10, 40, 160])] == [
        (1, 4, "constant"),
        (4, 16, "between"),
        (16, 256, "as size"),
    ]
    assert [r.word for r in regimes([1, 1000], [1, 1000])] == ["sizes too far apart"]


def test_a_family_of_intense_cases_has_one_proportion() -> None:
    rows = cases("64x64x64", "512x512x512", "513x513x513", "64x4096x64", "4096x4096x4096")
    rows = [row | {"flops": 200 * row["min_read_bytes"]} for row in rows]
    (family,) = families(frames := timed(rows, naive=[1e3] * 5), by_case(frames))
    assert [case.split("-")[0] for case in family.sizes] == [
        *("64x64x64", "512x512x512", "513x513x513", "4096x4096x4096")
    ]
    assert family.unit == "FLOP"
    two = timed(rows[1:4], naive=[1e3] * 3)
    assert drawn("scaling", two).why == "there are no 3 sizes of one dtype and family of shapes"


def test_sizes_of_other_dtypes_and_labels_are_no_family() -> None:
    rows = cases(*SIZES[:2]) + cases(SIZES[2], dtype="bfloat16") + cases(SIZES[3], labels="causal")
    frames = timed(rows, naive=[1e3] * 4)
    assert families(frames, by_case(frames)) == []


def swept(**changes: Any) -> Frames:
    rows = cases("1408x3072x4096", "896x4864x4096", dtype="bfloat16", labels="waves")
    rows = [row | {"flops": 30e9} for row in rows]
    config = '{"block_m": 128, "block_n": 256}'
    builds = [
        key("triton", row["case"]) | {"kernel": "k", "arch": "sm_90", "status": "ok"}
        for row in rows
    ]
    ceilings = [
        {"ceiling": "matmul", "case": rows[0]["case"], "round": 0, "flops": 10**12}
        | {"duration_ns": 1.25e6}
    ]
    frames = timed(rows, naive=[75e3, 150e3], triton=[50e3, 100e3])
    known = {n: records(getattr(frames, n)) for n in ("cases", "samples")}
    known |= {"builds": [row | {"config": config} for row in builds], "ceilings": ceilings}
    return make(
        **(known | {"counters": [], "timeline": [], "checks": [], "outcomes": []} | changes)
    )


def test_waves_show_the_share_of_a_large_product_and_the_tail() -> None:
    frames = swept()
    whole, one_more = sweep(frames, by_case(frames))
    assert (whole.cover.count, whole.used) == (132, 1)
    assert one_more.cover.count == 133
    assert one_more.used == pytest.approx(133 / 264)
    plot = drawn("waves", frames)
    points = told(plot)
    shares = {"naive": (50.0, 25.0), "triton": (75.0, 37.5)}
    rates = {"naive": (400, 200), "triton": (600, 300)}
    assert [text.split(" of a")[0] for text in points] == [
        f"{variant}: {rates[variant][at]} TFLOP/s, {shares[variant][at]:.1f} %"
        for at in (0, 1)
        for variant in ("naive", "triton")
    ]
    xs = [float(use.attrib["x"]) for use in points.values()]
    straight([50.0, 75.0, 25.0, 37.5], xs)
    assert f"133 tiles of 128{TIMES}256, 1.008 waves" in texts(plot)


@pytest.mark.parametrize("lost", ["builds", "ceilings", "runs"])
def test_waves_need_tiles_a_product_and_the_sms(lost: str) -> None:
    assert drawn("waves", swept(**{lost: []})).why


def test_occupancy_of_the_textbook_case() -> None:
    changes = {"registers_per_thread": 160, "occupancy_theoretical_pct": 18.75}
    rows = [row | changes for row in counted() if row["variant"] == "triton"]
    plot = drawn("occupancy", make(counters=rows))
    (text,) = told(plot)
    assert text == (
        "triton, k: 160 registers, 128 threads, 0 B of shared memory a block: 18.8 %, limited by "
        "registers; Nsight Compute: 18.8 %"
    )
    marked = [
        (float(use.attrib["x"]), float(use.attrib["y"]))
        for group in ET.fromstring(plot.svg).iter(f"{SVG}g")
        if group.find(f"{SVG}title") is not None
        for use in group.iter(f"{SVG}use")
    ]
    (left, height), (right, same) = marked
    assert height == same
    by_registers, by_threads = _ticks(plot, "64", "128"), _ticks(plot, "256", "512")
    assert left == pytest.approx(by_registers[0] + 96 / 64 * (by_registers[1] - by_registers[0]))
    assert right == pytest.approx(by_threads[0] - 128 / 256 * (by_threads[1] - by_threads[0]))


def _ticks(plot: Plot, *labels: str) -> list[float]:
    """Return where ticks with these labels stand, of the last axis that has them."""
    where = {}
    for group in ET.fromstring(plot.svg).iter(f"{SVG}g"):
        if (group.get("id") or "").startswith("xtick"):
            where[str(next(group.iter(f"{SVG}text")).text)] = next(group.iter(f"{SVG}use"))
    return [float(where[label].attrib["x"]) for label in labels]


def test_occupancy_is_of_variants_with_triton_kernels() -> None:
    assert drawn("occupancy", make(counters=counted(), builds=[])).why
    unknown = [row | {"compute_capability": "99.0"} for row in counted()]
    assert drawn("occupancy", make(counters=unknown)).why


def test_timeline_bars_stand_at_starts_and_are_as_long_as_durations() -> None:
    rows = [row | {"api_start_ns": row["start_ns"] - 9_000} for row in timeline_rows()]
    plot = drawn("timeline", make(timeline=rows))
    naive = [row for row in rows if row["variant"] == "naive" and row["repeat"] == 1]
    own = {text: bar for text, bar in bars(plot).items() if text.startswith("naive #")}
    assert len(own) == len(naive)
    straight([row["start_ns"] for row in naive], [left for left, _ in own.values()])
    straight([row["duration_ns"] for row in naive], [length for _, length in own.values()])
    assert list(own)[1] == (
        "naive #1 vectorized_elementwise_kernel: 127.0 µs, 2.00 µs after the one before, "
        "9.00 µs after its call"
    )
    assert "start of the launching call" in texts(plot)


def test_timeline_shows_the_main_and_the_smallest_case() -> None:
    (small,) = cases("8x8")
    own = key("naive", small["case"])
    kernel = {"kernel": "k", "kernel_demangled": "k", "start_ns": 5, "duration_ns": 7}
    frames = make(
        cases=[*all_rows()["cases"], small],
        samples=[*sample_rows(), own | {"round": 0, "duration_ns": 9e3}],
        timeline=[*timeline_rows(), own | {"launch": 0} | kernel],
    )
    assert {CASE, "8x8-float32", "7.00 ns, 1 launch"} <= set(texts(drawn("timeline", frames)))


def test_the_main_case_must_move_most_bytes() -> None:
    frames = timed(cases("64x64", "128x128", "16x1024"), naive=[1.0, 1.0, 1.0])
    rows = by_case(frames)
    assert choice.main_case(rows) == "128x128-float32"
    assert choice.smallest_case(rows) == "64x64-float32"
    assert choice.main_case({name: rows[name] for name in ("64x64-float32",)}) == "64x64-float32"
    assert choice.main_case({}) is None


def named(frames: Frames, name: str) -> Frames:
    """Return the frames with another name for the variant triton and for its kernels."""
    changed = {}
    for frame, table in vars(frames).items():
        if frame != "operator":
            columns = {"variant": {"triton": name}, "kernel_demangled": {"k": name}}
            changed[frame] = table.replace({c: v for c, v in columns.items() if c in table})
    return Frames(frames.operator, **changed)


@pytest.mark.parametrize("kind", [kind.name for kind in KINDS])
def test_names_are_data_and_colours_do_for_light_and_dark(kind: str) -> None:
    frames = swept() if kind == "waves" else make(counters=counted())
    if kind == "scaling":
        frames = timed(cases(*SIZES), naive=[1e3] * 4, triton=[1e3] * 4)
    plot = drawn(kind, named(frames, HOSTILE))
    assert not plot.why
    assert "<script" not in plot.svg
    assert [text for text in told(plot) if "<script>" in text]
    assert drawn(kind, named(frames, HOSTILE)) == plot
    inks = set(re.findall(r"#[0-9a-f]{6}", plot.svg.split("</metadata>")[1]))
    assert inks <= {canvas.INK, canvas.BASELINE, *canvas.HUES, "#2b6193", "#ffffff"}
    for text in ET.fromstring(plot.svg).iter(f"{SVG}text"):
        assert "fill: #" in text.attrib["style"]


def test_each_plot_says_why_it_is_empty() -> None:
    for name, plot in plots(empty(), {}).items():
        assert plot.why, name
        assert texts(plot) == [f"Nothing to draw: {plot.why}."]


def test_many_variants_have_marks_of_their_own() -> None:
    names = [f"v{i}" for i in range(9)]
    known = marks(names, "v3")
    assert list(known) == names
    assert len(set(known.values())) == len(names)
    assert known["v3"].color == canvas.BASELINE


def test_a_page_links_the_plots_that_show_something() -> None:
    page = operator_page(make(counters=counted()), "live")
    linked = re.findall(r"\]\(gelu\.(\w+)\.svg\)", page["gelu.md"])
    assert linked == ["time", "bytes", "roofline", "occupancy", "timeline"]
    assert "More plots: occupancy and timeline" in page["gelu.md"]
    assert "the case that must move most bytes" in page["gelu.md"]
    assert page["gelu.html"].count('<figure class="scroll"') == len(linked)
    assert "Nothing to draw" in page["gelu.waves.svg"]
