"""The measuring process: runs the pairs of a plan and writes what came of each.

A variant that raises costs only its own rows. One that breaks the process (a sticky CUDA error, a
crash) ends it with an exit code other than 0, and the driver runs every variant alone.
"""

from __future__ import annotations

import importlib
import json
import secrets
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import nvtx
import torch

from kernels.harness import discovery, tables
from kernels.harness.check import check
from kernels.harness.errors import one_line
from kernels.harness.plan import Plan
from kernels.harness.reach import chosen_configs
from kernels.harness.spec import Case, Operator, UnsupportedError, Variant
from kernels.harness.timing import (
    COPY_BYTES,
    Call,
    Clock,
    Flush,
    copy_call,
    empty_call,
    matmul_call,
    matmul_flops,
)
from kernels.harness.turns import Turns, turn
from parsers.contract import DOMAIN, INTENSE, range_name

RECOMPILE_LIMIT = 256

Calls = dict[str, Call]
Row = dict[str, Any]


class Worker:
    """Runs one plan; ``outcomes`` fills with a row for every pair."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.operator: Operator = discovery.load(plan.operator)
        self.out = Path(plan.out)
        self.outcomes: list[dict[str, Any]] = []
        self._turns = Turns()

    def run(self) -> None:
        """Do the plan's work and write its outcomes last: a file that is not there says it died.

        Raises
        ------
        torch.AcceleratorError, RuntimeError
            When a variant has broken the CUDA context.
        """
        _import_compilers()
        work = {"check": self._check, "time": self._time, "ranges": self._ranges}[self.plan.work]
        with turn(self.plan.device, alone=self.plan.work != "check") as self._turns:
            work()
        (self.out / "outcomes.json").write_text(json.dumps(self.outcomes), encoding="utf-8")

    def _by_case(self) -> Iterator[tuple[Case, list[Variant]]]:
        for case in self.operator.cases:
            names = [variant for variant, name in self.plan.pairs if name == case.name]
            if names:
                yield case, [self.operator.variant(name) for name in names]

    def _note(self, variant: Variant, case: Case, status: str, reason: str | None = None) -> None:
        chosen = chosen_configs(variant.run) if status == "ok" else {}
        self.outcomes.append(
            {
                "variant": variant.name,
                "case": case.name,
                "status": status,
                "reason": reason,
                "config": json.dumps(chosen, sort_keys=True) if chosen else None,
            }
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
                        "status": _word(error),
                        "reason": one_line(error),
                    }
                    self._synchronize()
                rows.append(row)
                self._note(variant, case, row["status"], row["reason"])
        tables.write(self.out / "checks.csv", rows)

    def _ready(self, case: Case, variants: list[Variant]) -> Calls:
        """Make inputs and run each variant until it is compiled and tuned; drop what raises."""
        seed = secrets.randbits(62)
        generator = torch.Generator(self.plan.device).manual_seed(seed)
        inputs = self.operator.make_inputs(case, self.plan.device, generator)
        calls: Calls = {}
        for variant in variants:
            try:
                call = partial(variant.run, *variant.prepare(inputs))
                for _ in range(3):
                    call()
                self._synchronize()
            except Exception as error:  # whatever a variant raises is its result
                self._note(variant, case, _word(error), one_line(error))
                self._synchronize()
                continue
            calls[variant.name] = call
            self._note(variant, case, "ok")
        return calls

    def _time(self) -> None:
        with self._turns.getting_ready():
            clock = Clock()
            large = copy_call(COPY_BYTES)
        samples: list[Row] = []
        ceilings: list[Row] = []
        for case, variants in self._by_case():
            of_variants, of_bounds = self._time_case(clock, case, variants, large)
            samples += of_variants
            ceilings += of_bounds
        tables.write(self.out / "samples.csv", samples)
        tables.write(self.out / "ceilings.csv", ceilings)
        with self._turns.round():
            facts = json.dumps(clock.clocks_under_load(large))
        (self.out / "facts.json").write_text(facts, encoding="utf-8")

    def _time_case(
        self, clock: Clock, case: Case, variants: list[Variant], large: Call
    ) -> tuple[list[Row], list[Row]]:
        """Time the variants of a case, and what the GPU reaches, in the same rounds.

        Returns rows of the frames ``samples`` and ``ceilings``.
        """
        settings = self.plan.settings
        with self._turns.getting_ready():
            calls = self._ready(case, variants)
            bounds = self._bounds(case, large)
            all_calls = {**calls, **{name: call for name, (_, call) in bounds.items()}}
            clock.warm_up(all_calls, float(settings["warm_up_s"]))
        samples: list[Row] = []
        ceilings: list[Row] = []
        rounds = clock.rounds(all_calls, int(settings["rounds"]), self._turns)
        for number, name, duration in rounds:
            counted = settings["first_round"] + number if self.plan.paired else None
            measured = {"round": counted, "duration_ns": duration}
            if name in bounds:
                ceilings.append({**bounds[name][0], **measured})
            else:
                key = {"operator": self.operator.name, "variant": name, "case": case.name}
                samples.append({**key, **measured})
        return samples, ceilings

    def _bounds(self, case: Case, large: Call) -> dict[str, tuple[Row, Call]]:
        """Return what shows how fast the GPU is: rows of ``ceilings`` and their calls, by name."""
        cost = self.operator.cost(case)
        bounds: dict[str, tuple[Row, Call]] = {
            "=copy": ({"ceiling": "copy", "moved_bytes": COPY_BYTES}, large),
            "=equal": (
                {"ceiling": "equal_copy", "case": case.name, "moved_bytes": cost.bytes},
                copy_call(cost.bytes),
            ),
            "=empty": ({"ceiling": "empty", "moved_bytes": 0}, empty_call),
        }
        if cost.flops >= INTENSE * cost.bytes:
            row: Row = {"ceiling": "matmul", "case": case.name, "flops": matmul_flops()}
            bounds["=matmul"] = (
                row,
                matmul_call(getattr(torch, case.dtype), tf32="tf32" in case.labels),
            )
        return bounds

    def _ranges(self) -> None:
        flush = Flush(self.plan.device)
        for case, variants in self._by_case():
            calls = self._ready(case, variants)
            for _ in range(int(self.plan.settings["repeats"])):
                for name, call in calls.items():
                    flush()
                    self._synchronize()
                    entered = range_name(self.operator.name, name, case.name)
                    # Start/end, for a push/pop range would miss what autograd's thread launches.
                    handle = nvtx.start_range(entered, domain=DOMAIN)
                    call()
                    nvtx.end_range(handle)
                    self._synchronize()

    def _synchronize(self) -> None:
        if self.plan.device == "cuda":
            torch.cuda.synchronize()


def _word(error: Exception) -> str:
    return "unsupported" if isinstance(error, UnsupportedError) else "failed"


def _import_compilers() -> None:
    """Import what ``torch.compile`` needs, and let one process compile every case.

    Past its default limit torch falls back to eager.
    """
    if dynamo := sys.modules.get("torch._dynamo"):  # imported by the first torch.compile
        importlib.import_module("torch._inductor.compile_fx")
        dynamo.config.recompile_limit = RECOMPILE_LIMIT
        dynamo.config.fail_on_recompile_limit_hit = True
