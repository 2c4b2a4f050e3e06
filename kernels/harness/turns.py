"""Whose turn the GPU is: a process that times or counts has it alone, checks share it.

The lock lies in the system's folder for temporary files, so that two runs on one GPU wait for each
other too. What needs no GPU, such as importing compilers, belongs before it.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kernels.harness import machine


@contextmanager
def turn(device: str, *, alone: bool) -> Iterator[None]:
    """Wait for the GPU and hold it; on any other device do neither."""
    if device != "cuda":
        yield
        return
    name = f"roofsnake-{os.getuid()}-{machine.first_visible()}.lock"
    with Path(tempfile.gettempdir(), name).open("a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield
