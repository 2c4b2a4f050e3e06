"""The frames of Nsight Systems reports that are no captures of the harness."""

from __future__ import annotations

from parsers.columns import FLOAT, INTEGER, REPEATED, Column, Schema, launch_shape, text

LAUNCHES = Schema(
    "launches",
    "One row a kernel, and where asked for, a copy or fill, of any export of Nsight Systems; and "
    "one row a CUDA graph that was traced as a whole, whose kernels are unknown.",
    {
        "kind": Column(REPEATED, "kernel, memcpy, memset or graph", required=True),
        "kernel": Column(REPEATED, "kernel name without arguments; NA for a graph", "", "nsys"),
        "kernel_demangled": Column(REPEATED, "kernel name with template arguments", "", "nsys"),
        "kernel_mangled": Column(REPEATED, "kernel name as the linker knows it", "", "nsys"),
        "start_ns": Column(INTEGER, "start on the GPU, on the report's clock", "ns", "nsys"),
        "duration_ns": Column(INTEGER, "time on the GPU", "ns", "nsys"),
        "device": Column(INTEGER, "number of the device in its process"),
        "gpu": Column(INTEGER, "number of the GPU in the report"),
        "gpu_name": Column(REPEATED, "name of the GPU", "", "nsys"),
        "context": Column(INTEGER, "CUDA context"),
        "green_context": Column(INTEGER, "green context, where there is one"),
        "stream": Column(INTEGER, "stream number in its context"),
        "machine": Column(INTEGER, "apart for processes of different machines in one report"),
        "process": Column(INTEGER, "process id"),
        "thread": Column(INTEGER, "id of the thread that launched it"),
        "correlation": Column(INTEGER, "id shared with the launching call, in its process"),
        "api": Column(REPEATED, "the launching CPU call", "", "nsys"),
        "api_start_ns": Column(INTEGER, "start of that call", "ns", "nsys"),
        "api_duration_ns": Column(INTEGER, "time of that call", "ns", "nsys"),
        "domain": Column(REPEATED, "NVTX domain of the range; NA for the default one"),
        "range": Column(REPEATED, "innermost NVTX range that the call began in"),
        "range_path": Column(REPEATED, "all those ranges from outside in, joined by ' > '"),
        "range_start_ns": Column(INTEGER, "start of the innermost range", "ns", "nsys"),
        "payload": Column(REPEATED, "payload of the innermost range, as text", "", "nsys"),
        "graph": Column(INTEGER, "CUDA graph"),
        "graph_exec": Column(INTEGER, "its executable instance"),
        "graph_node": Column(INTEGER, "node of the graph"),
        "graph_node_original": Column(INTEGER, "node that it was instantiated from"),
        "bytes": Column(INTEGER, "bytes copied or filled", "B", "nsys"),
        **launch_shape(),
    },
)

NSYS_SUMMARY = Schema(
    "nsys_summary",
    "One row of a summary by `nsys stats`: a kernel, an NVTX range, or a kernel in a range.",
    {
        "report": text("report of nsys stats, by its newer name", required=True),
        "range": text("NVTX range, with its domain before a colon", "nsys stats"),
        "style": text("PushPop or StartEnd", "nsys stats"),
        "process": Column(INTEGER, "process id", "", "nsys stats"),
        "thread": Column(INTEGER, "thread id", "", "nsys stats"),
        "kernel": text("kernel name", "nsys stats"),
        "share_percent": Column(FLOAT, "share of the total time", "%", "nsys stats"),
        "total_ns": Column(
            FLOAT,
            "time of all instances; of nvtx_gpu_proj_sum that on the GPU",
            "ns",
            "nsys stats",
            required=True,
        ),
        "instances": Column(INTEGER, "kernels, or ranges where it is of ranges", "1", "nsys stats"),
        "range_instances": Column(INTEGER, "ranges that the kernels were in", "1", "nsys stats"),
        "mean_ns": Column(FLOAT, "mean", "ns", "nsys stats"),
        "median_ns": Column(FLOAT, "median", "ns", "nsys stats"),
        "min_ns": Column(FLOAT, "least", "ns", "nsys stats"),
        "max_ns": Column(FLOAT, "most", "ns", "nsys stats"),
        "stddev_ns": Column(FLOAT, "standard deviation", "ns", "nsys stats"),
    },
)
