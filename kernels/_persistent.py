"""How many blocks a persistent launch needs: as many as the chip holds at once."""

from __future__ import annotations

import torch

MULTIPROCESSORS_INTERPRETED = 2
"""Taken for the CPU, under Triton's interpreter: few, so that each program gets several rows."""


def multiprocessors(device: torch.device) -> int:
    """Return the number of streaming multiprocessors (SMs) of a device."""
    if device.type == "cpu":
        return MULTIPROCESSORS_INTERPRETED
    count: int = torch.cuda.get_device_properties(device).multi_processor_count
    return count
