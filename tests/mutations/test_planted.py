"""Planted changes without a GPU: each applies, computes what it should, and builds as told."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from kernels.harness import discovery
from kernels.harness.spec import Case
from parsers.schemas import BUILDS
from reports.diff import findings as diff
from reports.diff.findings import compare_builds
from tests.checkouts import ROOT
from tests.mutations.planted import FOLDER, PLANTED, Cause, Move, Planted, Verdict

RUN = [planted for planted in PLANTED if planted.small is not None]
BUILT = [planted for planted in PLANTED if planted.seen_in_build or planted.cause is None]

COSTLY = {
    Cause.ACCESS_WIDTH: ("load width", "store width"),
    # One compiler spills a little where another takes all registers that there are.
    Cause.SPILLS: ("spill loads", "spill stores", "theoretical occupancy"),
    Cause.TENSOR_CORES: ("tensor cores",),
}
"""What a build alone decides, and by which of its quantities."""

each = pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)


def applied(planted: Planted, *options: str, root: Path) -> str:
    command = ["git", "apply", *options, str(planted.patch)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{planted.name} no longer applies: {done.stderr}"
    return done.stdout


def probe(jobs: list[dict[str, Any]], **settings: str) -> list[Any]:
    done = subprocess.run(
        [sys.executable, str(FOLDER / "probe.py")],
        input=json.dumps(jobs),
        env={**os.environ, "OMP_NUM_THREADS": "1", **settings},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    answers: list[Any] = json.loads(done.stdout)
    return answers


def job(do: str, root: Path, planted: Planted, case: Case) -> dict[str, Any]:
    named = {"root": str(root), "operator": planted.operator, "variant": planted.variant}
    return {"do": do, **named, "case": [case.shape, case.dtype, case.labels]}


def measured(planted: Planted) -> Case:
    """Return the case of its operator that a planted change names."""
    cases = discovery.load(planted.operator).cases
    return next(case for case in cases if case.name == planted.case)


def building(root: Path, planted: Planted) -> dict[str, Any]:
    """Return the job that shows a planted change: most of the time of these tests is compiling."""
    known_at_launch = planted.build is not None and planted.build[0] in {"config", "kernel"}
    return job("launch" if known_at_launch else "build", root, planted, measured(planted))


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return a patched copy of the kernels for each planted change, by name."""
    folder = tmp_path_factory.mktemp("planted")
    trees = {planted.name: folder / planted.name for planted in PLANTED}
    for planted in PLANTED:
        tree = trees[planted.name]
        shutil.copytree(
            ROOT / "kernels", tree / "kernels", ignore=shutil.ignore_patterns("__pycache__")
        )
        applied(planted, root=tree)
    return trees


def test_every_patch_is_in_the_table_once() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.patch")) == sorted(p.name for p in PLANTED)
    assert len(PLANTED) >= 14


@each
def test_touches_kernels_alone(planted: Planted) -> None:
    applied(planted, "--check", root=ROOT)
    touched = [
        line.split("\t")[-1] for line in applied(planted, "--numstat", root=ROOT).split("\n")
    ]
    assert touched.pop() == ""
    assert touched
    assert all(path.startswith("kernels/") and "harness" not in path for path in touched)


@each
def test_changes_the_sources_of_its_operators_alone(
    planted: Planted, trees: dict[str, Path]
) -> None:
    changed = {
        name
        for name in discovery.names()
        if discovery.source_sha256(name)
        != discovery.source_sha256(name, trees[planted.name] / "kernels")
    }
    assert changed == {planted.operator, *planted.also}


@each
def test_names_a_variant_and_a_case(planted: Planted) -> None:
    assert planted.variant in discovery.variants(planted.operator)
    assert measured(planted).within("default")
    assert (planted.cause is None) == (planted.verdict is Verdict.SAME)


@pytest.fixture(scope="module")
def answers(trees: dict[str, Path]) -> dict[str, dict[str, Any]]:
    jobs = [job("run", trees[p.name], p, p.small) for p in RUN if p.small is not None]
    found = probe(jobs, TRITON_INTERPRET="1")
    return {planted.name: answer for planted, answer in zip(RUN, found, strict=True)}


@pytest.mark.parametrize("planted", RUN, ids=lambda planted: planted.name)
def test_only_the_wrong_one_is_wrong(planted: Planted, answers: dict[str, dict[str, Any]]) -> None:
    answer = answers[planted.name]
    expected = "wrong" if planted.verdict is Verdict.WRONG else "ok"
    assert answer["status"] == expected, answer["reason"]


@pytest.fixture(scope="module")
def builds(
    trees: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[list[Any], list[Any]]]:
    """Return the builds of each planted change before and after."""
    before = [building(ROOT, planted) for planted in BUILT]
    once = {json.dumps(job): job for job in before}
    after = [building(trees[planted.name], planted) for planted in BUILT]
    cache = str(tmp_path_factory.mktemp("triton"))
    found = probe([*once.values(), *after], TRITON_CACHE_DIR=cache)
    old = dict(zip(once, found, strict=False))
    new = found[len(once) :]
    return {
        planted.name: (old[json.dumps(job)], made)
        for planted, job, made in zip(BUILT, before, new, strict=True)
    }


def frame(planted: Planted, made: list[dict[str, Any]]) -> pd.DataFrame:
    """Return builds as the build pass records them."""
    named = {"operator": planted.operator, "variant": planted.variant, "case": planted.case}
    return BUILDS.conform([named | {"arch": "sm_90"} | row for row in made])


@pytest.mark.parametrize("planted", BUILT, ids=lambda planted: planted.name)
def test_a_comparison_of_builds_flags_it(planted: Planted, builds: dict[str, Any]) -> None:
    before, after = (frame(planted, made) for made in builds[planted.name])
    (found,) = compare_builds(planted.operator, before, after)
    names = [cause.name for cause in found.causes]
    if planted.cause is None:
        assert (found.verdict, names) == (diff.Verdict.SAME, [])
    elif planted.cause in COSTLY and planted.verdict is Verdict.SLOWER:
        assert found.verdict is diff.Verdict.COSTLIER, names
        worse = [cause.name for cause in found.causes if cause.worse]
        assert worse[0] in COSTLY[planted.cause]
    else:
        assert found.verdict in {diff.Verdict.CHANGED, diff.Verdict.COSTLIER}
        assert names


def figure(made: list[dict[str, Any]], column: str) -> Any:
    """Return the column of the first kernel; of ``kernel`` the count, of ``config`` all."""
    if column == "kernel":
        return len({row["kernel"] for row in made})
    return [row["config"] for row in made] if column == "config" else made[0][column]


@pytest.mark.parametrize("planted", BUILT, ids=lambda planted: planted.name)
def test_shows_in_the_build(planted: Planted, builds: dict[str, Any]) -> None:
    before, after = builds[planted.name]
    assert {row["status"] for row in (*before, *after)} == {"ok"}
    if planted.build is None:
        assert before == after
        return
    column, move = planted.build
    old, new = figure(before, column), figure(after, column)
    assert {Move.RISES: new > old, Move.FALLS: new < old, Move.DIFFERS: new != old}[move]
