"""The pass that checks kernels under Triton's interpreter: what becomes of each kind of variant."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from kernels.harness import tables
from parsers.captures import parse_pass
from tests.checkouts import copy_checkout

OPERATOR = '''
"""Twice its input, by kernels with one trait each."""
import functools
import torch
import triton
import triton.language as tl
from kernels.harness.spec import Case, Cost, Operator, Tolerance, UnsupportedError, Variant

@triton.jit
def double(x_ptr, y_ptr, n, trait: tl.constexpr, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    inside = at < n - (1 if trait == "short" else 0)
    if trait == "far":
        at = at.to(tl.int64) + 2 ** 40
    x = tl.load(x_ptr + at, mask=inside)
    if trait == "waits" and tl.program_id(0) == 0:
        while tl.load(y_ptr + n - 1, volatile=True) != 7.0:
            pass
    if trait == "assembly":
        x = tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [x], tl.float32, True, 1)
    tl.store(y_ptr + at, 2 * x, mask=inside)

tuned = triton.autotune([triton.Config({"block": b}) for b in (4, 8)], key=[])(double)

def run(x, trait):
    y = torch.empty_like(x)
    double[(triton.cdiv(x.numel(), 4),)](x, y, x.numel(), trait, 4)
    return y

def tune(x):
    y = torch.empty_like(x)
    tuned[(1,)](x, y, x.numel(), "")
    return y

def refuse(x):
    raise UnsupportedError("not this input") if x.numel() else double

def stub(x):
    raise NotImplementedError("later") if x.numel() else double

TRAITS = ("right", "short", "far", "waits", "assembly")
OPERATOR = Operator(
    name="double",
    summary="2x",
    variants=(
        Variant("naive", lambda x: 2 * x, "2 * x"),
        Variant("tuned", tune, "tuned"),
        Variant("refuses", refuse, "refuses"),
        Variant("stub", stub, "not written yet"),
        Variant("misspelled", lambda x: double[(1,)](x, blok=4), "raises"),
        *(Variant(t, functools.partial(run, trait=t), t) for t in TRAITS),
    ),
    axes=("n",),
    cases=(Case((10,), "float32", first_in="full"), Case((2**30,), "float32")),
    make_inputs=lambda case, device, generator: (
        torch.randn(case.shape, generator=generator, device=device),
    ),
    reference=lambda x: 2 * x.double(),
    cost=lambda case: Cost(4 * case.elements, 4 * case.elements, 5),
    tolerance=lambda _: Tolerance(1e-5, 1e-6),
)
'''


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    where = copy_checkout(tmp_path_factory.mktemp("interpret") / "checkout")
    (where / "kernels/double.py").write_text(OPERATOR)
    out = where / "results/double/interpret"
    command = [sys.executable, "-m", "kernels.harness", "interpret", "double", "--out", str(out)]
    answer = subprocess.run(command, cwd=where, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    frame = parse_pass(out)["checks"]
    run = json.loads((out / "run.json").read_text())
    assert {row["case"] for row in run["cases"]} == {"10-float32"} == set(frame["case"])
    return {row["variant"]: row for row in tables.read(out / "checks.csv")}


def test_pytorch_alone_is_left_out(rows: dict[str, dict[str, str]]) -> None:
    assert "naive" not in rows


@pytest.mark.parametrize(
    ("variant", "status", "reason"),
    [
        ("right", "ok", ""),
        ("short", "wrong", "1 of 10 elements are wrong; 1 are NaN or infinite"),
        ("far", "failed", "the process died: SIG"),
        ("misspelled", "failed", "TypeError: "),
        ("stub", "failed", "NotImplementedError: later"),
        ("waits", "unseen", "a program waits for others, and here they run in turn"),
        ("assembly", "unseen", "Triton's interpreter lacks it: inline_asm not supported"),
        ("tuned", "unseen", "needs a GPU: "),
        ("refuses", "unsupported", "UnsupportedError: not this input"),
    ],
)
def test_what_becomes_of_a_variant(
    rows: dict[str, dict[str, str]], variant: str, status: str, reason: str
) -> None:
    row = rows[variant]
    assert row["status"] == status, row
    assert row["reason"].startswith(reason), row
