"""The time pass: CUDA events, no profiler, variants interleaved in rounds."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from kernels.harness import machine

FLUSH_BYTES = 2**30
"""Written before each sample: many times any L2, and long enough (a quarter of a millisecond on an
H200) for the CPU to queue the whole call meanwhile, so that its launch cost is not timed."""

COPY_BYTES = 2**31
"""Bytes that the copy reads, and writes again: 4.3 GB moved in all."""

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


class Clock:
    """Times calls on the current CUDA device in interleaved rounds.

    The L2 cache is flushed before each sample. A round times every call once, beginning with
    another one each time, so that drift of the clocks meets all alike.
    """

    def __init__(self) -> None:
        self._flush = torch.empty(FLUSH_BYTES, dtype=torch.int8, device="cuda")

    def warm_up(self, calls: dict[str, Call], seconds: float) -> None:
        """Run all calls in turn for a while, so that compilation is done and clocks are up."""
        end = time.monotonic() + seconds
        while True:
            for call in calls.values():
                call()
            torch.cuda.synchronize()
            if time.monotonic() > end:
                return

    def rounds(self, calls: dict[str, Call], count: int) -> Iterator[tuple[int, str, float]]:
        """Yield ``(round, name, nanoseconds)`` for every call in each of ``count`` rounds."""
        names = list(calls)
        events = {name: (_event(), _event()) for name in names}
        with _no_garbage_collection():
            for number in range(count):
                first = number % len(names)
                for name in names[first:] + names[:first]:
                    start, end = events[name]
                    self._flush.zero_()
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


def copy_call() -> Call:
    """Return a call that copies ``COPY_BYTES`` from one buffer to another on the device."""
    source = torch.empty(COPY_BYTES // 4, device="cuda").normal_()
    target = torch.empty_like(source)
    return lambda: target.copy_(source)
