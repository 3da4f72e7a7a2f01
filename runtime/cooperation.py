"""
Sharing one event loop among reconcilers.

A reconciler that computes for long keeps everything else waiting, the answers to its own requests included. Long
loops call `await cooperate()` at each step: it costs a clock reading, and lets the others run once the step's task
has had its share. Tasks that want to go on at the same time share one slice, so that the loop gets to timers and
sockets after that slice however many they are.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar

SLICE = 0.010
"""Seconds that the tasks of a loop which cooperate may work before others get their turn."""

_slice_began: ContextVar[float] = ContextVar("slice_began")


class _Rivals(threading.local):
    """Tasks of this thread's loop that have yielded here and want to go on."""

    count = 0


_rivals = _Rivals()


async def cooperate(clock: Callable[[], float] = time.perf_counter) -> None:
    """Yield to the event loop if this task has worked for its share of `SLICE` seconds since it last did so here."""
    began = _slice_began.get(None)
    now = clock()
    if began is None:
        _slice_began.set(now)
    elif now - began >= SLICE / (1 + _rivals.count):
        _rivals.count += 1
        try:
            await asyncio.sleep(0)
        finally:
            _rivals.count -= 1
        _slice_began.set(clock())
