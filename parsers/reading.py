"""Any Nsight report or export to a frame, whatever it is called and however it is packed."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from parsers.coverage import cover
from parsers.errors import CaptureError
from parsers.files import check_present
from parsers.formats import (
    HEAD,
    OTHERWISE,
    Format,
    diagnose,
    recognise,
    recognise_folder,
)
from parsers.nsys_report import tool_of
from parsers.packing import peek, unpacked
from parsers.plausible import flag

REMEDY = "copy it again, or profile again"


def read(path: Path | str) -> pd.DataFrame:
    """Read the launches of a report or export of Nsight Compute or Nsight Systems.

    What the file is, its content tells, not its name; it may be packed by gzip or Zstandard, or by
    both. `parsers.formats.FORMATS` lists the formats.

    Parameters
    ----------
    path
        A file, or the folder of an ``nsys export --type parquetdir``.

    Returns
    -------
    DataFrame
        A row a launch. Nsight Compute gives `parsers.schemas.COUNTERS`, Nsight Systems
        `parsers.schemas.LAUNCHES`, each in base units (ns, B, Hz, %) that the schema names, with
        the Nsight name that a value comes from; ``python -m parsers --columns`` prints them. What
        was not collected is NA, never 0. Summaries, such as those of ``nsys stats``, have a row a
        kernel or range.

        ``attrs`` holds ``format`` (a name in ``FORMATS``), ``packed`` (what packed the file,
        outermost first), ``source`` (the file's name), ``tool`` (the tool and, where the file
        tells, its version), ``notes`` (what to know before the numbers are used: a value that
        cannot be is NA, and told there), and of counters ``coverage``: by column measured, derived,
        in part or absent.

    Raises
    ------
    CaptureError
        When the file is missing, empty, a Git LFS pointer, of another format, truncated or damaged,
        when it holds no launches, or when only nsys can read it and none is installed. A report of
        Nsight Compute that was cut exactly between two launches is whole by its layout, and gives
        those before the cut.
    """
    path = Path(path)
    form, frame, packers = _read(path)
    frame = _examined(form, frame)
    frame.attrs |= {
        "format": form.name,
        "packed": packers,
        "source": path.name,
        "tool": frame.attrs.get("tool") or _tool(form, frame),
        "notes": list(frame.attrs.get("notes", [])),
    }
    return frame


def format_of(path: Path) -> Format | None:
    """Return the format of a file or folder; None where it is none that can be read."""
    if path.is_dir():
        return recognise_folder(child.name for child in path.iterdir())
    return recognise(peek(path, HEAD))


def _read(path: Path) -> tuple[Format, pd.DataFrame, list[str]]:
    if path.is_dir():
        form = format_of(path)
        if form is None:
            raise CaptureError(path, "is a folder, not an export of nsys", "give the files in it")
        return form, _parse(path, form, path), []
    check_present(path, OTHERWISE)
    with unpacked(path) as (content, packers):
        head = peek(content, HEAD)
        form = recognise(head)
        if form is None:
            raise CaptureError(path, *diagnose(head))
        with _named(content, form) as named:
            return form, _parse(path, form, named), packers


@contextmanager
def _named(content: Path, form: Format) -> Iterator[Path]:
    """Give a path whose suffix misleads nobody: ``ncu_report`` unpacks what ends in ``.ncu-repz``.

    It would find nothing in a report that is not packed but called so.
    """
    if form.name != "ncu-rep" or content.suffix != ".ncu-repz":
        yield content
        return
    with tempfile.TemporaryDirectory() as folder:
        link = Path(folder) / "content.ncu-rep"
        link.symlink_to(content.resolve())
        yield link


def _parse(path: Path, form: Format, content: Path) -> pd.DataFrame:
    try:
        return _parse_sound(form, content)
    except CaptureError as error:
        # A module's own way out is to measure the harness's capture again.
        own = error.remedy == getattr(form.load(), "REMEDY", None)
        raise CaptureError(path, error.cause, REMEDY if own else error.remedy) from None
    except Exception as error:
        # Whatever a parser did not foresee in a foreign file is that file's fault, and its alone.
        said = next(iter(str(error).splitlines()), "")[:120].rstrip(":;. ")
        cause = f"is {form.title} that cannot be read ({type(error).__name__}: {said})"
        raise CaptureError(path, cause, REMEDY) from error


def _parse_sound(form: Format, content: Path) -> pd.DataFrame:
    frame: pd.DataFrame = getattr(form.load(), form.function)(content)
    if form.name == "nsys-sqlite":
        frame.attrs.setdefault("tool", tool_of(content))
    return frame


def _examined(form: Format, frame: pd.DataFrame) -> pd.DataFrame:
    """Fill in what follows by formula, and leave out what cannot be; say so in the attributes."""
    if form.frame not in {"counters", "launches"}:
        return frame
    attrs = dict(frame.attrs)
    if form.frame == "counters":
        frame, coverage = cover(frame)
        attrs["coverage"] = dict(zip(coverage["column"], coverage["status"], strict=True))
    frame, flags = flag(frame, form.frame)
    told = (flags["column"] + " " + flags["reason"]).value_counts(sort=False)
    attrs["notes"] = [
        *attrs.get("notes", []),
        *(f"{what} in {count} rows: left out" for what, count in told.items()),
    ]
    frame.attrs = attrs
    return frame


def _tool(form: Format, frame: pd.DataFrame) -> str:
    if not form.name.startswith("ncu"):
        return "Nsight Systems"
    if "nsight_compute" not in frame:
        return "Nsight Compute"
    return " ".join(["Nsight Compute", *map(str, frame["nsight_compute"].dropna().unique())])
