"""Configuration, targets, and how the workflow chooses between live and replay."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from kernels.harness import machine
from tests.workflows.running import planned, snakemake

NO_GPU = pytest.mark.skipif(bool(machine.gpu_facts()), reason="this machine has a GPU")


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("typo=1", "'typo' was unexpected"),
        ("source=later", "'later' is not one of ['auto', 'live', 'replay']"),
        ("time_rounds=10", "config.time_rounds: 10 is less than the minimum of 50"),
        ("nsys_repeats=many", "config.nsys_repeats: 'many' is not of type 'integer'"),
        ("cases=all", "config.cases: 'all' is not one of ['quick', 'default', 'full']"),
        ("operators=[nope]", "operators: no kernels/nope.py; there are attention, cross_entropy"),
        ("gpu=b200", "gpu=b200: captures/ holds h200; name one with `--config gpu=NAME`"),
    ],
)
def test_a_wrong_key_or_value_is_named(root: Path, config: str, said: str) -> None:
    replay = [] if config.startswith("source") else ["source=replay"]
    code, output = snakemake(root, "reports/all", "-n", "--config", config, *replay)
    assert code != 0
    assert len([line for line in output.splitlines() if said in line]) == 1, output
    assert "Traceback" not in output


@NO_GPU
def test_live_without_a_gpu_says_what_is_missing(root: Path) -> None:
    code, output = snakemake(root, "reports/all", "-n", "--config", "source=live")
    assert code != 0
    assert "source=live: nvidia-smi: shows no GPU; run on a machine with" in output


@NO_GPU
def test_recording_needs_a_gpu(root: Path) -> None:
    code, output = snakemake(root, "captures/record", "-n")
    assert code != 0
    assert "captures/record: nothing is measured here; run it on a machine with a GPU" in output


@NO_GPU
def test_checking_needs_a_gpu(root: Path) -> None:
    code, output = snakemake(root, "checks/all", "-n")
    assert code != 0
    assert "checks/all: nothing can be checked here; run it on a machine with a GPU" in output


@NO_GPU
def test_the_doctor_names_what_is_missing(root: Path) -> None:
    code, output = snakemake(root, "doctor")
    assert code == 0, output
    assert "nvidia-smi: shows no GPU; run on a machine with an NVIDIA GPU" in output


def test_builds_need_triton_alone(checkout: Path) -> None:
    code, output = snakemake(checkout, "builds/gelu")
    assert code == 0, output
    assert "Reports: results/reports/gelu.builds.md (in a browser: " in output
    page = (checkout / "results/reports/gelu.builds.md").read_text()
    for arch in ("sm_80", "sm_90", "sm_100"):
        assert page.count(f"| {arch} | ok |") == 3


def test_targets_are_listed(root: Path) -> None:
    code, output = snakemake(root, "--list-target-rules")
    assert code == 0
    assert {"reports/all", "reports/gelu", "builds/all", "captures/record", "doctor"} <= set(
        output.splitlines()
    )


def test_a_gpu_and_both_profilers_mean_live(root: Path, live: Path, checkout: Path) -> None:
    jobs = planned(checkout, "reports/all", path=live)
    passes = {"check", "build", "time", "nsys", "ncu"}
    assert passes <= set(jobs)
    assert not passes & set(planned(root, "reports/all", "--config", "source=replay", path=live))
    assert {"check_every_case", "sanitize"} <= set(planned(checkout, "checks/all", path=live))


@NO_GPU
def test_a_missing_profiler_means_replay(checkout: Path, live: Path) -> None:
    (live / "nsys").unlink()
    assert "ncu" not in planned(checkout, "reports/all", path=live)


def test_environments_name_what_the_requirements_do(root: Path) -> None:
    def pins(name: str) -> set[str]:
        lines = (root / "requirements" / name).read_text().splitlines()
        return {line for line in lines if re.match(r"[a-z]", line)}

    def environment(name: str) -> set[str]:
        content = yaml.safe_load((root / "workflows/envs" / name).read_text())
        return set(content["dependencies"][-1]["pip"])

    assert environment("replay.yaml") == pins("replay.txt")
    assert environment("gpu.yaml") == pins("replay.txt") | pins("build.txt")
    constraints = {line.lower().replace("_", "-") for line in pins_of(root)}
    assert {line.replace("_", "-") for line in pins("replay.txt")} <= constraints


def pins_of(root: Path) -> list[str]:
    return (root / "requirements/constraints.txt").read_text().splitlines()
