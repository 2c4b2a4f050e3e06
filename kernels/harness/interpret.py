"""Check the Triton variants on small cases under Triton's interpreter, on the CPU.

It shows whether the arithmetic, the masks and the indices of kernels are right, without a GPU. It
shows nothing of what threads do to each other, and nothing of compiled code. What the interpreter
cannot run is ``unseen``, with the reason; ``unsupported`` is what a variant itself refuses.
"""

from __future__ import annotations

import multiprocessing
import signal
from multiprocessing.connection import Connection
from typing import Any

from kernels.harness.check import check, poisoned
from kernels.harness.errors import one_line
from kernels.harness.interpreter import faithful, impatient, lacking
from kernels.harness.reach import kernels_of
from kernels.harness.sanitize import SMALL_BYTES
from kernels.harness.spec import SETS, Case, Operator, UnsupportedError, Variant

SEED = 0
"""Of the random inputs: two revisions are checked on the same."""

LONGEST_S = 60
"""Seconds after which a variant is given up in a case."""

UNSEEN = "unseen"
"""Status of what cannot be checked here."""

COLUMNS = ("operator", "variant", "case", "status", "reason")

Row = dict[str, Any]


def small_cases(operator: Operator) -> tuple[Case, ...]:
    """Return the cases of all sets that are small enough."""
    return tuple(c for c in operator.cases_in(SETS[-1]) if operator.cost(c).bytes <= SMALL_BYTES)


def interpret(operator: Operator) -> list[Row]:
    """Check each variant that launches Triton kernels on each small case.

    Triton must interpret in this process: ``TRITON_INTERPRET`` is 1 since before the operator was
    imported. Returns rows of the frame ``checks``. Each pair has a process of its own, for a kernel
    may read or write outside of what was allocated.
    """
    variants = [variant for variant in operator.variants if kernels_of(variant.run)]
    cases = small_cases(operator)
    if not cases:
        reason = f"no case moves at most {SMALL_BYTES} bytes"
        return [_row(operator, v, operator.cases[0], UNSEEN, reason) for v in variants]
    with poisoned([], "cpu"):  # what torch imports for that, copies of this process have
        pass
    return [_apart(operator, variant, case) for case in cases for variant in variants]


def _apart(operator: Operator, variant: Variant, case: Case) -> Row:
    """Check a pair in a copy of this process, which has imported all that it needs."""
    forking = multiprocessing.get_context("fork")
    answers, answer = forking.Pipe(duplex=False)
    process = forking.Process(target=_answer, args=(operator, variant, case, answer))
    process.start()
    answer.close()  # so that the end of the other process is the end of the pipe
    try:
        if answers.poll(LONGEST_S):
            row: Row = answers.recv()
            return row
        return _row(operator, variant, case, UNSEEN, f"not done in {LONGEST_S} s")
    except EOFError:
        process.join()
        return _row(
            operator, variant, case, "failed", f"the process died: {_end(process.exitcode)}"
        )
    finally:
        process.kill()
        process.join()


def _end(code: int | None) -> str:
    return signal.Signals(-code).name if code and code < 0 else f"exit status {code}"


def _answer(operator: Operator, variant: Variant, case: Case, answer: Connection) -> None:
    with faithful(), impatient():
        answer.send(_checked(operator, variant, case))


def _checked(operator: Operator, variant: Variant, case: Case) -> Row:
    try:
        return check(operator, variant, case, "cpu", SEED)
    except UnsupportedError as error:
        return _row(operator, variant, case, "unsupported", one_line(error))
    except Exception as error:  # whatever a variant raises is its result
        if reason := lacking(error):
            return _row(operator, variant, case, UNSEEN, reason)
        return _row(operator, variant, case, "failed", one_line(error))


def _row(operator: Operator, variant: Variant, case: Case, status: str, reason: str) -> Row:
    values = (operator.name, variant.name, case.name, status, reason)
    return dict(zip(COLUMNS, values, strict=True))
