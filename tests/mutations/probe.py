"""Run or compile variants of copies of this checkout, in a process that has imported none of them.

It takes a JSON list of jobs on standard input and prints the answers as another. A job names what
to do, the root of a copy or of the checkout, an operator and a variant, and gives the arguments of
a ``Case``.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from typing import Any

Job = dict[str, Any]


def enter(root: str) -> None:
    """Let ``kernels`` be that under a root, whichever it was before."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "kernels"]:
        del sys.modules[name]
    sys.path[0] = root


def run(job: Job) -> dict[str, Any]:
    """Return what the harness says of the variant's answer."""
    import torch

    from kernels.harness import check, discovery, spec

    operator = discovery.load(job["operator"])
    variant, case = operator.variant(job["variant"]), spec.Case(*job["case"])
    inputs = operator.make_inputs(case, "cpu", torch.Generator("cpu").manual_seed(0))
    return check.judge(operator, case, inputs, variant.run(*variant.prepare(inputs)))


def build(job: Job) -> list[dict[str, Any]]:
    """Return the builds for sm_90 as rows, without PTX: that tells lines and columns of source."""
    from kernels.harness import discovery, spec
    from kernels.harness.build import compile_operator

    operator = discovery.load(job["operator"])
    alone = dataclasses.replace(
        operator, variants=(operator.variant(job["variant"]),), baseline=job["variant"]
    )
    made = compile_operator(alone, (90,), (spec.Case(*job["case"]),))
    return [{**vars(one), "ptx": None} for one in made]


def launch(job: Job) -> list[dict[str, Any]]:
    """Return kernel and configuration of what is launched on sm_90, which need no compiler."""
    from kernels.harness import discovery, spec, trace

    operator = discovery.load(job["operator"])
    variant, case = operator.variant(job["variant"]), spec.Case(*job["case"])
    found = trace.trace(operator, variant, case, 90)
    status = found.error or "ok"
    return [
        {"kernel": one.kernel.__name__, "config": one.config, "status": status}
        for one in found.launches
    ]


def main() -> None:
    """Answer the jobs on standard input."""
    answers = []
    for job in json.load(sys.stdin):
        enter(job["root"])
        answers.append({"run": run, "build": build, "launch": launch}[job["do"]](job))
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
