"""The time pass: CUDA events, no profiler, variants interleaved in rounds."""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from kernels.harness import machine
from kernels.harness.turns import Turns

FLUSH_BYTES = 2**30
"""Read before each sample: many times any L2, and long enough (a quarter of a millisecond on an
H200) for the CPU to queue the whole call meanwhile, so that its launch cost is not timed."""

COPY_BYTES = 2**32
"""Bytes that the large copy moves, half of them read and half written."""

MATMUL_EXTENT = 8192
"""Rows and columns of the matrices whose product says how fast this GPU multiplies: a multiple of
every tile, and large enough that the last wave is lost among the others."""

LOAD_CALLS = 500
"""Copies queued while the clocks are read: half a second on an H200, longer than the reading."""

Call = Callable[[], Any]


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class Flush:
    """Empties the L2 cache of what a call may find there, by reading a buffer larger than it.

    Reading leaves clean lines. Writing, as ``triton.testing.do_bench`` does, would leave dirty ones
    whose way back to DRAM falls into the time of the call that follows.
    """

    def __init__(self, device: str = "cuda") -> None:
        elements = FLUSH_BYTES // 4 if device == "cuda" else 1
        self._buffer = torch.zeros(elements, device=device)

    def __call__(self) -> None:
        """Queue one flush."""
        self._buffer.sum()


class Clock:
    """Times calls on the current CUDA device in interleaved rounds.

    The L2 cache is flushed before each sample. A round times every call once, in an order drawn
    anew each time, so that drift of the clocks and the call before meet all alike.
    """

    def __init__(self) -> None:
        self._flush = Flush()
        self._order = random.Random(0)  # noqa: S311 - an order, not a secret

    def warm_up(self, calls: dict[str, Call], seconds: float) -> None:
        """Run all calls in turn for a while, so that compilation is done and clocks are up."""
        end = time.monotonic() + seconds
        while True:
            for call in calls.values():
                call()
            torch.cuda.synchronize()
            if time.monotonic() > end:
                return

    def rounds(
        self, calls: dict[str, Call], count: int, turns: Turns
    ) -> Iterator[tuple[int, str, float]]:
        """Yield ``(round, name, nanoseconds)`` for every call in each of ``count`` rounds.

        Each round is a turn of its own.
        """
        names = list(calls)
        events = {name: (_event(), _event()) for name in names}
        with _no_garbage_collection():
            for number in range(count):
                self._order.shuffle(names)
                with turns.round():
                    for name in names:
                        start, end = events[name]
                        self._flush()
                        start.record()
                        calls[name]()
                        end.record()
                    torch.cuda.synchronize()
                for name, (start, end) in events.items():
                    yield number, name, start.elapsed_time(end) * 1e6

    def clocks_under_load(self, call: Call) -> dict[str, str | int]:
        """Return the clocks of the GPU while it works through a queue of calls, in Hz."""
        for _ in range(LOAD_CALLS):
            call()
        clocks = machine.clocks_now()
        torch.cuda.synchronize()
        return clocks


def _event() -> torch.cuda.Event:
    return torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]


def copy_call(moved_bytes: int) -> Call:
    """Return a call that copies between two buffers on the device.

    ``moved_bytes`` are read and written together, so each buffer has half of them.
    """
    source = torch.empty(moved_bytes // 8, device="cuda").normal_()
    target = torch.empty_like(source)
    return lambda: target.copy_(source)


def matmul_flops() -> int:
    """Return the FLOPs of one call of `matmul_call`."""
    return 2 * MATMUL_EXTENT**3


def matmul_call(dtype: torch.dtype, *, tf32: bool) -> Call:
    """Return a call that multiplies two square matrices on the device, by the library alone.

    ``tf32`` lets float32 operands be rounded to TensorFloat-32.
    """
    shape = (MATMUL_EXTENT, MATMUL_EXTENT)
    left, right = (torch.empty(shape, device="cuda").normal_().to(dtype) for _ in "ab")
    product = torch.empty_like(left)

    def call() -> None:
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("high" if tf32 else "highest")
        torch.mm(left, right, out=product)
        torch.set_float32_matmul_precision(before)

    return call


def empty_call() -> None:
    """Do nothing: what two events around nothing measure is the timer's own share."""
