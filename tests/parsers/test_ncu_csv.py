from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from parsers import ncu, ncu_csv
from parsers.errors import CaptureError
from parsers.metrics import METRICS
from parsers.ncu_labels import LABELS
from parsers.schemas import COUNTERS

WIDE = [
    ["ID", "Kernel Name", "Block Size", "Grid Size", "CC", "gpu__time_duration.sum"],
    ["", "", "", "", "", "us"],
    ["0", "void f<4>(int)", "(128, 1, 1)", "(64, 2, 1)", "9.0", "1.50"],
    ["1", "g", "(32, 1, 1)", "(1, 1, 1)", "9.0", "2,000"],
]
LONG = ["ID", "Kernel Name", "Section Name", "Metric Name", "Metric Unit", "Metric Value"]
SOL, MEMORY = "GPU Speed Of Light Throughput", "Memory Workload Analysis"

PRINTED = 0.005
"""Nsight Compute prints two decimals."""


def quoted(rows: list[list[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    return text.getvalue()


def long(*metrics: tuple[str, str, str, str], kernel: str = "k") -> str:
    return quoted([LONG, *(["0", kernel, *metric] for metric in metrics)])


@pytest.fixture
def parse(tmp_path: Path) -> Callable[[str | bytes], pd.DataFrame]:
    def write(content: str | bytes) -> pd.DataFrame:
        path = tmp_path / "export"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return ncu_csv.parse(path)

    return write


@pytest.fixture
def refusal(
    parse: Callable[[str | bytes], pd.DataFrame],
) -> Callable[[str | bytes], str]:
    def refuse(content: str | bytes) -> str:
        with pytest.raises(CaptureError) as caught:
            parse(content)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    return refuse


Parse = Callable[[str | bytes], pd.DataFrame]
Refusal = Callable[[str | bytes], str]


def test_raw_page_equals_the_report(root: Path, ncu_report_path: Path) -> None:
    report = ncu.parse(ncu_report_path)
    export = ncu_csv.parse(root / "tests/data/gelu.ncu-raw.csv")
    assert export.dtypes.equals(report.dtypes)
    printed_otherwise = ["kernel_demangled", "nsight_compute"]
    for column in report.columns.drop(printed_otherwise):
        if column == "duration_ns" or export[column].dtype != "Float64":
            pd.testing.assert_series_equal(export[column], report[column])
        else:
            close = (export[column] - report[column]).abs() <= PRINTED + 1e-12 * report[column]
            assert close.eq(report[column].notna()).all(), column
    assert export["kernel_demangled"][0].startswith("void at::vectorized_elementwise_kernel<4, ")
    assert export["nsight_compute"].isna().all()


NOT_IN_DETAILS = ("barriers", "shared_config_bytes", "driver_shared_bytes", "cluster_size")
"""The details page has no line for them where single metrics were collected, no sections."""


def test_raw_and_details_of_one_report_agree(shared: Callable[[str], Path]) -> None:
    raw = ncu_csv.parse(shared("h200/gelu.ncu-raw-base-units.csv"))
    details = ncu_csv.parse(shared("h200/gelu.ncu-details.csv"))
    assert len(raw) == len(details) == 12
    assert raw["duration_ns"][0] == 124704
    assert details["duration_ns"][0] == 124700
    for column in (metric.column for metric in METRICS):
        if column in NOT_IN_DETAILS:
            assert raw[column].notna().all()
            assert details[column].isna().all()
            continue
        assert raw[column].isna().equals(details[column].isna()), column
        # Two decimals of a number of at least 1 in the unit that is printed.
        off = (raw[column] - details[column]).abs().fillna(0)
        assert (off <= raw[column].fillna(0) * PRINTED + PRINTED).all(), column
    rest = [column for column in raw.columns if column not in {m.column for m in METRICS}]
    pd.testing.assert_frame_equal(raw[rest], details[rest])


@pytest.mark.parametrize(
    ("variant", "duration", "sectors", "requests"),
    [
        ("naive", 9_589_248, 1_342_177_280, 536_870_912),
        ("tiled", 10_195_552, 67_108_864, 16_777_216),
        ("vectorized", 2_103_104, 33_554_432, 2_097_152),
    ],
)
def test_field_exports(
    shared: Callable[[str], Path], variant: str, duration: int, sectors: int, requests: int
) -> None:
    path = shared(f"field/ncu-details-gemm_{variant}.csv")
    assert ncu_csv.recognises(path.read_bytes()[: 64 * 1024])
    (row,) = ncu_csv.parse(path).to_dict("records")
    assert row["duration_ns"] == duration
    assert row["global_load_sectors"] == sectors
    assert row["global_load_requests"] == requests
    assert row["compute_capability"] == "12.0"
    assert row["kernel"] == f"gemm_{variant}_kernel"
    assert row["dram_read_bytes"] > 0
    assert pd.isna(row["registers_per_thread"])
    assert row["block_size"] == row["block_x"] * row["block_y"]


def test_wide_with_automatic_units(parse: Parse) -> None:
    frame = parse(quoted(WIDE))
    assert list(frame.columns) == list(COUNTERS.columns)
    assert frame["duration_ns"].tolist() == [1500, 2_000_000]
    assert frame["kernel"].tolist() == ["f", "g"]
    assert frame["kernel_demangled"].tolist() == ["void f<4>(int)", "g"]
    assert frame[["grid_x", "grid_y", "grid_size", "block_x"]].iloc[0].tolist() == [64, 2, 128, 128]
    assert (
        frame[["operator", "launch", "occupancy_limiter", "dram_read_bytes"]].isna().all(axis=None)
    )


def test_units_differ_from_row_to_row(parse: Parse) -> None:
    name = "gpu__time_duration.sum"
    for unit, value in {"ns": 2, "usecond": 2000, "msecond": 2 * 10**6, "s": 2 * 10**9}.items():
        frame = parse(
            long((SOL, name, unit, "2"), (SOL, "sm__cycles_elapsed.max", "cycle", "5.00"))
        )
        assert frame["duration_ns"].tolist() == [value]
        assert frame["sm_cycles"].tolist() == [5]
    clock = parse(long((SOL, "SM Frequency", "cycle/usecond", "1,410.25")))
    assert clock["sm_clock_hz"].tolist() == [1.41025e9]


def test_the_preferred_name_wins_wherever_it_stands(parse: Parse) -> None:
    other = ("", "dram__bytes_op_read.sum", "byte", "7")
    for metrics in ([other, ("", "dram__bytes_read.sum", "byte", "5")],) * 2:
        assert parse(long(*metrics))["dram_read_bytes"].tolist() == [5]
    assert parse(long(other))["dram_read_bytes"].tolist() == [7]
    absent = ("", "dram__bytes_read.sum", "", "n/a")
    assert parse(long(absent, other))["dram_read_bytes"].tolist() == [7]


def test_labels_mean_by_section(parse: Parse) -> None:
    frame = parse(
        long(
            (SOL, "Memory Throughput", "%", "45.7"),
            (MEMORY, "Memory Throughput", "Gbyte/second", "161.84"),
            ("Occupancy", "Block Limit Registers", "block", "2"),
            ("Occupancy", "Block Limit SM", "block", "2"),
            ("Launch Statistics", "Static Shared Memory Per Block", "Kbyte/block", "16.38"),
            ("Another Section", "Registers Per Thread", "register/thread", "32"),
        )
    )
    assert frame["memory_throughput_pct"].tolist() == [45.7]
    assert frame["dram_rate_bytes_per_s"].tolist() == [161.84e9]
    assert frame["occupancy_limiter"].tolist() == ["registers + blocks"]
    assert frame["static_shared_bytes"].tolist() == [16380]
    assert frame["registers_per_thread"].isna().all()


def test_labels_mean_metrics_of_the_table() -> None:
    meant = {name for table in LABELS.values() for name in table.values()}
    known = {name for metric in METRICS for name in metric.names}
    assert meant - known == {"gpc__cycles_elapsed.max"} - known


def test_names_beside_labels(parse: Parse) -> None:
    row = (SOL, "Duration (gpu__time_duration.sum)", "ns", "12.5")
    assert parse(long(row))["duration_ns"].tolist() == [12]


def test_old_header_blank_line_and_rules(parse: Parse) -> None:
    header = [*LONG[:2], "Kernel Time", "Context", *LONG[2:], "Rule Name", "Rule Type", "Rule"]
    launch = ["0", "k(int,float*)", "2020-May-29 12:02:46", "1"]
    rows = [
        [*launch, "GPU Speed Of Light", "SOL FB", "%", "46.47"],
        [*launch, "GPU Speed Of Light", "Duration", "nsecond", "8992", ""],
        [*launch, "SpeedOfLight", "", "", "", "Bottleneck", "OPT", 'Say "more",\nand 1,5 more'],
        [*launch, "Launch Statistics", "Registers Per Thread", "register/thread", "20"],
    ]
    frame = parse(quoted([header]) + "\n" + quoted(rows))
    assert frame["dram_throughput_pct"].tolist() == [46.47]
    assert frame["duration_ns"].tolist() == [8992]
    assert frame["registers_per_thread"].tolist() == [20]
    assert frame["kernel"].tolist() == ["k"]


@pytest.mark.parametrize("value", ["n/a", "nan", "", "-", "(!) n/a"])
def test_what_was_not_measured_is_absent(parse: Parse, value: str) -> None:
    frame = parse(long((SOL, "Duration", "", value), (SOL, "SM Frequency", "hz", "1.5")))
    assert frame["duration_ns"].isna().all()
    assert frame["sm_clock_hz"].tolist() == [1.5]


def test_impossible_values_come_through(parse: Parse) -> None:
    frame = parse(
        long(
            ("Occupancy", "Achieved Occupancy", "%", "250.00"),
            ("", "smsp__inst_executed.sum", "inst", "-5"),
        )
    )
    assert frame["occupancy_achieved_pct"].tolist() == [250]
    assert frame["instructions"].tolist() == [-5]


@pytest.mark.parametrize(
    "content",
    [
        "\ufeff" + quoted(WIDE),
        quoted(WIDE).replace("\n", "\r\n"),
        quoted(WIDE).encode("utf-16"),
        quoted(WIDE).encode("utf-16-le"),
        quoted(WIDE).encode("utf-16-be").join([b"\xfe\xff", b""]),
        quoted(WIDE).rstrip("\n"),
        "==PROF== Connected to process 1 (a)\nit's 5\" wide\n" + quoted(WIDE),
        "no newline before" + quoted(WIDE) + "==PROF== Disconnected from process 1\n",
        quoted(WIDE[:3]) + "==WARNING== Found outstanding GPU clock reset\n" + quoted(WIDE[3:]),
        b"caf\xe9 \xa0\n" + quoted(WIDE).encode(),
        "\n".join(",".join(f'"{c}"' if "," in c else c for c in row) for row in WIDE) + "\n",
        "\n".join(";".join(row) for row in WIDE) + "\n",
    ],
)
def test_encodings_and_what_is_printed_around(parse: Parse, content: str | bytes) -> None:
    frame = parse(content)
    assert frame["duration_ns"].tolist() == [1500, 2_000_000]
    head = content if isinstance(content, bytes) else content.encode()
    assert ncu_csv.recognises(head[: 64 * 1024])


def test_compute_capability_of_the_device(parse: Parse) -> None:
    prefix = "device__attribute_compute_capability_"
    header = ["ID", "Kernel Name", f"{prefix}major", f"{prefix}minor"]
    frame = parse(quoted([header, [""] * 4, ["0", "", "9", "0"], ["1", "k", "", ""]]))
    assert frame["compute_capability"].fillna("").tolist() == ["9.0", ""]
    assert frame["kernel"].tolist() == ["", "k"]


def test_two_outputs_in_one_file(parse: Parse) -> None:
    frame = parse(quoted(WIDE) + "next\n" + long((SOL, "Duration", "ns", "7")) + quoted(WIDE[:3]))
    assert frame["duration_ns"].tolist() == [1500, 2_000_000, 7, 1500]


def test_ids_of_two_processes(parse: Parse) -> None:
    header = ["ID", "Process ID", *LONG[1:]]
    rows = [["0", process, "k", SOL, "Duration", "ns", process] for process in ("7", "8")]
    assert parse(quoted([header, *rows]))["duration_ns"].tolist() == [7, 8]


def test_ranges(parse: Parse) -> None:
    push = "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"
    start = "Id:Domain:Start/Stop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"
    rest = "none:none:none:none:none:none"
    outer, inner = f'"roofsnake:gelu/naive/s:{rest}"', f'"roofsnake:gelu/triton/s:{rest}"'
    other = f'"<default domain>:gelu/builtin/s:{rest}"'
    cells = [
        (f"7  {outer} ", ""),
        (f"7  {outer}  {inner} ", ""),
        (f"7  {outer}  {other} ", inner),
        ("", inner),
        (f"7  {other} ", ""),
        (f'7  "roofsnake:step:{rest}" ', ""),
    ]
    rows = [[str(at), "k", *cell] for at, cell in enumerate(cells)]
    frame = parse(quoted([["ID", "Kernel Name", push, start], *rows]))
    assert frame["variant"].fillna("").tolist() == ["naive", "triton", "naive", "triton", "", ""]
    assert frame["launch"].fillna(-1).tolist() == [0, 0, 1, 1, -1, -1]
    assert frame["case"].fillna("").tolist() == ["s"] * 4 + [""] * 2


@pytest.mark.parametrize(
    ("duration", "clock", "found"),
    [
        ("1.234", "1.980.000.000,25", 1234),
        ("1\u202f234", "1,5", 1234),
        ("1\u2019234", "1.5", 1234),
        ("1,234", "1.5", 1234),
        ("12,34,567", "1.5", 1234567),
    ],
)
def test_locales(parse: Parse, duration: str, clock: str, found: int) -> None:
    frame = parse(
        long((SOL, "Duration", "ns", duration), (SOL, "SM Frequency", "hz", clock)).encode()
    )
    assert frame["duration_ns"].tolist() == [found]


def test_a_number_that_can_be_read_in_two_ways(parse: Parse, refusal: Refusal) -> None:
    row = (SOL, "Duration", "us", "1,234")
    message = refusal(long(row))
    assert "nothing in it settles whether '1,234' is 1234 or 1.234; export it again" in message
    settled = parse(long(row, ("Launch Statistics", "Grid Size", "", "65,536")))
    assert settled["duration_ns"].tolist() == [1_234_000]


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        ("", "the file is empty"),
        ("a,b\n1,2\n", "is not a CSV export of Nsight Compute but text that begins 'a,b"),
        (b"\x89\x01\x02\x00\x00", "but data that begins with the bytes 89 01"),
        (quoted(WIDE[:1]), "has a header but no launches"),
        (quoted(WIDE[:2]), "has a header but no launches"),
        ("==PROF== Connected to process 1\n", "holds Nsight Compute's log but no results"),
        (
            "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n"
            "==WARNING== No kernels were profiled.\n",
            "(ERR_NVGPUCTRPERM); profile as root",
        ),
        ("==WARNING== No kernels were profiled.\n", "no kernels were profiled; check ncu's"),
        (
            "==ERROR== Cuda driver is not compatible with Nsight Compute\n",
            "the driver is not compatible",
        ),
        ("==ERROR== LaunchFailed\n" + quoted(WIDE[:1]), "Nsight Compute failed: LaunchFailed"),
        (
            '"Process ID","Kernel Name","Invocations","Average"\n"1","k","2","3"\n',
            "is a summary over launches, not the launches; export it again without",
        ),
        (long((SOL, "Duration", "fortnight", "1")), "has the unit 'fortnight'"),
        (long((SOL, "Duration", "ns", "1x")), "has the value '1x', which is no number"),
        (
            long((SOL, "Duration", "ns", "1.234,5"), ("Launch Statistics", "# SMs", "", "1.5")),
            "its numbers are of different locales, such as '1.5' and '1.234,5'",
        ),
        (long((SOL, "Duration", "ns", "1e30")), "has the value '1e30', which is no number"),
        (
            long((SOL, "Duration", "ns", "1"), (SOL, "Duration", "ns", "2")),
            "one launch shows two values of 'Duration'",
        ),
        (quoted([*WIDE[:3], ["1", "g"], WIDE[3]]), "a row has 2 fields, not 6"),
        (quoted([LONG, ["0", "k", SOL, "Duration"]]), "a row lacks its value"),
        ('"ID","Kernel Name","a__b"\n"0","k" x,"1"\n', "is damaged: a row is no CSV"),
    ],
)
def test_what_is_refused(refusal: Refusal, content: str | bytes, cause: str) -> None:
    assert cause in refusal(content)


@pytest.mark.parametrize("head", [b"", b"a,b\n", b"NVR\x00", b"==PROF== Connected\n", b"ID,Name\n"])
def test_what_is_not_recognised(head: bytes) -> None:
    assert not ncu_csv.recognises(head)
