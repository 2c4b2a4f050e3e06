"""The passes from the outside, with stand-ins for the profilers and without a GPU."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernels.harness import tables
from kernels.harness.profilers import complaint

OPERATOR = '''
"""Twice its input; one variant crashes the process, one raises, one is wrong."""
import os
import torch
from kernels.harness.spec import Case, Cost, Operator, Tolerance, Variant

def crash(x):
    os._exit(7)

def refuse(x):
    raise ValueError("this variant takes no floats\\nof /home/someone/floats.py")

OPERATOR = Operator(
    name="double",
    summary="2x",
    variants=(Variant("naive", lambda x: 2 * x, "2 * x"), OTHERS),
    axes=("n",),
    cases=(Case((5,), "float32"), Case((6,), "float32")),
    make_inputs=lambda case, device, generator: (torch.randn(case.shape, generator=generator),),
    reference=lambda x: 2 * x.double(),
    cost=lambda case: Cost(20, 20, 5),
    tolerance=lambda _: Tolerance(1e-5, 1e-6),
)
'''


@pytest.fixture
def workplace(checkout: Path) -> Path:
    others = 'Variant("wrong", lambda x: 2 * x + 1, "off"), Variant("refuses", refuse, "raises")'
    (checkout / "kernels/double.py").write_text(OPERATOR.replace("OTHERS", others))
    return checkout


@pytest.fixture
def crashing(checkout: Path) -> Path:
    others = 'Variant("crashes", crash, "exits")'
    (checkout / "kernels/double.py").write_text(OPERATOR.replace("OTHERS", others))
    return checkout


def harness(
    where: Path, *arguments: str, path: Path | None = None
) -> subprocess.CompletedProcess[str]:
    environment = dict(os.environ)
    if path is not None:
        environment["PATH"] = f"{path}:/usr/bin:/bin"
    return subprocess.run(
        [sys.executable, "-m", "kernels.harness", *arguments],
        cwd=where,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def check(where: Path) -> dict[tuple[str, str], dict[str, str]]:
    answer = harness(where, "check", "double", "--device", "cpu", "--out", "out/check")
    assert answer.returncode == 0, answer.stderr
    rows = tables.read(where / "out/check/checks.csv")
    return {(row["variant"], row["case"]): row for row in rows}


def outcomes(where: Path, name: str) -> dict[tuple[str, str], tuple[str, str | None]]:
    run = json.loads((where / f"out/{name}/run.json").read_text())
    return {
        (row["variant"], row["case"]): (row["status"], row["reason"]) for row in run["outcomes"]
    }


def test_check_keeps_what_ran_beside_a_variant_that_raises(workplace: Path) -> None:
    rows = check(workplace)
    assert len(rows) == 6
    assert rows["naive", "5-float32"]["status"] == "ok"
    assert rows["wrong", "5-float32"]["status"] == "wrong"
    assert rows["refuses", "6-float32"]["status"] == "failed"
    assert rows["refuses", "6-float32"]["reason"] == (
        "ValueError: this variant takes no floats of floats.py"
    )

    # run.json says what ran and hashes what was written
    run = json.loads((workplace / "out/check/run.json").read_text())
    table = (workplace / "out/check/checks.csv").read_bytes()
    assert run["files"] == {"checks.csv": hashlib.sha256(table).hexdigest()}
    assert run["run"]["operator"] == "double"
    assert run["run"]["pass"] == "check"
    assert [row["variant"] for row in run["variants"] if row["baseline"]] == ["naive"]
    assert run["cases"][0]["min_read_bytes"] == 20


def test_a_crash_costs_only_the_crashing_variant(crashing: Path) -> None:
    rows = check(crashing)
    assert rows["naive", "5-float32"]["status"] == "ok"
    found = outcomes(crashing, "check")
    assert found["naive", "6-float32"] == ("ok", None)
    assert found["crashes", "5-float32"][0] == "failed"
    assert str(found["crashes", "5-float32"][1]).startswith("the process died: ")
    run = json.loads((crashing / "out/check/run.json").read_text())
    assert json.loads(run["run"]["settings"])["each_variant_alone"] is True


def write_checks(where: Path, verdict: str, others: str) -> None:
    """Write what a check would have: naive is as said, others are ok, wrong is wrong."""
    rows = ["variant,case,status,reason"]
    for case in ("5-float32", "6-float32"):
        rows.append(f"naive,{case},{verdict},")
        rows.append(f"wrong,{case},wrong,5 of 5 elements are wrong")
        rows.append(f"{others},{case},ok,")
    (where / "out/check").mkdir(parents=True)
    (where / "out/check/checks.csv").write_text("\n".join(rows) + "\n")


def fake_tool(folder: Path, name: str, script: str) -> Path:
    folder.mkdir(exist_ok=True)
    tool = folder / name
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)
    return folder


def profile(
    where: Path, name: str, path: Path, verdict: str = "ok", others: str = "none"
) -> subprocess.CompletedProcess[str]:
    write_checks(where, verdict, others)
    arguments = (name, "double", "--device", "cpu", "--check", "out/check", "--out", f"out/{name}")
    return harness(where, *arguments, path=path)


def test_missing_tool_is_one_line(workplace: Path, tmp_path: Path) -> None:
    answer = profile(workplace, "ncu", tmp_path / "nothing")
    assert answer.returncode == 2
    assert answer.stderr.count("\n") == 1
    assert answer.stderr.startswith("error: ncu: not on PATH; install NVIDIA Nsight Compute")


def test_no_permission_is_said_and_nothing_is_kept(workplace: Path, tmp_path: Path) -> None:
    said = "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access counters"
    answer = profile(workplace, "ncu", fake_tool(tmp_path / "bin", "ncu", f"echo '{said}'"))
    assert answer.returncode == 2
    last = answer.stderr.strip().splitlines()[-1]
    assert last.startswith("error: ncu: this user may not read GPU performance counters")
    assert not (workplace / "out/ncu/run.json").exists()


@pytest.mark.parametrize(
    ("said", "cause", "remedy"),
    [
        ("==ERROR== ERR_NVGPUCTRPERM - The user", "may not read", "run as root"),
        ("==WARNING== No kernels were profiled.", "no kernel was launched", "check that"),
        ("==ERROR== Cuda driver is not compatible with", "driver is too old", "update the driver"),
        ("==ERROR== Failed: LibraryNotLoaded", "could not be loaded", "on the host"),
        ("==ERROR== ERR_NVGPUCTR", "in use or not available", "end other profilers"),
    ],
)
def test_each_complaint_of_ncu_has_a_cause_and_a_way_out(
    said: str, cause: str, remedy: str
) -> None:
    known = complaint(f"==PROF== Connected to process 7\n{said}\n")
    assert known is not None
    assert cause in known.cause
    assert remedy in known.remedy


def test_usual_output_is_no_complaint() -> None:
    said = '==PROF== Profiling "kernel" - 0: 0%....50%....100% - 15 passes'
    assert complaint(said) is None


def test_only_what_the_check_passed_is_profiled(workplace: Path, tmp_path: Path) -> None:
    """A stand-in for ncu runs the program it is given, as ncu does, and writes a report."""
    script = """
test "$1" = --query-metrics && exit
while [ "$1" != "--export" ]; do shift; done
echo report > "$2.ncu-rep"; shift 2
exec "$@"
"""
    answer = profile(workplace, "ncu", fake_tool(tmp_path / "bin", "ncu", script))
    assert answer.returncode == 0, answer.stderr
    found = outcomes(workplace, "ncu")
    assert found["naive", "5-float32"] == ("ok", None)
    assert found["wrong", "5-float32"][0] == "skipped"
    assert "5 of 5 elements are wrong" in str(found["wrong", "5-float32"][1])
    assert found["refuses", "5-float32"] == ("skipped", "check: it was not checked")
    run = json.loads((workplace / "out/ncu/run.json").read_text())
    assert list(run["files"]) == ["all.ncu-rep"]


LISTED = """
Device NVIDIA GeForce RTX 5090 (GB202)
------------------- ------- ---- ----------------------------
dram__bytes_op_read Counter byte # of bytes read from DRAM
                                 dram__bytes_read in no column
"""


def test_ncu_is_asked_for_what_the_chip_counts(workplace: Path, tmp_path: Path) -> None:
    script = f"""
if [ "$1" = --query-metrics ]; then echo '{LISTED}'; exit; fi
while [ "$1" != "--metrics" ]; do shift; done
asked=$2
while [ "$1" != "--export" ]; do shift; done
echo "$asked" > "$2.ncu-rep"; shift 2
exec "$@"
"""
    answer = profile(workplace, "ncu", fake_tool(tmp_path / "bin", "ncu", script))
    assert answer.returncode == 0, answer.stderr
    asked = (workplace / "out/ncu/all.ncu-rep").read_text().strip().split(",")
    assert [name for name in asked if "." in name] == ["dram__bytes_op_read.sum"]
    assert "launch__grid_size" in asked
    run = json.loads((workplace / "out/ncu/run.json").read_text())["run"]
    lacking = json.loads(run["settings"])["unknown_to_chip"]
    assert "dram_write_bytes" in lacking
    assert not {"dram_read_bytes", "grid_size"} & set(lacking)


def test_a_deep_profile_is_of_one_variant(workplace: Path, tmp_path: Path) -> None:
    script = """
test "$1" = --query-metrics && exit
test "$1" = --version || echo "$@" > asked
while [ "$1" != "--export" ]; do shift; done
echo report > "$2.ncu-rep"; shift 2
exec "$@"
"""
    tools = fake_tool(tmp_path / "bin", "ncu", script)
    write_checks(workplace, "ok", "ok")
    where = ("--check", "out/check", "--out", "out/deep/naive", "--device", "cpu")
    answer = harness(workplace, "deep", "double", "--variant", "naive", *where, path=tools)
    assert answer.returncode == 0, answer.stderr
    assert outcomes(workplace, "deep/naive") == {("naive", "5-float32"): ("ok", None)}
    asked = (workplace / "asked").read_text()
    assert "--set full --import-source yes" in asked
    assert "--import-sass off" not in asked
    answer = harness(workplace, "deep", "double", "--variant", "nave", *where, path=tools)
    assert answer.returncode == 2
    assert answer.stderr.endswith(
        "error: kernels/double.py: has no variant 'nave'; choose one of naive, wrong, refuses\n"
    )


HALF_REPORT = """
test "$1" = --query-metrics && exit
while [ "$1" != "--export" ]; do shift; done
echo half > "$2.ncu-rep"; report="$2"; shift 2
"$@" || { echo "==PROF== Disconnected"; exit 7; }
echo whole > "$report.ncu-rep"
"""


def test_a_crash_under_a_profiler_leaves_no_half_report(crashing: Path, tmp_path: Path) -> None:
    tools = fake_tool(tmp_path / "bin", "ncu", HALF_REPORT)
    answer = profile(crashing, "ncu", tools, others="crashes")
    assert answer.returncode == 0, answer.stderr
    assert outcomes(crashing, "ncu")["crashes", "5-float32"] == (
        "failed",
        "the process died: Disconnected",
    )
    run = json.loads((crashing / "out/ncu/run.json").read_text())
    assert list(run["files"]) == ["naive.ncu-rep"]
    assert (crashing / "out/ncu/naive.ncu-rep").read_text() == "whole\n"


def test_no_kernels_of_one_variant_is_its_own_failure(crashing: Path, tmp_path: Path) -> None:
    """A variant that dies before its range makes ncu say that nothing was profiled."""
    script = HALF_REPORT.replace("Disconnected", "No kernels were profiled").replace(
        "exit 7", 'rm -f "$report.ncu-rep"; exit 7'
    )
    tools = fake_tool(tmp_path / "bin", "ncu", script)
    answer = profile(crashing, "ncu", tools, others="crashes")
    assert answer.returncode == 0, answer.stderr
    found = outcomes(crashing, "ncu")
    assert found["naive", "5-float32"] == ("ok", None)
    assert str(found["crashes", "5-float32"][1]).startswith("no kernel was launched inside")


def test_nothing_right_means_nothing_measured(workplace: Path, tmp_path: Path) -> None:
    answer = profile(workplace, "ncu", fake_tool(tmp_path / "bin", "ncu", "exit 0"), "wrong")
    assert answer.returncode == 2
    assert answer.stderr.startswith(
        "error: kernels/double.py: no variant computes the right thing; mend it"
    )


def test_failing_export_of_nsys_is_one_line(workplace: Path, tmp_path: Path) -> None:
    script = """
if [ "$1" = export ]; then echo "cannot open the report"; exit 1; fi
while [ "${1#--output=}" = "$1" ]; do shift; done
echo report > "${1#--output=}.nsys-rep"; shift
exec "$@"
"""
    answer = profile(workplace, "nsys", fake_tool(tmp_path / "bin", "nsys", script))
    assert answer.returncode == 2
    last = answer.stderr.strip().splitlines()[-1]
    assert last.startswith("error: nsys export: cannot open the report; run it by hand on ")


def test_unknown_operator_is_one_line(workplace: Path) -> None:
    answer = harness(workplace, "check", "nope", "--out", "out/check")
    assert answer.returncode == 2
    assert answer.stderr.count("\n") == 1
    assert "nope" in answer.stderr
    assert "gelu" in answer.stderr
