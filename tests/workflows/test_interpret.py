"""Wrong results that a diff finds without a GPU, by running the kernels of both revisions."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.checkouts import copy_checkout
from tests.workflows.repositories import commit, git
from tests.workflows.running import errors, jobs, planned, snakemake

GATE = ("reports/gate", "--config", "source=replay", 'operators=["double"]', "cases=quick")
PASS = "kernels/harness/interpret.py"
JOBS = ("interpret", "parse_interpreted", "interpret_revision", "parse_interpreted_of_revision")

OPERATOR = '''
"""Twice its input."""
import torch
import triton
import triton.language as tl
from kernels.harness.spec import Case, Cost, Operator, Tolerance, Variant

@triton.jit
def kernel(x_ptr, y_ptr, n, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, 2 * x, mask=at < n)

def run(x):
    y = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), 64)
    return y

OPERATOR = Operator(
    name="double",
    summary="2x",
    variants=(Variant("naive", lambda x: 2 * x, "2 * x"), Variant("triton", run, "a kernel")),
    axes=("n",),
    cases=(Case((200,), "float32", first_in="quick"),),
    make_inputs=lambda case, device, generator: (
        torch.empty(case.shape, device=device).normal_(generator=generator),
    ),
    reference=lambda x: 2 * x.double(),
    cost=lambda case: Cost(4 * case.elements, 4 * case.elements, case.elements),
    tolerance=lambda _: Tolerance(1e-6, 1e-6),
)
'''


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository of two commits; the harness of the first cannot run kernels without a GPU."""
    where = copy_checkout(tmp_path / "checkout")
    for folder in (where / "captures/h200").iterdir():
        if folder.name != "vector_add":
            shutil.rmtree(folder)
    (where / "kernels/double.py").write_text(OPERATOR)
    kept = (where / PASS).read_text()
    (where / PASS).unlink()
    git(where, "init", "--quiet", "--initial-branch=main")
    commit(where, "before")
    git(where, "tag", "before")
    (where / PASS).write_text(kept)
    commit(where, "after")
    return where


def test_a_wrong_result_fails_the_gate_in_one_line(repository: Path) -> None:
    (repository / "kernels/double.py").write_text(
        OPERATOR.replace("at < n)\n\ndef", "at < 7)\n\ndef")
    )
    code, output = snakemake(repository, *GATE, "base=main")
    assert code != 0
    assert {name: jobs(output)[name] for name in JOBS} == dict.fromkeys(JOBS, 1)
    (line,) = errors(output)
    named = "1 regression: double/triton/200-float32 is broken; the page says why"
    assert re.fullmatch(rf"error: results/reports/diff/\w+\.\.worktree\.md: {named}", line)
    (page,) = (repository / "results/reports/diff").glob("*.md")
    assert "| broken | wrong: 193 of 200 elements are wrong; 193 are NaN" in page.read_text()


def test_of_an_older_base_head_alone_is_checked(repository: Path) -> None:
    (repository / "kernels/double.py").write_text(OPERATOR.replace("2 * x, mask", "x + x, mask"))
    found = planned(repository, *GATE, "base=before")
    assert [name for name in JOBS if name in found] == ["interpret", "parse_interpreted"]
    git(repository, "stash", "--quiet")
    found = planned(repository, *GATE, "base=main", "head=before")
    assert not set(JOBS) & set(found)
