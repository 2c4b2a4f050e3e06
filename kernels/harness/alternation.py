"""Several measuring processes on one GPU, in alternating rounds.

Drift of the clocks, heat and other load meet all of them alike: each measures a round, then the
next one does, in an order that moves on by one each time. Compiling and warming up is done by all
at once, and no round begins before all are ready.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from kernels.harness.turns import GRANTED, READY, ROUND, SOCKET, turn

LOOK_S = 0.1
"""How often processes are looked at that neither ask nor end a turn: they may have died."""


@dataclass(frozen=True)
class Participant:
    """A measuring process: its command, the folder that it runs in, and its environment."""

    command: Sequence[str]
    folder: Path
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))


@dataclass(frozen=True)
class Ended:
    """How a participant ended: its exit status, all that it printed, and the rounds it was given.

    One without rounds asked for none: it measured by itself, or not at all.
    """

    status: int
    output: str
    rounds: int


def alternate(participants: Sequence[Participant], device: str = "cuda") -> list[Ended]:
    """Run all participants to their end, in alternating rounds.

    The GPU is this process's from the moment that all are ready. Whatever ends it ends them.

    Parameters
    ----------
    device
        ``cuda``; on any other one no lock is held.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="roofsnake-")))
        running = [
            stack.enter_context(_started(one, folder / str(number)))
            for number, one in enumerate(participants)
        ]
        _Umpire(running, device).run(stack)
        return [one.ended() for one in running]


class _Running:
    """A participant that was started, and what it last asked for."""

    def __init__(self, process: subprocess.Popen[bytes], output: Path, asks: socket.socket) -> None:
        self.process = process
        self.asked = b""
        self.busy = False
        self.rounds = 0
        self._output = output
        self._asks = asks
        self._connection: socket.socket | None = None

    @property
    def living(self) -> bool:
        return self.process.poll() is None

    def listens(self) -> socket.socket:
        """Return what becomes readable when it connects, asks, ends a turn or goes."""
        return self._connection or self._asks

    def hear(self) -> None:
        """Take note of what it says; a process that goes has ended its turn."""
        if self._connection is None:
            self._connection, _ = self._asks.accept()
            return
        said = b""
        with contextlib.suppress(ConnectionError):
            said = self._connection.recv(1)
        if said in {READY, ROUND}:
            self.asked = said
        else:
            self.busy = False
        if not said:
            self._connection.close()
            self._connection, self.asked = None, b""

    def grant(self) -> None:
        """Give it the turn that it asked for."""
        self.rounds += self.asked == ROUND
        self.asked, self.busy = b"", True
        with contextlib.suppress(OSError):  # one that just went is heard of next
            if self._connection is not None:
                self._connection.sendall(GRANTED)

    def ended(self) -> Ended:
        output = self._output.read_text(encoding="utf-8", errors="replace")
        return Ended(self.process.wait(), output, self.rounds)


class _Umpire:
    """Gives turns: to all who get ready at once; to one at a time, once all want a round."""

    def __init__(self, running: list[_Running], device: str) -> None:
        self._running = running
        self._device = device
        self._turn = 0

    def run(self, stack: ExitStack) -> None:
        """Give turns until all have ended; the GPU is held until ``stack`` is left."""
        held = False
        while True:
            self._hear_until(lambda one: bool(one.asked))
            living = [one for one in self._running if one.living]
            if not living:
                return
            if not held:
                stack.enter_context(turn(self._device, alone=True))
                held = True
            preparing = [one for one in living if one.asked == READY]
            for one in preparing:
                one.grant()
            for one in [] if preparing else self._in_turn(living):
                if one.asked:  # else it went, or began anew, in the turn of another
                    one.grant()
                    self._hear_until(lambda other: not other.busy)

    def _in_turn(self, living: list[_Running]) -> list[_Running]:
        first = self._turn % len(living)
        self._turn += 1
        return [*living[first:], *living[:first]]

    def _hear_until(self, settled: Callable[[_Running], bool]) -> None:
        """Listen until a condition holds for all that live."""
        while not all(settled(one) for one in self._running if one.living):
            with selectors.DefaultSelector() as selector:
                for one in self._running:
                    selector.register(one.listens(), selectors.EVENT_READ, one)
                for key, _ in selector.select(LOOK_S):
                    key.data.hear()


@contextmanager
def _started(one: Participant, place: Path) -> Iterator[_Running]:
    """Start a participant in a process group of its own, and end that group in the end."""
    place.mkdir()
    with socket.socket(socket.AF_UNIX) as asks, (place / "output").open("wb") as output:
        asks.bind(str(place / "turns"))
        asks.listen()
        process = subprocess.Popen(
            one.command,
            cwd=one.folder,
            env={**one.environment, SOCKET: str(place / "turns")},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield _Running(process, place / "output", asks)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            process.wait()
