"""
How fast this machine is at this moment, to stand beside figures that are no ratios.

On a shared machine the speed of one core differs by half from one minute to the next.
"""

from __future__ import annotations

import os
import time

_STEPS = 2_000_000


def calibrate() -> float:
    """Millions of simple loop steps a second."""
    start = time.process_time()
    total = 0
    for number in range(_STEPS):
        total += number & 3
    return _STEPS / 1e6 / (time.process_time() - start)


def conditions() -> str:
    """A line for the head of a benchmark's output."""
    return f"calibration: {calibrate():.1f} million loop steps a second, load {os.getloadavg()[0]:.1f}"
