"""The verdict of each recorded capture, against what its numbers say to a reader."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable

import pytest

from reports.bottleneck import Bottleneck, Confidence, diagnose
from reports.evidence import gather
from reports.frames import load, records
from reports.limits import Kind
from reports.summary import compare
from tests.captured import Captured
from tests.checkouts import ROOT

CAPTURES = ROOT / "captures" / "h200"
OPERATORS = sorted(folder.name for folder in CAPTURES.iterdir())
TINY = ("67x", "1x2x1x67x64", "100003", "256x256x256")
"""Cases of so few bytes that no unit can be busy."""


Verdicts = Callable[[str], dict[tuple[str, str], Bottleneck]]


@pytest.fixture(scope="module")
def verdicts(captured: Captured) -> Verdicts:
    """Every verdict of an operator by case and variant."""

    @functools.cache
    def of(operator: str) -> dict[tuple[str, str], Bottleneck]:
        frames = load(captured.frames(operator))
        rows = records(gather(frames, compare(frames)))
        cases = dict.fromkeys(row["case"] for row in rows)
        return {
            (case, verdict.variant): verdict
            for case in cases
            for verdict in diagnose([row for row in rows if row["case"] == case])
        }

    return of


EXPECTED = (
    # Its masks and softmax are kernels of their own, whose issue slots are at 75 %; the fused one
    # keeps the tensor pipe at 73 %.
    ("attention", "4x16x16x4096x128-bfloat16-causal", "naive", Kind.CORES),
    ("attention", "4x16x16x4096x128-bfloat16-causal", "triton_hopper", Kind.TENSOR),
    # Blocks of 128 threads with 49 % of the tensor pipe: products wait for the softmax between.
    ("attention", "4x16x16x4096x128-bfloat16", "triton", Kind.LATENCY),
    # Softmax of heads of 64 takes special functions as long as the tensor pipe: each at 48 %.
    ("attention", "4x16x16x4096x64-bfloat16-causal", "triton_hopper", Kind.LATENCY),
    # log_softmax is written and read again: four times the fewest bytes at 84 % of DRAM.
    ("cross_entropy", "8192x131072-float32", "naive", Kind.DRAM),
    ("cross_entropy", "8192x131072-float32", "triton", Kind.DRAM),
    # It reads once, yet issues in 93 % of the cycles.
    ("cross_entropy", "8192x131072-float32", "compiled", Kind.CORES),
    ("cross_entropy_backward", "4096x131072-float32", "naive", Kind.DRAM),
    ("cross_entropy_backward", "4096x131072-float32", "triton", Kind.DRAM),
    # Nine launches at 88 % of DRAM, ten times the fewest bytes; one launch at 99 % of a copy.
    ("gelu", "8192x8192-float32", "naive", Kind.DRAM),
    ("gelu", "8192x8192-float32", "triton", Kind.DRAM),
    # bfloat16 halves the bytes, not the instructions: 89 % of the issue slots.
    ("gelu", "8192x8192-bfloat16", "compiled", Kind.CORES),
    ("gelu", "8192x8192-bfloat16", "triton", Kind.DRAM),
    # As fast as a copy, though the output fits in L2 and DRAM is at 57 %.
    ("gelu", "4099x2053-float32", "triton", Kind.DRAM),
    ("gelu_backward", "8192x8192-float32", "naive", Kind.DRAM),
    ("gelu_backward", "8192x8192-float32", "triton", Kind.DRAM),
    ("gelu_backward", "8192x8192-bfloat16", "compiled", Kind.CORES),
    # Three quarters of the time are launches that keep DRAM at 55 %, but all have 62 % on average.
    ("layer_norm", "16384x4096-float32", "naive", Kind.DRAM),
    ("layer_norm", "16384x4096-float32", "triton", Kind.DRAM),
    ("layer_norm_backward", "16384x4096-float32", "naive", Kind.DRAM),
    ("layer_norm_backward", "16384x4096-float32", "triton", Kind.DRAM),
    ("matmul_relu", "4096x4096x4096-bfloat16", "naive", Kind.TENSOR),
    ("matmul_relu", "4096x4096x4096-bfloat16", "triton", Kind.TENSOR),
    # tf32 operands pass through shared memory twice: 86 % of its wavefronts.
    ("matmul_relu", "4096x4096x4096-float32-tf32", "triton_basic", Kind.SHARED),
    # Float32 without tensor cores: 80 % of the FMA pipe, 89 % of the issue slots.
    ("matmul_relu", "4096x4096x4096-float32-ieee", "builtin", Kind.CORES),
    # Rows of 4097 two-byte elements are not aligned: 3.5 of 32 bytes a sector.
    ("matmul_relu", "4097x4097x4097-bfloat16", "builtin", Kind.UNCOALESCED),
    ("matmul_relu", "4096x11008x4096-bfloat16", "triton_basic", Kind.L2),
    ("matmul_sweep", "4096x4096x4096-bfloat16-cubic", "naive", Kind.TENSOR),
    ("matmul_sweep", "4096x4096x4096-bfloat16-cubic", "triton", Kind.TENSOR),
    ("row_sum", "16384x16384-float32", "naive", Kind.DRAM),
    ("row_sum", "16384x16384-float32", "triton", Kind.DRAM),
    # 16 rows, 16 blocks: 116 of 132 SMs have none.
    ("row_sum", "16x16777216-float32", "triton", Kind.LATENCY),
    ("row_sum", "16x16777216-float32", "triton_split", Kind.DRAM),
    # Five launches, some at 80 % of DRAM and some of issue slots: 64 % of DRAM on average.
    ("softmax", "8192x8192-float32", "naive", Kind.DRAM),
    ("softmax", "8192x8192-float32", "triton", Kind.DRAM),
    ("softmax", "8192x8192-float32", "compiled", Kind.CORES),
    ("softmax", "37x20011-float32", "triton", Kind.LATENCY),
    ("softmax_backward", "8192x8192-float32", "naive", Kind.DRAM),
    ("softmax_backward", "8192x8192-float32", "triton", Kind.DRAM),
    # 4 of 32 bytes of each sector loaded, or stored: L2 is at 97 %, DRAM at 24 %.
    ("transpose", "8192x8192-float32", "naive", Kind.UNCOALESCED),
    ("transpose", "8192x8192-float32", "triton_uncoalesced", Kind.UNCOALESCED),
    ("transpose", "8192x8192-float32", "triton", Kind.DRAM),
    # A request uses a fifth of its sectors and L1 keeps the rest: DRAM is full of wanted bytes.
    ("vector_add", "268435456-float32-strided", "triton", Kind.DRAM),
    ("vector_add", "268435456-float32", "naive", Kind.DRAM),
    ("vector_add", "268435456-float32", "triton", Kind.DRAM),
)


def test_every_operator_has_an_expectation() -> None:
    assert {operator for operator, *_ in EXPECTED} == set(OPERATORS)


@pytest.mark.parametrize(("operator", "case", "variant", "kind"), EXPECTED)
def test_what_limits(
    verdicts: Verdicts, operator: str, case: str, variant: str, kind: Kind
) -> None:
    assert verdicts(operator)[case, variant].kind is kind


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_measured_variant_has_a_verdict_and_a_next_step(
    verdicts: Verdicts, operator: str
) -> None:
    outcomes = json.loads((CAPTURES / operator / "time" / "run.json").read_text())["outcomes"]
    timed = {(o["case"], o["variant"]) for o in outcomes if o["status"] == "ok"}
    found = verdicts(operator)
    assert timed <= found.keys()
    for verdict in found.values():
        assert verdict.next_steps
        assert verdict.evidence


@pytest.mark.parametrize("operator", OPERATORS)
def test_tiny_cases_are_bound_by_launch_or_latency(verdicts: Verdicts, operator: str) -> None:
    tiny = [v.kind for (case, _), v in verdicts(operator).items() if case.startswith(TINY)]
    assert set(tiny) <= {Kind.LAUNCH, Kind.LATENCY}


@pytest.mark.parametrize("operator", OPERATORS)
def test_everything_was_counted(verdicts: Verdicts, operator: str) -> None:
    found = verdicts(operator).values()
    assert not [verdict for verdict in found if verdict.unseen]
    assert not [verdict for verdict in found if verdict.kind is Kind.UNKNOWN]


def test_a_contradiction_is_said(verdicts: Verdicts) -> None:
    triton = verdicts("gelu")["4099x2053-float32", "triton"]
    assert triton.confidence is Confidence.MEDIUM
    assert "though DRAM is at 56." in triton.contradictions[0]


def test_naive_softmax_moves_four_times_the_fewest_bytes(verdicts: Verdicts) -> None:
    """Maximum, difference, exp, sum and quotient move 8 M N elements, a fused one 2 M N."""
    naive = verdicts("softmax")["8192x8192-float32", "naive"]
    (moved,) = [fact for fact in naive.evidence if fact.name == "moved over fewest"]
    assert moved.value == pytest.approx(4, abs=0.15)
    assert [step.split()[0] for step in naive.next_steps] == ["`builtin`", "`compiled`", "`triton`"]
