"""What ``nsys stats`` prints as CSV: a trace of the GPU to launches, sums to a summary.

The reports have new names (``cuda_gpu_trace``, ``cuda_gpu_kern_sum``, ``nvtx_sum``, …) and had old
ones (``gputrace``, ``gpukernsum``, ``nvtxsum``, …); which one it is, the columns tell. Units stand
in the header, as in ``Total Time (ns)``, and differ with the version and ``--timeunit``; a kB is
1000 bytes. Other output may come before a header, and several reports may be in one file.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from parsers.errors import CaptureError
from parsers.files import check_present, describe
from parsers.nsys_schemas import LAUNCHES, NSYS_SUMMARY

REMEDY = "write it again with `nsys stats --format csv --report REPORT`"

TRACE = "cuda_gpu_trace"
_KEYS = {
    TRACE: {"Start", "Duration", "CorrId", "Strm", "Name"},
    "nvtx_kern_sum": {"NVTX Range", "NVTX Inst", "Kern Inst", "Total Time", "Kernel Name"},
    "nvtx_sum": {"Total Time", "Instances", "Style", "Range"},
    "nvtx_gpu_proj_sum": {"Range", "Style", "Total Proj Time", "Range Instances"},
    "nvtx_pushpop_sum or nvtx_startend_sum": {"Total Time", "Instances", "Range"},
    "cuda_gpu_kern_sum": {"Total Time", "Instances", "Name"},
}
"""The columns that tell a report; one that has those of several is the first of them. Sums of
push/pop and of start/end ranges have the same columns."""

_BEGINNINGS = ("Time", "Start", "NVTX Range", "Range")
"""What the first column of a header begins with."""

_SUM = {
    "Time": "share_percent", "Total Time": "total_ns", "Instances": "instances",
    "Avg": "mean_ns", "Average": "mean_ns", "Med": "median_ns", "Min": "min_ns",
    "Minimum": "min_ns", "Max": "max_ns", "Maximum": "max_ns", "StdDev": "stddev_ns",
    "Name": "kernel", "Kernel Name": "kernel", "Range": "range", "NVTX Range": "range",
    "Style": "style", "PID": "process", "TID": "thread", "Kern Inst": "instances",
    "NVTX Inst": "range_instances", "Total Proj Time": "total_ns", "Range Instances": "instances",
    "Proj Avg": "mean_ns", "Proj Med": "median_ns", "Proj Min": "min_ns", "Proj Max": "max_ns",
    "Proj StdDev": "stddev_ns",
}  # fmt: skip
_LAUNCH = {
    "Start": "start_ns", "Duration": "duration_ns", "CorrId": "correlation",
    **{f"{short}{axis}": f"{part}_{axis.lower()}"
       for short, part in (("Grd", "grid"), ("Blk", "block")) for axis in "XYZ"},
    "Reg/Trd": "registers_per_thread", "StcSMem": "static_shared_bytes",
    "DymSMem": "dynamic_shared_bytes", "Bytes": "bytes", "Device": "gpu_name", "Ctx": "context",
    "GreenCtx": "green_context", "Strm": "stream", "Name": "kernel",
}  # fmt: skip
_UNITS = {
    None: 1, "%": 1, "ns": 1, "nsec": 1, "us": 1e3, "μs": 1e3, "usec": 1e3, "ms": 1e6, "msec": 1e6,
    "s": 1e9, "sec": 1e9, "B": 1, "bytes": 1, "KB": 1e3, "kB": 1e3, "MB": 1e6, "GB": 1e9,
    "TB": 1e12, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
}  # fmt: skip
_BEYOND = "beyond the last column"
_FIELD = re.compile(r"(?P<name>[^(]*?)\s*(?:\((?P<unit>[^)]*)\))?")
_NUMBER = re.compile(r"-?(?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d*)?(?:[eE][+-]?\d+)?")
_DEVICE = re.compile(r"(?P<name>.*) \((?P<number>\d+)\)")


@dataclass(frozen=True)
class _Report:
    name: str
    units: dict[str, str | None]
    rows: pd.DataFrame


def recognises(head: bytes) -> bool:
    """Whether the first 64 KiB of a file are those of CSV that ``nsys stats`` printed."""
    lines = head.decode("utf-8-sig", "replace").splitlines()
    return any(_signature(line) is not None for line in lines)


def parse(path: Path | str) -> pd.DataFrame:
    """Read what ``nsys stats`` printed as CSV: the trace of the GPU where there is one, else sums.

    Parameters
    ----------
    path
        Reports ``cuda_gpu_trace``, ``cuda_gpu_kern_sum``, ``nvtx_sum``, ``nvtx_pushpop_sum``,
        ``nvtx_startend_sum``, ``nvtx_kern_sum`` or ``nvtx_gpu_proj_sum``, by their new or old
        names; others beside them are passed over.

    Returns
    -------
    DataFrame
        Schema `parsers.schemas.LAUNCHES` of a trace, `parsers.schemas.NSYS_SUMMARY` of sums.
        ``attrs["notes"]`` says what these reports lack.

    Raises
    ------
    CaptureError
        When the file is missing, empty, of something else, cut off, or has a value or unit that
        is not understood.
    """
    path = Path(path)
    reports = _reports(path)
    traces = [report for report in reports if report.name == TRACE]
    if traces:
        frame = LAUNCHES.conform(pd.concat([_trace(path, report) for report in traces]))
        frame.attrs["notes"] = [
            "a trace by nsys stats has no threads, calls, NVTX ranges and graphs",
            "sizes are rounded as printed; the names are of the form that nsys stats was asked for",
        ]
        return frame
    frame = pd.concat([_sum(path, report) for report in reports])
    return NSYS_SUMMARY.conform(frame.reset_index(drop=True))


def _fields(line: str) -> dict[str, str | None]:
    """Return the columns of a header with their units."""
    found = {}
    for field in next(csv.reader([line]), []):
        if match := _FIELD.fullmatch(field.strip()):
            found[match["name"]] = match["unit"]
    return found


def _signature(line: str) -> str | None:
    """Return the report whose header a line is."""
    if line.count(",") < 2 or not line.lstrip('"').startswith(_BEGINNINGS):
        return None
    fields = _fields(line)
    return next((name for name, keys in _KEYS.items() if keys <= fields.keys()), None)


def _reports(path: Path) -> list[_Report]:
    head = check_present(path, REMEDY)
    content = path.read_bytes()
    if b"\0" in content:
        raise CaptureError(path, f"is not CSV of nsys stats but {describe(head)}", REMEDY)
    text = content.decode("utf-8-sig", "replace")
    lines = text.splitlines()
    headers = [(row, name) for row, line in enumerate(lines) if (name := _signature(line))]
    if not headers:
        known = ", ".join(_KEYS)
        cause = f"is not CSV of a report of nsys stats that is known ({known})"
        raise CaptureError(path, cause, REMEDY)
    if not text.endswith("\n"):
        raise CaptureError(path, "is truncated: it ends inside a line", REMEDY)
    return [_report(path, name, lines, row) for row, name in headers]


def _report(path: Path, name: str, lines: list[str], row: int) -> _Report:
    """Read a table: from its header to an empty line, or what nsys says of the next report."""
    end = row + 1
    while end < len(lines) and lines[end].strip() and not lines[end].startswith("Processing ["):
        end += 1
    fields = _fields(lines[row])
    table = io.StringIO("\n".join(lines[row + 1 : end]))
    try:
        rows = pd.read_csv(
            table,
            names=[*fields, _BEYOND],
            index_col=False,
            dtype="string",
            keep_default_na=False,
            na_values=["", "-", "None"],
            on_bad_lines="error",
        )
    except pd.errors.ParserError as error:
        cause = f"is not the table of {name} ({str(error).strip()})"
        raise CaptureError(path, cause, REMEDY) from None
    if rows.pop(_BEYOND).notna().any():
        cause = f"has a row with more values than {name} has columns"
        raise CaptureError(path, cause, REMEDY)
    last = rows.columns[-1]
    if rows.empty or rows[last].isna().any():
        lack = "no rows" if rows.empty else f"a row that ends before {last!r}"
        raise CaptureError(path, f"{name} has {lack}", REMEDY)
    return _Report(name, fields, rows)


def _renamed(path: Path, report: _Report, names: dict[str, str], texts: set[str]) -> pd.DataFrame:
    """Rename the columns that are known, and give the numbers in base units."""
    known = {field: column for field, column in names.items() if field in report.rows}
    return pd.DataFrame(
        {
            column: report.rows[field] if column in texts else _numbers(path, report, field)
            for field, column in known.items()
        }
    )


def _numbers(path: Path, report: _Report, field: str) -> pd.Series:
    values, unit = report.rows[field], report.units[field]
    if unit not in _UNITS:
        raise CaptureError(path, f"column {field!r} has the unknown unit {unit!r}", REMEDY)
    wrong = values[~values.str.fullmatch(_NUMBER.pattern).fillna(True)]
    if len(wrong):
        raise CaptureError(path, f"column {field!r} holds {wrong.iloc[0]!r}, no number", REMEDY)
    plain = values.str.replace(",", "")
    if _UNITS[unit] == 1 and plain.str.fullmatch(r"-?\d+").fillna(True).all():
        return plain.astype("Int64")  # exact: times since boot exceed what a float holds
    scaled = plain.astype("Float64") * _UNITS[unit]
    return scaled.round(6)


def _trace(path: Path, report: _Report) -> pd.DataFrame:
    frame = _renamed(path, report, _LAUNCH, texts={"kernel", "gpu_name"})
    whole = frame.select_dtypes("Float64").columns
    frame = frame.assign(**{column: frame[column].round().astype("Int64") for column in whole})
    kind = pd.Series("kernel", index=frame.index)
    kind = kind.mask(frame["kernel"].str.startswith("[CUDA memcpy"), "memcpy")
    kind = kind.mask(frame["kernel"].str.startswith("[CUDA memset"), "memset")
    if "gpu_name" in frame:
        device = frame["gpu_name"].str.extract(_DEVICE.pattern)
        frame["gpu_name"] = device["name"].fillna(frame["gpu_name"])
        frame["device"] = device["number"].astype("Int64")
    frame["kernel_demangled"] = frame["kernel"].mask(kind != "kernel")
    return frame.assign(kind=kind)


def _sum(path: Path, report: _Report) -> pd.DataFrame:
    frame = _renamed(path, report, _SUM, texts={"kernel", "range", "style"})
    return frame.assign(report=report.name)
