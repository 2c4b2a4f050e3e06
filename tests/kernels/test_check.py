"""The check finds every way of being wrong, on the CPU."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

from kernels.harness.check import check, compare
from kernels.harness.spec import Case, Cost, Inputs, Operator, Outputs, Tolerance, Variant

CASE = Case((50,), "float32")
TOLERANCE = Tolerance(rtol=1e-5, atol=1e-6)


def _inputs(case: Case, device: str, generator: torch.Generator | None) -> Inputs:
    return (torch.randn(case.shape, device=device, generator=generator),)


def _double(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def operator(run: Callable[[torch.Tensor], torch.Tensor]) -> Operator:
    return Operator(
        name="double",
        summary="twice its input",
        variants=(Variant("naive", _double, "x * 2"), Variant("tried", run, "under test")),
        axes=("n",),
        cases=(CASE,),
        make_inputs=_inputs,
        reference=lambda x: _double(x.double()),
        cost=lambda case: Cost(4 * case.elements, 4 * case.elements, case.elements),
        tolerance=lambda _: TOLERANCE,
    )


def outcome(run: Callable[[torch.Tensor], torch.Tensor]) -> tuple[str, str | None]:
    tried = operator(run)
    row = check(tried, tried.variant("tried"), CASE, "cpu")
    return row["status"], row["reason"]


def test_right() -> None:
    assert outcome(lambda x: x + x) == ("ok", None)


def test_unwritten_element_is_wrong() -> None:
    def forgets_the_last(x: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(x)
        y[:-1] = 2 * x[:-1]
        return y

    status, reason = outcome(forgets_the_last)
    assert status == "wrong"
    assert reason is not None
    assert reason.startswith("1 of 50 elements are wrong; 1 are NaN or infinite")


def test_slightly_off_is_wrong_and_says_by_how_much() -> None:
    status, reason = outcome(lambda x: 2 * x + 1e-3)
    assert status == "wrong"
    assert reason is not None
    assert "largest error 0.001" in reason
    assert "times the tolerance" in reason


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (lambda x: (2 * x)[:-1], "the output's shape is (49,), not (50,)"),
        (lambda x: (2 * x).double(), "the output's dtype is torch.float64, not torch.float32"),
        (lambda x: x.mul_(2).clone(), "the variant changed its inputs"),
    ],
)
def test_misfit(run: Callable[[torch.Tensor], torch.Tensor], reason: str) -> None:
    assert outcome(run) == ("wrong", reason)


def test_inputs_differ_between_checks() -> None:
    tried = operator(_double)
    seeds = {check(tried, tried.variant("naive"), CASE, "cpu")["seed"] for _ in range(3)}
    assert len(seeds) == 3


def test_compare_counts_infinities_and_nan_that_agree_as_right() -> None:
    values = torch.tensor([1.0, math.inf, -math.inf, math.nan])
    result = compare(values, values.double(), TOLERANCE)
    assert result["status"] == "ok"
    assert result["wrong_elements"] == 0
    assert result["max_abs_error"] == 0


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_compare_never_passes_what_is_not_finite(bad: float) -> None:
    reference = torch.ones(4, dtype=torch.float64)
    output = torch.ones(4)
    output[2] = bad
    result = compare(output, reference, TOLERANCE)
    assert (result["status"], result["wrong_elements"]) == ("wrong", 1)


def test_compare_finds_one_element_that_a_norm_would_hide() -> None:
    reference = torch.ones(10_000, dtype=torch.float64)
    output = torch.ones(10_000)
    output[17] += 1e-3
    result = compare(output, reference, TOLERANCE)
    assert result["wrong_elements"] == 1
    assert result["relative_error"] == pytest.approx(1e-5, rel=1e-3)
    assert result["tolerance_share"] == pytest.approx(1e-3 / 1.1e-5, rel=1e-3)


def test_an_exact_answer_is_right_even_without_tolerance() -> None:
    values = torch.tensor([0.0, 1.0])
    result = compare(values, values.double(), Tolerance(rtol=1e-6, atol=0))
    assert (result["status"], result["tolerance_share"]) == ("ok", 0)


def test_an_input_that_holds_nan_is_not_taken_for_changed() -> None:
    def with_nan(case: Case, device: str, generator: torch.Generator | None) -> Inputs:
        (x,) = _inputs(case, device, generator)
        x[0] = math.nan
        return (x,)

    tried = operator(lambda x: x + x)
    tried = Operator(**{**tried.__dict__, "make_inputs": with_nan})
    assert check(tried, tried.variant("tried"), CASE, "cpu")["status"] == "ok"


def test_operator_refuses_what_cannot_be() -> None:
    good = operator(_double)
    with pytest.raises(ValueError, match="baseline 'none' is not one of"):
        Operator(**{**good.__dict__, "baseline": "none"})
    known = {"float32": TOLERANCE}
    with pytest.raises(ValueError, match="no tolerance for 1-float16"):
        Operator(
            **{
                **good.__dict__,
                "cases": (Case((1,), "float16"),),
                "tolerance": lambda case: known[case.dtype],
            }
        )
    with pytest.raises(ValueError, match="case 1x2-float32 has 2 extents for the axes"):
        Operator(**{**good.__dict__, "cases": (Case((1, 2), "float32"),)})
    with pytest.raises(ValueError, match="first_in='some' is none of"):
        Case((1,), "float32", first_in="some")
    with pytest.raises(ValueError, match="labels take lower-case letters"):
        Case((1,), "float32", ("A/b",))
    with pytest.raises(ValueError, match="two variants share a name"):
        Operator(**{**good.__dict__, "variants": (good.variants[0], good.variants[0])})
    with pytest.raises(ValueError, match="two cases share a name"):
        Operator(**{**good.__dict__, "cases": (CASE, CASE)})
    for name in ("all", "noise", "a/b", "A", ""):
        variant = Variant(name, _double, "x * 2")
        with pytest.raises(ValueError, match="needs a name of lower-case letters"):
            Operator(**{**good.__dict__, "variants": (*good.variants, variant)})


def test_sets_hold_one_another() -> None:
    quick, usual, full = (
        Case((size,), "float32", first_in=chosen)
        for size, chosen in enumerate(("quick", "default", "full"), 1)
    )
    tried = Operator(**{**operator(_double).__dict__, "cases": (full, quick, usual)})
    assert tried.cases_in("quick") == (quick,)
    assert tried.cases_in("default") == (quick, usual)
    assert tried.cases_in("full") == (full, quick, usual)
    with pytest.raises(ValueError, match="cases='all' is none of"):
        tried.cases_in("all")


def two_outputs(run: Callable[[torch.Tensor], Outputs]) -> Operator:
    return Operator(
        **{
            **operator(_double).__dict__,
            "variants": (Variant("naive", run, "under test"),),
            "reference": lambda x: (x.double(), x.double().sum()),
            "tolerance": lambda _: (TOLERANCE, Tolerance(0, 1e-3)),
        }
    )


def test_each_of_several_outputs_has_its_own_tolerance() -> None:
    good = two_outputs(lambda x: (x.clone(), x.sum() + 5e-4))
    row = check(good, good.variants[0], CASE, "cpu")
    assert (row["status"], row["elements"], row["atol"]) == ("ok", 51, 1e-3)
    bad = two_outputs(lambda x: (x.clone(), x.sum() + 1))
    row = check(bad, bad.variants[0], CASE, "cpu")
    assert row["status"] == "wrong"
    assert row["reason"].startswith("output 1: 1 of 1 elements are wrong")
    few = two_outputs(lambda x: x.clone())
    assert check(few, few.variants[0], CASE, "cpu")["reason"] == "1 outputs, not 2"


def test_setup_is_not_part_of_the_call() -> None:
    tried = operator(_double)
    variant = Variant("halves", lambda y: 4 * y, "4 * x / 2", setup=lambda x: (x / 2,))
    assert check(tried, variant, CASE, "cpu")["status"] == "ok"


def test_errors_add_up_over_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    output = torch.arange(1.0, 11.0)
    reference = output.double()
    output[0] += 0.5
    output[9] += 2
    whole = compare(output, reference, TOLERANCE)
    monkeypatch.setattr("kernels.harness.check.CHUNK", 3)
    assert compare(output, reference, TOLERANCE) == pytest.approx(whole)
    assert whole["wrong_elements"] == 2
    assert whole["max_abs_error"] == 2


def test_some_variants_alone() -> None:
    good = operator(_double)
    others = tuple(Variant(name, _double, "x * 2") for name in ("fast", "faster"))
    tried = Operator(**{**good.__dict__, "variants": (*good.variants, *others)})
    assert tried.only([]) == tried
    assert [variant.name for variant in tried.only(["faster", "fast"]).variants] == [
        *("fast", "faster")
    ]
    assert tried.only(["fast", "none"]).baseline == "fast"
    assert tried.only(["fast", tried.baseline]).baseline == tried.baseline
    with pytest.raises(ValueError, match=r"none of no, none among .*fast, faster"):
        tried.only(["no", "none"])
