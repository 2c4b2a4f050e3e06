"""Reports of Nsight Systems (``.nsys-rep``, ``.qdrep``, ``.qdstrm``), which nsys alone can read.

They are exported to SQLite by the nsys that is installed, into a passing folder.
"""

from __future__ import annotations

import re
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pandas as pd

from parsers import nsys
from parsers.errors import CaptureError
from parsers.formats import QDSTRM_MAGIC

REMEDY = nsys.REMEDY
LONGEST_S = 3600
"""Seconds that nsys may take; it exports gigabytes in minutes."""
EXPORT = "export it where nsys is: `nsys export --type sqlite REPORT`"


def parse(path: Path | str) -> pd.DataFrame:
    """Read every launch of a report, as `parsers.nsys.launches` does of its export.

    Raises
    ------
    CaptureError
        When no nsys is installed, when it cannot export the report, and as `parsers.nsys.launches`.
    """
    with exported(Path(path)) as database:
        frame = nsys.launches(database)
        frame.attrs.setdefault("tool", tool_of(database))
    return frame


@contextmanager
def exported(path: Path) -> Iterator[Path]:
    """Give the path of a passing SQLite export of a report.

    Raises
    ------
    CaptureError
        When no nsys is installed, or it cannot export the report or takes over `LONGEST_S`.
    """
    program = shutil.which("nsys")
    if program is None:
        raise CaptureError(path, "only nsys can read it, and none is installed", EXPORT)
    with tempfile.TemporaryDirectory() as folder:
        with path.open("rb") as stream:
            raw = stream.read(len(QDSTRM_MAGIC)) == QDSTRM_MAGIC
        report = _imported(path, program, Path(folder)) if raw else path
        database = Path(folder) / "export.sqlite"
        options = ["--type", "sqlite", "--force-overwrite", "true", "--output", str(database)]
        _run(path, [program, "export", *options, str(report)], database)
        yield database


def tool_of(database: Path) -> str:
    """Return the product and version that wrote a SQLite export, as far as it tells."""
    known: dict[str, str] = {}
    uri = f"{database.resolve().as_uri()}?mode=ro&immutable=1"
    with closing(sqlite3.connect(uri, uri=True)) as export:
        for table in ("META_DATA_EXPORT", "EXPORT_META_DATA"):  # the latter until 2022
            with suppress(sqlite3.DatabaseError):
                rows = export.execute(f"SELECT name, value FROM {table}")  # noqa: S608
                known |= {str(name): str(value) for name, value in rows}
    return f"Nsight Systems {known.get('EXPORT_PRODUCT_VERSION', '')}".rstrip()


def _imported(path: Path, program: str, folder: Path) -> Path:
    """Make a report of a raw stream, by the importer that belongs to nsys."""
    beside = (home.glob("host-*/QdstrmImporter") for home in _homes(Path(program)))
    found = (str(importer) for importers in beside for importer in importers)
    importer = shutil.which("QdstrmImporter") or next(found, None)
    if importer is None:
        cause = "is a raw stream, and the nsys installed here has no QdstrmImporter"
        raise CaptureError(path, cause, "import it with a whole Nsight Systems")
    report = folder / "report.nsys-rep"
    options = ["--input-file", str(path), "--output-file", str(report)]
    _run(path, [importer, *options], report)
    return report


def _homes(program: Path) -> Iterator[Path]:
    """Yield the folders that may hold all of Nsight Systems: two above nsys or what it links to."""
    yield program.parent.parent
    while program.is_symlink():
        program = program.parent / program.readlink()
        yield program.parent.parent
    yield program.resolve().parent.parent


def _run(path: Path, command: list[str], made: Path) -> None:
    name = Path(command[0]).name
    try:
        done = subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=LONGEST_S,
        )
    except subprocess.TimeoutExpired:
        cause = f"{name} did not finish with it in {LONGEST_S} s"
        raise CaptureError(path, cause, EXPORT) from None
    if done.returncode == 0 and made.is_file():
        return
    lines = re.split(r"[\r\n]+", f"{done.stdout}\n{done.stderr}")
    said = next((line.strip() for line in reversed(lines) if line.strip()), "it says nothing")
    raise CaptureError(
        path, f"{name} cannot read it: {said[:200]}", f"read it with the {name} that is its own"
    )
