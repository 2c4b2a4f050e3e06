from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from parsers import ncu, nsys
from parsers import ncu_container as container
from parsers.errors import CaptureError

PARSERS = pytest.mark.parametrize("parse", [ncu.parse, nsys.parse], ids=["ncu", "nsys"])
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"

Parse = Callable[[Path], pd.DataFrame]


def _refusal(parse: Parse, path: Path) -> str:
    with pytest.raises(CaptureError) as caught:
        parse(path)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{path}: ")
    return message


@PARSERS
def test_missing(parse: Parse, tmp_path: Path) -> None:
    assert "no such file" in _refusal(parse, tmp_path / "absent")


@PARSERS
def test_folder(parse: Parse, tmp_path: Path) -> None:
    assert "is a folder" in _refusal(parse, tmp_path)


@PARSERS
@pytest.mark.parametrize(
    ("content", "cause"),
    [
        (b"", "the file is empty"),
        (LFS, "is a Git LFS pointer, not the file itself; run `git lfs pull`"),
        (b"ID,Kernel Name\n", "but text that begins 'ID,Kernel Name'"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "but a PNG image"),
        (b"\x89QNG\r\n\x1a\n\x00\x00", "bytes 89 51 4e 47 0d 0a 1a 0a"),
    ],
    ids=["empty", "lfs", "text", "png", "binary"],
)
def test_content(parse: Parse, tmp_path: Path, content: bytes, cause: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert cause in _refusal(parse, path)


def test_each_others_format(export_path: Path, ncu_report_path: Path) -> None:
    assert "but a SQLite database" in _refusal(ncu.parse, export_path)
    assert "but an Nsight Compute report" in _refusal(nsys.parse, ncu_report_path)


@pytest.mark.parametrize("sixteenth", range(1, 16))
def test_truncated_export(export_path: Path, sixteenth: int) -> None:
    content = export_path.read_bytes()
    export_path.write_bytes(content[: len(content) * sixteenth // 16])
    assert "the database is truncated" in _refusal(nsys.parse, export_path)


@pytest.mark.parametrize("sixteenth", range(1, 16))
def test_truncated_report(ncu_report_path: Path, tmp_path: Path, sixteenth: int) -> None:
    content = ncu_report_path.read_bytes()
    path = tmp_path / "cut.ncu-rep"
    path.write_bytes(content[: len(content) * sixteenth // 16])
    assert "the report is truncated: it ends inside" in _refusal(ncu.parse, path)


@pytest.mark.parametrize("length", [4, 6, 9, 12, 40])
def test_report_cut_in_its_first_bytes(ncu_report_path: Path, tmp_path: Path, length: int) -> None:
    path = tmp_path / "cut.ncu-rep"
    path.write_bytes(ncu_report_path.read_bytes()[:length])
    assert "the report is truncated" in _refusal(ncu.parse, path)


def test_report_without_launches(ncu_report_path: Path, tmp_path: Path) -> None:
    path = tmp_path / "bare.ncu-rep"
    path.write_bytes(ncu_report_path.read_bytes()[:10])
    assert "the report holds no launches" in _refusal(ncu.parse, path)


@pytest.mark.parametrize("version", [7, 8, 20])
@pytest.mark.parametrize("length", [0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF])
def test_report_with_a_length_that_lies(
    ncu_report_path: Path, tmp_path: Path, length: int, version: int
) -> None:
    """The library would end the process over a length from 2 GiB on."""
    with ncu_report_path.open("rb") as stream:
        found = container.blocks(stream)
    block = next(b for b in found if container.number_of(b.header, container.LAUNCHES))
    content = bytearray(ncu_report_path.read_bytes())
    at = block.start + len(block.header)
    content[at : at + 4] = length.to_bytes(4, "little")
    content[9] = version
    path = tmp_path / "lying.ncu-rep"
    path.write_bytes(content)
    assert "a block does not hold the launches that it counts" in _refusal(ncu.parse, path)


def test_newer_report(ncu_report_path: Path, tmp_path: Path) -> None:
    content = bytearray(ncu_report_path.read_bytes())
    content[9] = 8
    path = tmp_path / "newer.ncu-rep"
    path.write_bytes(content)
    assert len(ncu.parse(path)) == 60
    path.write_bytes(content[:-1])
    assert "the report is truncated: it ends inside" in _refusal(ncu.parse, path)
