"""The files that an argument of the command line stands for: a file, a folder or a pattern."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Iterator
from pathlib import Path

from parsers.errors import CaptureError
from parsers.formats import OTHERWISE
from parsers.reading import format_of

_SUFFIXES = {
    *(".ncu-rep", ".ncu-repz", ".nsight-cuprof-report"),
    *(".sqlite", ".nsys-rep", ".qdrep", ".qdstrm"),
}
"""What a name in a folder ends in for its file to be read, and so refused, whatever it holds."""
_BETTER = {".nsys-rep": (".sqlite",), ".qdrep": (".sqlite",), ".qdstrm": (".nsys-rep", ".qdrep")}
"""What nsys leaves beside what: the same launches, of which one is read."""
_WILD = "*?["


def expand(arguments: Iterable[str]) -> tuple[list[Path], list[CaptureError]]:
    """Return the files that arguments stand for, in order and once each, and what is wrong.

    Of a folder they are all files in it and below that are reports or exports by their content, or
    claim to be by their names; hidden ones are left out, and so is a report of Nsight Systems
    beside its export. A folder that ``nsys export --type parquetdir`` wrote is one source.
    """
    found: dict[Path, None] = {}
    errors = []
    for argument in arguments:
        try:
            found |= dict.fromkeys(_sources(argument))
        except CaptureError as error:
            errors.append(error)
        except OSError as error:
            cause = f"cannot be listed ({error.strerror})"
            errors.append(CaptureError(argument, cause, "check its permissions"))
    return list(found), errors


def _sources(argument: str) -> list[Path]:
    path = Path(argument)
    if not path.exists() and any(sign in argument for sign in _WILD):
        matches = [Path(match) for match in sorted(glob.glob(argument, recursive=True))]  # noqa: PTH207
        if not matches:
            raise CaptureError(argument, "matches no file", OTHERWISE)
        return [source for match in matches for source in _sources(str(match))]
    if not path.is_dir():
        return [path]
    sources = list(_within(path))
    if not sources:
        raise CaptureError(path, "holds no report or export of Nsight", OTHERWISE)
    return sources


def _within(folder: Path) -> Iterator[Path]:
    if format_of(folder) is not None:
        yield folder
        return
    for child in sorted(folder.iterdir()):
        if child.name.startswith("."):
            continue
        if child.is_dir():
            yield from _within(child)
        elif child.is_file() and not _is_twin(child) and _is_source(child):
            yield child


def _is_twin(path: Path) -> bool:
    return any(path.with_suffix(suffix).exists() for suffix in _BETTER.get(path.suffix, ()))


def _is_source(path: Path) -> bool:
    try:
        return bool(_SUFFIXES & {*path.suffixes}) or format_of(path) is not None
    except OSError:
        return False
