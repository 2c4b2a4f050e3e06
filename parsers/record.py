"""Keep measured captures for replay elsewhere: scrubbed, packed copies with hashes of their own."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from parsers.captures import DEEP, Run, parse_pass, read_run
from parsers.contract import RUN_FILE, range_name
from parsers.errors import CaptureError
from parsers.files import PACKED, pack, sha256
from parsers.leaks import find_leaks, local_secrets
from parsers.scrub_ncu import scrub_ncu
from parsers.scrub_sqlite import scrub_sqlite

NOISE = "noise"
"""Folder of an operator's processes that ran one source in alternating rounds."""

TEXT_SUFFIXES = (".csv", ".ptx", ".sass")


def record(
    measured: Path, recorded: Path, operators: Iterable[str], passes: Iterable[str]
) -> list[Path]:
    """Copy the captures of some operators, scrubbed, and return the folders written.

    The deep profiles that were measured go along, and so do the processes that measured the noise;
    where none did, those that were recorded before are kept.

    An operator's recorded folder is replaced only when all its passes are scrubbed, parse and
    show no leak; until then the earlier one stays.

    Parameters
    ----------
    measured, recorded
        Folders that hold ``<operator>/<pass>/``.

    Raises
    ------
    CaptureError
        When a capture cannot be read, or its scrubbed copy still gives something away.
    """
    secrets = local_secrets()
    written = []
    recorded.mkdir(parents=True, exist_ok=True)
    for operator in operators:
        with tempfile.TemporaryDirectory(dir=recorded, prefix=".partial-") as scratch:
            whole = Path(scratch) / operator
            whole.mkdir()
            deep = sorted((measured / operator / DEEP).glob(f"*/{RUN_FILE}"))
            alike = sorted((measured / operator / NOISE).rglob(RUN_FILE))
            others = [str(run.parent.relative_to(measured / operator)) for run in (*deep, *alike)]
            for name in (*passes, *others):
                _record_pass(measured / operator / name, whole / name, secrets)
            target = recorded / operator
            if not alike and (target / NOISE).exists():
                shutil.copytree(target / NOISE, whole / NOISE)
            if target.exists():
                shutil.rmtree(target)
            whole.rename(target)
            written.append(target)
    return written


def _record_pass(source: Path, target: Path, secrets: list[str]) -> None:
    run = read_run(source)
    ranges = [range_name(run.operator, o["variant"], o["case"]) for o in run.outcomes]
    target.mkdir(parents=True)
    for name in run.files:
        scrubbed = target / name
        _scrub(source / name, scrubbed, secrets)
        _refuse_leaks(source / name, scrubbed, secrets, ranges)
        pack(scrubbed, target / f"{name}{PACKED}")
        scrubbed.unlink()
    _write_run(run, target)
    _refuse_leaks(run.path, target / RUN_FILE, secrets, ranges)
    parse_pass(target)


def _refuse_leaks(source: Path, scrubbed: Path, secrets: list[str], harmless: list[str]) -> None:
    if leaks := find_leaks(scrubbed, secrets, harmless):
        raise CaptureError(
            source,
            f"still gives something away when scrubbed: {leaks[0]}",
            "do not share it; measure again without what put this into the report",
        )


def _scrub(source: Path, target: Path, secrets: list[str]) -> None:
    if source.suffix == ".ncu-rep":
        scrub_ncu(source, target, secrets)
    elif source.suffix == ".sqlite":
        scrub_sqlite(source, target, secrets)
    elif source.suffix in TEXT_SUFFIXES:
        shutil.copyfile(source, target)
    else:
        raise CaptureError(
            source, "is of a kind that cannot be scrubbed", "take it out of run.json"
        )


def _write_run(run: Run, target: Path) -> None:
    """Write ``run.json`` as it was, with names and hashes of the packed files."""
    content = json.loads(run.path.read_text(encoding="utf-8"))
    packed = [f"{name}{PACKED}" for name in run.files]
    content["files"] = {name: sha256(target / name) for name in packed}
    text = json.dumps(content, indent=1) + "\n"
    (target / RUN_FILE).write_text(text, encoding="utf-8")
