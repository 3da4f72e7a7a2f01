"""
Where the time goes: looks at the stacks of all threads a hundred times a second.

The processor time that a thread used since the last look goes to the stack it is found at. Costs about a percent
of one core while it runs, and nothing else.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import msgspec

from runtime.pprof import Frame, Stack

HERTZ = 100
PERIOD_NANOS = 1_000_000_000 // HERTZ
MAX_DEPTH = 128
"""Frames of a stack that are kept, the innermost ones."""

_TASKS = Path("/proc/self/task")


class Sight(NamedTuple):
    """One thread at one moment."""

    seconds: float
    """Since the start."""
    thread: str
    stack: Stack
    cpu_nanos: int
    """Processor time since the last look; 0 when it waited."""


class Recording(msgspec.Struct):
    """What was seen."""

    started_nanos: int
    """Unix time."""
    seconds: float = 0.0
    sights: list[Sight] = msgspec.field(default_factory=list)

    def by_stack(self, *, is_wall: bool) -> dict[Stack, tuple[int, int]]:
        """Looks and nanoseconds for each stack: of processor time, or of elapsed time with those that waited."""
        found: dict[Stack, tuple[int, int]] = {}
        for sight in self.sights:
            nanos = PERIOD_NANOS if is_wall else sight.cpu_nanos
            if nanos:
                looks, before = found.get(sight.stack, (0, 0))
                found[sight.stack] = (looks + 1, before + nanos)
        return found


class _CpuTimes:
    """The processor time of each thread, from the kernel; without it, time counts as used by whoever exists."""

    def __init__(self, files: ExitStack) -> None:
        self._files = files
        self._descriptors: dict[int, int] = {}
        self._last: dict[int, int] = {}

    def used(self, native_id: int) -> int:
        """Nanoseconds since the last call for this thread, 0 at the first."""
        total = self._total(native_id)
        before = self._last.get(native_id, total)
        self._last[native_id] = total
        return max(0, total - before)

    def _total(self, native_id: int) -> int:
        with suppress(OSError, ValueError, IndexError):
            return int(os.pread(self._open(native_id), 64, 0).split()[0])
        return self._last.get(native_id, 0) + (0 if _TASKS.is_dir() else PERIOD_NANOS)

    def _open(self, native_id: int) -> int:
        descriptor = self._descriptors.get(native_id)
        if descriptor is None:
            descriptor = os.open(_TASKS / str(native_id) / "schedstat", os.O_RDONLY)
            self._files.callback(os.close, descriptor)
            self._descriptors[native_id] = descriptor
        return descriptor


def record(seconds: float, stop: threading.Event | None = None) -> Recording:
    """Look for some seconds, or until `stop` is set. Blocks; the calling thread is left out."""
    stop = stop if stop is not None else threading.Event()
    recording = Recording(time.time_ns())
    started = time.perf_counter()
    with ExitStack() as files:
        times = _CpuTimes(files)
        moment = 0.0
        while moment < seconds and not stop.wait(max(0.0, started + moment - time.perf_counter())):
            elapsed = time.perf_counter() - started
            recording.sights.extend(_look(elapsed, times))
            moment = max(moment + 1 / HERTZ, elapsed)
    recording.seconds = time.perf_counter() - started
    return recording


def _look(elapsed: float, times: _CpuTimes) -> Iterator[Sight]:
    threads = {thread.ident: thread for thread in threading.enumerate()}
    own = threading.get_ident()
    stacks = {ident: stack_of(frame) for ident, frame in sys._current_frames().items() if ident != own}  # noqa: SLF001  # the only way
    for ident, stack in stacks.items():
        thread = threads.get(ident)
        if thread is not None and thread.native_id is not None:
            yield Sight(elapsed, thread.name, stack, times.used(thread.native_id))


def stack_of(frame: FrameType | None) -> Stack:
    """The calls from a frame outwards."""
    found: list[Frame] = []
    while frame is not None and len(found) < MAX_DEPTH:
        code = frame.f_code
        found.append(Frame(code.co_qualname, code.co_filename, frame.f_lineno or 0))
        frame = frame.f_back
    return tuple(found)
