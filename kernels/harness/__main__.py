"""Command line of the harness: one pass over one operator, or the measuring process itself."""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import sys
from pathlib import Path

from kernels.harness.errors import HarnessError
from kernels.harness.machine import obstacles
from kernels.harness.spec import SETS, Operator

INTERPRETED = {"TRITON_INTERPRET": "1", "TORCH_COMPILE_DISABLE": "1", "OMP_NUM_THREADS": "1"}
"""Lets Triton interpret kernels and PyTorch compile nothing, on one core of the CPU. It is read
where a kernel or a compiled function is defined."""


def main(arguments: list[str] | None = None) -> int:
    """Run a subcommand; return 0, or 2 with one line on standard error for a user's mistake."""
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except HarnessError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m kernels.harness", description=__doc__)
    commands = parser.add_subparsers(required=True)
    work = commands.add_parser("work", help="the measuring process: run a plan")
    work.add_argument("plan", type=Path)
    work.set_defaults(run=_work)
    doctor = commands.add_parser("doctor", help="say what this machine cannot measure, and why")
    doctor.set_defaults(run=_doctor)
    interpret = commands.add_parser("interpret", help="check small cases without a GPU")
    interpret.add_argument("operator")
    interpret.add_argument("--out", type=Path, required=True, help="folder of the capture")
    interpret.set_defaults(run=_interpret)
    for name in ("build", "check", "time", "nsys", "ncu", "deep", "sanitize"):
        command = commands.add_parser(name, help=f"the {name} pass over an operator")
        command.add_argument("operator")
        command.add_argument("--out", type=Path, required=True, help="folder of the capture")
        command.add_argument("--device", default="cuda", help="cpu checks without a GPU")
        command.add_argument("--cases", default="default", choices=SETS, help="set of cases")
        command.set_defaults(run=_measure, name=name, variants=[])
        if name != "deep":
            command.add_argument("--variants", nargs="+", default=[], help="default: all")
        if name == "build":
            command.set_defaults(run=_build)
        if name == "sanitize":
            command.set_defaults(run=_sanitize)
        if name in ("time", "nsys", "ncu", "deep"):
            command.add_argument("--check", type=Path, required=True, help="folder of the check")
        if name == "time":
            command.add_argument("--rounds", type=int, default=100)
            command.add_argument("--warm-up-s", type=float, default=0.5)
            command.add_argument("--first-round", type=int, default=0, help="its number")
        if name in ("nsys", "ncu", "deep"):
            command.add_argument("--repeats", type=int, default=20 if name == "nsys" else 1)
        if name == "deep":
            command.add_argument("--variant", required=True, help="the only one to profile")
            command.add_argument("--case", help="default: that of the set that moves most bytes")
    return parser


def _work(options: argparse.Namespace) -> None:
    from kernels.harness.plan import Plan
    from kernels.harness.worker import Worker

    Worker(Plan.read(options.plan)).run()


def _doctor(_: argparse.Namespace) -> None:
    found = obstacles()
    print("\n".join(found) if found else "this machine can measure: GPU, ncu, nsys, torch, triton")


def _require_modules(*names: str) -> None:
    for name in names:
        if importlib.util.find_spec(name) is None:
            raise HarnessError(
                name,
                "not installed in this Python",
                "install it, on a machine without a GPU by `pip install -r requirements/build.txt`",
            )


def _operator(options: argparse.Namespace) -> Operator:
    """Load the operator, with the variants that are asked for."""
    from kernels.harness import discovery

    operator = discovery.load(options.operator)
    try:
        return operator.only(options.variants)
    except ValueError as error:
        name = f"kernels/{options.operator}.py"
        raise HarnessError(name, str(error), "choose among its variants") from None


def _measure(options: argparse.Namespace) -> None:
    _require_modules("torch", "triton", "nvtx")
    from kernels.harness.driver import Pass

    settings = {
        key: getattr(options, key)
        for key in ("rounds", "warm_up_s", "first_round", "repeats")
        if key in options
    }
    operator = _operator(options)
    _empty(options.out)
    one_pass = Pass(
        operator,
        options.name,
        options.out,
        settings,
        options.device,
        options.cases,
        getattr(options, "variant", None),
        getattr(options, "case", None),
    )
    one_pass.measure(getattr(options, "check", None))


def _build(options: argparse.Namespace) -> None:
    _require_modules("torch", "triton")
    from kernels.harness import build, provenance
    from kernels.harness.driver import write_run

    operator = _operator(options)
    began = provenance.origin(operator.name)
    cases = operator.cases_in(options.cases)
    builds = build.compile_operator(operator, cases=cases)
    _empty(options.out)
    build.save(operator.name, builds, options.out)
    row = provenance.run_row(operator, "build", began, tool=None, settings={"cases": options.cases})
    write_run(operator, cases, options.out, row, build.outcomes(builds))


def _sanitize(options: argparse.Namespace) -> None:
    _require_modules("torch", "triton", "nvtx")
    from kernels.harness import provenance, sanitize, tables
    from kernels.harness.driver import write_run

    operator = _operator(options)
    began = provenance.origin(operator.name)
    rows = sanitize.sanitize(operator)
    _empty(options.out)
    tables.write(options.out / "sanitizer.csv", rows, sanitize.COLUMNS)
    row = provenance.run_row(operator, "sanitize", began, tool="compute-sanitizer", settings={})
    write_run(operator, sanitize.small_cases(operator), options.out, row, [])


def _interpret(options: argparse.Namespace) -> None:
    _require_modules("torch", "triton")
    os.environ.update(INTERPRETED)
    from kernels.harness import discovery, interpret, provenance, tables
    from kernels.harness.driver import write_run

    operator = discovery.load(options.operator)
    began = provenance.origin(operator.name)
    rows = interpret.interpret(operator)
    _empty(options.out)
    tables.write(options.out / "checks.csv", rows, interpret.COLUMNS)
    outcomes = [{name: row[name] for name in interpret.COLUMNS[1:]} for row in rows]
    row = provenance.run_row(operator, "interpret", began, tool=None, settings={})
    write_run(operator, interpret.small_cases(operator), options.out, row, outcomes)


def _empty(folder: Path) -> None:
    """Begin with an empty folder, so that no file of an earlier capture stays among the new."""
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)


if __name__ == "__main__":
    sys.exit(main())
