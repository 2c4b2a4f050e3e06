"""Why a warp does not issue: Nsight Compute's words."""

from __future__ import annotations

STALLS: dict[str, str] = {
    "barrier": "waiting for other warps of the block at a barrier",
    "branch_resolving": "waiting for the target of a branch",
    "dispatch_stall": "held back by the dispatcher",
    "drain": "at the end, until their stores are done",
    "gmma": "waiting for a tensor instruction of the warpgroup",
    "imc_miss": "waiting for the cache of constants",
    "lg_throttle": "waiting for room in the queue of loads and stores to global or local memory",
    "long_scoreboard": "waiting for data from L1, L2 or DRAM",
    "math_pipe_throttle": "waiting for a pipe that computes",
    "membar": "waiting at a memory barrier",
    "mio_throttle": "waiting for room in the queue of shared memory and special functions",
    "misc": "stalled for another reason",
    "no_instruction": "waiting for instructions to be fetched",
    "not_selected": "ready, while another warp was picked",
    "selected": "issuing",
    "short_scoreboard": "waiting for data from shared memory or special functions",
    "sleeping": "asleep",
    "tex_throttle": "waiting for room in the queue of texture accesses",
    "wait": "waiting a fixed number of cycles for their own previous instruction",
}
"""Nsight Compute's word, and what such a warp is doing."""

UNTIL_HOPPER = frozenset({"gmma", "imc_miss"})
"""Reasons that no chip after compute capability 9.0 tells apart, by ``ncu --query-metrics``."""

SAMPLED = {"gmma": "warpgroup_arrive", "no_instruction": "no_instructions"}
"""What the sampler calls reasons that counters call otherwise."""
