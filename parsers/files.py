"""What a file is before it is parsed, so that damage gets its true cause, not a parser's guess."""

from __future__ import annotations

import gzip
import hashlib
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from parsers.errors import CaptureError

LFS_POINTER = b"version https://git-lfs"
SQLITE_MAGIC = b"SQLite format 3\x00"
NCU_MAGIC = b"NVR\x00"
GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
PACKED = ".gz"
"""Suffix of a recorded file: profiles shrink to a twentieth."""


_LOOKS = {
    SQLITE_MAGIC: "a SQLite database",
    NCU_MAGIC: "an Nsight Compute report",
    GZIP_MAGIC: "a file packed by gzip",
    ZSTD_MAGIC: "a file packed by Zstandard",
    b"NVIDIA Tegra Profiler Report": "a report of Nsight Systems",
    b"\x89PNG": "a PNG image",
    b"\x7fELF": "an ELF binary",
    b"PK\x03\x04": "a zip archive",
    b"PERFILE2": "a recording of perf",
    b"\x89HDF": "an HDF5 file",
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    b"%PDF-": "a PDF document",
    b"BZh": "a file packed by bzip2",
    b"\xfd7zXZ": "a file packed by xz",
}
"""What files begin with, and what such a file is."""


def check_present(path: Path, remedy: str) -> bytes:
    """Return the first 64 bytes of a file that is there and has content of its own.

    Raises
    ------
    CaptureError
        When the file is missing, a folder, unreadable, empty or a Git LFS pointer. ``remedy`` is
        the way out where the file has to be made anew.
    """
    if path.is_dir():
        raise CaptureError(path, "is a folder, not a file", "give the file's own path")
    try:
        with path.open("rb") as stream:
            head = stream.read(64)
    except FileNotFoundError:
        raise CaptureError(path, "no such file", remedy) from None
    except OSError as error:
        cause = f"cannot be read ({error.strerror})"
        raise CaptureError(path, cause, "check its permissions") from None
    if not head:
        raise CaptureError(path, "the file is empty", remedy)
    if head.startswith(LFS_POINTER):
        raise CaptureError(path, "is a Git LFS pointer, not the file itself", "run `git lfs pull`")
    return head


def check_format(path: Path, magic: bytes, wanted: str, remedy: str) -> None:
    """Check that a file begins with the magic bytes of its format.

    Raises
    ------
    CaptureError
        As `check_present`, and when the file is of another format, which is then named.
    """
    head = check_present(path, remedy)
    if not head.startswith(magic):
        raise CaptureError(path, f"is not {wanted} but {describe(head)}", remedy)


def describe(head: bytes) -> str:
    """Say in a few words what a file looks like by its first bytes."""
    for magic, words in _LOOKS.items():
        if head.startswith(magic):
            return words
    text = head.decode("utf-8", errors="replace")
    if all(char.isprintable() or char in "\r\n\t\ufeff" for char in text):
        return f"text that begins {text.strip()[:24]!r}"
    return f"data that begins with the bytes {head[:8].hex(' ')}"


def check_whole_database(path: Path, remedy: str) -> None:
    """Check that a SQLite database has as many pages as its header says.

    SQLite reads a last page that lost its end as if zeros followed. The size in the header holds
    where the database was last written by SQLite 3.7 or later: https://sqlite.org/fileformat.html,
    1.3.8.

    Raises
    ------
    CaptureError
        When the file is shorter.
    """
    with path.open("rb") as stream:
        head = stream.read(100).ljust(100, b"\0")
    page, pages = int.from_bytes(head[16:18], "big"), int.from_bytes(head[28:32], "big")
    size = (65536 if page == 1 else page) * pages
    found = path.stat().st_size
    if head[24:28] == head[92:96] and found < size:
        cause = f"the database is truncated: it has {found} of {size} bytes"
        raise CaptureError(path, cause, remedy)


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file's content, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def pack(source: Path, target: Path) -> None:
    """Compress a file with gzip; the same content gives the same bytes."""
    with (
        source.open("rb") as stream,
        target.open("wb") as file,
        gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed,
    ):
        shutil.copyfileobj(stream, packed)


@contextmanager
def plain(path: Path, remedy: str) -> Iterator[Path]:
    """Give the path of a file's content: its own, or where it is packed, that of a passing copy.

    Raises
    ------
    CaptureError
        As `check_present`, and when a packed file is of another format or damaged.
    """
    if path.suffix != PACKED:
        yield path
        return
    check_format(path, GZIP_MAGIC, "a file packed by gzip", remedy)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.stem
        try:
            with gzip.open(path) as packed, copy.open("wb") as file:
                shutil.copyfileobj(packed, file)
        except (EOFError, OSError, zlib.error) as error:
            cause = f"is truncated or damaged ({error})"
            raise CaptureError(path, cause, remedy) from None
        yield copy
