"""The harness on a real GPU: broken kernels are found and cost only their own rows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from kernels.harness import tables
from kernels.harness.check import poisoned
from tests.checkouts import copy_checkout

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

OPERATOR = '''
"""Twice its input, on a GPU, with every way of being broken."""
import torch
import triton
import triton.language as tl
from kernels.harness.spec import Case, Cost, Operator, Tolerance, Variant

@triton.jit
def double(x_ptr, y_ptr, n, offset, block: tl.constexpr):
    i = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(y_ptr + i + offset, 2 * tl.load(x_ptr + i, mask=i < n), mask=i < n)

def run(x, n, offset=0):
    y = torch.empty_like(x)
    double[(triton.cdiv(n, 1024),)](x, y, n, offset, block=1024)
    return y

OPERATOR = Operator(
    name="double",
    summary="2x",
    variants=(
        Variant("naive", lambda x: 2 * x, "2 * x"),
        Variant("forgets", lambda x: run(x, x.numel() - 1000), "leaves the end unwritten"),
        Variant("illegal", lambda x: run(x, x.numel(), 1 << 45), "writes where it may not"),
        Variant("right", lambda x: run(x, x.numel()), "2 * x in Triton"),
    ),
    axes=("n",),
    cases=(Case((1 << 20,), "float32"),),
    make_inputs=lambda c, d, g: (torch.randn(c.shape, device=d, generator=g),),
    reference=lambda x: 2 * x.double(),
    cost=lambda case: Cost(4 * case.elements, 4 * case.elements, case.elements),
    tolerance=lambda _: Tolerance(1e-5, 1e-6),
)
'''


def harness(where: Path, *arguments: str) -> None:
    command = [sys.executable, "-m", "kernels.harness", *arguments]
    answer = subprocess.run(
        command, cwd=where, env=os.environ, capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr[-4000:]


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = copy_checkout(tmp_path_factory.mktemp("gpu") / "checkout")
    (where / "kernels/double.py").write_text(OPERATOR)
    harness(where, "check", "double", "--out", "out/check")
    return where


def test_check_finds_what_was_not_written_and_survives_an_illegal_access(checked: Path) -> None:
    rows = {row["variant"]: row for row in tables.read(checked / "out/check/checks.csv")}
    outcomes = json.loads((checked / "out/check/run.json").read_text())["outcomes"]
    status = {row["variant"]: row["status"] for row in outcomes}
    assert status == {"naive": "ok", "forgets": "wrong", "illegal": "failed", "right": "ok"}
    assert rows["forgets"]["wrong_elements"] == "1000"
    reasons = {row["variant"]: row["reason"] for row in outcomes}
    assert "illegal" in reasons["illegal"] or "died" in reasons["illegal"]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_new_memory_is_poisoned_whatever_the_dtype(dtype: torch.dtype) -> None:
    with poisoned([1000 * 1000 * dtype.itemsize], "cuda"):
        fresh = torch.empty(1000, 1000, dtype=dtype, device="cuda")
    assert bool(fresh.isnan().all())


def test_only_right_variants_are_timed_in_interleaved_rounds(checked: Path) -> None:
    arguments = ("--check", "out/check", "--out", "out/time", "--rounds", "50")
    harness(checked, "time", "double", *arguments, "--warm-up-s", "0.1")
    rows = tables.read(checked / "out/time/samples.csv")
    assert {row["variant"] for row in rows} == {"naive", "right"}
    assert len(rows) == 100
    assert all(float(row["duration_ns"]) > 0 for row in rows)
    bounds = {row["ceiling"] for row in tables.read(checked / "out/time/ceilings.csv")}
    assert bounds == {"copy", "equal_copy", "empty"}
    run = json.loads((checked / "out/time/run.json").read_text())["run"]
    assert run["sm_clock_hz"] > 0
    assert run["sm_count"] == torch.cuda.get_device_properties(0).multi_processor_count
