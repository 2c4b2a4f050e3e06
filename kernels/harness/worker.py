"""The measuring process: runs the pairs of a plan and writes what came of each.

A variant that raises costs only its own rows. One that breaks the process (a sticky CUDA error, a
crash) ends it with an exit code other than 0, and the driver runs every variant alone.
"""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import nvtx
import torch

from kernels.harness import discovery, tables
from kernels.harness.check import check
from kernels.harness.plan import Plan
from kernels.harness.spec import Case, Operator, Variant
from kernels.harness.timing import COPY_BYTES, FLUSH_BYTES, Clock, copy_call
from parsers.contract import DOMAIN, range_name

COPY = "copy"
RECOMPILE_LIMIT = 256

Calls = dict[str, Callable[[], Any]]


class Worker:
    """Runs one plan; ``outcomes`` fills with a row for every pair."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.operator: Operator = discovery.load(plan.operator)
        self.out = Path(plan.out)
        self.outcomes: list[dict[str, Any]] = []

    def run(self) -> None:
        """Do the plan's work and write its outcomes last: a file that is not there says it died.

        Raises
        ------
        torch.AcceleratorError, RuntimeError
            When a variant has broken the CUDA context.
        """
        _keep_every_compilation()
        {"check": self._check, "time": self._time, "ranges": self._ranges}[self.plan.work]()
        (self.out / "outcomes.json").write_text(json.dumps(self.outcomes), encoding="utf-8")

    def _by_case(self) -> Iterator[tuple[Case, list[Variant]]]:
        for case in self.operator.cases:
            names = [variant for variant, name in self.plan.pairs if name == case.name]
            if names:
                yield case, [self.operator.variant(name) for name in names]

    def _note(self, variant: str, case: Case, status: str, reason: str | None) -> None:
        self.outcomes.append(
            {"variant": variant, "case": case.name, "status": status, "reason": reason}
        )

    def _check(self) -> None:
        rows = []
        for case, variants in self._by_case():
            for variant in variants:
                try:
                    row = check(self.operator, variant, case, self.plan.device)
                except Exception as error:  # whatever a variant raises is its result
                    row = {
                        "operator": self.operator.name,
                        "variant": variant.name,
                        "case": case.name,
                        "status": "failed",
                        "reason": one_line(error),
                    }
                    self._synchronize()
                rows.append(row)
                self._note(variant.name, case, row["status"], row["reason"])
        tables.write(self.out / "checks.csv", rows)

    def _ready(self, case: Case, variants: list[Variant]) -> Calls:
        """Make inputs and run each variant until it is compiled and tuned; drop what raises."""
        seed = secrets.randbits(62)
        generator = torch.Generator(self.plan.device).manual_seed(seed)
        inputs = self.operator.make_inputs(case, self.plan.device, generator)
        calls: Calls = {}
        for variant in variants:
            call = partial(variant.run, *inputs)
            try:
                for _ in range(3):
                    call()
                self._synchronize()
            except Exception as error:  # whatever a variant raises is its result
                self._note(variant.name, case, "failed", one_line(error))
                self._synchronize()
                continue
            calls[variant.name] = call
            self._note(variant.name, case, "ok", None)
        return calls

    def _time(self) -> None:
        clock = Clock()
        copy = copy_call()
        samples, ceilings = [], []
        for case, variants in self._by_case():
            calls = self._ready(case, variants)
            calls[COPY] = copy
            clock.warm_up(calls, float(self.plan.settings["warm_up_s"]))
            for number, name, duration in clock.rounds(calls, int(self.plan.settings["rounds"])):
                if name == COPY:
                    ceilings.append(_ceiling(number, duration))
                else:
                    samples.append((self.operator.name, name, case.name, number, duration))
        fields = ("operator", "variant", "case", "round", "duration_ns")
        tables.write(
            self.out / "samples.csv", [dict(zip(fields, row, strict=True)) for row in samples]
        )
        tables.write(self.out / "ceilings.csv", ceilings)
        facts = json.dumps(clock.clocks_under_load(copy))
        (self.out / "facts.json").write_text(facts, encoding="utf-8")

    def _ranges(self) -> None:
        on_gpu = self.plan.device == "cuda"
        flush = torch.empty(FLUSH_BYTES if on_gpu else 1, dtype=torch.int8, device=self.plan.device)
        for case, variants in self._by_case():
            calls = self._ready(case, variants)
            for _ in range(int(self.plan.settings["repeats"])):
                for name, call in calls.items():
                    flush.zero_()
                    self._synchronize()
                    entered = range_name(self.operator.name, name, case.name)
                    with nvtx.annotate(entered, domain=DOMAIN):
                        call()
                    self._synchronize()

    def _synchronize(self) -> None:
        if self.plan.device == "cuda":
            torch.cuda.synchronize()


def _ceiling(number: int, duration: float) -> dict[str, Any]:
    return {
        "ceiling": COPY,
        "round": number,
        "moved_bytes": 2 * COPY_BYTES,
        "duration_ns": duration,
    }


def _keep_every_compilation() -> None:
    """Let one process compile every case; past its default limit torch falls back to eager."""
    if dynamo := sys.modules.get("torch._dynamo"):  # imported by the first torch.compile
        dynamo.config.recompile_limit = RECOMPILE_LIMIT
        dynamo.config.fail_on_recompile_limit_hit = True


def one_line(error: BaseException) -> str:
    """Return an exception as one line: its type and the first line of its message."""
    message = str(error).strip().splitlines()
    return f"{type(error).__name__}: {message[0]}" if message else type(error).__name__
