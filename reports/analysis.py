"""The tables that explain a case: its limits, bytes, sectors, occupancy, units, roof and gaps.

All take rows of `reports.evidence.gather`. Columns of counters that older captures do not have are
left out where no row has them.
"""

from __future__ import annotations

from collections.abc import Iterable

from reports.bottleneck import Bottleneck, held
from reports.columns import Column, Table, alike, counts, names, numbers, table, texts
from reports.format import MISSING, TIMES, cell_code, count, listing, quantity
from reports.frames import Row
from reports.limits import SECTOR_BYTES
from reports.tables import intense

HEADERS = ("Variant", "Limit", "Confidence", "Evidence", "Next")


def limits_table(found: list[Bottleneck]) -> Table:
    """Tabulate what limits each variant, with the pass of each number."""
    rows = tuple(
        (
            cell_code(one.variant),
            str(one.kind),
            one.confidence.name.lower(),
            evidence(one) or MISSING,
            "; ".join(one.next_steps).replace("|", r"\|"),
        )
        for one in found
    )
    return Table(HEADERS, rows, left=len(HEADERS))


def evidence(found: Bottleneck) -> str:
    """Return the facts, those of a pass together, such as ``DRAM 85.0 %, L2 90.1 % (ncu)``."""
    passes = dict.fromkeys(fact.source for fact in found.evidence)
    return "; ".join(
        f"{', '.join(str(fact) for fact in found.evidence if fact.source == name)} ({name})"
        for name in passes
    )


def unseen(found: list[Bottleneck]) -> str:
    """Say what the captures of a case lack; empty where nothing is missing."""
    words = list(dict.fromkeys(word for one in found for word in one.unseen))
    return f"Not recorded for all: {listing(words)}." if words else ""


def memory_table(rows: list[Row]) -> Table:
    """Tabulate launches and bytes of one case, all of the ncu pass."""
    dram = {
        "DRAM read": "dram_read_bytes",
        "DRAM written": "dram_write_bytes",
        "Fewest": "min_bytes",
    }
    sectors = {"L2 read": "l2_read_sectors", "L2 written": "l2_write_sectors"}
    return table(
        [
            names(rows),
            counts("Launches", rows, "launches"),
            *alike(rows, "B", dram),
            numbers("Moved over fewest", rows, "amplification", TIMES),
            *_known([numbers("Asked over fewest", rows, "asked_over_fewest", TIMES)]),
            *_known(alike(rows, "B", sectors, SECTOR_BYTES)),
        ]
    )


def coalescing_table(rows: list[Row]) -> Table:
    """Tabulate the sectors of requests, and how much of each is used; the ncu pass."""
    return table(
        [
            names(rows),
            numbers("Sectors a load", rows, "load_sectors_per_request"),
            numbers("Ideal", rows, "load_sectors_ideal"),
            numbers("Sectors a store", rows, "store_sectors_per_request"),
            numbers("Ideal", rows, "store_sectors_ideal"),
            numbers("Used of a sector loaded", rows, "load_bytes_per_sector", "B"),
            numbers("Used of a sector stored", rows, "store_bytes_per_sector", "B"),
            *_known([numbers("By TMA", rows, "tma_share", "%", 3, 100)]),
        ]
    )


def occupancy_table(rows: list[Row]) -> Table:
    """Tabulate occupancy, what limits it and what it costs: the ncu pass, for spills the build."""
    return table(
        [
            names(rows),
            numbers("Occupancy", rows, "occupancy_achieved_pct", "%"),
            numbers("Theoretical", rows, "occupancy_theoretical_pct", "%"),
            texts("Limiter", rows, "occupancy_limiter"),
            ("One block more", [_relief(row) for row in rows]),
            counts("Registers, most", rows, "registers_per_thread"),
            numbers("Waves", rows, "wave_waves"),
            numbers("Lost to the tail", rows, "wave_loss", "%", 3, 100),
            counts("Local-memory instructions", rows, "local_instructions"),
            counts("Spills in build", rows, "build_spills"),
        ]
    )


def _relief(row: Row) -> str:
    """Say what one block more of the longest launch on an SM would take, and the occupancy then."""
    if row["more_blocks"] is None:
        return MISSING
    give = [f"{count(row['more_registers'])} registers"] if row["more_registers"] else []
    give += [quantity(row["more_shared"], "B")] if row["more_shared"] else []
    return f"{' and '.join(give)} less"


def throughput_table(rows: list[Row]) -> Table:
    """Tabulate how busy units are, and what warps wait for: the ncu pass.

    The tensor pipe is shown for an intense case alone.
    """
    units = (
        ("L2", "l2_throughput_pct"),
        ("Shared memory", "shared_throughput_pct"),
        ("FMA pipe", "fma_pipe_pct"),
        ("Special functions", "xu_pipe_pct"),
        ("Issue slots", "issue_active_pct"),
    )
    tensor = [numbers("Tensor pipe, % of peak", rows, "tensor_active_pct")]
    return table(
        [
            names(rows),
            *(tensor if intense(rows) else []),
            numbers("SM, % of peak", rows, "sm_throughput_pct"),
            numbers("Memory, % of peak", rows, "memory_throughput_pct"),
            numbers("DRAM, % of peak", rows, "dram_throughput_pct"),
            *_known(numbers(f"{name}, % of peak", rows, column) for name, column in units),
            *_known(
                [
                    numbers("Eligible warps", rows, "eligible_warps_per_scheduler"),
                    ("Most wait for", [_waits(row) for row in rows]),
                ]
            ),
        ]
    )


def _waits(row: Row) -> str:
    reasons = held(row)
    return max(reasons, key=lambda name: reasons[name]).replace("_", " ") if reasons else MISSING


def compute_table(rows: list[Row]) -> Table:
    """Tabulate FLOPs and the roofline: the ncu pass, for the measured roof the time pass.

    Empty where the cost model has no FLOPs.
    """
    rows = [row for row in rows if row["flops"]]
    return table(
        [
            names(rows),
            texts("Type", rows, "roof_dtype"),
            *alike(rows, "FLOP", {"Counted": "roof_flops", "Declared": "flops"}),
            numbers("Intensity", rows, "roof_intensity", "FLOP/B"),
            numbers("Ridge", rows, "roof_ridge", "FLOP/B"),
            numbers("Attainable", rows, "roof_attainable_flops_per_s", "FLOP/s"),
            numbers("Of roof", rows, "roof_share", "%", 3, 100),
            numbers("Of measured roof", rows, "measured_share", "%", 3, 100),
            *_known([texts("Opcodes", rows, "opcodes")]),
        ]
    )


def between_table(rows: list[Row]) -> Table:
    """Tabulate what lies between launches, all of the nsys pass; empty where each is one launch."""
    several = [row for row in rows if (row["launches_nsys"] or 0) > 1]
    shown = [row for row in rows if row["nsys_span_ns"] is not None] if several else []
    spans = {"Span": "nsys_span_ns", "Busy": "nsys_busy_ns"}
    calls = {"Median gap": "nsys_gap_ns", "CPU launching": "nsys_api_ns"}
    return table(
        [
            names(shown),
            counts("Launches", shown, "launches_nsys"),
            *alike(shown, "s", spans, 1e-9),
            numbers("Idle", shown, "nsys_idle_share", "%", 3, 100),
            *alike(shown, "s", calls, 1e-9),
        ]
    )


def _known(columns: Iterable[Column]) -> list[Column]:
    """Leave out the columns that no row has a value of."""
    return [(header, values) for header, values in columns if set(values) - {MISSING}]
