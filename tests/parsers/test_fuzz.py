"""Whatever the bytes: a frame that fits its schema or one line of error. A cut file is no frame."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parsers import read
from parsers.errors import CaptureError
from parsers.files import GZIP_MAGIC, NCU_MAGIC, SQLITE_MAGIC, ZSTD_MAGIC
from parsers.formats import QDREP_MAGIC, QDSTRM_MAGIC
from parsers.schemas import COUNTERS, TIMELINE
from tests.parsers.conftest import ROOT
from tests.parsers.samples import WRAPPERS

REAL = {
    "ncu-rep": ROOT / "tests/data/gelu.ncu-rep.gz",
    "nsys-sqlite": ROOT / "captures/h200/vector_add/nsys/all.sqlite.gz",
}
SCHEMAS = {"ncu-rep": COUNTERS, "nsys-sqlite": TIMELINE}
MAGICS = [b"", NCU_MAGIC, SQLITE_MAGIC, GZIP_MAGIC, ZSTD_MAGIC, QDREP_MAGIC, QDSTRM_MAGIC]
FUZZ = settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True
)


@pytest.fixture(scope="module")
def real() -> dict[str, bytes]:
    return {name: gzip.decompress(path.read_bytes()) for name, path in REAL.items()}


def _refused(path: Path) -> bool:
    """Read a file: a frame must fit its schema, an error be one line that begins with the path."""
    result = _result(path)
    if isinstance(result, CaptureError):
        assert str(result).startswith(f"{path}: ")
        assert len(str(result).splitlines()) == 1
        assert result.cause
        assert result.remedy
        return True
    assert len(result) > 0
    SCHEMAS[result.attrs["format"]].conform(result)
    return False


def _result(path: Path) -> pd.DataFrame | CaptureError:
    try:
        return read(path)
    except CaptureError as error:
        return error


@pytest.mark.parametrize("name", REAL)
def test_whole(real: dict[str, bytes], tmp_path: Path, name: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(real[name])
    assert not _refused(path)


@pytest.mark.parametrize("wrapper", ["plain", "gzip", "zstd"])
@pytest.mark.parametrize("sixteenth", range(16))
@pytest.mark.parametrize("name", REAL)
def test_cut_at_every_sixteenth(
    real: dict[str, bytes], tmp_path: Path, name: str, sixteenth: int, wrapper: str
) -> None:
    path = tmp_path / "file"
    content = WRAPPERS[wrapper](real[name])
    path.write_bytes(content[: len(content) * sixteenth // 16])
    assert _refused(path)


@pytest.mark.parametrize("name", REAL)
def test_cut_near_its_ends(real: dict[str, bytes], tmp_path: Path, name: str) -> None:
    path = tmp_path / "file"
    near = (1, 2, 3, 7, 64, 511, 4095, 4096, 4097)
    for size in (*near, *(len(real[name]) - lost for lost in near)):
        path.write_bytes(real[name][:size])
        assert _refused(path), f"{size} bytes"


@FUZZ
@given(content=st.binary(max_size=2000), magic=st.sampled_from(MAGICS))
def test_random_bytes(tmp_path: Path, content: bytes, magic: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(magic + content)
    assert _refused(path)


@FUZZ
@given(text=st.text(max_size=500))
def test_random_text(tmp_path: Path, text: str) -> None:
    path = tmp_path / "file"
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    assert _refused(path)


def _flip(content: bytearray, at: int, size: int) -> None:
    for place in range(at, min(at + size, len(content))):
        content[place] ^= 0xFF


def _zero(content: bytearray, at: int, size: int) -> None:
    content[at : at + size] = bytes(len(content[at : at + size]))


def _delete(content: bytearray, at: int, size: int) -> None:
    del content[at : at + size]


def _repeat(content: bytearray, at: int, size: int) -> None:
    content[at:at] = content[at : at + size]


def _scatter(content: bytearray, at: int, size: int) -> None:
    chance = random.Random(at)
    for _ in range(size):
        content[chance.randrange(len(content))] = chance.randrange(256)


Change = Callable[[bytearray, int, int], None]


@pytest.mark.parametrize("name", REAL)
@settings(FUZZ, max_examples=60)
@given(
    change=st.sampled_from([_flip, _zero, _delete, _repeat, _scatter]),
    place=st.one_of(st.integers(0, 4096), st.integers(0, 1 << 24)),
    size=st.sampled_from([1, 4, 50, 4096]),
)
def test_mutations(
    real: dict[str, bytes], tmp_path: Path, name: str, change: Change, place: int, size: int
) -> None:
    content = bytearray(real[name])
    change(content, place % len(content), size)
    path = tmp_path / "file"
    path.write_bytes(content)
    _refused(path)
