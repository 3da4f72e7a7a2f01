"""
Sharing one event loop among reconcilers.

A reconciler that computes for long keeps everything else waiting, the answers to its own requests included. Long
loops call `await cooperate()` at each step: it costs a clock reading, and lets the others run once the step's task
has had its share.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextvars import ContextVar

SLICE = 0.010
"""Seconds that a task may work before others get their turn."""

_slice_began: ContextVar[float] = ContextVar("slice_began")


async def cooperate(clock: Callable[[], float] = time.perf_counter) -> None:
    """Yield to the event loop if this task has worked for `SLICE` seconds since it last did so here."""
    began = _slice_began.get(None)
    now = clock()
    if began is None:
        _slice_began.set(now)
    elif now - began >= SLICE:
        await asyncio.sleep(0)
        _slice_began.set(clock())
