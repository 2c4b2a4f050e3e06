from __future__ import annotations

from typing import Any

from parsers.schemas import BUILDS
from reports.builds import builds_table, spilling
from reports.frames import Row, records
from tests.reports.data import build_rows, key


def builds(*changes: dict[str, Any]) -> list[Row]:
    """Rows of the frame: the build for sm_90 with changes, one for each."""
    return records(BUILDS.conform([build_rows()[1] | change for change in changes]))


def test_rows_that_are_alike_but_for_the_case_are_joined() -> None:
    cases = [{"case": name} for name in ("a", "b", "c")]
    other = [{"case": name, "registers_per_thread": 40} for name in ("c", "a")]
    table = builds_table(builds(*cases, *other, {"case": "b", "arch": "sm_80"}))
    assert [(row[0], row[3], row[5]) for row in table.rows] == [
        ("all 3 cases", "sm_90", "32"),
        ("`c`, `a`", "sm_90", "40"),
        ("`b`", "sm_80", "32"),
    ]


def test_one_case_keeps_its_name() -> None:
    table = builds_table(builds({"case": "a"}))
    assert [row[0] for row in table.rows] == ["`a`"]
    assert len(table.headers) == len(table.rows[0])


def test_no_kernel_spills() -> None:
    assert builds_table(builds({})).note == "No kernel spills registers (build pass)."
    assert spilling([]) == ""


def test_kernels_that_spill_are_named() -> None:
    rows = builds(
        {"spill_loads": 3, "spill_stores": 2},
        {"arch": "sm_80"},
        {"arch": "sm_100", "spill_loads": 1},
        {"kernel": "other"},
        key("split") | {"spill_loads": 0, "spill_stores": 1200},
    )
    assert spilling(rows) == (
        "Builds that spill registers (build pass): `gelu_kernel` of `triton` in 2 of 3, with at "
        "most 5 loads plus stores and `gelu_kernel` of `split` in 1 of 1, with at most 1,200 "
        "loads plus stores."
    )


def test_what_is_not_known_of_spills_is_said() -> None:
    lost = {"spill_loads": None}
    assert spilling(builds(lost)) == "Whether a kernel spills registers is not known (build pass)."
    assert spilling(builds(lost, {})) == (
        "No kernel spills registers (build pass); of 1 build that is not known."
    )
    assert spilling(builds(lost, lost, {"spill_stores": 2})) == (
        "Builds that spill registers (build pass): `gelu_kernel` of `triton` in 1 of 1, with at "
        "most 2 loads plus stores; of 2 builds that is not known."
    )
