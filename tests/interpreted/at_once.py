"""Run the programs of a launch under Triton's interpreter at once, as those of a GPU run.

The interpreter runs one program after the other, so that one which waits for another of a higher
number would wait for ever. Here each is a thread. One has the turn, and hands it on when it looks
for what another writes, which it does by a volatile load.
"""

from __future__ import annotations

import inspect
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from triton.runtime import interpreter

PATIENCE_S = 60.0
"""How long a launch may take before its wait counts as a deadlock."""


class AtOnce:
    """What runs all programs of a launch when the interpreter asks for the first of them."""

    def __init__(self, program: Callable[..., None]) -> None:
        self.program = program
        self.__name__ = program.__name__
        self.__globals__, self.__annotations__ = program.__globals__, program.__annotations__
        self.__signature__ = inspect.signature(program)
        self.turn = threading.Lock()
        self.errors: list[BaseException] = []

    def __call__(self, **arguments: Any) -> None:
        builder = interpreter.interpreter_builder
        if builder.grid_idx[0]:
            return  # has run with the first
        threads = [
            threading.Thread(target=self._run, args=(number, arguments), daemon=True)
            for number in range(builder.grid_dim[0])
        ]
        self.end = time.monotonic() + PATIENCE_S
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self.errors:
            raise self.errors[0]

    def _run(self, number: int, arguments: dict[str, Any]) -> None:
        with self.turn:
            interpreter.interpreter_builder.set_grid_idx(number, 0, 0)
            try:
                self.program(**arguments)
            except BaseException as error:
                self.errors.append(error)

    def hand_on(self) -> None:
        """Let other programs run for a while."""
        if self.errors or time.monotonic() > self.end:
            raise TimeoutError("a program waits for what no other writes")
        place = interpreter.interpreter_builder.grid_idx
        self.turn.release()
        time.sleep(1e-5)
        self.turn.acquire()
        interpreter.interpreter_builder.grid_idx = place


def install(patch: pytest.MonkeyPatch, kernel_name: str) -> None:
    """Have launches of a kernel run all their programs at once."""
    running: list[AtOnce] = []
    start, load = (
        interpreter.GridExecutor.__init__,
        interpreter.InterpreterBuilder.create_masked_load,
    )

    def init(executor: Any, fn: Any, *rest: Any, **more: Any) -> None:
        if fn.__name__ == kernel_name:
            running[:] = [AtOnce(fn)]
            fn = running[0]
        start(executor, fn, *rest, **more)

    def masked_load(
        builder: Any, ptrs: Any, mask: Any, other: Any, policy: Any, is_volatile: bool
    ) -> Any:
        if is_volatile:
            running[0].hand_on()
        return load(builder, ptrs, mask, other, policy, is_volatile)

    patch.setattr(interpreter.GridExecutor, "__init__", init)
    patch.setattr(interpreter.InterpreterBuilder, "create_masked_load", masked_load)
