"""Ranges of any domain that launches of Nsight Compute were in, in the forms it prints them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from parsers import ncu_csv, ncu_text
from parsers.ncu_ranges import DEFAULT_DOMAIN, Domain, Open, attribute, of_cells, of_page
from tests.parsers.samples import write

NONE = "none:none:none:none:none:none"
LOST = "2 of 4 launches were in ranges of several NVTX domains, whose order Nsight Compute does not"


def entry(domain: str, name: str, identity: str = "", payload: str = "none:none") -> str:
    """Print a range that has a registered message, as Nsight Compute does."""
    return f'"{identity}{domain}:{name}:{payload}:RGB:0xff:REGISTERED:{name}"'


def told(*domains: Domain) -> tuple[object, ...]:
    frame, _ = attribute([domains])
    columns = frame[["domain", "range", "range_path"]].astype(object)
    return tuple(columns.where(columns.notna(), None).iloc[0])


@pytest.mark.parametrize(
    ("domains", "expected"),
    [
        ((), (None, None, None)),
        ((Domain(DEFAULT_DOMAIN), Domain("kp")), (None, None, None)),
        ((Domain(DEFAULT_DOMAIN), Domain("kp", ("a",))), ("kp", "a", "a")),
        ((Domain(DEFAULT_DOMAIN, ("a", "b")),), (None, "b", "a > b")),
        ((Domain("kp", (), ("a", "b")),), ("kp", "b", "a > b")),
        ((Domain("kp", ("a", "b"), ("c",)),), ("kp", "b", "c > a > b")),
        ((Domain("kp", ("a", "")),), ("kp", None, "a > ")),
        ((Domain("kp", ("a",)), Domain("CCCL", ("b",))), (None, None, None)),
        ((Domain("kp", (), ("a",)), Domain("CCCL", ("b",))), (None, None, None)),
        ((Domain("roofsnake", ("x",)), Domain("CCCL", ("b",))), ("roofsnake", "x", None)),
        ((Domain("CCCL", ("b",)), Domain("roofsnake", (), ("x",))), ("roofsnake", "x", None)),
    ],
)
def test_which_range_is_told(domains: Open, expected: tuple[object, ...]) -> None:
    assert told(*domains) == expected


def test_launches_without_a_range_because_of_several_domains_are_counted() -> None:
    several = (Domain("kp", ("a",)), Domain("CCCL", ("b",)))
    frame, (note,) = attribute([several, (Domain("kp", ("a",)),), several, ()])
    assert frame["range"].fillna("").tolist() == ["", "a", "", ""]
    assert note.startswith(LOST)
    assert attribute([(Domain("kp", ("a",)),), ()])[1] == []


def test_a_key_is_told_whatever_else_is_open() -> None:
    both = (Domain("CCCL", ("b",)), Domain("roofsnake", ("step",), ("gelu/naive/small",)))
    frame, notes = attribute([both, both])
    assert frame["variant"].tolist() == ["naive", "naive"]
    assert frame["launch"].tolist() == [0, 1]
    assert frame["range"].tolist() == ["step", "step"]
    assert notes == []


@pytest.mark.parametrize(
    ("name", "payload"),
    [
        ("a", "none:none"),
        ("at::native::add: step 3", "none:none"),
        ("none", "none:none"),
        ("a:a", "UINT64:7"),
        ("none:none:x", "none:none"),
        ('say "hi", then', "none:none"),
        ("of two\nlines", "none:none"),
        ("a", 'JSON:{"k": [1, 2]}'),
        ("ASCII:a", "none:none"),
    ],
)
@pytest.mark.parametrize("domain", ["kp", "my:domain", DEFAULT_DOMAIN, "7"])
def test_names_with_colons_are_read_whole(domain: str, name: str, payload: str) -> None:
    cell = f"1727  {entry(domain, name, payload=payload)} "
    assert of_cells(cell, "") == (Domain(domain, (name,)),)
    inner = entry(domain, "b", "12:")
    assert of_cells(cell, f"{entry(domain, name, '3:')}  {inner} ") == (
        Domain(domain, (name,), (name, "b")),
    )


@pytest.mark.parametrize("name", ["a", "moe::A3", "gemma:layers.0:attn", "none", "a:none", ""])
def test_ranges_without_a_message(name: str) -> None:
    cell = f'1  "<default domain>:{name}:{NONE}"  "<default domain>:b:{NONE}" '
    assert of_cells(cell, "") == (Domain(DEFAULT_DOMAIN, (name, "b")),)


@pytest.mark.parametrize("cell", ["", " ", "1727", '"', "7  ", '"a"', '7 "a:b" '])
def test_a_cell_without_a_range(cell: str) -> None:
    assert of_cells(cell, cell) == ()


def test_domains_of_a_cell_are_kept_apart() -> None:
    cell = "  ".join(entry(*pair) for pair in (("kp", "a"), ("CCCL", "b"), ("kp", "c")))
    assert of_cells(f"7  {cell} ", "") == (Domain("kp", ("a", "c")), Domain("CCCL", ("b",)))


PAGE = """\
  k (1, 1, 1)x(32, 1, 1), Context 1, Stream 7, Device 0, CC 9.0

    NVTX Push/Pop Stack for Thread 1727:
      <default domain>
        <0,step: 1 > 0>
          RGB: 0xff
          REGISTERED: <0,no range>
        <1,forward>
    NVTX Start/End Ranges:
      kp
        <0,epoch>
          RGB: 0xff
      <default domain>
        <3,run>
    Section: Command line profiler metrics
    -------------------- ----------- ------------
    Metric Name          Metric Unit Metric Value
    -------------------- ----------- ------------
    dram__bytes_read.sum       byte           64
    -------------------- ----------- ------------
"""
START_END = PAGE.replace(PAGE[PAGE.index("    NVTX P") : PAGE.index("    NVTX S")], "")
ALONE = START_END.replace("      <default domain>\n        <3,run>\n", "")
WITHOUT = ALONE.replace(ALONE[ALONE.index("    NVTX S") : ALONE.index("    Section")], "")


def test_ranges_of_a_page() -> None:
    assert of_page(PAGE) == (
        Domain(DEFAULT_DOMAIN, ("step: 1 > 0", "forward"), ("run",)),
        Domain("kp", (), ("epoch",)),
    )
    assert of_page(START_END) == (
        Domain("kp", (), ("epoch",)),
        Domain(DEFAULT_DOMAIN, (), ("run",)),
    )
    assert of_page(ALONE) == (Domain("kp", (), ("epoch",)),)
    assert of_page(WITHOUT) == ()


def test_a_page_and_a_table(tmp_path: Path) -> None:
    cell = entry("kp", "a:b").replace('"', '""')
    table = (
        '"ID","thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg",'
        '"Kernel Name","dram__bytes_read.sum"\n"","","","byte"\n'
        f'"0","","k","64"\n"1","7  {cell} ","k","64"\n'
    )
    frame = ncu_csv.parse(write(tmp_path, "raw.csv", table.encode()))
    assert frame["range"].fillna("").tolist() == ["", "a:b"]
    frame = ncu_text.parse(write(tmp_path, "page", (WITHOUT + PAGE + ALONE).encode()))
    assert frame["range"].fillna("").tolist() == ["", "", "epoch"]
    assert frame["dram_read_bytes"].tolist() == [64, 64, 64]
    (note,) = frame.attrs["notes"]
    assert note.startswith("1 of 3 launches were in ranges of several NVTX domains")


def test_a_page_tells_the_harness_s_ranges(tmp_path: Path) -> None:
    page = ALONE.replace("kp", "roofsnake").replace("epoch", "gelu/triton/64x64-float32")
    (launch,) = ncu_text.parse(write(tmp_path, "page", page.encode())).to_dict("records")
    assert (launch["operator"], launch["variant"]) == ("gelu", "triton")
    assert (launch["case"], launch["launch"]) == ("64x64-float32", 0)


@pytest.mark.parametrize("name", ["gelu.ncu-raw-base-units.csv", "gelu.ncu-details.csv"])
def test_real_exports(shared: Callable[[str], Path], name: str) -> None:
    frame = ncu_csv.parse(shared(f"h200/{name}"))
    counts = frame["range"].value_counts().to_dict()
    assert counts == {"gelu.naive": 9, "gelu.builtin": 1, "gelu.compiled": 1, "gelu.triton": 1}
    assert set(frame["domain"]) == {"kp"}
    assert frame["range_path"].tolist() == frame["range"].tolist()
    assert frame["operator"].isna().all()
