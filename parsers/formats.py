"""Which format a file is of, told by its content: names of files are not looked at.

A row of `FORMATS` is all that a new format needs here. Its module is imported when such a file
comes, and has the named function, ``path -> DataFrame``. Where no magic bytes tell, the module is
asked: ``recognises(head: bytes) -> bool`` for text, ``recognises_folder(names) -> bool`` for a
folder.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from types import ModuleType

from parsers.files import LFS_POINTER, NCU_MAGIC, SQLITE_MAGIC, describe

HEAD = 1 << 20
"""Bytes of a file that are looked at: what the profiled program printed may precede the table."""

QDREP_MAGIC = b"NVIDIA Tegra Profiler Report"
QDSTRM_MAGIC = b"U3w[END]NVIDIA Nsight Systems Stream"


@dataclass(frozen=True)
class Format:
    """A format: what it is called, what reads it, and how its files begin."""

    name: str
    title: str
    module: str
    frame: str
    """The schema in `parsers.schemas` of what is read; empty where the module declares its own."""
    magic: bytes = b""
    folder: bool = False
    function: str = "parse"
    """The function of the module, from a path to a frame."""

    def load(self) -> ModuleType:
        """Return the module that reads this format."""
        return importlib.import_module(self.module)


FORMATS = (
    Format("ncu-rep", "a report of Nsight Compute", "parsers.ncu", "counters", NCU_MAGIC),
    Format(
        "nsys-sqlite",
        "a SQLite export of Nsight Systems",
        "parsers.nsys",
        "launches",
        SQLITE_MAGIC,
        function="launches",
    ),
    Format(
        "nsys-rep", "a report of Nsight Systems", "parsers.nsys_report", "launches", QDREP_MAGIC
    ),
    Format(
        "qdstrm", "a raw stream of Nsight Systems", "parsers.nsys_report", "launches", QDSTRM_MAGIC
    ),
    Format("ncu-csv", "a CSV export of Nsight Compute", "parsers.ncu_csv", "counters"),
    Format("ncu-text", "a printed page of Nsight Compute", "parsers.ncu_text", "counters"),
    Format("nsys-stats", "a CSV of nsys stats", "parsers.nsys_stats", ""),
    Format(
        "nsys-parquet",
        "a folder of nsys export --type parquetdir",
        "parsers.nsys",
        "launches",
        folder=True,
        function="launches",
    ),
)


def recognise(head: bytes) -> Format | None:
    """Return the format of a file by its first `HEAD` bytes, unpacked; None where it is none."""
    for form in FORMATS:
        if form.magic and head.startswith(form.magic):
            return form
    if not is_text(head):
        return None
    texts = (form for form in FORMATS if not form.magic and not form.folder)
    return next((form for form in texts if form.load().recognises(head)), None)


def recognise_folder(names: Iterable[str]) -> Format | None:
    """Return the format of which a folder as a whole is one export, by the names in it."""
    found = sorted(names)
    folders = (form for form in FORMATS if form.folder)
    return next((form for form in folders if form.load().recognises_folder(found)), None)


def is_text(head: bytes) -> bool:
    """Say whether bytes are text: without NUL, or UTF-16 with its byte-order mark."""
    return b"\0" not in head or head.startswith((b"\xff\xfe", b"\xfe\xff"))


_LOGS = (
    (LFS_POINTER, "is a Git LFS pointer, not the file itself", "run `git lfs pull`"),
    (
        b"does not contain CUDA kernel data",
        "is the output of an nsys that traced no kernels",
        "profile again with `nsys profile --trace=cuda,nvtx`",
    ),
    (
        b'"traceEvents"',
        "is a Chrome trace, such as PyTorch's profiler writes, not a report of Nsight",
        "open it in Perfetto, or profile with ncu or nsys",
    ),
)
"""What a text may hold, what that means, and the way out."""

_OTHERS = (
    (b"PAR1", "give the whole folder that `nsys export --type parquetdir` wrote"),
    (b"ARROW1", "export the report with `nsys export --type sqlite`"),
    (b"\x89HDF", "export the report with `nsys export --type sqlite`"),
    (b"PK\x03\x04", "unpack it and give the report inside"),
    (b"BZh", "unpack it and give the report inside"),
    (b"\xfd7zXZ", "unpack it and give the report inside"),
)
OTHERWISE = "give a report or an export of Nsight Compute or Nsight Systems"


def diagnose(head: bytes) -> tuple[str, str]:
    """Return the cause and the way out for a file of no known format."""
    if not head:
        return "the file is empty", OTHERWISE
    if is_text(head):
        plain = head.replace(b"\0", b"")
        for words, cause, remedy in _LOGS:
            if words in plain:
                return cause, remedy
    remedy = next((way for magic, way in _OTHERS if head.startswith(magic)), OTHERWISE)
    if head[257:262] == b"ustar":
        return "is a tar archive, no report of Nsight", "unpack it and give the report inside"
    return f"is no report of Nsight but {describe(head[:64])}", remedy
