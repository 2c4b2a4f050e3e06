"""Files packed by gzip or Zstandard, told by their content, once or one in the other.

Nsight Compute's ``.ncu-repz`` is a report packed by Zstandard as a whole: ``ncu_report`` 2026.3
reads as one what any Zstandard tool makes of an ``.ncu-rep``.
"""

from __future__ import annotations

import gzip
import io
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, cast

import pyarrow as pa

from parsers.errors import CaptureError
from parsers.files import GZIP_MAGIC, PACKED, ZSTD_MAGIC, pack

_PACKERS = {GZIP_MAGIC: "gzip", ZSTD_MAGIC: "zstd"}
_DEEPEST = 2
_ZSTD_SUFFIXES = (".zst", ".zstd", ".ncu-repz")
_DAMAGE = (EOFError, OSError, zlib.error)
REMEDY = "copy or pack it again"


def packer_of(head: bytes) -> str | None:
    """Name what packed a file, by its first bytes: gzip, zstd, or None where nothing did."""
    return next((name for magic, name in _PACKERS.items() if head.startswith(magic)), None)


@contextmanager
def unpacked(path: Path) -> Iterator[tuple[Path, list[str]]]:
    """Give the path of a file's content, and what packed it, the outermost first.

    The content of a packed file is a passing copy; the file itself where it is not packed.

    Raises
    ------
    CaptureError
        When a packed file is truncated, damaged, or packed more than twice.
    """
    content = path
    packers: list[str] = []
    with ExitStack() as stack:
        while packer := packer_of(_start(content, 4)):
            if len(packers) == _DEEPEST:
                raise CaptureError(path, f"is packed more than {_DEEPEST} times", "unpack it first")
            packers.append(packer)
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            copy = folder / "content"
            try:
                with _opened(content, packer) as source, copy.open("wb") as target:
                    shutil.copyfileobj(source, target, 1 << 20)
            except _DAMAGE as error:
                cause = f"is packed by {packer} and truncated or damaged ({error})"
                raise CaptureError(path, cause, REMEDY) from None
            content = copy
        yield content, packers


def peek(path: Path, size: int) -> bytes:
    """Return the first bytes of a file's content; what can be unpacked of it where it is damaged.

    Parameters
    ----------
    size
        At most so many bytes, of the file and of its content.
    """
    head = _start(path, size)
    for _ in range(_DEEPEST):
        if packer := packer_of(head):
            head = _some(_opened(io.BytesIO(head), packer), size)
    return head


def write_packed(source: Path, target: Path) -> None:
    """Copy a file, packed as the suffix of the target says: ``.gz``, ``.zst`` or ``.ncu-repz``."""
    if target.suffix == PACKED:
        pack(source, target)
    elif target.suffix in _ZSTD_SUFFIXES:
        with source.open("rb") as stream, pa.CompressedOutputStream(str(target), "zstd") as packed:
            shutil.copyfileobj(stream, packed)
    else:
        shutil.copyfile(source, target)


def _opened(source: Path | IO[bytes], packer: str) -> io.BufferedIOBase:
    if packer == "gzip":
        return gzip.open(source)
    raw = str(source) if isinstance(source, Path) else source
    return cast("io.BufferedIOBase", pa.CompressedInputStream(raw, "zstd"))


def _start(path: Path, size: int) -> bytes:
    with path.open("rb") as stream:
        return stream.read(size)


def _some(stream: io.BufferedIOBase, size: int) -> bytes:
    """Read up to so many bytes, or to where the stream breaks off."""
    parts, left = [], size
    try:
        while left and (part := stream.read1(min(left, 1 << 16))):
            parts.append(part)
            left -= len(part)
    except _DAMAGE:
        pass
    return b"".join(parts)
