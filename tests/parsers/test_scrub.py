from __future__ import annotations

import sqlite3
import struct
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest

from parsers import ncu, nsys, scrub_sqlite
from parsers.errors import CaptureError
from parsers.leaks import find_leaks
from parsers.scrub_ncu import _names as scrub_ncu_names
from parsers.scrub_ncu import _paths as scrub_ncu_paths
from parsers.scrub_ncu import scrub_ncu
from tests.parsers.exports import write_export

PLANTED = [
    "alice",
    "secret-host",
    "process-host",
    "198.51.100.7",
    "fd00::99",
    "/home/alice",
    "/usr/bin/python3",
]


def _field(number: int, value: bytes) -> bytes:
    assert len(value) < 128
    return bytes([number << 3 | 2, len(value)]) + value


def _plant(report: bytes, other: bytes = b"") -> bytes:
    """Append a block as Nsight Compute writes it, about a host and a process, to a report."""
    address = _field(7, _field(1, b"198.51.100.7") + b"\x10\x01")
    address += _field(7, _field(1, b"fd00::99") + b"\x10\x02")
    system = _field(1, b"Linux") + _field(5, b"secret-host") + address
    command = _field(11, b"/opt/nvidia/ncu --metrics a.sum -o=/home/alice/o python3 -m kernels")
    process = b"\x08\x07" + _field(2, b"process-host") + _field(3, b"/usr/bin/python3.12")
    session = _field(3, _field(4, system)) + _field(3, command)
    header = b"\x08\x00\x10\x00" + session + _field(4, b"") + b"\x28\x00" + _field(6, process)
    header += other
    return report + struct.pack("<I", len(header)) + header


@pytest.fixture
def planted(ncu_report_path: Path, tmp_path: Path) -> Path:
    path = tmp_path / "planted.ncu-rep"
    path.write_bytes(_plant(ncu_report_path.read_bytes()))
    return path


def test_planted_secrets_leave_a_report(planted: Path, tmp_path: Path) -> None:
    before = planted.read_bytes()
    assert all(secret.encode() in before for secret in PLANTED)
    target = tmp_path / "clean.ncu-rep"
    scrub_ncu(planted, target)
    after = target.read_bytes()
    assert [secret for secret in PLANTED if secret.encode() in after] == []
    assert len(after) == len(before)
    assert b"--metrics" not in after, "a command line goes whole"
    assert b"Linux" in after
    assert find_leaks(target, ["alice", "secret-host"]) == []
    pd.testing.assert_frame_equal(ncu.parse(target), ncu.parse(planted))


@pytest.mark.parametrize("length", [b"R", b"/", b"\x12"])
def test_of_a_source_file_the_name_stays(
    ncu_report_path: Path, tmp_path: Path, length: bytes
) -> None:
    """Whatever the length reads as that precedes the path."""
    text = b"\x12" + length + b"/home/alice/own-kernels/gelu_v2.py"
    path = tmp_path / "planted.ncu-rep"
    path.write_bytes(_plant(ncu_report_path.read_bytes(), _field(15, text)))
    target = tmp_path / "clean.ncu-rep"
    scrub_ncu(path, target)
    after = target.read_bytes()
    assert after.endswith(b"x/gelu_v2.py")
    assert b"alice" not in after
    assert find_leaks(target, ["alice"]) == []


def test_a_given_secret_leaves_a_report(planted: Path, tmp_path: Path) -> None:
    target = tmp_path / "clean.ncu-rep"
    scrub_ncu(planted, target, ["Linux", "inux-x64"])
    assert b"Linux" in planted.read_bytes()
    assert b"Linux" not in target.read_bytes()


def test_a_secret_in_a_kernel_name_is_refused(planted: Path, tmp_path: Path) -> None:
    name = ncu.parse(planted)["kernel"].iloc[0]
    target = tmp_path / "clean.ncu-rep"
    with pytest.raises(CaptureError, match="changes what it says of the launches"):
        scrub_ncu(planted, target, [name])
    assert list(tmp_path.iterdir()) == [planted]


def test_a_path_in_the_name_of_a_range_is_overwritten(
    ncu_report_path: Path, tmp_path: Path
) -> None:
    """In a report of another domain, whose ranges say nothing of the harness."""
    ours = str(ncu.parse(ncu_report_path)["range"][0]).encode()
    theirs = b"/home/alice/runs/".ljust(len(ours), b"s")
    assert len(ours) == len(theirs)
    path, target = tmp_path / "planted.ncu-rep", tmp_path / "clean.ncu-rep"
    content = ncu_report_path.read_bytes().replace(b"roofsnake", b"elsewhere")
    path.write_bytes(content.replace(ours, theirs))
    before = ncu.parse(path)
    assert before["range"][0] == theirs.decode()
    assert set(before["domain"]) == {"elsewhere"}
    assert before["operator"].isna().all()
    scrub_ncu(path, target)
    after = ncu.parse(target)
    assert after["range"][0] == "x" * len(theirs)
    assert after["range"][9:].tolist() == before["range"][9:].tolist()
    assert find_leaks(target, ["alice"]) == []


def test_a_range_is_no_path_only_where_its_length_reads_as_a_slash() -> None:
    name = "step/" + "o" * 42
    columns = ["operator", "variant", "case", "range", "range_path"]
    rows = [[None, None, None, "home", f"home > {name} > home"], [None] * 5]
    frame = pd.DataFrame(rows, columns=columns, dtype="string")
    assert scrub_ncu_names(frame) == {name.encode()}
    content = b"\x12/" + name.encode() + b"\x12\x14/home/alice/x/y/z/a/b"
    found = {content[start:end] for start, end in scrub_ncu_paths(content, (name.encode(),))}
    assert found == {b"/home/alice", b"/home/alice/x/y/z/a/b"}


@pytest.mark.parametrize("name", ["h200/gelu_4096.ncu-rep", "field/ncu-2020.3-cc86.ncu-rep"])
def test_real_reports(shared: Callable[[str], Path], tmp_path: Path, name: str) -> None:
    target = tmp_path / "clean.ncu-rep"
    assert find_leaks(shared(name)) != []
    scrub_ncu(shared(name), target)
    assert find_leaks(target) == []


def test_an_export_keeps_what_describes_kernels(tmp_path: Path) -> None:
    source, target = write_export(tmp_path / "a.sqlite"), tmp_path / "clean.sqlite"
    assert find_leaks(source, ["hunter2-hunter2"]) != []
    scrub_sqlite.scrub_sqlite(source, target)
    pd.testing.assert_frame_equal(nsys.parse(target), nsys.parse(source))
    content = target.read_bytes()
    for secret in (b"hunter2", b"alice", b"/home", b"0000:00:06.0"):
        assert secret in source.read_bytes()
        assert secret not in content
    assert find_leaks(target, ["alice", "hunter2-hunter2"]) == []
    with closing(sqlite3.connect(target)) as database:
        (calls,) = database.execute("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME").fetchone()
        strings = {identifier for (identifier,) in database.execute("SELECT id FROM StringIds")}
        gpu = database.execute("SELECT name, uuid FROM TARGET_INFO_GPU").fetchall()
        meta = database.execute("SELECT name FROM META_DATA_EXPORT").fetchall()
    assert calls == 12
    assert strings == {1, 2, 3, 4, 5}
    assert gpu == [("NVIDIA H200", None)]
    assert meta == [("EXPORT_SCHEMA_VERSION",)]


def test_an_export_that_would_lose_its_ranges_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = [
        f"UPDATE {table} SET {column} = replace({column}, '/', '.')"
        for table, column in (("NVTX_EVENTS", "text"), ("StringIds", "value"))
    ]
    source, target = write_export(tmp_path / "a.sqlite", *changes), tmp_path / "clean.sqlite"
    assert nsys.parse(source)["operator"].isna().all()
    assert nsys.launches(source)["range"].notna().any()
    kept = {name: texts for name, texts in scrub_sqlite._TEXTS.items() if name != "NVTX_EVENTS"}
    monkeypatch.setattr(scrub_sqlite, "_TEXTS", kept)
    with pytest.raises(CaptureError, match="changes what it says of the launches"):
        scrub_sqlite.scrub_sqlite(source, target)
    assert not target.exists()


@pytest.mark.parametrize("name", ["h200/gelu.sqlite", "field/nsys-2026.2-two-gpus.sqlite"])
def test_real_exports(shared: Callable[[str], Path], tmp_path: Path, name: str) -> None:
    target = tmp_path / "clean.sqlite"
    scrub_sqlite.scrub_sqlite(shared(name), target)
    pd.testing.assert_frame_equal(nsys.parse(target), nsys.parse(shared(name)))
    assert find_leaks(target) == []
    assert target.stat().st_size < shared(name).stat().st_size


@pytest.mark.parametrize(
    ("content", "leaks"),
    [
        (b'.file 1 "/home/alice/gelu.py"', 1),
        (b"\x14/opt/x\x00\x01/tmp/a b", 2),
        (b"\x00\x120/srv/somewhere/main", 1),
        (b"LIBRARIES=lib:/home/alice/lib", 1),
        (b"captures/data/gelu/time, results/build/gelu", 0),
        (b"run on 10.1.2.3\x00", 1),
        (b"fe80::fc:ff:fe00:1%eth0", 1),
        (b"user is bo", 1),
        (b"long-secret inside", 1),
        (b"void at::native::binary_internal/fd::a<(int)4>", 0),
        (b"L1/TEX hit rate, FLOP/byte, regex:kp@.*/", 0),
        (b"2025.3.1.0 (build 36398880) 127.0.0.1", 0),
        (b"elbow, boost", 0),
        (b"// Generated by NVIDIA NVVM Compiler\n//\n.version 8.7", 0),
    ],
)
def test_find_leaks(tmp_path: Path, content: bytes, leaks: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert len(find_leaks(path, ["bo", "long-secret"])) == leaks


def test_a_range_after_a_length_that_reads_as_a_slash_is_no_path(tmp_path: Path) -> None:
    name = "cross_entropy/naive/8192x32768-bfloat16-ignored"
    assert len(name) == ord("/")
    path = tmp_path / "report"
    path.write_bytes(b"\0/" + name.encode() + b"\0")
    assert find_leaks(path) == [f"/{name}"]
    assert find_leaks(path, harmless=[name]) == []
    path.write_bytes(b"\0" + name.encode() + b"/home/alice/x.py\0")
    assert find_leaks(path, harmless=[name]) != []
