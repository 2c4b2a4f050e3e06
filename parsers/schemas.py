"""The frames: one schema each, the only definition of their columns, units and sources.

Every frame of measurements begins with ``operator``, ``variant`` and ``case``. Units stand in the
column names and are SI base units. A value that was not collected is NA, never 0.
"""

from __future__ import annotations

from parsers.columns import FLAG, FLOAT, INTEGER, Column, Dtype, Schema, Within, launch_shape, text
from parsers.deep_schemas import ADVICE, HOTSPOTS
from parsers.metric import Metric
from parsers.metrics import METRICS
from parsers.nsys_schemas import LAUNCHES, NSYS_SUMMARY

MAX_NS = 1e12
"""No call takes a quarter of an hour; infinity and nonsense are refused with it."""


def _timed(*, none: bool = False) -> Column:
    """Make the column of a duration by CUDA events; where nothing is timed it may be ``none``."""
    within = Within(0, MAX_NS, low_too=none)
    return Column(FLOAT, "time of one call", "ns", "CUDA events", required=True, within=within)


def _key(*, required: bool = True) -> dict[str, Column]:
    return {
        "operator": text("what is computed", required=required),
        "variant": text("which implementation", required=required),
        "case": text("which input: shape, dtype, labels", required=required),
    }


def _kernel() -> dict[str, Column]:
    return {
        "launch": Column(INTEGER, "position of the launch within its range, from 0", "", "order"),
        "kernel": text("kernel name without arguments", "Nsight", required=True),
        "kernel_demangled": text("kernel name with template arguments", "Nsight", required=True),
    }


def _counter(metric: Metric) -> Column:
    dtype: Dtype = INTEGER if metric.integer else FLOAT
    return Column(dtype, metric.meaning, metric.unit, " or ".join(metric.names))


SAMPLES = Schema(
    "samples",
    "One row a timing sample of the time pass (CUDA events, no profiler).",
    {
        **_key(),
        "round": Column(INTEGER, "round of the sample; a round times each variant once"),
        "duration_ns": _timed(),
    },
)

CEILINGS = Schema(
    "ceilings",
    "One row a sample of what this GPU reaches, measured in the same rounds.",
    {
        "ceiling": text(
            "copy: a large one; equal_copy: one of the case's fewest bytes; matmul: a large "
            "product in its dtype, where it takes many FLOPs a byte; empty: nothing",
            required=True,
        ),
        "case": text("the case, where it is an equal copy or a product"),
        "round": Column(INTEGER, "round of the sample"),
        "moved_bytes": Column(INTEGER, "bytes read plus bytes written, of a copy", "B"),
        "flops": Column(INTEGER, "FLOPs of the product", "FLOP"),
        "duration_ns": _timed(none=True),
    },
)

TIMELINE = Schema(
    "timeline",
    "One row a launch seen by Nsight Systems; launches outside every range have no key.",
    {
        **_key(required=False),
        "repeat": Column(INTEGER, "which entry of the range, from 0"),
        **_kernel(),
        "start_ns": Column(INTEGER, "start on the GPU, since the capture began", "ns", "nsys"),
        "duration_ns": Column(INTEGER, "time the kernel ran", "ns", "nsys"),
        "api_start_ns": Column(INTEGER, "start of the launching CPU call", "ns", "nsys"),
        "api_duration_ns": Column(INTEGER, "time of the launching CPU call", "ns", "nsys"),
        "device": Column(INTEGER, "device number"),
        "stream": Column(INTEGER, "stream number"),
        **launch_shape(),
    },
)

COUNTERS = Schema(
    "counters",
    "One row a launch profiled by Nsight Compute; launches outside every range have no key.",
    {
        **_key(required=False),
        **_kernel(),
        "domain": text("NVTX domain of the range; NA for the default one", "NVTX"),
        "range": text("innermost NVTX range that the launch was in, where it is known", "NVTX"),
        "range_path": text("all ranges of its domain from outside in, joined by ' > '", "NVTX"),
        "compute_capability": text("compute capability, such as 9.0", "device attributes"),
        **{metric.column: _counter(metric) for metric in METRICS},
        "occupancy_limiter": text("the smallest block limit; ties joined by ' + '", "derived"),
        "nsight_compute": text("version that wrote the report, where it says so", "report"),
    },
)

FLAGS = Schema(
    "flags",
    "One row a value that a profiler reported and that cannot be; it is NA where it was.",
    {
        **_key(required=False),
        "frame": text("counters, timeline or launches", required=True),
        "launch": Column(INTEGER, "position of the launch within its range, from 0"),
        "kernel": text("kernel name without arguments"),
        "column": text("the column that held it", required=True),
        "value": Column(FLOAT, "the value, in the unit of its column", required=True),
        "reason": text("why it cannot be", required=True),
    },
)

COVERAGE = Schema(
    "coverage",
    "One row a metric: whether Nsight Compute measured it.",
    {
        "operator": text("what is computed"),
        "column": text("column of the counters frame", required=True),
        "status": text("measured, derived, absent or in part, over all launches", required=True),
        "launches": Column(INTEGER, "launches that have a value", required=True),
        "reason": text("the formula, or why there is none"),
    },
)

CHECKS = Schema(
    "checks",
    "One row a variant and case: its outputs against the float64 reference.",
    {
        **_key(),
        "status": text("ok, wrong, failed, unsupported, or unseen without a GPU", required=True),
        "reason": text("what went wrong, in one line"),
        "seed": Column(INTEGER, "seed of the random inputs"),
        "elements": Column(INTEGER, "elements compared"),
        "wrong_elements": Column(INTEGER, "elements outside the tolerance, or not finite alike"),
        "max_abs_error": Column(FLOAT, "largest absolute error", "1"),
        "relative_error": Column(FLOAT, "norm of the error over the norm of the reference", "1"),
        "tolerance_share": Column(FLOAT, "largest error over atol + rtol * |reference|", "1"),
        "rtol": Column(FLOAT, "relative tolerance", "1"),
        "atol": Column(FLOAT, "absolute tolerance", "1"),
    },
)

BUILDS = Schema(
    "builds",
    "One row a Triton kernel, case and architecture: what the compiler made of it.",
    {
        **_key(),
        "kernel": text("kernel name", required=True),
        "arch": text("target, such as sm_90", required=True),
        "config": text("constants and launch options, as JSON with sorted keys", required=True),
        "status": text("ok or failed", required=True),
        "reason": text("the compiler's complaint, in one line"),
        "registers_per_thread": Column(INTEGER, "registers a thread", "register", "cuobjdump"),
        "stack_bytes": Column(INTEGER, "stack frame a thread", "B", "cuobjdump"),
        "shared_bytes": Column(INTEGER, "shared memory a block", "B", "Triton"),
        "threads_per_block": Column(INTEGER, "threads a block", "thread", "Triton"),
        "spill_loads": Column(INTEGER, "LDL instructions in the SASS", "instruction", "nvdisasm"),
        "spill_stores": Column(INTEGER, "STL instructions in the SASS", "instruction", "nvdisasm"),
        "load_bits": Column(INTEGER, "widest global load of a thread", "bit", "nvdisasm"),
        "store_bits": Column(INTEGER, "widest global store of a thread", "bit", "nvdisasm"),
        "tensor_instructions": Column(
            INTEGER, "tensor-core instructions in the SASS", "instruction", "nvdisasm"
        ),
        "tensor_opcodes": text("their opcodes, sorted, joined by ' '", "nvdisasm"),
        "sass_instructions": Column(INTEGER, "instructions in the SASS", "instruction", "nvdisasm"),
        "sass_sha256": text("hash of those instructions, without addresses", "nvdisasm"),
        "ptx": text("file of the PTX, beside the capture"),
        "sass": text("file of the SASS, beside the capture"),
        "triton": text("Triton version that compiled it"),
    },
)

CASES = Schema(
    "cases",
    "One row a case of the operator, as it was when it was measured.",
    {
        "operator": text("what is computed", required=True),
        "case": text("name of the case", required=True),
        "shape": text("extents, such as 8192x8192", required=True),
        "axes": text("what the extents count, joined by ' '"),
        "dtype": text("dtype, such as float32", required=True),
        "labels": text("what else sets the input apart, joined by ' '"),
        "min_read_bytes": Column(INTEGER, "fewest bytes to read: each input once", "B", "model"),
        "min_write_bytes": Column(INTEGER, "fewest bytes to write: each output once", "B", "model"),
        "flops": Column(INTEGER, "floating-point operations by the cost model", "FLOP", "model"),
        "summed": Column(INTEGER, "elements added up into one of the output", "element", "model"),
    },
)

VARIANTS = Schema(
    "variants",
    "One row a variant of the operator, as it was when it was measured.",
    {
        "operator": text("what is computed", required=True),
        "variant": text("name of the variant", required=True),
        "summary": text("how it computes it, in one line", required=True),
        "baseline": Column(FLAG, "speed-ups are against this one", required=True),
    },
)

OUTCOMES = Schema(
    "outcomes",
    "One row a pass, variant and case: whether it was measured, and if not, why.",
    {
        "pass": text("check, sanitize, build, time, nsys or ncu", required=True),
        **_key(),
        "status": text("ok, wrong, failed, skipped, unsupported or unseen", required=True),
        "reason": text("why it is not ok, in one line"),
        "config": text("what its autotuned kernels chose, as JSON by kernel", "Triton"),
    },
)

RUNS = Schema(
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
        "sm_count": Column(INTEGER, "SMs of the GPU", "SM", "torch"),
        "l2_bytes": Column(INTEGER, "size of the L2 cache", "B", "torch"),
        "memory_bytes": Column(INTEGER, "memory of the GPU", "B", "torch"),
        "driver": text("driver version", "nvidia-smi"),
        "sm_clock_max_hz": Column(INTEGER, "highest SM clock", "Hz", "nvidia-smi"),
        "memory_clock_max_hz": Column(INTEGER, "highest memory clock", "Hz", "nvidia-smi"),
        "sm_clock_hz": Column(INTEGER, "SM clock under load, after timing", "Hz", "nvidia-smi"),
        "memory_clock_hz": Column(
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

SANITIZER = Schema(
    "sanitizer",
    "One row a Triton variant and tool of compute-sanitizer, over the operator's small cases.",
    {
        "operator": text("what is computed", required=True),
        "variant": text("which implementation", required=True),
        "tool": text("memcheck or racecheck", required=True),
        "cases": text("names of the cases, joined by ' '", required=True),
        "status": text("ok or failed", required=True),
        "errors": Column(INTEGER, "errors that the tool counted", "", "compute-sanitizer"),
        "reason": text("what it found first, or why it gave no answer"),
    },
)

SCHEMAS: dict[str, Schema] = {
    schema.name: schema
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
