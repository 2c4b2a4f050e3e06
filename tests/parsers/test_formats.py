"""Formats are told by content alone, and what is none is named."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest

from parsers import formats, read
from parsers.errors import CaptureError
from parsers.formats import Format, recognise, recognise_folder
from tests.parsers.samples import FOREIGN, WRAPPERS, write


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("kind", FOREIGN)
def test_what_is_no_report_is_named(tmp_path: Path, kind: str, wrapper: str) -> None:
    content, cause = FOREIGN[kind]
    path = write(tmp_path, "claims.ncu-rep", WRAPPERS[wrapper](content))
    with pytest.raises(CaptureError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    assert cause in str(caught.value)


def test_a_log_in_utf16_is_read(tmp_path: Path) -> None:
    content, cause = FOREIGN["no-permission"]
    path = write(tmp_path, "log.csv", content.decode().encode("utf-16"))
    with pytest.raises(CaptureError, match="ERR_NVGPUCTRPERM") as caught:
        read(path)
    assert cause in str(caught.value)


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"NVR\0\2\0\0\0\x08\x07", "ncu-rep"),
        (b"SQLite format 3\0\x10\0", "nsys-sqlite"),
        (b"NVIDIA Tegra Profiler Report 1.\n\x0bLocal (CLI)", "nsys-rep"),
        (b"U3w[END]NVIDIA Nsight Systems Stream 2022.4.2.1", "qdstrm"),
    ],
)
def test_magic_bytes(head: bytes, name: str) -> None:
    form = recognise(head)
    assert form is not None
    assert form.name == name


@pytest.fixture
def invented(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text format and a folder format."""
    module = ModuleType("tests.parsers.invented")
    made = pd.DataFrame({"duration_ns": pd.array([1], dtype="Int64")})
    made.attrs = {"tool": "Invented 1.0", "notes": ["made up"]}
    vars(module).update(
        recognises=lambda head: b"INVENTED" in head,
        recognises_folder=lambda names: "INVENTED" in names,
        parse=lambda _: made.copy(),
    )
    monkeypatch.setitem(sys.modules, module.__name__, module)
    rows = (
        Format("invented", "an invented one", module.__name__, ""),
        Format("invented-folder", "an invented one", module.__name__, "", folder=True),
    )
    monkeypatch.setattr(formats, "FORMATS", rows)


@pytest.mark.usefixtures("invented")
def test_a_module_is_asked_where_no_magic_tells(tmp_path: Path) -> None:
    frame = read(write(tmp_path, "a.txt", b"what a program printed\nINVENTED\n"))
    assert frame.attrs == {
        "tool": "Invented 1.0",
        "notes": ["made up"],
        "format": "invented",
        "packed": [],
        "source": "a.txt",
    }
    assert recognise(b"\0INVENTED") is None, "a binary file is no text"
    write(tmp_path, "INVENTED", b"")
    assert read(tmp_path).attrs["format"] == "invented-folder"


@pytest.mark.usefixtures("invented")
def test_a_folder_of_anything_is_no_report(tmp_path: Path) -> None:
    write(tmp_path, "a.txt", b"")
    assert recognise_folder(["a.txt"]) is None
    with pytest.raises(CaptureError, match="is a folder, not an export of nsys; give the files"):
        read(tmp_path)
