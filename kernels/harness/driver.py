"""A pass from the outside: start the measuring process, perhaps profiled, and keep the result.

All variants run in one process, so that they are compared within one session. If that process
dies, each variant runs alone, and a broken one costs only its own rows.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernels.harness import profilers, provenance, tables
from kernels.harness.errors import HarnessError
from kernels.harness.plan import Pair, Plan
from kernels.harness.spec import Case, Operator
from parsers.collection import requested, unknown
from parsers.contract import FORMAT, RUN_FILE
from parsers.files import sha256

WORK = {"check": "check", "time": "time", "nsys": "ranges", "ncu": "ranges", "deep": "ranges"}
TOOLS = {"nsys": "nsys", "ncu": "ncu", "deep": "ncu"}
"""The profiler of a pass, where it has one."""

OPTIONS = {"ncu": profilers.COUNTERS_ALONE, "deep": profilers.ALL_THERE_IS}
"""What sets the passes under ``ncu`` apart: counters of all, or all there is of one variant."""

TOGETHER = "all"
"""Name of the report of all variants; one of a single variant has the variant's name."""

UNLISTED = ".nsys-rep"
"""For Nsight Systems' own window; it stays here, for only ``nsys`` could read or scrub it."""

ENVIRONMENT = {"TORCHINDUCTOR_COMPILE_THREADS": "1", "TRITON_CACHE_AUTOTUNING": "1"}
"""Starting and ending torch's pool of compile workers takes longer than compiling a few kernels.
Triton keeps what it tuned, so that all passes of a session measure the same configuration."""

Outcome = dict[str, Any]


@dataclass(frozen=True)
class Pass:
    """One pass over one operator: where its capture goes and how it is taken.

    ``cases`` is the set of cases. Where a ``variant`` is named, it alone is measured, in the
    ``case`` named, or in the one of the set that moves most bytes.
    """

    operator: Operator
    name: str
    out: Path
    settings: dict[str, Any]
    device: str = "cuda"
    cases: str = "default"
    variant: str | None = None
    case: str | None = None
    _facts: dict[str, Any] = field(default_factory=dict, init=False)
    _metrics: list[str] = field(default_factory=list, init=False)

    def measure(self, checked: Path | None) -> None:
        """Take the capture: measure what the check passed, and write ``run.json`` last.

        Parameters
        ----------
        checked
            Folder of the check pass; a pair that it does not call ``ok`` is not measured.

        Raises
        ------
        HarnessError
            When nothing could be measured: a tool is missing or may not read counters.
        """
        tool = TOOLS.get(self.name)
        if tool:
            profilers.require(tool)
        variants, cases = self._chosen()
        origin = provenance.origin(self.operator.name)
        if tool == "ncu":
            self._choose_metrics()
        self.out.mkdir(parents=True, exist_ok=True)
        pairs = [(variant, case.name) for variant in variants for case in cases]
        skipped = _skipped(checked, pairs) if checked else []
        passed = [
            pair for pair in pairs if pair not in {(row["variant"], row["case"]) for row in skipped}
        ]
        if not passed:
            raise HarnessError(
                f"kernels/{self.operator.name}.py",
                "no variant computes the right thing",
                f"mend it; reasons are in {checked}/checks.csv",
            )
        outcomes, alone = self._run(passed)
        row = provenance.run_row(
            self.operator,
            self.name,
            origin,
            tool=tool,
            settings={**self.settings, "cases": self.cases, "each_variant_alone": alone},
        )
        write_run(self.operator, cases, self.out, row | self._facts, [*skipped, *outcomes])

    def _chosen(self) -> tuple[list[str], tuple[Case, ...]]:
        """Return the names of the variants and the cases to measure."""
        names = [variant.name for variant in self.operator.variants]
        cases = self.operator.cases_in(self.cases)
        if self.variant is None:
            return names, cases
        if self.case is not None:
            cases = tuple(case for case in self.operator.cases if case.name == self.case)
        for what, known, right in (
            (f"variant {self.variant!r}", names, self.variant in names),
            (f"case {self.case!r}", [case.name for case in self.operator.cases], bool(cases)),
        ):
            if not right:
                raise HarnessError(
                    f"kernels/{self.operator.name}.py",
                    f"has no {what}",
                    f"choose one of {', '.join(known)}",
                )
        return [self.variant], (max(cases, key=lambda case: self.operator.cost(case).bytes),)

    def _choose_metrics(self) -> None:
        """Ask for what the chip counts; for all names where ``ncu`` does not say what that is."""
        known = profilers.chip_counters()
        self._metrics.extend(requested(known or None))
        self.settings["unknown_to_chip"] = list(unknown(known)) if known else None

    def _run(self, pairs: list[Pair]) -> tuple[list[Outcome], bool]:
        outcomes, _ = self._process(TOGETHER, pairs)
        if outcomes is not None:
            return outcomes, False
        apart: list[Outcome] = []
        for variant in dict.fromkeys(variant for variant, _ in pairs):
            mine = [pair for pair in pairs if pair[0] == variant]
            outcomes, reason = self._process(variant, mine)
            apart += outcomes or [
                {"variant": variant, "case": case, "status": "failed", "reason": reason}
                for _, case in mine
            ]
        if not any(row["status"] == "ok" for row in apart):
            of = f"/{self.variant}" if self.variant else ""
            raise HarnessError(
                f"{self.name} pass of {self.operator.name}",
                str(apart[-1]["reason"]),
                "the log of the pass holds the whole output; mend it and run"
                f" `snakemake reports/{self.operator.name}{of} -R {self.name}`",
            )
        return apart, True

    def _process(self, name: str, pairs: list[Pair]) -> tuple[list[Outcome] | None, str | None]:
        """Run pairs in one process; where it died, keep nothing and say why."""
        with tempfile.TemporaryDirectory() as folder:
            scratch = Path(folder)
            plan = Plan(
                operator=self.operator.name,
                work=WORK[self.name],
                pairs=tuple(pairs),
                settings=self.settings,
                out=folder,
                device=self.device,
                paired=name == TOGETHER,
            )
            plan.write(scratch / "plan.json")
            work = [sys.executable, "-m", "kernels.harness", "work", str(scratch / "plan.json")]
            answer = profilers.run([*self._prefix(name), *work], ENVIRONMENT)
            sys.stderr.write(answer.stdout)
            known = profilers.complaint(answer.stdout) if TOOLS.get(self.name) == "ncu" else None
            if known and known.general:
                raise HarnessError("ncu", known.cause, known.remedy)
            outcomes = scratch / "outcomes.json"
            report = self._report(name)
            if not outcomes.exists() or (report and not report.exists()):
                for leftover in self.out.glob(f"{name}.*"):
                    leftover.unlink()
                died = f"the process died: {profilers.last_line(answer.stdout)}"
                return None, known.cause if known else died
            self._keep(name, scratch)
            return json.loads(outcomes.read_text(encoding="utf-8")), None

    def _report(self, name: str) -> Path | None:
        suffix = {"ncu": ".ncu-rep", "nsys": UNLISTED}.get(TOOLS.get(self.name, ""))
        return self.out / f"{name}{suffix}" if suffix else None

    def _prefix(self, name: str) -> list[str]:
        report = self._report(name)
        if report is None:
            return []
        if self.name in OPTIONS:
            return profilers.ncu_command(report, self._metrics, OPTIONS[self.name])
        return profilers.nsys_command(report)

    def _keep(self, name: str, scratch: Path) -> None:
        """Keep what the process wrote: tables are appended, reports keep a name of their own."""
        for table in sorted(scratch.glob("*.csv")):
            tables.append(table, self.out / table.name)
        if (facts := scratch / "facts.json").exists():
            self._facts.update(json.loads(facts.read_text(encoding="utf-8")))
        if self.name == "nsys":
            profilers.export_sqlite(self.out / f"{name}{UNLISTED}")


def _skipped(checked: Path, pairs: list[Pair]) -> list[Outcome]:
    """Return an outcome for each pair that the check did not call ok."""
    rows = {(row["variant"], row["case"]): row for row in tables.read(checked / "checks.csv")}
    missing = {"status": "failed", "reason": "it was not checked"}
    found = {pair: rows.get(pair, missing) for pair in pairs}
    return [
        {
            "variant": variant,
            "case": case,
            "status": "unsupported" if row["status"] == "unsupported" else "skipped",
            "reason": f"check: {row['reason']}",
        }
        for (variant, case), row in found.items()
        if row["status"] != "ok"
    ]


def write_run(
    operator: Operator,
    cases: Sequence[Case],
    out: Path,
    row: dict[str, Any],
    outcomes: list[Outcome],
) -> None:
    """Write ``run.json``: provenance, variants, cases, outcomes and a hash of each other file.

    ``cases`` are those that were chosen; ``row`` is the row of the frame ``runs``, from
    `provenance.run_row`.
    """
    run = {
        "format": FORMAT,
        "operator": operator.name,
        "pass": row["pass"],
        "run": row,
        "variants": [
            {
                "operator": operator.name,
                "variant": variant.name,
                "summary": variant.summary,
                "baseline": variant.name == operator.baseline,
            }
            for variant in operator.variants
        ],
        "cases": [_case_row(operator, case) for case in cases],
        "outcomes": [
            {"pass": row["pass"], "operator": operator.name, **outcome} for outcome in outcomes
        ],
        "files": {
            path.name: sha256(path)
            for path in sorted(out.iterdir())
            if path.name != RUN_FILE and path.suffix != UNLISTED
        },
    }
    (out / RUN_FILE).write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")


def _case_row(operator: Operator, case: Case) -> dict[str, Any]:
    cost = operator.cost(case)
    return {
        "operator": operator.name,
        "case": case.name,
        "shape": "x".join(map(str, case.shape)),
        "axes": " ".join(operator.axes),
        "dtype": case.dtype,
        "labels": " ".join(case.labels) or None,
        "min_read_bytes": cost.read_bytes,
        "min_write_bytes": cost.write_bytes,
        "flops": cost.flops,
        "summed": cost.summed,
    }
