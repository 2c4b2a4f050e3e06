"""Secrets planted wherever a capture has room for text are gone from its scrubbed copy."""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import ncu_report
import pandas as pd
import pytest

from parsers import ncu, nsys, read
from parsers.errors import CaptureError
from parsers.leaks import Blot, find_leaks
from parsers.packing import unpacked
from parsers.scrub import main, scrub
from parsers.scrub_sqlite import scrub_sqlite
from tests.parsers.exports import write_export
from tests.parsers.samples import FOREIGN, WRAPPERS, write

PLANTED = "planted"
FILLED = ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME")
"""Tables of which every row is read, so that none is added."""
MORE = (
    "CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT)",
    "CREATE TABLE ThreadNames (nameId INTEGER, globalTid INTEGER)",
    "CREATE TABLE ProcessStreams (globalPid INTEGER, filenameId INTEGER, contentId INTEGER)",
    "CREATE TABLE DIAGNOSTIC_EVENT (timestamp INTEGER, text TEXT)",
    "CREATE TABLE ENUM_NSYS_EVENT_TYPE (id INTEGER, name TEXT, label TEXT)",
    "CREATE TABLE CUDA_GRAPH_EVENTS (start INTEGER, nameId INTEGER /* planted by hand */)",
    "CREATE TABLE TARGET_INFO_SYSTEM (name TEXT, value TEXT)",
    "CREATE VIEW planted_view AS SELECT 'planted'",
    "CREATE INDEX planted_index ON StringIds (value)",
    "ALTER TABLE NVTX_EVENTS ADD COLUMN jsonText TEXT",
    "ALTER TABLE NVTX_EVENTS ADD COLUMN jsonTextId INTEGER",
    "ALTER TABLE NVTX_EVENTS ADD COLUMN binaryData BLOB",
)


def _plant(path: Path) -> int:
    """Put a path into each text column of each table, and one into a column of each of our own."""
    count = 0
    with closing(sqlite3.connect(path)) as database:
        names = [
            name
            for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        for table in names:
            columns = database.execute(f"SELECT name, type FROM pragma_table_info('{table}')")
            for column, kind in columns.fetchall():
                if table in FILLED or kind not in ("TEXT", "BLOB"):
                    continue
                text = f"/home/alice/{PLANTED}-{table}-{column}"
                database.execute(f'INSERT INTO "{table}" ("{column}") VALUES (?)', (text,))
                count += 1
            database.execute(f'ALTER TABLE "{table}" ADD COLUMN added TEXT')
            database.execute(f'UPDATE "{table}" SET added = ?', (f"{PLANTED}-{table}",))
            count += 1
        database.execute("INSERT INTO TARGET_INFO_GPU (id) VALUES (?)", (f"{PLANTED} as a number",))
        database.execute(
            "INSERT INTO StringIds (id, value) VALUES (900, ?)", (f"{PLANTED} as a JSON payload",)
        )
        database.execute("UPDATE NVTX_EVENTS SET jsonTextId = 900")
        database.commit()
    return count


def test_every_text_column_of_every_table(tmp_path: Path) -> None:
    source = write_export(tmp_path / "a.sqlite", *MORE)
    assert _plant(source) > 30
    target = tmp_path / "clean.sqlite"
    scrub_sqlite(source, target)
    assert PLANTED.encode() in source.read_bytes()
    content = target.read_bytes()
    assert re.findall(rb"[ -~]*(?:planted|alice|hunter2)[ -~]*", content) == []
    pd.testing.assert_frame_equal(nsys.parse(target), nsys.parse(source))


@pytest.mark.parametrize("name", ["h200/gelu.sqlite", "field/nsys-2025.5-graph-nodes.sqlite"])
def test_every_text_column_of_real_exports(
    shared: Callable[[str], Path], tmp_path: Path, name: str
) -> None:
    source = tmp_path / "a.sqlite"
    shutil.copyfile(shared(name), source)
    source.chmod(0o644)
    with closing(sqlite3.connect(source)) as database:
        names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        for (table,) in names.fetchall():
            database.execute(f'ALTER TABLE "{table}" ADD COLUMN added TEXT')
            database.execute(f'UPDATE "{table}" SET added = ?', (f"{PLANTED}-{table}",))
        database.commit()
    target = tmp_path / "clean.sqlite"
    scrub_sqlite(source, target)
    assert PLANTED.encode() not in target.read_bytes()
    pd.testing.assert_frame_equal(nsys.parse(target), nsys.parse(shared(name)))


def test_a_secret_in_the_name_of_a_range_is_overwritten(tmp_path: Path) -> None:
    text = (
        "UPDATE NVTX_EVENTS SET text = 'load /home/alice/model.pt of kate' WHERE text = 'not a key'"
    )
    source = write_export(tmp_path / "a.sqlite", text)
    target = tmp_path / "clean.sqlite"
    scrub_sqlite(source, target, ["kate"])
    with closing(sqlite3.connect(target)) as database:
        (kept,) = database.execute("SELECT text FROM NVTX_EVENTS WHERE text LIKE 'load%'")
    assert kept == ("load xxxxxxxxxxxxxxxxxxxx of xxxx",)


def test_a_path_in_a_kernel_name_is_refused(tmp_path: Path) -> None:
    change = "UPDATE StringIds SET value = 'k_at_/home/alice/k.cu' WHERE id = 3"
    source = write_export(tmp_path / "a.sqlite", change)
    with pytest.raises(CaptureError, match="changes what it says of the launches"):
        scrub_sqlite(source, tmp_path / "clean.sqlite")
    assert list(tmp_path.iterdir()) == [source]


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_the_command_packs_as_the_suffix_says(
    export_path: Path, tmp_path: Path, wrapper: str, suffix: str
) -> None:
    source = write(tmp_path, "in", WRAPPERS[wrapper](export_path.read_bytes()))
    target = tmp_path / f"out.sqlite{suffix}"
    assert main([str(source), str(target)]) == 0
    expected = {"": [], ".gz": ["gzip"], ".zst": ["zstd"]}[suffix]
    with unpacked(target) as (content, packers):
        assert packers == expected
        assert find_leaks(content, ["alice", "hunter2-hunter2"]) == []
    pd.testing.assert_frame_equal(read(target), nsys.launches(export_path))


def test_a_report_becomes_an_ncu_repz(ncu_report_path: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.ncu-repz"
    scrub(ncu_report_path, target)
    assert ncu_report.load_report(str(target)).num_ranges() == 1
    frame = read(target)
    pd.testing.assert_frame_equal(frame, ncu.parse(ncu_report_path))
    assert frame.attrs["packed"] == ["zstd"]


@pytest.mark.parametrize("kind", FOREIGN)
def test_what_is_no_capture_is_refused(
    tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    content, cause = FOREIGN[kind]
    source = write(tmp_path, "in", content)
    assert main([str(source), str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: {source}: ")
    assert cause in error
    assert len(error.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_a_report_of_nsys_is_exported_first(tmp_path: Path) -> None:
    source = write(tmp_path, "in", b"NVIDIA Tegra Profiler Report 1.\n")
    with pytest.raises(CaptureError, match="which cannot be scrubbed; export it with `nsys export"):
        scrub(source, tmp_path / "out")


CSV = (
    "\ufeff==PROF== Connected to process 7 (C:\\work\\alice\\a.exe)\r\n"
    "what alice's program printed\r\n"
    '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size",'
    '"Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"\r\n'
    '"0","7","alice-python","secret-host","k(int, ""a"")","1","7","(32, 1, 1)","(4, 1, 1)","0",'
    '"9.0","Command line profiler metrics","gpu__time_duration.sum","ns","1,200"\r\n'
)


def test_a_printed_table(tmp_path: Path) -> None:
    pytest.importorskip("parsers.ncu_csv")
    source = write(tmp_path, "in.csv", CSV.encode())
    target = tmp_path / "out.csv"
    scrub(source, target)
    content = target.read_text()
    assert [word for word in ("alice", "secret-host", "work", '"7","",') if word in content] == []
    assert content.startswith('"ID","Process ID","Process Name","Host Name","Kernel Name"')
    assert '"0","","","","k(int, ""a"")"' in content
    pd.testing.assert_frame_equal(read(target), read(source))


def test_a_path_in_the_name_of_a_range_of_a_table(tmp_path: Path) -> None:
    """What is overwritten runs on to the fields behind the name, so the range is lost."""
    name = "/home/alice/model.py:12"
    cell = f'7  ""kp:{name}:none:none:RGB:0xff:REGISTERED:{name}"" '
    rows = (
        '"ID","thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg",'
        '"Kernel Name","gpu__time_duration.sum"\n"","","","ns"\n'
        f'"0","{cell}","k","1"\n"1","{cell.replace(name, "step")}","k","2"\n'
    )
    source, target = write(tmp_path, "in.csv", rows.encode()), tmp_path / "out.csv"
    assert read(source)["range"].tolist() == [name, "step"]
    scrub(source, target)
    assert "alice" not in target.read_text()
    assert read(target)["range"][1] == "step"
    assert read(target)["duration_ns"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("text", "blotted"),
    [
        ("open /home/alice/x.py now", "open xxxxxxxxxxxxxxxx now"),
        (r"C:\work\alice\a.exe", "x" * 19),
        ("10.1.2.3 but 127.0.0.1", "xxxxxxxx but 127.0.0.1"),
        ("gelu/naive/8x8", "gelu/naive/8x8"),
        ("k<(int)4, a::b>", "k<(int)4, a::b>"),
    ],
)
def test_blot(text: str, blotted: str) -> None:
    assert Blot().text(text) == blotted
