from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from parsers import ncu_csv, ncu_text
from parsers.errors import CaptureError

NEW = """\
==PROF== Connected to process 7 (/tmp/a)
sum = 3
==PROF== Disconnected from process 7
[7] a@127.0.0.1
  void ns::add<4>(const float *, int) (64, 2, 1)x(128, 1, 1), Context 1, Stream 7, Device 0, CC 8.6
    Section: GPU Speed Of Light Throughput
    ----------------------- ----------- ------------
    Metric Name             Metric Unit Metric Value
    ----------------------- ----------- ------------
    SM Frequency                    Ghz         1.11
    Elapsed Cycles                cycle    2,107,384
    Memory Throughput                 %        95.02
    DRAM Throughput                   %      (!) n/a
    Duration                         ms         1.90
    SM Active Cycles              cycle 2,139,959.80
    ----------------------- ----------- ------------

    INF   This workload is utilizing greater than 80.0% of the available memory performance.
          ----- --------------
          Key   Value
          ----- --------------
          a     1.234,5

    Section: Memory Workload Analysis
    ----------------- ----------- ------------
    Metric Name       Metric Unit Metric Value
    ----------------- ----------- ------------
    Memory Throughput     Gbyte/s       161.84
    ----------------- ----------- ------------

    Section: Launch Statistics
    -------------------------------- --------------- ---------------
    Metric Name                          Metric Unit    Metric Value
    -------------------------------- --------------- ---------------
    Function Cache Configuration                     CachePreferNone
    Registers Per Thread             register/thread              16
    # SMs                                         SM              78
    -------------------------------- --------------- ---------------

  k (1, 1, 1)x(32, 1, 1), Context 1, Stream 7, Device 0, CC 8.6
    Section: GPU Speed Of Light Throughput
    ----------------------- ----------- ------------
    Metric Name             Metric Unit Metric Value
    ----------------------- ----------- ------------
    Duration                         us        12.50
    ----------------------- ----------- ------------
"""

RULE = f"    {'-' * 70} {'-' * 15} {'-' * 30}\n"
LONG_NAME = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"


def row(name: str, unit: str, value: str) -> str:
    return f"    {name:<70} {unit:>15} {value:>30}\n"


OLD = (
    "[7] a@127.0.0.1\n"
    "  row_sums(const float *, float *), 2025-Apr-22 00:31:34, Context 1, Stream 7\n"
    "    Section: Command line profiler metrics\n"
    + RULE
    + row("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "sector", "268,435,456")
    + row("x" * 80 + "__y.sum", "byte", "1,234.5")
    + row(LONG_NAME, "inst", "1,024")
    + RULE
    + "\n"
)

RAW = (
    "  k, Context 1, Stream 7\n"
    + RULE
    + row("dram__bytes_read.sum", "Mbyte", "9.45")
    + row("launch__registers_per_thread", "register/thread", "40")
    + RULE
)

Parse = Callable[[str | bytes], pd.DataFrame]


@pytest.fixture
def parse(tmp_path: Path) -> Parse:
    def write(content: str | bytes) -> pd.DataFrame:
        path = tmp_path / "printed"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return ncu_text.parse(path)

    return write


@pytest.fixture
def refusal(parse: Parse) -> Callable[[str | bytes], str]:
    def refuse(content: str | bytes) -> str:
        with pytest.raises(CaptureError) as caught:
            parse(content)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    return refuse


Refusal = Callable[[str | bytes], str]


def check_new(frame: pd.DataFrame) -> None:
    assert frame["kernel"].tolist() == ["add", "k"]
    assert frame["kernel_demangled"].tolist() == ["void ns::add<4>(const float *, int)", "k"]
    assert frame["compute_capability"].tolist() == ["8.6", "8.6"]
    assert frame["duration_ns"].tolist() == [1_900_000, 12_500]
    first = frame.iloc[0]
    assert first[["grid_x", "grid_y", "grid_z", "block_x"]].tolist() == [64, 2, 1, 128]
    assert first["sm_clock_hz"] == pytest.approx(1.11e9)
    assert first["memory_throughput_pct"] == 95.02
    assert first["dram_rate_bytes_per_s"] == pytest.approx(161.84e9)
    assert first["registers_per_thread"] == 16
    assert first["sm_count"] == 78
    assert pd.isna(first["dram_throughput_pct"])


def test_details_page(parse: Parse) -> None:
    check_new(parse(NEW))


@pytest.mark.parametrize(
    "content",
    [
        NEW.replace("\n", "\r\n"),
        "\ufeff" + NEW,
        NEW.replace("\n", "\r\n").encode("utf-16"),
        b"caf\xe9\n" + NEW.encode(),
    ],
)
def test_encodings(parse: Parse, content: str | bytes) -> None:
    check_new(parse(content))
    assert ncu_text.recognises(content if isinstance(content, bytes) else content.encode())


def test_other_locales(parse: Parse) -> None:
    printed = str.maketrans({",": "\u202f", ".": ","})
    lines = [
        line.translate(printed) if line.startswith("    ") else line for line in NEW.split("\n")
    ]
    check_new(parse("\n".join(lines)))


def test_page_of_an_old_version(parse: Parse) -> None:
    (launch,) = parse(OLD).to_dict("records")
    assert launch["kernel"] == "row_sums"
    assert launch["global_load_sectors"] == 268_435_456
    assert launch["ffma_thread_instructions"] == 1024
    assert pd.isna(launch["compute_capability"])
    assert pd.isna(launch["grid_x"])


def test_raw_page(parse: Parse) -> None:
    (launch,) = parse(RAW).to_dict("records")
    assert launch["dram_read_bytes"] == 9_450_000
    assert launch["registers_per_thread"] == 40


def test_a_result_without_a_stream_is_its_own(parse: Parse) -> None:
    frame = parse(RAW + "\n" + RAW.replace(", Stream 7", ", Device 0, CC 9.0").replace("40", "41"))
    assert frame["registers_per_thread"].tolist() == [40, 41]


def test_text_and_csv_of_one_launch_agree(parse: Parse, tmp_path: Path) -> None:
    table = tmp_path / "raw.csv"
    table.write_text(
        '"ID","Kernel Name","dram__bytes_read.sum","launch__registers_per_thread"\n'
        '"","","byte","register/thread"\n"0","k","9,450,000","40"\n',
        encoding="utf-8",
    )
    pd.testing.assert_frame_equal(parse(RAW), ncu_csv.parse(table))


def test_a_table_behind_long_output_is_left_to_its_reader(parse: Parse) -> None:
    frame = parse('==PROF== Connected\n"ID","Kernel Name","a__b"\n"","",""\n"0","k","1"\n')
    assert frame["kernel"].tolist() == ["k"]


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        ("hello\n", "is not text that Nsight Compute printed but text that begins 'hello'"),
        ("==PROF== Connected to process 1\n", "holds Nsight Compute's log but no results"),
        ("==WARNING== No kernels were profiled.\n", "no kernels were profiled; check ncu's"),
        (
            "==ERROR== The user does not have permission to access NVIDIA GPU Performance "
            "Counters on the target device 0.\n",
            "ERR_NVGPUCTRPERM",
        ),
        ("==ERROR== The application crashed\n", "failed: The application crashed; see to it"),
        ("  k, Context 1, Stream 7\n", "a launch has no metrics"),
        (RAW.replace("Mbyte", "Mbite"), "has the unit 'Mbite'"),
        (RAW.replace(" 9.45", "9.4x5"), "has the value '9.4x5', which is no number"),
    ],
)
def test_what_is_refused(refusal: Refusal, content: str, cause: str) -> None:
    assert cause in refusal(content)


@pytest.mark.parametrize("text", [NEW, OLD, RAW])
def test_cut_at_any_byte(tmp_path: Path, text: str) -> None:
    """What is read of a cut page is in the whole one; only a cut between two lines is read."""
    path = tmp_path / "printed"
    path.write_text(text, encoding="utf-8")
    whole = ncu_text.parse(path)
    ends = {at + 1 for at, sign in enumerate(text) if sign == "\n"}
    for size in sorted({*range(1, len(text), 7), *ends} - {len(text)}):
        path.write_text(text[:size], encoding="utf-8")
        try:
            found = ncu_text.parse(path)
        except CaptureError:
            continue
        assert text[size - 1] == "\n"
        same = whole.head(len(found))
        pd.testing.assert_frame_equal(found, same.where(found.notna()))


def test_what_is_not_recognised() -> None:
    for head in (b"", b"hello\n", b"NVR\x00", b'"ID","Kernel Name","a__b"\n', b"Context 1\n"):
        assert not ncu_text.recognises(head)
