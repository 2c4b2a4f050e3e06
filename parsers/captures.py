"""A pass's folder to frames: ``run.json`` and the files that it lists."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import pandas as pd

from parsers import deep, ncu, nsys
from parsers.columns import Misfit, Schema
from parsers.contract import DOMAIN, FORMAT, RUN_FILE, range_name
from parsers.coverage import cover
from parsers.errors import CaptureError
from parsers.files import PACKED, check_present, plain, sha256
from parsers.plausible import flag
from parsers.schemas import SCHEMAS

_LEADING = "time"
DEEP = "deep"
"""The pass whose folder holds one folder a variant, each a capture of its own."""

_TABLES = {
    "check": ("checks",),
    "build": ("builds",),
    "time": ("samples", "ceilings"),
    "sanitize": ("sanitizer",),
    "interpret": ("checks",),
}
Parser = Callable[[Path], pd.DataFrame]
_REPORTS: dict[str, tuple[str, str, Parser]] = {
    "nsys": ("timeline", ".sqlite", nsys.parse),
    "ncu": ("counters", ".ncu-rep", ncu.parse),
    DEEP: ("counters", ".ncu-rep", ncu.parse),
}
PASSES = (*_TABLES, *_REPORTS)

_KEYS: dict[str, type] = {
    "operator": str,
    "pass": str,
    "run": dict,
    "variants": list,
    "cases": list,
    "outcomes": list,
    "files": dict,
}


@dataclass(frozen=True)
class Run:
    """What ``run.json`` says of a pass: rows of the frames of the same names, and the files."""

    folder: Path
    operator: str
    pass_name: str
    run: dict[str, Any]
    variants: list[dict[str, Any]]
    cases: list[dict[str, Any]]
    outcomes: list[dict[str, Any]]
    files: dict[str, str]

    @property
    def path(self) -> Path:
        """The ``run.json`` itself."""
        return self.folder / RUN_FILE

    @property
    def remedy(self) -> str:
        """The way to make this capture anew."""
        of = f"/{self.folder.resolve().name}" if self.pass_name == DEEP else ""
        return _remedy(f"{self.operator}{of}", self.pass_name)

    def measured(self) -> list[tuple[str, str]]:
        """Return the (variant, case) pairs whose outcome is ``ok``, in order."""
        return [(o["variant"], o["case"]) for o in self.outcomes if o.get("status") == "ok"]


def _remedy(target: str, pass_name: str) -> str:
    measure = f"measure again with `snakemake reports/{target} -R {pass_name}`"
    return f"restore it with `git checkout`, or {measure}"


def _place(folder: Path) -> tuple[str, str]:
    """Return the target of a pass's folder under ``reports/`` and the pass, by the layout.

    The folder is the pass and the one above it the operator; of the deep pass it is the variant, in
    the folder of the pass.
    """
    above = folder.parent
    if above.name == DEEP:
        return f"{above.parent.name}/{folder.name}", DEEP
    return above.name, folder.name


def read_run(folder: Path | str) -> Run:
    """Read the ``run.json`` of a pass's folder; the files that it lists are not looked at.

    Raises
    ------
    CaptureError
        When it is missing, empty, not JSON, of another format, or lacks a key.
    """
    path = Path(folder) / RUN_FILE
    target, pass_name = _place(path.resolve().parent)
    remedy = _remedy(target, pass_name)
    check_present(path, remedy)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise CaptureError(path, f"is not JSON ({_line(error)})", remedy) from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        found = content.get("format") if isinstance(content, dict) else None
        raise CaptureError(path, f"has format {found!r}, not {FORMAT}", remedy)
    wrong = [key for key, kind in _KEYS.items() if not isinstance(content.get(key), kind)]
    if wrong:
        raise CaptureError(path, f"lacks {', '.join(wrong)}", remedy)
    if content["pass"] not in PASSES:
        cause = f"has the unknown pass {content['pass']!r}, not one of {', '.join(PASSES)}"
        raise CaptureError(path, cause, remedy)
    if content["pass"] != pass_name:
        cause = f"is of the pass {content['pass']!r}, in the folder of another"
        raise CaptureError(path, cause, remedy)
    rows = [content["run"], *content["variants"], *content["cases"], *content["outcomes"]]
    if not all(isinstance(row, dict) for row in rows):
        raise CaptureError(path, "has a row that is not an object", remedy)
    if not all({"variant", "case", "status"} <= row.keys() for row in content["outcomes"]):
        raise CaptureError(path, "has an outcome without variant, case or status", remedy)
    values = {key: content[key] for key in _KEYS if key != "pass"}
    return Run(folder=Path(folder), pass_name=content["pass"], **values)


def verify(run: Run) -> None:
    """Check that every listed file is there and is the one that was recorded, by its SHA-256.

    Raises
    ------
    CaptureError
        When a file is missing, empty, a Git LFS pointer, damaged or otherwise changed. Damage that
        the file's own parser can name is named.
    """
    for name, recorded in run.files.items():
        pure = PurePosixPath(name)
        if pure.is_absolute() or ".." in pure.parts:
            raise CaptureError(run.path, f"lists {name}, which is outside its folder", run.remedy)
        path = run.folder / name
        check_present(path, run.remedy)
        if sha256(path) == recorded:
            continue
        for _, suffix, parse in _REPORTS.values():
            if suffix in path.suffixes:
                _parse(run, parse, path)
        raise CaptureError(path, "does not match its recorded hash", run.remedy)


def parse_pass(folder: Path | str) -> dict[str, pd.DataFrame]:
    """Read the frames of a pass's folder, each by its schema.

    Returns
    -------
    dict
        ``checks``; ``builds``; ``samples`` and ``ceilings``; ``timeline`` and ``flags``; or
        ``counters``, ``coverage`` and ``flags``, by the pass; of the deep pass also ``hotspots``
        and ``advice``. Several reports of one pass are concatenated; starts count within each
        report.

    Raises
    ------
    CaptureError
        As `read_run` and `verify`, when a table does not fit its schema, and when a profile holds
        no launches of a variant and case whose outcome is ``ok``.
    """
    run = read_run(folder)
    verify(run)
    if run.pass_name in _TABLES:
        frames = {name: _table(run, name) for name in _TABLES[run.pass_name]}
        if "samples" in frames:
            _check_measured(run, frames["samples"], _table_path(run, "samples"), "no samples of")
        return frames
    name, suffix, parse = _REPORTS[run.pass_name]
    reports = [run.folder / file for file in run.files if suffix in Path(file).suffixes]
    if not reports and run.measured():
        raise CaptureError(run.path, f"lists no {suffix} file", run.remedy)
    parts = [_parse(run, parse, report) for report in reports]
    _check_apart(run, parts)
    frame = pd.concat(parts, ignore_index=True) if parts else SCHEMAS[name].conform([])
    place = reports[0] if len(reports) == 1 else run.folder
    _check_measured(
        run, frame, place, f"no launches in NVTX domain {DOMAIN} in the expected ranges"
    )
    others = _details(run, reports, parts) if run.pass_name == DEEP else {}
    if name == "counters":
        frame, others["coverage"] = cover(frame)
    frame, others["flags"] = flag(frame, name)
    return {name: frame, **others}


def _details(
    run: Run, reports: list[Path], counters: list[pd.DataFrame]
) -> dict[str, pd.DataFrame]:
    """Read what reports of the deep pass hold beside counters."""
    parts = []
    for path, counted in zip(reports, counters, strict=True):
        with plain(path, run.remedy) as report:
            parts.append(deep.details(report, counted))
    return {
        name: pd.concat([part[name] for part in parts], ignore_index=True)
        if parts
        else SCHEMAS[name].conform([])
        for name in ("hotspots", "advice")
    }


def _parse(run: Run, parse: Parser, path: Path) -> pd.DataFrame:
    """Parse a report of a pass; here it is known where it lies and how to make it anew."""
    with plain(path, run.remedy) as report:
        try:
            return parse(report)
        except CaptureError as error:
            known = (ncu.REMEDY, nsys.REMEDY)
            remedy = run.remedy if error.remedy in known else error.remedy
            raise CaptureError(path, error.cause, remedy) from None


def _table(run: Run, name: str) -> pd.DataFrame:
    path = _table_path(run, name)
    with plain(path, run.remedy) as table:
        try:
            # Text until the schema says otherwise; only an empty cell is NA, not one named "NA".
            rows = pd.read_csv(table, dtype="string", keep_default_na=False, na_values=[""])
        except (ValueError, pd.errors.ParserError) as error:
            raise CaptureError(path, f"is not a table ({_line(error)})", run.remedy) from None
    return _conform(path, rows, SCHEMAS[name], run.remedy)


def _table_path(run: Run, name: str) -> Path:
    for file in (f"{name}.csv", f"{name}.csv{PACKED}"):
        if file in run.files:
            return run.folder / file
    raise CaptureError(run.path, f"lists no {name}.csv", run.remedy)


def _conform(
    path: Path, rows: pd.DataFrame | list[dict[str, Any]], schema: Schema, remedy: str
) -> pd.DataFrame:
    try:
        return schema.conform(rows)
    except Misfit as misfit:
        raise CaptureError(path, f"does not fit {schema.name}: {misfit}", remedy) from None


def _line(error: Exception) -> str:
    """Return the first line of a message, which is the one that names the column or place."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__).rstrip(":;. ")


def _pairs(run: Run, frame: pd.DataFrame) -> set[tuple[str, str]]:
    ours = frame[frame["operator"].isin([run.operator])]
    return set(zip(ours["variant"], ours["case"], strict=True))


def _check_measured(run: Run, frame: pd.DataFrame, place: Path, lack: str) -> None:
    """Check that all that counts as measured is there."""
    seen = _pairs(run, frame)
    missing = [range_name(run.operator, v, c) for v, c in run.measured() if (v, c) not in seen]
    if missing:
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        raise CaptureError(place, f"{lack} {', '.join(missing[:3])}{more}", run.remedy)


def _check_apart(run: Run, parts: list[pd.DataFrame]) -> None:
    """Check that no launch can count twice: a variant and case are in one report alone."""
    seen: set[tuple[str, str]] = set()
    for part in parts:
        pairs = _pairs(run, part)
        if twice := sorted(seen & pairs):
            name = range_name(run.operator, *twice[0])
            raise CaptureError(run.path, f"two reports hold launches of {name}", run.remedy)
        seen |= pairs


def parse_runs(folders: Iterable[Path | str]) -> dict[str, pd.DataFrame]:
    """Read the frames ``runs``, ``cases``, ``variants`` and ``outcomes`` of an operator's passes.

    Cases and variants are those of the ``time`` pass, or of the first folder where it is absent.

    Raises
    ------
    CaptureError
        As `read_run`, and when the rows do not fit their schema or the folders are of different
        operators.
    ValueError
        When there are no folders.
    """
    runs = [read_run(folder) for folder in folders]
    if not runs:
        raise ValueError("no folders")
    for run in runs:
        if run.operator != runs[0].operator:
            cause = f"is of operator {run.operator}, not {runs[0].operator}"
            raise CaptureError(run.path, cause, "give the folders of one operator")
    main = next((run for run in runs if run.pass_name == _LEADING), runs[0])
    parts = {
        name: [_conform(run.path, rows, SCHEMAS[name], run.remedy) for run, rows in sources]
        for name, sources in {
            "runs": [(run, [run.run]) for run in runs],
            "cases": [(main, main.cases)],
            "variants": [(main, main.variants)],
            "outcomes": [(run, run.outcomes) for run in runs],
        }.items()
    }
    return {name: pd.concat(frames, ignore_index=True) for name, frames in parts.items()}
