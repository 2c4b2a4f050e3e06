"""The text around an export of Nsight Compute: its encoding, and why it may hold no launches."""

from __future__ import annotations

import re
from pathlib import Path

from parsers.errors import CaptureError
from parsers.files import check_present, describe

REMEDY = "export it again with `ncu --import REPORT --csv --page raw`"
LOG_LINE = re.compile(r"^==(?:PROF|WARNING|ERROR)==", re.MULTILINE)

_CAUSES = (
    (
        re.compile(r"ERR_NVGPUCTRPERM|permission to access NVIDIA GPU Performance Counters"),
        "Nsight Compute was not permitted to read the GPU's counters (ERR_NVGPUCTRPERM)",
        "profile as root, or permit all users: https://developer.nvidia.com/ERR_NVGPUCTRPERM",
    ),
    (
        re.compile(r"[Dd]river is not compatible"),
        "the driver is not compatible with this Nsight Compute",
        "update the driver, or use the Nsight Compute of its CUDA version",
    ),
    (
        re.compile(r"No kernels were profiled"),
        "no kernels were profiled",
        "check ncu's filters (--kernel-name, --nvtx-include, --launch-skip) against what the "
        "program launches, and whether its child processes do (--target-processes all)",
    ),
)
_ERROR = re.compile(r"^==ERROR==\s*(.+)$", re.MULTILINE)


def read_text(path: Path) -> str:
    """Return the text of a file, lines ended by a newline alone, without a byte-order mark.

    Raises
    ------
    CaptureError
        When the file is missing, a folder, unreadable, empty or a Git LFS pointer.
    """
    check_present(path, REMEDY)
    return decode(path.read_bytes())


def decode(data: bytes) -> str:
    """Decode UTF-8 or UTF-16, with or without a byte-order mark; a line that is neither, Latin-1.

    A shell's redirect makes UTF-16 of the output, or mixes the program's code page into it.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = data.decode("utf-16", errors="replace")
    elif data[1:128:2].count(0) > len(data[:128]) // 4:
        text = data.decode("utf-16-le", errors="replace")
    else:
        text = _utf8(data)
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _utf8(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        lines = data.split(b"\n")
    return "\n".join(_line(line) for line in lines)


def _line(line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return line.decode("latin-1")


def no_launches(path: Path, text: str, expected: str, cause: str | None = None) -> CaptureError:
    """Return the error of an export without launches, with what Nsight Compute itself says of it.

    ``expected`` names the format, for a file that is none; ``cause`` is what to say where the
    format is right and Nsight Compute is silent.
    """
    for pattern, known, remedy in _CAUSES:
        if pattern.search(text):
            return CaptureError(path, known, remedy)
    if error := _ERROR.search(text):
        cause = f"Nsight Compute failed: {error[1].strip()}"
        return CaptureError(path, cause, "see to it, and profile again")
    if cause is None and LOG_LINE.search(text):
        cause = "holds Nsight Compute's log but no results"
    if cause is None:
        found = describe(check_present(path, REMEDY))
        return CaptureError(path, f"is not {expected} but {found}", REMEDY)
    return CaptureError(path, cause, REMEDY)
