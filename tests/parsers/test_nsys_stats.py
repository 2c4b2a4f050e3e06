from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from parsers import nsys_stats
from parsers.errors import CaptureError
from parsers.nsys_schemas import LAUNCHES, NSYS_SUMMARY

KERNELS = """Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name
60.0,6000,2,3000.0,3000.0,2500,3500,707.1,"void foo<(int)4, float>(T1, int)"
40.0,4000,4,1000.0,1000.0,1000,1000,0.0,NA
"""
OLD_KERNELS = """\ufeff\r
Processing [a.sqlite] with [reports/gpukernsum.py]...\r
\r
"Time(%)","Total Time (ms)","Instances","Average (us)","Minimum (us)","Maximum (us)","Name"\r
"100.0","1,234.5","2","617250.0","0.5","1234499.5","foo"\r
\r
"""
TRACE = """Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),\
DymSMem (MB),Bytes (MB),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name
1700000000000000001,50240,101,,,,,,,,,,8.389,167.0,Pageable,Device,NVIDIA A100 (80GB) (1),1,,7,\
[CUDA memcpy Host-to-Device]
1700000000000060000,443520,102,64,32,1,256,1,1,64,0.001,0.000,,,,,NVIDIA A100 (80GB) (1),1,,7,\
"void foo<a, b>(int)"
"""
RANGES = """Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),\
Style,Range
80.0,8000,8,1000.0,1000.0,900,1100,10.0,PushPop,app:forward
20.0,2000,2,1000.0,1000.0,900,1100,10.0,StartEnd,:load
"""
RANGE_KERNELS = """NVTX Range,Style,PID,TID,NVTX Inst,Kern Inst,Total Time (ns),Avg (ns),Med (ns),\
Min (ns),Max (ns),StdDev (ns),Kernel Name
app:forward,PushPop,12,13,8,16,8000,500.0,500.0,400,600,9.0,foo
"""
APIS = """Time (%),Total Time (ns),Num Calls,Avg (ns),Name
100.0,7,1,7.0,cudaLaunchKernel
"""


def _parse(tmp_path: Path, text: str) -> pd.DataFrame:
    path = tmp_path / "report.csv"
    path.write_text(text, encoding="utf-8", newline="")
    assert nsys_stats.recognises(path.read_bytes()[: 64 << 10])
    return nsys_stats.parse(path)


def test_kernel_sum(tmp_path: Path) -> None:
    frame = NSYS_SUMMARY.validate(_parse(tmp_path, KERNELS))
    assert set(frame["report"]) == {"cuda_gpu_kern_sum"}
    assert frame["kernel"].tolist() == ["void foo<(int)4, float>(T1, int)", "NA"]
    assert frame["total_ns"].tolist() == [6000, 4000]
    assert frame["instances"].tolist() == [2, 4]
    assert frame["median_ns"].tolist() == [3000, 1000]
    assert frame["share_percent"].tolist() == [60, 40]
    assert frame["range"].isna().all()


def test_old_headers_units_and_grouped_digits(tmp_path: Path) -> None:
    (row,) = _parse(tmp_path, OLD_KERNELS).to_dict("records")
    assert row["total_ns"] == 1_234_500_000
    assert row["mean_ns"] == 617_250_000
    assert row["min_ns"] == 500
    assert pd.isna(row["median_ns"])


def test_trace(tmp_path: Path) -> None:
    frame = LAUNCHES.validate(_parse(tmp_path, TRACE))
    copy, kernel = frame.to_dict("records")
    assert (copy["kind"], copy["bytes"]) == ("memcpy", 8_389_000)
    assert copy["start_ns"] == 1700000000000000001
    assert (kernel["kind"], kernel["kernel_demangled"]) == ("kernel", "void foo<a, b>(int)")
    assert (kernel["grid_x"], kernel["grid_y"], kernel["block_x"]) == (64, 32, 256)
    assert (kernel["static_shared_bytes"], kernel["registers_per_thread"]) == (1000, 64)
    assert (kernel["gpu_name"], kernel["device"]) == ("NVIDIA A100 (80GB)", 1)
    assert pd.isna(copy["grid_x"])
    assert frame["range"].isna().all()
    assert frame.attrs["notes"]


def test_ranges_and_their_kernels_in_one_file(tmp_path: Path) -> None:
    frame = _parse(tmp_path, f"{RANGES}\n{APIS}\n ** (nvtx_kern_sum):\n\n{RANGE_KERNELS}")
    assert frame["report"].tolist() == ["nvtx_sum", "nvtx_sum", "nvtx_kern_sum"]
    assert frame["range"].tolist() == ["app:forward", ":load", "app:forward"]
    last = frame.iloc[-1]
    assert (last["process"], last["thread"]) == (12, 13)
    assert (last["range_instances"], last["instances"]) == (8, 16)


def test_push_pop_sum(tmp_path: Path) -> None:
    text = "Time (%),Total Time (ns),Instances,Avg (ns),Range\n100.0,5,1,5.0,a\n"
    expected = ["nvtx_pushpop_sum or nvtx_startend_sum"]
    assert _parse(tmp_path, text)["report"].tolist() == expected


def test_ranges_projected_to_the_gpu(tmp_path: Path) -> None:
    text = (
        "Range,Style,Total Proj Time (ns),Total Range Time (ns),Range Instances,Proj Avg (ns),"
        "Total GPU Ops\napp:step,PushPop,1200,300,2,600.0,18\n"
    )
    (row,) = _parse(tmp_path, text).to_dict("records")
    assert (row["report"], row["range"], row["style"]) == (
        "nvtx_gpu_proj_sum",
        "app:step",
        "PushPop",
    )
    assert (row["total_ns"], row["instances"], row["mean_ns"]) == (1200, 2, 600)


def test_none_is_missing(tmp_path: Path) -> None:
    """So printed nsys 2022."""
    none = TRACE.replace(",,", ",None,").replace(",,", ",None,")
    assert none.count("None") == 15
    pd.testing.assert_frame_equal(_parse(tmp_path, none), _parse(tmp_path, TRACE))


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("", "the file is empty"),
        ("a,b,c\n1,2,3\n", "is not CSV of a report of nsys stats that is known"),
        (APIS, "is not CSV of a report of nsys stats that is known"),
        ("NVR\0", "is not CSV of nsys stats but an Nsight Compute report"),
        (KERNELS.replace("(ns)", "(fortnight)"), "has the unknown unit 'fortnight'"),
        (
            KERNELS.replace("6000", "6.000,5"),
            "has a row with more values than cuda_gpu_kern_sum has columns",
        ),
        (KERNELS.replace("6000", '"6.000,5"'), r"holds '6\.000,5', no number"),
        (KERNELS.splitlines()[0] + "\n", "has no rows"),
    ],
)
def test_what_is_not_understood_is_refused(tmp_path: Path, text: str, cause: str) -> None:
    path = tmp_path / "report.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CaptureError, match=cause) as caught:
        nsys_stats.parse(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", [KERNELS, TRACE, RANGES, RANGE_KERNELS])
def test_cut_anywhere_it_is_refused_or_whole_lines_are_left(tmp_path: Path, text: str) -> None:
    path = tmp_path / "report.csv"
    for length in range(len(text)):
        path.write_text(text[:length], encoding="utf-8", newline="")
        if length and text[length - 1] == "\n" and text[:length].count("\n") > 1:
            assert len(nsys_stats.parse(path)) == text[:length].count("\n") - 1
        else:
            with pytest.raises(CaptureError):
                nsys_stats.parse(path)
