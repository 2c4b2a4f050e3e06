"""Whose turn the GPU is: a process that times or counts has it alone, checks share it.

The lock lies in the system's folder for temporary files, so that two runs on one GPU wait for each
other too. What needs no GPU, such as importing compilers, belongs before it.

Processes that `kernels.harness.alternation` started measure in alternating rounds: there the one
that started them holds the lock, and each asks it, over a socket, for every turn.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kernels.harness import machine
from kernels.harness.errors import HarnessError

SOCKET = "ROOFSNAKE_TURNS"
"""Environment variable: path of the socket to ask for turns; without it nobody is asked."""

READY, ROUND, GRANTED, DONE = b"r", b"t", b"!", b"."
"""A byte asks for a turn to get ready or for one that is timed, grants it, or gives it back."""


class Turns:
    """What a process that has the GPU does with it; on its own it asks nobody."""

    @contextmanager
    def getting_ready(self) -> Iterator[None]:
        """Compile, tune and warm up, at the same time as others that get ready."""
        yield

    @contextmanager
    def round(self) -> Iterator[None]:
        """Take measurements, while all others wait."""
        yield


class AlternatingTurns(Turns):
    """Turns that are asked for, so that several processes measure in alternating rounds."""

    def __init__(self, path: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(path)

    @contextmanager
    def getting_ready(self) -> Iterator[None]:
        """Wait until no round is measured."""
        with self._turn(READY):
            yield

    @contextmanager
    def round(self) -> Iterator[None]:
        """Wait until all others are ready and it is this process's turn."""
        with self._turn(ROUND):
            yield

    @contextmanager
    def _turn(self, kind: bytes) -> Iterator[None]:
        answer = b""
        with contextlib.suppress(OSError):
            self._socket.sendall(kind)
            answer = self._socket.recv(1)
        if answer != GRANTED:
            raise HarnessError("turns", "whoever gave them is gone", "measure again")
        yield
        self._socket.sendall(DONE)


@contextmanager
def turn(device: str, *, alone: bool) -> Iterator[Turns]:
    """Wait for the GPU and hold it; on any other device do neither."""
    if path := os.environ.get(SOCKET):
        yield AlternatingTurns(path)
        return
    if device != "cuda":
        yield Turns()
        return
    name = f"roofsnake-{os.getuid()}-{machine.first_visible()}.lock"
    with Path(tempfile.gettempdir(), name).open("a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield Turns()
