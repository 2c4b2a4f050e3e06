"""The roofline: what a kernel could reach by its bytes and FLOPs, and what it did.

A kernel that moves B bytes and does F FLOPs of a type takes no less than the longer of
B / bandwidth and F / peak (Williams, Waterman and Patterson: Roofline, CACM 52(4), 2009). With an
arithmetic intensity of F / B it can attain min(bandwidth * intensity, peak) FLOP/s; the two meet at
the ridge. Of a kernel with FLOPs of several types the one counts that takes longest at its peak.

FLOPs are counted of CUDA cores, and of tensor cores with float16, bfloat16 and tf32 sources; not of
FP8, float64 and integer sources, special functions and conversions. The counters of half precision
on CUDA cores do not tell float16 from bfloat16, whose peaks differ, so these have none. Writes that
still lie in L2 when a kernel ends are missing from the measured bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from reports import timing
from reports.chips import Chip

CORE_FLOPS: dict[str, dict[str, int]] = {
    "fp64": {"dadd": 1, "dmul": 1, "dfma": 2},
    "fp32": {"fadd": 1, "fmul": 1, "ffma": 2},
    "fp16": {"hadd": 2, "hmul": 2, "hfma": 4},
}
"""FLOPs of a thread's instruction on the CUDA cores; those of half precision, float16 or bfloat16,
work on two values each."""

TENSOR = ("tensor_fp16", "tensor_bf16", "tensor_tf32")
UNKNOWN = "unknown"
DTYPES = (*CORE_FLOPS, *TENSOR, UNKNOWN)
"""Columns of FLOPs by type and unit, in the words of `reports.chips.Chip.peaks`; ``unknown`` are
those of which it is not known which unit does them."""

COLUMNS: dict[str, str] = {
    "dtype": "string",
    **dict.fromkeys(("flops", "bytes", "duration_ns", "intensity"), "Float64"),
    **dict.fromkeys(("bandwidth_bytes_per_s", "peak_flops_per_s", "ridge"), "Float64"),
    **dict.fromkeys(("attainable_flops_per_s", "flops_per_s", "share"), "Float64"),
    "bound": "string",
}

_TENSOR_OF = {"float32": "tensor_tf32", "float16": "tensor_fp16", "bfloat16": "tensor_bf16"}


@dataclass(frozen=True)
class Roof:
    """Ceilings of a GPU: bandwidth of DRAM in B/s, peaks in FLOP/s by type; and whose they are.

    What is not known is None or left out.
    """

    source: str
    bandwidth: float | None
    peaks: Mapping[str, float] = field(default_factory=dict)

    def ridge(self, dtype: str) -> float | None:
        """Return the FLOP/B from which on ``dtype`` is bound by its peak; None where not known."""
        peak = self.peaks.get(dtype)
        return None if peak is None or not self.bandwidth else peak / self.bandwidth

    def attainable(self, dtype: str, intensity: Any) -> Any:
        """Return the FLOP/s attainable at FLOP/B, a number or an array.

        Where one ceiling is not known, the other alone; none where both are not.
        """
        slope = np.nan if self.bandwidth is None else self.bandwidth
        return np.fmin(slope * np.asarray(intensity, float), self.peaks.get(dtype, np.nan))


def datasheet(chip: Chip) -> Roof:
    """Return the ceilings that the maker states."""
    return Roof(chip.source, chip.dram_bytes_per_s, chip.peaks)


def measured(ceilings: pd.DataFrame, peaks: Mapping[str, float] | None = None) -> Roof:
    """Return the ceilings reached in the same rounds as the variants.

    ``ceilings`` is the frame of that name, whose large copy gives the bandwidth; ``peaks`` are
    FLOP/s by type where matrix products were timed.
    """
    return Roof("measured in the same rounds", timing.copy_bandwidth(ceilings), peaks or {})


def matmul_peaks(ceilings: pd.DataFrame, cases: pd.DataFrame) -> dict[str, float]:
    """Return the FLOP/s of the fastest large matrix products by type, from medians of a case each.

    A product of float32 is one of the CUDA cores, unless the case's labels allow tf32.
    """
    products = ceilings[ceilings["ceiling"] == "matmul"]
    medians = products.groupby(["case", "flops"])[["duration_ns"]].median().reset_index()
    medians = medians[medians["duration_ns"] > 0]
    rates = pd.Series(medians["flops"] / medians["duration_ns"] * 1e9, dtype="Float64")
    units = dict(zip(cases["case"], _matmul_units(cases), strict=True))
    fastest = rates.groupby(medians["case"].map(units)).max()
    return {str(dtype): float(rate) for dtype, rate in fastest.items()}


def _matmul_units(cases: pd.DataFrame) -> pd.Series[str]:
    """Return which unit does the large product of each case."""
    tf32 = cases["labels"].fillna("").str.split().map(lambda labels: "tf32" in labels)
    cores = cases["dtype"].eq("float32") & ~tf32.astype(bool)
    return cases["dtype"].map(_TENSOR_OF).mask(cores, "fp32")


def flops(counters: pd.DataFrame) -> pd.DataFrame:
    """Return the FLOPs by type that counters tell of.

    Parameters
    ----------
    counters
        The frame ``counters``, or what `parsers.rollup.roll_up` makes of it.

    Returns
    -------
    DataFrame
        The same rows, a column each of `DTYPES` but the unknown, in FLOP; NA where a counter is.
    """
    cores = {
        dtype: sum(counters[f"{op}_thread_instructions"] * each for op, each in ops.items())
        for dtype, ops in CORE_FLOPS.items()
    }
    return pd.DataFrame(cores | {unit: counters[f"{unit}_flops"] for unit in TENSOR})


def counted(counters: pd.DataFrame) -> pd.DataFrame:
    """Return what a roofline needs of launches, or of whole variants, all of the ncu pass.

    Returns
    -------
    DataFrame
        The rows of ``counters`` with the columns of `flops`, ``bytes`` through DRAM and
        ``duration_ns``.
    """
    moved = counters["dram_read_bytes"] + counters["dram_write_bytes"]
    return flops(counters).assign(bytes=moved, duration_ns=counters["duration_ns"])


def modelled(compared: pd.DataFrame, cases: pd.DataFrame) -> pd.DataFrame:
    """Return what a roofline needs by the cost model: fewest bytes, its FLOPs, the time pass.

    Which unit does the FLOPs is known from whether the variant ran tensor FLOPs at all: then those
    of the case's dtype, else the CUDA cores in float32, or float64 for float64.

    Parameters
    ----------
    compared
        The comparison frame of `reports.summary.compare`.
    cases
        The frame ``cases`` of the same operator.

    Returns
    -------
    DataFrame
        The rows of ``compared`` with the columns `DTYPES`, ``bytes`` and ``duration_ns``.
    """
    dtypes = compared["case"].map(cases.set_index("case")["dtype"])
    tensor = compared["tensor_flops"]
    unit = dtypes.map({"float64": "fp64"}).fillna("fp32")
    unit = unit.mask(tensor.gt(0).fillna(value=False), dtypes.map(_TENSOR_OF)).fillna(UNKNOWN)
    unit = unit.mask(tensor.isna(), UNKNOWN)
    work = {
        dtype: compared["flops"].where(unit.eq(dtype), compared["flops"] * 0) for dtype in DTYPES
    }
    return pd.DataFrame(work).assign(bytes=compared["min_bytes"], duration_ns=compared["median_ns"])


def place(points: pd.DataFrame, roof: Roof) -> pd.DataFrame:
    """Place points under a roof.

    Parameters
    ----------
    points
        As `counted` and `modelled` give them.

    Returns
    -------
    DataFrame
        A row a point, columns `COLUMNS`: ``dtype``, the type that takes longest at its peak, or
        that with the most FLOPs where no peak is known, and its ``flops``; ``intensity`` in FLOP/B;
        the two ceilings and the ``ridge`` between them; ``attainable_flops_per_s`` and
        ``flops_per_s``; ``share``, the least time that the roof allows over the time taken;
        ``bound``: memory or compute, by which ceiling. With a ceiling that is not known the other
        alone is the roof, which leaves more attainable than there may be, and ``bound`` is NA. All
        is NA where a value of the point is, or where it took no time.
    """
    whole = points[points.notna().all(axis="columns") & points["duration_ns"].gt(0).fillna(False)]
    dtypes = [dtype for dtype in DTYPES if dtype in points]
    moved, duration = (whole[name].to_numpy(float) for name in ("bytes", "duration_ns"))
    bandwidth = np.nan if roof.bandwidth is None else roof.bandwidth
    chosen, done, peak = _longest(whole[dtypes].to_numpy(float), dtypes, roof)
    works = done > 0
    memory, compute = moved / bandwidth, np.where(works, done / peak, 0)
    least = np.fmax(memory, compute)
    placed = pd.DataFrame(
        {
            "dtype": pd.Series(dtypes)[chosen].where(works).to_numpy(),
            "flops": done,
            "bytes": moved,
            "duration_ns": duration,
            "intensity": _over(done, moved),
            "bandwidth_bytes_per_s": bandwidth,
            "peak_flops_per_s": peak,
            "ridge": peak / bandwidth,
            "attainable_flops_per_s": _over(done, least),
            "flops_per_s": done / duration * 1e9,
            "share": least / duration * 1e9,
            "bound": np.where(memory >= compute, "memory", "compute"),
        },
        index=whole.index,
    )
    for name in ("peak_flops_per_s", "ridge"):
        placed[name] = placed[name].where(works)
    placed["bound"] = placed["bound"].where(~np.isnan(memory + compute))
    return placed.reindex(points.index)[list(COLUMNS)].astype(COLUMNS)


def _longest(work: Any, dtypes: list[str], roof: Roof) -> tuple[Any, Any, Any]:
    """Return position, FLOPs and peak of the type that takes longest, of each row of ``work``."""
    peaks = np.array([roof.peaks.get(dtype, np.nan) for dtype in dtypes])
    seconds = np.nan_to_num(work / peaks, nan=-1)
    chosen = np.where(seconds.max(axis=1) > 0, seconds.argmax(axis=1), work.argmax(axis=1))
    return chosen, work[np.arange(len(work)), chosen], peaks[chosen]


def _over(above: Any, below: Any) -> Any:
    """Divide arrays; NaN where nothing divides."""
    return np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0)
