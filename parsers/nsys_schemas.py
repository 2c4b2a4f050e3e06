"""The frames of Nsight Systems reports that are no captures of the harness."""

from __future__ import annotations

from parsers.columns import FLOAT, INTEGER, REPEATED, column, launch_shape, schema, text

LAUNCHES = schema(
    "launches",
    "One row a kernel, and where asked for, a copy or fill, of any export of Nsight Systems; and "
    "one row a CUDA graph that was traced as a whole, whose kernels are unknown.",
    {
        "kind": column(REPEATED, "kernel, memcpy, memset or graph", required=True),
        "kernel": column(REPEATED, "kernel name without arguments; NA for a graph", "", "nsys"),
        "kernel_demangled": column(REPEATED, "kernel name with template arguments", "", "nsys"),
        "kernel_mangled": column(REPEATED, "kernel name as the linker knows it", "", "nsys"),
        "start_ns": column(INTEGER, "start on the GPU, on the report's clock", "ns", "nsys"),
        "duration_ns": column(INTEGER, "time on the GPU", "ns", "nsys"),
        "device": column(INTEGER, "number of the device in its process"),
        "gpu": column(INTEGER, "number of the GPU in the report"),
        "gpu_name": column(REPEATED, "name of the GPU", "", "nsys"),
        "context": column(INTEGER, "CUDA context"),
        "green_context": column(INTEGER, "green context, where there is one"),
        "stream": column(INTEGER, "stream number in its context"),
        "machine": column(INTEGER, "apart for processes of different machines in one report"),
        "process": column(INTEGER, "process id"),
        "thread": column(INTEGER, "id of the thread that launched it"),
        "correlation": column(INTEGER, "id shared with the launching call, in its process"),
        "api": column(REPEATED, "the launching CPU call", "", "nsys"),
        "api_start_ns": column(INTEGER, "start of that call", "ns", "nsys"),
        "api_duration_ns": column(INTEGER, "time of that call", "ns", "nsys"),
        "domain": column(REPEATED, "NVTX domain of the range; NA for the default one"),
        "range": column(REPEATED, "innermost NVTX range that the call began in"),
        "range_path": column(REPEATED, "all those ranges from outside in, joined by ' > '"),
        "range_start_ns": column(INTEGER, "start of the innermost range", "ns", "nsys"),
        "payload": column(REPEATED, "payload of the innermost range, as text", "", "nsys"),
        "graph": column(INTEGER, "CUDA graph"),
        "graph_exec": column(INTEGER, "its executable instance"),
        "graph_node": column(INTEGER, "node of the graph"),
        "graph_node_original": column(INTEGER, "node that it was instantiated from"),
        "bytes": column(INTEGER, "bytes copied or filled", "B", "nsys"),
        **launch_shape(),
    },
)

NSYS_SUMMARY = schema(
    "nsys_summary",
    "One row of a summary by `nsys stats`: a kernel, an NVTX range, or a kernel in a range.",
    {
        "report": text("report of nsys stats, by its newer name", required=True),
        "range": text("NVTX range, with its domain before a colon", "nsys stats"),
        "style": text("PushPop or StartEnd", "nsys stats"),
        "process": column(INTEGER, "process id", "", "nsys stats"),
        "thread": column(INTEGER, "thread id", "", "nsys stats"),
        "kernel": text("kernel name", "nsys stats"),
        "share_percent": column(FLOAT, "share of the total time", "%", "nsys stats"),
        "total_ns": column(
            FLOAT,
            "time of all instances; of nvtx_gpu_proj_sum that on the GPU",
            "ns",
            "nsys stats",
            required=True,
        ),
        "instances": column(INTEGER, "kernels, or ranges where it is of ranges", "1", "nsys stats"),
        "range_instances": column(INTEGER, "ranges that the kernels were in", "1", "nsys stats"),
        "mean_ns": column(FLOAT, "mean", "ns", "nsys stats"),
        "median_ns": column(FLOAT, "median", "ns", "nsys stats"),
        "min_ns": column(FLOAT, "least", "ns", "nsys stats"),
        "max_ns": column(FLOAT, "most", "ns", "nsys stats"),
        "stddev_ns": column(FLOAT, "standard deviation", "ns", "nsys stats"),
    },
)
