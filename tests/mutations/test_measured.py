"""Every planted change, as it was measured on an H200, gets its verdict and its first cause."""

from __future__ import annotations

import pytest

from reports.diff.findings import Finding, Verdict, compare
from reports.diff.times import ALTERNATING
from tests.mutations import measured
from tests.mutations.planted import PLANTED, Cause, Planted
from tests.mutations.planted import Verdict as Expected

VERDICTS = {
    Expected.SLOWER: Verdict.SLOWER,
    Expected.FASTER: Verdict.FASTER,
    Expected.SAME: Verdict.SAME,
    Expected.WRONG: Verdict.BROKEN,
}

NAMED = {
    Cause.ACCESS_WIDTH: {"load width", "store width"},
    Cause.BANK_CONFLICTS: {"bank conflicts"},
    Cause.CONFIG: {"configuration"},
    Cause.DRAM_BYTES: {"DRAM bytes"},
    Cause.INSTRUCTIONS: {"instructions", "float64 instructions"},
    Cause.LAUNCHES: {"kernels", "launches"},
    Cause.SECTORS: {"load sectors", "store sectors"},
    Cause.SPILLS: {"spill loads", "spill stores"},
    Cause.TENSOR_CORES: {"tensor FLOPs", "tensor cores"},
}


def finding(planted: Planted) -> Finding:
    base, head = (measured.frames(planted, side) for side in ("base", "head"))
    found = compare(base, head, ALTERNATING).findings
    (one,) = [f for f in found if (f.variant, f.case) == (planted.variant, planted.case)]
    return one


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)
def test_it_is_told_with_its_first_cause(planted: Planted) -> None:
    found = finding(planted)
    assert found.verdict is VERDICTS[planted.verdict]
    if planted.cause is Cause.NUMERICS:
        assert found.reason.startswith("wrong: ")
    elif planted.cause is None:
        assert not found.causes
    else:
        assert found.causes[0].name in NAMED[planted.cause]


def test_two_percent_are_told_from_noise() -> None:
    (planted,) = [one for one in PLANTED if one.name == "matmul_relu-two-percent"]
    timed = finding(planted).timed
    assert timed is not None
    assert timed.ratio is not None
    assert 1.017 < timed.ratio.value < 1.021
