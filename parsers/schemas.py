"""The frames: one pandera schema each, the only definition of their columns, units and sources.

Every frame of measurements begins with ``operator``, ``variant`` and ``case``. Units stand in the
column names and are SI base units. A value that was not collected is NA, never 0.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
import pandera.pandas as pa

from parsers.columns import FLAG, FLOAT, INTEGER, column, launch_shape, schema, text
from parsers.deep_schemas import ADVICE, HOTSPOTS
from parsers.metric import Metric
from parsers.metrics import METRICS
from parsers.nsys_schemas import LAUNCHES, NSYS_SUMMARY

MAX_NS = 1e12
"""No call takes a quarter of an hour; infinity and nonsense are refused with it."""


def _timed(*, none: bool = False) -> pa.Column:
    """Make the column of a duration by CUDA events; where nothing is timed it may be ``none``."""
    possible = pa.Check.in_range(0, MAX_NS, include_min=none)
    return column(FLOAT, "time of one call", "ns", "CUDA events", required=True, checks=[possible])


def _key(*, required: bool = True) -> dict[str, pa.Column]:
    return {
        "operator": text("what is computed", required=required),
        "variant": text("which implementation", required=required),
        "case": text("which input: shape, dtype, labels", required=required),
    }


def _kernel() -> dict[str, pa.Column]:
    return {
        "launch": column(INTEGER, "position of the launch within its range, from 0", "", "order"),
        "kernel": text("kernel name without arguments", "Nsight", required=True),
        "kernel_demangled": text("kernel name with template arguments", "Nsight", required=True),
    }


def _counter(metric: Metric) -> pa.Column:
    dtype = INTEGER if metric.integer else FLOAT
    return column(dtype, metric.meaning, metric.unit, " or ".join(metric.names))


SAMPLES = schema(
    "samples",
    "One row a timing sample of the time pass (CUDA events, no profiler).",
    {
        **_key(),
        "round": column(INTEGER, "round of the sample; a round times each variant once"),
        "duration_ns": _timed(),
    },
)

CEILINGS = schema(
    "ceilings",
    "One row a sample of what this GPU reaches, measured in the same rounds.",
    {
        "ceiling": text(
            "copy: a large one; equal_copy: one of the case's fewest bytes; matmul: a large "
            "product in its dtype, where it takes many FLOPs a byte; empty: nothing",
            required=True,
        ),
        "case": text("the case, where it is an equal copy or a product"),
        "round": column(INTEGER, "round of the sample"),
        "moved_bytes": column(INTEGER, "bytes read plus bytes written, of a copy", "B"),
        "flops": column(INTEGER, "FLOPs of the product", "FLOP"),
        "duration_ns": _timed(none=True),
    },
)

TIMELINE = schema(
    "timeline",
    "One row a launch seen by Nsight Systems; launches outside every range have no key.",
    {
        **_key(required=False),
        "repeat": column(INTEGER, "which entry of the range, from 0"),
        **_kernel(),
        "start_ns": column(INTEGER, "start on the GPU, since the capture began", "ns", "nsys"),
        "duration_ns": column(INTEGER, "time the kernel ran", "ns", "nsys"),
        "api_start_ns": column(INTEGER, "start of the launching CPU call", "ns", "nsys"),
        "api_duration_ns": column(INTEGER, "time of the launching CPU call", "ns", "nsys"),
        "device": column(INTEGER, "device number"),
        "stream": column(INTEGER, "stream number"),
        **launch_shape(),
    },
)

COUNTERS = schema(
    "counters",
    "One row a launch profiled by Nsight Compute; launches outside every range have no key.",
    {
        **_key(required=False),
        **_kernel(),
        "compute_capability": text("compute capability, such as 9.0", "device attributes"),
        **{metric.column: _counter(metric) for metric in METRICS},
        "occupancy_limiter": text("the smallest block limit; ties joined by ' + '", "derived"),
        "nsight_compute": text("version that wrote the report, where it says so", "report"),
    },
)

FLAGS = schema(
    "flags",
    "One row a value that a profiler reported and that cannot be; it is NA where it was.",
    {
        **_key(required=False),
        "frame": text("counters, timeline or launches", required=True),
        "launch": column(INTEGER, "position of the launch within its range, from 0"),
        "kernel": text("kernel name without arguments"),
        "column": text("the column that held it", required=True),
        "value": column(FLOAT, "the value, in the unit of its column", required=True),
        "reason": text("why it cannot be", required=True),
    },
)

COVERAGE = schema(
    "coverage",
    "One row a metric: whether Nsight Compute measured it.",
    {
        "operator": text("what is computed"),
        "column": text("column of the counters frame", required=True),
        "status": text("measured, derived, absent or in part, over all launches", required=True),
        "launches": column(INTEGER, "launches that have a value", required=True),
        "reason": text("the formula, or why there is none"),
    },
)

CHECKS = schema(
    "checks",
    "One row a variant and case: its outputs against the float64 reference.",
    {
        **_key(),
        "status": text("ok, wrong, failed or unsupported", required=True),
        "reason": text("what went wrong, in one line"),
        "seed": column(INTEGER, "seed of the random inputs"),
        "elements": column(INTEGER, "elements compared"),
        "wrong_elements": column(INTEGER, "elements outside the tolerance, or not finite alike"),
        "max_abs_error": column(FLOAT, "largest absolute error", "1"),
        "relative_error": column(FLOAT, "norm of the error over the norm of the reference", "1"),
        "tolerance_share": column(FLOAT, "largest error over atol + rtol * |reference|", "1"),
        "rtol": column(FLOAT, "relative tolerance", "1"),
        "atol": column(FLOAT, "absolute tolerance", "1"),
    },
)

BUILDS = schema(
    "builds",
    "One row a Triton kernel, case and architecture: what the compiler made of it.",
    {
        **_key(),
        "kernel": text("kernel name", required=True),
        "arch": text("target, such as sm_90", required=True),
        "config": text("constants and launch options, as JSON with sorted keys", required=True),
        "status": text("ok or failed", required=True),
        "reason": text("the compiler's complaint, in one line"),
        "registers_per_thread": column(INTEGER, "registers a thread", "register", "cuobjdump"),
        "stack_bytes": column(INTEGER, "stack frame a thread", "B", "cuobjdump"),
        "shared_bytes": column(INTEGER, "shared memory a block", "B", "Triton"),
        "threads_per_block": column(INTEGER, "threads a block", "thread", "Triton"),
        "spill_loads": column(INTEGER, "LDL instructions in the SASS", "instruction", "nvdisasm"),
        "spill_stores": column(INTEGER, "STL instructions in the SASS", "instruction", "nvdisasm"),
        "load_bits": column(INTEGER, "widest global load of a thread", "bit", "nvdisasm"),
        "store_bits": column(INTEGER, "widest global store of a thread", "bit", "nvdisasm"),
        "tensor_instructions": column(
            INTEGER, "tensor-core instructions in the SASS", "instruction", "nvdisasm"
        ),
        "tensor_opcodes": text("their opcodes, sorted, joined by ' '", "nvdisasm"),
        "sass_instructions": column(INTEGER, "instructions in the SASS", "instruction", "nvdisasm"),
        "ptx": text("file of the PTX, beside the capture"),
        "sass": text("file of the SASS, beside the capture"),
        "triton": text("Triton version that compiled it"),
    },
)

CASES = schema(
    "cases",
    "One row a case of the operator, as it was when it was measured.",
    {
        "operator": text("what is computed", required=True),
        "case": text("name of the case", required=True),
        "shape": text("extents, such as 8192x8192", required=True),
        "axes": text("what the extents count, joined by ' '"),
        "dtype": text("dtype, such as float32", required=True),
        "labels": text("what else sets the input apart, joined by ' '"),
        "min_read_bytes": column(INTEGER, "fewest bytes to read: each input once", "B", "model"),
        "min_write_bytes": column(INTEGER, "fewest bytes to write: each output once", "B", "model"),
        "flops": column(INTEGER, "floating-point operations by the cost model", "FLOP", "model"),
        "summed": column(INTEGER, "elements added up into one of the output", "element", "model"),
    },
)

VARIANTS = schema(
    "variants",
    "One row a variant of the operator, as it was when it was measured.",
    {
        "operator": text("what is computed", required=True),
        "variant": text("name of the variant", required=True),
        "summary": text("how it computes it, in one line", required=True),
        "baseline": column(FLAG, "speed-ups are against this one", required=True),
    },
)

OUTCOMES = schema(
    "outcomes",
    "One row a pass, variant and case: whether it was measured, and if not, why.",
    {
        "pass": text("check, sanitize, build, time, nsys or ncu", required=True),
        **_key(),
        "status": text("ok, wrong, failed, skipped or unsupported", required=True),
        "reason": text("why it is not ok, in one line"),
        "config": text("what its autotuned kernels chose, as JSON by kernel", "Triton"),
    },
)

RUNS = schema(
    "runs",
    "One row a pass: when, where and with what it ran.",
    {
        "operator": text("what is computed", required=True),
        "summary": text("what it computes, in one line"),
        "pass": text("check, sanitize, build, time, nsys or ncu", required=True),
        "date": text("UTC, ISO 8601", required=True),
        "commit": text("git commit of the checkout; ends in +changes where it was dirty"),
        "source_sha256": text("hash of the operator's source", required=True),
        "roofsnake": text("version of the harness"),
        "gpu": text("name of the GPU", "nvidia-smi"),
        "compute_capability": text("compute capability", "torch"),
        "sm_count": column(INTEGER, "SMs of the GPU", "SM", "torch"),
        "l2_bytes": column(INTEGER, "size of the L2 cache", "B", "torch"),
        "memory_bytes": column(INTEGER, "memory of the GPU", "B", "torch"),
        "driver": text("driver version", "nvidia-smi"),
        "sm_clock_max_hz": column(INTEGER, "highest SM clock", "Hz", "nvidia-smi"),
        "memory_clock_max_hz": column(INTEGER, "highest memory clock", "Hz", "nvidia-smi"),
        "sm_clock_hz": column(INTEGER, "SM clock under load, after timing", "Hz", "nvidia-smi"),
        "memory_clock_hz": column(
            INTEGER, "memory clock under load, after timing", "Hz", "nvidia-smi"
        ),
        "clock_policy": text("whether clocks were locked while measuring"),
        "python": text("version"),
        "torch": text("version"),
        "cuda": text("CUDA version of torch"),
        "triton": text("version"),
        "tool": text("profiler and its version, where one ran"),
        "settings": text("settings of the pass, as JSON with sorted keys"),
    },
)

SANITIZER = schema(
    "sanitizer",
    "One row a Triton variant and tool of compute-sanitizer, over the operator's small cases.",
    {
        "operator": text("what is computed", required=True),
        "variant": text("which implementation", required=True),
        "tool": text("memcheck or racecheck", required=True),
        "cases": text("names of the cases, joined by ' '", required=True),
        "status": text("ok or failed", required=True),
        "errors": column(INTEGER, "errors that the tool counted", "", "compute-sanitizer"),
        "reason": text("what it found first, or why it gave no answer"),
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
        HOTSPOTS,
        ADVICE,
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
    frame = pd.DataFrame(rows).reindex(columns=list(schema.columns))
    try:
        typed = frame.astype({str(c.name): c.dtype.type for c in schema.columns.values()})
    except Exception:  # what a value can fail to convert by is pandas' own
        return schema.validate(frame)
    return typed if fits(typed, schema) else schema.validate(frame)


def fits(frame: pd.DataFrame, schema: pa.DataFrameSchema) -> bool:
    """Say whether a frame has the columns, order, dtypes and values of a schema without checks.

    Those are dtypes and missing values alone, for which pandera takes ten times as long as pandas.
    Where it says no, `schema.validate` says why, or that the frame fits after all.
    """
    columns = schema.columns.values()
    if schema.unique or any(column.checks for column in columns):
        return False
    dtypes = {str(column.name): column.dtype.type for column in columns}
    if list(frame.columns) != list(dtypes) or any(frame.dtypes[n] != t for n, t in dtypes.items()):
        return False
    required = [column.name for column in columns if not column.nullable]
    return not frame[required].isna().any(axis=None)
