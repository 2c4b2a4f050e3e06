from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from parsers import nsys
from parsers.captures import parse_pass, parse_runs, read_run
from parsers.errors import CaptureError
from parsers.schemas import SCHEMAS
from tests.parsers.exports import write_export
from tests.parsers.folders import CASES, VARIANTS, outcome, write_pass

SAMPLES = (
    b"operator,variant,case,round,duration_ns\ngelu,naive,small,0,1500.5\ngelu,triton,small,,250\n"
)
CEILINGS = b"ceiling,round,moved_bytes,duration_ns\ncopy,0,4294967296,1000000\n"
CHECKS = b"operator,variant,case,status,reason,rtol\ngelu,NA,small,ok,,1e-05\n"
TIME = {"samples.csv": SAMPLES, "ceilings.csv": CEILINGS}


def _refusal(folder: Path) -> str:
    with pytest.raises(CaptureError) as caught:
        parse_pass(folder)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_time_pass(tmp_path: Path) -> None:
    frames = parse_pass(write_pass(tmp_path / "gelu" / "time", "time", TIME))
    assert list(frames) == ["samples", "ceilings"]
    assert frames["samples"]["duration_ns"].tolist() == [1500.5, 250.0]
    assert frames["samples"]["round"].isna().tolist() == [False, True]
    assert frames["ceilings"]["moved_bytes"].tolist() == [4294967296]


def test_only_an_empty_cell_is_missing(tmp_path: Path) -> None:
    checks = parse_pass(write_pass(tmp_path / "check", "check", {"checks.csv": CHECKS}))["checks"]
    assert checks["variant"].tolist() == ["NA"]
    assert checks["reason"].isna().all()
    assert checks["rtol"].tolist() == [1e-05]
    assert list(checks.columns) == list(SCHEMAS["checks"].columns)


def test_build_pass(tmp_path: Path) -> None:
    table = b"operator,variant,case,kernel,arch,config,status\ngelu,triton,small,k,sm_90,{},ok\n"
    files = {"builds.csv": table, "k.ptx": b"// ptx\n"}
    assert (
        parse_pass(write_pass(tmp_path / "build", "build", files))["builds"]["arch"][0] == "sm_90"
    )


def test_nsys_pass(tmp_path: Path) -> None:
    export = write_export(tmp_path / "made.sqlite").read_bytes()
    frames = parse_pass(write_pass(tmp_path / "nsys", "nsys", {"all.sqlite": export}))
    assert (frames["timeline"]["variant"] == "naive").sum() == 3


def test_reports_of_variants_that_ran_alone_are_joined(tmp_path: Path) -> None:
    naive = write_export(tmp_path / "naive.sqlite")
    triton = write_export(tmp_path / "triton.sqlite")
    for path, kept in ((naive, "naive"), (triton, "triton")):
        with closing(sqlite3.connect(path)) as database:
            for table, column in (("NVTX_EVENTS", "text"), ("StringIds", "value")):
                database.execute(
                    f"UPDATE {table} SET {column} = 'elsewhere'"
                    f" WHERE {column} LIKE 'gelu/%' AND {column} NOT LIKE ?",
                    (f"gelu/{kept}/%",),
                )
            database.commit()
        assert kept in set(nsys.parse(path)["variant"])
    files = {path.name: path.read_bytes() for path in (naive, triton)}
    frames = parse_pass(write_pass(tmp_path / "nsys", "nsys", files))
    assert len(frames["timeline"]) == 24
    assert frames["timeline"].index.is_unique


def test_a_launch_cannot_count_twice(tmp_path: Path) -> None:
    export = write_export(tmp_path / "made.sqlite").read_bytes()
    files = {"all.sqlite": export, "naive.sqlite": export}
    said = _refusal(write_pass(tmp_path / "nsys", "nsys", files))
    assert "run.json: two reports hold launches of gelu/" in said


def test_a_pass_in_the_folder_of_another(tmp_path: Path) -> None:
    said = _refusal(write_pass(tmp_path / "nsys", "time", TIME))
    assert "run.json: is of the pass 'time', in the folder of another" in said


def test_what_was_measured_must_be_there(tmp_path: Path) -> None:
    export = write_export(tmp_path / "made.sqlite").read_bytes()
    outcomes = [outcome("nsys", "naive"), *(outcome("nsys", f"v{i}") for i in range(4))]
    folder = tmp_path / "nsys"
    write_pass(folder, "nsys", {"all.sqlite": export}, outcomes=outcomes)
    assert _refusal(folder) == (
        f"{folder / 'all.sqlite'}: no launches in NVTX domain roofsnake in the expected "
        "ranges gelu/v0/small, gelu/v1/small, gelu/v2/small and 1 more; "
        "restore it with `git checkout`, or measure again with `snakemake reports/gelu -R nsys`"
    )


def test_what_failed_need_not_be_there(tmp_path: Path) -> None:
    outcomes = [outcome("ncu", "naive", "failed"), outcome("ncu", "triton", "skipped")]
    frames = parse_pass(write_pass(tmp_path / "ncu", "ncu", {}, outcomes=outcomes))
    assert frames["counters"].empty
    assert list(frames["counters"].columns) == list(SCHEMAS["counters"].columns)


def test_real_report_without_our_ranges(ncu_report_path: Path, tmp_path: Path) -> None:
    outcomes = [outcome("ncu", "no-such-variant")]
    files = {"all.ncu-rep": ncu_report_path.read_bytes()}
    folder = write_pass(tmp_path / "ncu", "ncu", files, outcomes=outcomes)
    assert "in the expected ranges gelu/no-such-variant/small" in _refusal(folder)


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        (
            None,
            "run.json: no such file; restore it with `git checkout`, or measure again with"
            " `snakemake reports/gelu -R time`",
        ),
        (b"", "the file is empty"),
        (b"version https://git-lfs.github.com/spec/v1\n", "run `git lfs pull`"),
        (b"{", "is not JSON"),
        (b"\xff\xfe", "is not JSON"),
        (b"[]", "has format None, not 1"),
        (b'{"format": 2}', "has format 2, not 1"),
        (b'{"format": 1, "operator": "gelu"}', "lacks pass, run, variants, cases, outcomes, files"),
    ],
)
def test_run_file(tmp_path: Path, content: bytes | None, cause: str) -> None:
    folder = write_pass(tmp_path / "gelu" / "time", "time", TIME)
    (folder / "run.json").unlink()
    if content is not None:
        (folder / "run.json").write_bytes(content)
    assert cause in _refusal(folder)


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"pass": "tea"}, "has the unknown pass 'tea'"),
        ({"outcomes": [{"status": "ok"}]}, "an outcome without variant, case or status"),
        ({"cases": ["small"]}, "has a row that is not an object"),
        ({"files": {"../x": "0"}}, "lists ../x, which is outside its folder"),
        ({"files": {}}, "lists no samples.csv"),
        ({"files": {"absent.csv": "0"}}, "absent.csv: no such file"),
    ],
)
def test_content_of_run_file(tmp_path: Path, changes: dict[str, Any], cause: str) -> None:
    assert cause in _refusal(write_pass(tmp_path / "time", "time", TIME, **changes))


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        (b"", "the file is empty"),
        (b"version https://git-lfs.github.com/spec/v1\n", "run `git lfs pull`"),
        (SAMPLES + b"gelu,naive,small,1,1\n", "does not match its recorded hash"),
    ],
)
def test_a_changed_file(tmp_path: Path, content: bytes, cause: str) -> None:
    folder = write_pass(tmp_path / "time", "time", TIME)
    (folder / "samples.csv").write_bytes(content)
    assert _refusal(folder).startswith(f"{folder / 'samples.csv'}: ")
    assert cause in _refusal(folder)


def test_a_truncated_file_is_called_truncated(tmp_path: Path) -> None:
    export = write_export(tmp_path / "made.sqlite").read_bytes()
    folder = write_pass(tmp_path / "nsys", "nsys", {"all.sqlite": export})
    (folder / "all.sqlite").write_bytes(export[: len(export) // 2])
    assert "the database is truncated" in _refusal(folder)
    other = write_export(tmp_path / "other.sqlite", "DELETE FROM NVTX_EVENTS").read_bytes()
    (folder / "all.sqlite").write_bytes(other)
    assert "does not match its recorded hash" in _refusal(folder)


@pytest.mark.parametrize(
    ("table", "column"),
    [
        (SAMPLES.replace(b"1500.5", b"fast"), "duration_ns"),
        (SAMPLES.replace(b",250", b","), "duration_ns"),
        (SAMPLES.replace(b"small,0", b"small,0.5"), "round"),
        (SAMPLES.replace(b"1500.5", b"-5"), "duration_ns"),
        (SAMPLES.replace(b"1500.5", b"inf"), "duration_ns"),
    ],
)
def test_a_table_that_does_not_fit(tmp_path: Path, table: bytes, column: str) -> None:
    folder = write_pass(tmp_path / "time", "time", TIME | {"samples.csv": table})
    message = _refusal(folder)
    assert message.startswith(f"{folder / 'samples.csv'}: does not fit samples: ")
    assert column in message


def test_a_table_without_rows_lacks_what_was_measured(tmp_path: Path) -> None:
    folder = write_pass(tmp_path / "time", "time", TIME | {"samples.csv": b"variant,case,round\n"})
    assert "samples.csv: no samples of gelu/naive/small, gelu/triton/small; " in _refusal(folder)


def test_runs_of_all_passes(tmp_path: Path) -> None:
    check = write_pass(tmp_path / "check", "check", {}, cases=[])
    time = write_pass(tmp_path / "time", "time", TIME)
    frames = parse_runs([check, time])
    assert frames["runs"]["pass"].tolist() == ["check", "time"]
    assert frames["runs"]["sm_count"].tolist() == [132, 132]
    assert frames["cases"]["case"].tolist() == [case["case"] for case in CASES]
    assert frames["variants"]["baseline"].tolist() == [v["baseline"] for v in VARIANTS]
    assert frames["outcomes"][["pass", "variant"]].to_numpy().tolist() == [
        ["check", "naive"],
        ["check", "triton"],
        ["time", "naive"],
        ["time", "triton"],
    ]
    assert parse_runs([check])["cases"].empty


def test_runs_of_two_operators(tmp_path: Path) -> None:
    folders = [
        write_pass(tmp_path / "gelu" / "time", "time", TIME),
        write_pass(tmp_path / "softmax" / "time", "time", TIME, operator="softmax"),
    ]
    with pytest.raises(CaptureError, match="is of operator softmax, not gelu"):
        parse_runs(folders)


def test_a_run_without_a_required_value(tmp_path: Path) -> None:
    folder = write_pass(tmp_path / "time", "time", TIME)
    path = folder / "run.json"
    content = json.loads(path.read_text())
    del content["run"]["date"]
    path.write_text(json.dumps(content))
    with pytest.raises(CaptureError, match=r"does not fit runs: .*'date'"):
        parse_runs([folder])
    assert read_run(folder).operator == "gelu"
