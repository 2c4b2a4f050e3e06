"""What a launch's instructions cost: values that Nsight Compute keeps by address, to rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import PurePath
from typing import Any

import pandas as pd

from parsers.stalls import SAMPLED, STALLS

_STALLED = "smsp__pcsamp_warps_issue_stalled_"
_SAMPLES = {
    "samples": "smsp__pcsamp_sample_count",
    **{f"{reason}_samples": f"{_STALLED}{SAMPLED.get(reason, reason)}" for reason in STALLS},
}
_COUNTS = {
    "warp_instructions": "inst_executed",
    "thread_instructions": "thread_inst_executed",
    "active_thread_instructions": "thread_inst_executed_true",
    "global_sectors": "memory_l2_theoretical_sectors_global",
    "global_ideal_sectors": "memory_l2_theoretical_sectors_global_ideal",
    "shared_wavefronts": "memory_l1_wavefronts_shared",
    "shared_ideal_wavefronts": "memory_l1_wavefronts_shared_ideal",
}
_SPACES = {4: "global", 16: "shared"}
_ACCESSES = {2: "load", 4: "store"}
_WIDTHS = {2: 8, 32: 32, 64: 64, 128: 128}
"""Codes of memory_type, memory_access_type and memory_access_size_type that were seen beside an
instruction that says what they mean, such as LDS.U8 or STG.E.128. The first two are sums: an access
by TMA is to global and shared memory."""

_INSTRUCTION_BYTES = 16


def instructions(action: Any) -> pd.DataFrame:
    """Return a row an instruction of a launch, by address; none where nothing is kept by address.

    Parameters
    ----------
    action
        An ``ncu_report.IAction``.

    Returns
    -------
    DataFrame
        Columns of `parsers.deep_schemas.HOTSPOTS` but for what names the launch; a column that was
        not collected is absent. An instruction without a sample has 0 samples where the launch was
        sampled at all.
    """
    frame = pd.DataFrame({**_read(action, _SAMPLES), **_read(action, _COUNTS)}).sort_index()
    if frame.empty:
        return frame
    not_issued = _read(action, {name: f"{name}_not_issued" for name in _SAMPLES.values()})
    if not_issued:
        frame["not_issued_samples"] = pd.DataFrame(not_issued).sum(axis=1)
    sampled = [name for name in (*_SAMPLES, "not_issued_samples") if name in frame]
    frame[sampled] = frame[sampled].fillna(0)
    frame["memory"] = _memory(action).reindex(frame.index)
    frame["access_bits"] = _codes(action, "memory_access_size_type").map(_WIDTHS)
    addresses = [int(address) for address in frame.index]
    frame["sass"] = [_line(action.sass_by_pc(address)) for address in addresses]
    frame["sass"] = frame["sass"].map(_relative(addresses), na_action="ignore")
    frame["ptx"] = [_line(action.ptx_by_pc(address)) for address in addresses]
    frame[["file", "line", "source"]] = _sources(action, addresses)
    frame["offset_bytes"] = [address - addresses[0] for address in addresses]
    return frame.reset_index(drop=True)


def _read(action: Any, names: dict[str, str]) -> dict[str, pd.Series]:
    """Return the values by address of the metrics that have any, by column."""
    read = {column: _instances(action, name) for column, name in names.items()}
    return {column: values for column, values in read.items() if len(values)}


def _instances(action: Any, name: str) -> pd.Series:
    """Return a metric's values by address; each is asked for once, for every call is slow."""
    metric = action.metric_by_name(name)
    if metric is None or not metric.has_correlation_ids():
        return pd.Series(dtype="Int64")
    ids, instances = metric.correlation_ids(), range(metric.num_instances())
    values = [metric.value(i) for i in instances]
    return pd.Series(values, index=[ids.as_uint64(i) for i in instances], dtype="Int64")


def _codes(action: Any, name: str) -> pd.Series:
    """Return the codes by address of the accesses that were executed."""
    codes = _instances(action, name)
    return codes[codes > 0]


def _memory(action: Any) -> pd.Series:
    """Return in words by address what an access is to, and what it does."""
    spaces, accesses = (
        _codes(action, name).map(lambda code, words=words: _words(code, words))
        for name, words in (("memory_type", _SPACES), ("memory_access_type", _ACCESSES))
    )
    both = pd.DataFrame({"space": spaces, "access": accesses}).astype("string")
    return both["space"].str.cat(both["access"], sep=" ", na_rep="").str.strip()


def _words(code: int, words: dict[int, str]) -> str:
    return " and ".join(word for bit, word in words.items() if code & bit)


def _line(text: str | None) -> str | None:
    return " ".join((text or "").split()) or None


def _relative(addresses: list[int]) -> Callable[[str], str]:
    """Return what turns targets of branches into offsets: addresses differ from run to run."""
    known = range(addresses[0], addresses[-1] + 2 * _INSTRUCTION_BYTES)

    def offset(found: re.Match[str]) -> str:
        address = int(found.group(), 16)
        return hex(address - known.start) if address in known else found.group()

    return lambda text: re.sub(r"\b0x[0-9a-f]+\b", offset, text)


def _sources(action: Any, addresses: Iterable[int]) -> list[tuple[Any, Any, Any]]:
    """Return file, line and that line's text of each address, as far as the report has them."""
    places = [_place(action.source_info(address)) for address in addresses]
    files = {name: text.splitlines() for name, text in (action.source_files() or {}).items()}
    texts = {name: _text(files, name) for name, _ in places if name}
    return [
        (
            PurePath(name).name if name else None,
            line,
            _line(_at(texts[name], line) if name else None),
        )
        for name, line in places
    ]


def _place(info: Any) -> tuple[str | None, int | None]:
    return (None, None) if info is None else (info.file_name() or None, info.line() or None)


def _text(files: dict[str, list[str]], name: str) -> list[str]:
    """Return a file's lines by its path; one that was crossed out has kept its length alone."""
    crossed = [other for other in files if set(other) == {"x"} and len(other) == len(name)]
    found = name if name in files else crossed[0] if len(crossed) == 1 else None
    return [] if found is None else files[found]


def _at(lines: list[str], number: int | None) -> str | None:
    return lines[number - 1] if number and number <= len(lines) else None
