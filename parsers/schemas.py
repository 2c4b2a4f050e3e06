"""The frames: one pandera schema each, the only definition of their columns, units and sources.

Every frame of measurements begins with ``operator``, ``variant`` and ``case``. Units stand in the
column names and are SI base units. A value that was not collected is NA, never 0.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
import pandera.pandas as pa

from parsers.metrics import METRICS, Metric

MAX_NS = 1e12
"""No call takes a quarter of an hour; infinity and nonsense are refused with it."""

INTEGER, FLOAT, TEXT, FLAG = "Int64", "Float64", "string", "boolean"
REPEATED = "category"
"""Texts of which most rows share a few; a million kernel names are kept once each."""


def _column(
    dtype: str,
    meaning: str,
    unit: str = "",
    source: str = "",
    *,
    required: bool = False,
    checks: list[pa.Check] | None = None,
) -> pa.Column:
    """Make a column; ``required`` means that every row has a value."""
    return pa.Column(
        dtype,
        checks=checks,
        nullable=not required,
        description=meaning,
        metadata={"unit": unit, "source": source},
    )


def _text(meaning: str, source: str = "", *, required: bool = False) -> pa.Column:
    return _column(TEXT, meaning, source=source, required=required)


def _schema(
    name: str, title: str, columns: dict[str, pa.Column], unique: list[str] | None = None
) -> pa.DataFrameSchema:
    return pa.DataFrameSchema(
        columns, name=name, title=title, strict=True, coerce=True, unique=unique
    )


def _timed(*, none: bool = False) -> pa.Column:
    """Make the column of a duration by CUDA events; where nothing is timed it may be ``none``."""
    possible = pa.Check.in_range(0, MAX_NS, include_min=none)
    return _column(FLOAT, "time of one call", "ns", "CUDA events", required=True, checks=[possible])


def _key(*, required: bool = True) -> dict[str, pa.Column]:
    return {
        "operator": _text("what is computed", required=required),
        "variant": _text("which implementation", required=required),
        "case": _text("which input: shape, dtype, labels", required=required),
    }


def _kernel() -> dict[str, pa.Column]:
    return {
        "launch": _column(INTEGER, "position of the launch within its range, from 0", "", "order"),
        "kernel": _text("kernel name without arguments", "Nsight", required=True),
        "kernel_demangled": _text("kernel name with template arguments", "Nsight", required=True),
    }


def _launch_shape() -> dict[str, pa.Column]:
    return {
        "registers_per_thread": _column(INTEGER, "registers a thread", "register", "nsys"),
        **{
            f"{part}_{axis}": _column(INTEGER, f"{what} along {axis}", unit, "nsys")
            for part, what, unit in (("grid", "blocks", "block"), ("block", "threads", "thread"))
            for axis in "xyz"
        },
        "static_shared_bytes": _column(INTEGER, "static shared memory a block", "B", "nsys"),
        "dynamic_shared_bytes": _column(INTEGER, "dynamic shared memory a block", "B", "nsys"),
        "local_bytes_per_thread": _column(INTEGER, "local memory a thread", "B", "nsys"),
    }


def _counter(metric: Metric) -> pa.Column:
    dtype = INTEGER if metric.integer else FLOAT
    return _column(dtype, metric.meaning, metric.unit, " or ".join(metric.names))


SAMPLES = _schema(
    "samples",
    "One row a timing sample of the time pass (CUDA events, no profiler).",
    {
        **_key(),
        "round": _column(INTEGER, "round of the sample; a round times each variant once"),
        "duration_ns": _timed(),
    },
)

CEILINGS = _schema(
    "ceilings",
    "One row a sample of what this GPU reaches, measured in the same rounds.",
    {
        "ceiling": _text(
            "copy: a large one; equal_copy: one of the case's fewest bytes; empty: nothing",
            required=True,
        ),
        "case": _text("the case, where it is an equal copy"),
        "round": _column(INTEGER, "round of the sample"),
        "moved_bytes": _column(INTEGER, "bytes read plus bytes written", "B", required=True),
        "duration_ns": _timed(none=True),
    },
)

TIMELINE = _schema(
    "timeline",
    "One row a launch seen by Nsight Systems; launches outside every range have no key.",
    {
        **_key(required=False),
        "repeat": _column(INTEGER, "which entry of the range, from 0"),
        **_kernel(),
        "start_ns": _column(INTEGER, "start on the GPU, since the capture began", "ns", "nsys"),
        "duration_ns": _column(INTEGER, "time the kernel ran", "ns", "nsys"),
        "api_start_ns": _column(INTEGER, "start of the launching CPU call", "ns", "nsys"),
        "api_duration_ns": _column(INTEGER, "time of the launching CPU call", "ns", "nsys"),
        "device": _column(INTEGER, "device number"),
        "stream": _column(INTEGER, "stream number"),
        **_launch_shape(),
    },
)

LAUNCHES = _schema(
    "launches",
    "One row a kernel, and where asked for, a copy or fill, of any export of Nsight Systems; and "
    "one row a CUDA graph that was traced as a whole, whose kernels are unknown.",
    {
        "kind": _column(REPEATED, "kernel, memcpy, memset or graph", required=True),
        "kernel": _column(REPEATED, "kernel name without arguments; NA for a graph", "", "nsys"),
        "kernel_demangled": _column(REPEATED, "kernel name with template arguments", "", "nsys"),
        "kernel_mangled": _column(REPEATED, "kernel name as the linker knows it", "", "nsys"),
        "start_ns": _column(INTEGER, "start on the GPU, on the report's clock", "ns", "nsys"),
        "duration_ns": _column(INTEGER, "time on the GPU", "ns", "nsys"),
        "device": _column(INTEGER, "number of the device in its process"),
        "gpu": _column(INTEGER, "number of the GPU in the report"),
        "gpu_name": _column(REPEATED, "name of the GPU", "", "nsys"),
        "context": _column(INTEGER, "CUDA context"),
        "green_context": _column(INTEGER, "green context, where there is one"),
        "stream": _column(INTEGER, "stream number in its context"),
        "machine": _column(INTEGER, "apart for processes of different machines in one report"),
        "process": _column(INTEGER, "process id"),
        "thread": _column(INTEGER, "id of the thread that launched it"),
        "correlation": _column(INTEGER, "id shared with the launching call, in its process"),
        "api": _column(REPEATED, "the launching CPU call", "", "nsys"),
        "api_start_ns": _column(INTEGER, "start of that call", "ns", "nsys"),
        "api_duration_ns": _column(INTEGER, "time of that call", "ns", "nsys"),
        "domain": _column(REPEATED, "NVTX domain of the range; NA for the default one"),
        "range": _column(REPEATED, "innermost NVTX range that the call began in"),
        "range_path": _column(REPEATED, "all those ranges from outside in, joined by ' > '"),
        "range_start_ns": _column(INTEGER, "start of the innermost range", "ns", "nsys"),
        "payload": _column(REPEATED, "payload of the innermost range, as text", "", "nsys"),
        "graph": _column(INTEGER, "CUDA graph"),
        "graph_exec": _column(INTEGER, "its executable instance"),
        "graph_node": _column(INTEGER, "node of the graph"),
        "graph_node_original": _column(INTEGER, "node that it was instantiated from"),
        "bytes": _column(INTEGER, "bytes copied or filled", "B", "nsys"),
        **_launch_shape(),
    },
)

NSYS_SUMMARY = _schema(
    "nsys_summary",
    "One row of a summary by `nsys stats`: a kernel, an NVTX range, or a kernel in a range.",
    {
        "report": _text("report of nsys stats, by its newer name", required=True),
        "range": _text("NVTX range, with its domain before a colon", "nsys stats"),
        "style": _text("PushPop or StartEnd", "nsys stats"),
        "process": _column(INTEGER, "process id", "", "nsys stats"),
        "thread": _column(INTEGER, "thread id", "", "nsys stats"),
        "kernel": _text("kernel name", "nsys stats"),
        "share_percent": _column(FLOAT, "share of the total time", "%", "nsys stats"),
        "total_ns": _column(FLOAT, "time of all instances", "ns", "nsys stats", required=True),
        "instances": _column(
            INTEGER, "kernels, or ranges where it is of ranges", "1", "nsys stats"
        ),
        "range_instances": _column(INTEGER, "ranges that the kernels were in", "1", "nsys stats"),
        "mean_ns": _column(FLOAT, "mean", "ns", "nsys stats"),
        "median_ns": _column(FLOAT, "median", "ns", "nsys stats"),
        "min_ns": _column(FLOAT, "least", "ns", "nsys stats"),
        "max_ns": _column(FLOAT, "most", "ns", "nsys stats"),
        "stddev_ns": _column(FLOAT, "standard deviation", "ns", "nsys stats"),
    },
)

COUNTERS = _schema(
    "counters",
    "One row a launch profiled by Nsight Compute; launches outside every range have no key.",
    {
        **_key(required=False),
        **_kernel(),
        "compute_capability": _text("compute capability, such as 9.0", "device attributes"),
        **{metric.column: _counter(metric) for metric in METRICS},
        "occupancy_limiter": _text("the smallest block limit; ties joined by ' + '", "derived"),
        "nsight_compute": _text("version that wrote the report, where it says so", "report"),
    },
)

FLAGS = _schema(
    "flags",
    "One row a value that a profiler reported and that cannot be; it is NA where it was.",
    {
        **_key(required=False),
        "frame": _text("counters, timeline or launches", required=True),
        "launch": _column(INTEGER, "position of the launch within its range, from 0"),
        "kernel": _text("kernel name without arguments"),
        "column": _text("the column that held it", required=True),
        "value": _column(FLOAT, "the value, in the unit of its column", required=True),
        "reason": _text("why it cannot be", required=True),
    },
)

COVERAGE = _schema(
    "coverage",
    "One row a metric: whether Nsight Compute measured it.",
    {
        "operator": _text("what is computed"),
        "column": _text("column of the counters frame", required=True),
        "status": _text("measured, derived, absent or in part, over all launches", required=True),
        "launches": _column(INTEGER, "launches that have a value", required=True),
        "reason": _text("the formula, or why there is none"),
    },
)

CHECKS = _schema(
    "checks",
    "One row a variant and case: its outputs against the float64 reference.",
    {
        **_key(),
        "status": _text("ok, wrong, failed or unsupported", required=True),
        "reason": _text("what went wrong, in one line"),
        "seed": _column(INTEGER, "seed of the random inputs"),
        "elements": _column(INTEGER, "elements compared"),
        "wrong_elements": _column(INTEGER, "elements outside the tolerance, or not finite alike"),
        "max_abs_error": _column(FLOAT, "largest absolute error", "1"),
        "relative_error": _column(FLOAT, "norm of the error over the norm of the reference", "1"),
        "tolerance_share": _column(FLOAT, "largest error over atol + rtol * |reference|", "1"),
        "rtol": _column(FLOAT, "relative tolerance", "1"),
        "atol": _column(FLOAT, "absolute tolerance", "1"),
    },
)

BUILDS = _schema(
    "builds",
    "One row a Triton kernel, case and architecture: what the compiler made of it.",
    {
        **_key(),
        "kernel": _text("kernel name", required=True),
        "arch": _text("target, such as sm_90", required=True),
        "config": _text("constants and launch options, as JSON with sorted keys", required=True),
        "status": _text("ok or failed", required=True),
        "reason": _text("the compiler's complaint, in one line"),
        "registers_per_thread": _column(INTEGER, "registers a thread", "register", "cuobjdump"),
        "stack_bytes": _column(INTEGER, "stack frame a thread", "B", "cuobjdump"),
        "shared_bytes": _column(INTEGER, "shared memory a block", "B", "Triton"),
        "threads_per_block": _column(INTEGER, "threads a block", "thread", "Triton"),
        "spill_loads": _column(INTEGER, "LDL instructions in the SASS", "instruction", "nvdisasm"),
        "spill_stores": _column(INTEGER, "STL instructions in the SASS", "instruction", "nvdisasm"),
        "load_bits": _column(INTEGER, "widest global load of a thread", "bit", "nvdisasm"),
        "store_bits": _column(INTEGER, "widest global store of a thread", "bit", "nvdisasm"),
        "tensor_instructions": _column(
            INTEGER, "tensor-core instructions in the SASS", "instruction", "nvdisasm"
        ),
        "tensor_opcodes": _text("their opcodes, sorted, joined by ' '", "nvdisasm"),
        "sass_instructions": _column(
            INTEGER, "instructions in the SASS", "instruction", "nvdisasm"
        ),
        "ptx": _text("file of the PTX, beside the capture"),
        "sass": _text("file of the SASS, beside the capture"),
        "triton": _text("Triton version that compiled it"),
    },
)

CASES = _schema(
    "cases",
    "One row a case of the operator, as it was when it was measured.",
    {
        "operator": _text("what is computed", required=True),
        "case": _text("name of the case", required=True),
        "shape": _text("extents, such as 8192x8192", required=True),
        "axes": _text("what the extents count, joined by ' '"),
        "dtype": _text("dtype, such as float32", required=True),
        "labels": _text("what else sets the input apart, joined by ' '"),
        "min_read_bytes": _column(INTEGER, "fewest bytes to read: each input once", "B", "model"),
        "min_write_bytes": _column(
            INTEGER, "fewest bytes to write: each output once", "B", "model"
        ),
        "flops": _column(INTEGER, "floating-point operations by the cost model", "FLOP", "model"),
        "summed": _column(INTEGER, "elements added up into one of the output", "element", "model"),
    },
)

VARIANTS = _schema(
    "variants",
    "One row a variant of the operator, as it was when it was measured.",
    {
        "operator": _text("what is computed", required=True),
        "variant": _text("name of the variant", required=True),
        "summary": _text("how it computes it, in one line", required=True),
        "baseline": _column(FLAG, "speed-ups are against this one", required=True),
    },
)

OUTCOMES = _schema(
    "outcomes",
    "One row a pass, variant and case: whether it was measured, and if not, why.",
    {
        "pass": _text("check, sanitize, build, time, nsys or ncu", required=True),
        **_key(),
        "status": _text("ok, wrong, failed, skipped or unsupported", required=True),
        "reason": _text("why it is not ok, in one line"),
        "config": _text("what its autotuned kernels chose, as JSON by kernel", "Triton"),
    },
)

RUNS = _schema(
    "runs",
    "One row a pass: when, where and with what it ran.",
    {
        "operator": _text("what is computed", required=True),
        "summary": _text("what it computes, in one line"),
        "pass": _text("check, sanitize, build, time, nsys or ncu", required=True),
        "date": _text("UTC, ISO 8601", required=True),
        "commit": _text("git commit of the checkout; ends in +changes where it was dirty"),
        "source_sha256": _text("hash of the operator's source", required=True),
        "roofsnake": _text("version of the harness"),
        "gpu": _text("name of the GPU", "nvidia-smi"),
        "compute_capability": _text("compute capability", "torch"),
        "sm_count": _column(INTEGER, "SMs of the GPU", "SM", "torch"),
        "l2_bytes": _column(INTEGER, "size of the L2 cache", "B", "torch"),
        "memory_bytes": _column(INTEGER, "memory of the GPU", "B", "torch"),
        "driver": _text("driver version", "nvidia-smi"),
        "sm_clock_max_hz": _column(INTEGER, "highest SM clock", "Hz", "nvidia-smi"),
        "memory_clock_max_hz": _column(INTEGER, "highest memory clock", "Hz", "nvidia-smi"),
        "sm_clock_hz": _column(INTEGER, "SM clock under load, after timing", "Hz", "nvidia-smi"),
        "memory_clock_hz": _column(
            INTEGER, "memory clock under load, after timing", "Hz", "nvidia-smi"
        ),
        "clock_policy": _text("whether clocks were locked while measuring"),
        "python": _text("version"),
        "torch": _text("version"),
        "cuda": _text("CUDA version of torch"),
        "triton": _text("version"),
        "tool": _text("profiler and its version, where one ran"),
        "settings": _text("settings of the pass, as JSON with sorted keys"),
    },
)

SANITIZER = _schema(
    "sanitizer",
    "One row a Triton variant and tool of compute-sanitizer, over the operator's small cases.",
    {
        "operator": _text("what is computed", required=True),
        "variant": _text("which implementation", required=True),
        "tool": _text("memcheck or racecheck", required=True),
        "cases": _text("names of the cases, joined by ' '", required=True),
        "status": _text("ok or failed", required=True),
        "errors": _column(INTEGER, "errors that the tool counted", "", "compute-sanitizer"),
        "reason": _text("what it found first, or why it gave no answer"),
    },
)

SCHEMAS: dict[str, pa.DataFrameSchema] = {
    str(schema.name): schema
    for schema in (
        SAMPLES,
        CEILINGS,
        TIMELINE,
        LAUNCHES,
        NSYS_SUMMARY,
        COUNTERS,
        FLAGS,
        COVERAGE,
        CHECKS,
        SANITIZER,
        BUILDS,
        CASES,
        VARIANTS,
        OUTCOMES,
        RUNS,
    )
}


def conform(rows: pd.DataFrame | list[dict[str, Any]], schema: pa.DataFrameSchema) -> pd.DataFrame:
    """Give rows the columns, order and dtypes of a schema; what is not there becomes NA.

    Raises
    ------
    pandera.errors.SchemaError
        When a required value is missing or a value does not fit its dtype.
    """
    frame = pd.DataFrame(rows)
    return schema.validate(frame.reindex(columns=list(schema.columns)))
