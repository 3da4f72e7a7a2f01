"""
`/debug/pprof/`: what the process does and what holds its memory, asked for while it runs.

`go tool pprof http://host:8080/debug/pprof/profile` works, as do continuous profilers and, with `format=folded`,
flame graph tools. Memory is traced only while a heap profile is taken, which slows the process for that time; one
started with PYTHONTRACEMALLOC=25 answers at once, for all its memory.
"""

from __future__ import annotations

import asyncio
import html
import sys
import threading
import time
import traceback
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from runtime import pprof, sampling
from runtime.pprof import Frame, Stack, ValueType
from runtime.sampling import Recording
from runtime.serving import Call, Reply, Router

T = TypeVar("T")

PREFIX = "/debug/pprof"
MAX_SECONDS = 300.0
MAX_TRACE_SECONDS = 30.0
FRAMES = 25
"""Calls that are remembered of an allocation."""

ENDPOINTS = {
    "profile": "processor time by stack: seconds=30; mode=wall counts waiting threads too; format=folded for lines",
    "heap": "memory allocated within seconds=10 and still held, by stack; format=folded for lines",
    "goroutine": "stacks of all threads and of the main loop's tasks, as text",
    "trace": "threads over seconds=1, in Chrome's trace format, which Perfetto opens",
    "cmdline": "the command line, words separated by NUL",
    "symbol": "nothing to look up: profiles carry names",
}

_CPU = (ValueType("samples", "count"), ValueType("cpu", "nanoseconds"))
_WALL = (ValueType("samples", "count"), ValueType("wall", "nanoseconds"))
_HEAP = (ValueType("inuse_objects", "count"), ValueType("inuse_space", "bytes"))


class Profiling:
    """The profiling endpoints of a process."""

    def __init__(self, loop: Callable[[], asyncio.AbstractEventLoop | None] = lambda: None) -> None:
        """`loop` gives the main loop, whose tasks are shown."""
        self._loop = loop
        self._is_busy = threading.Lock()

    def route(self, router: Router) -> None:
        """Serve all endpoints."""
        for name in ENDPOINTS:
            router.add(f"{PREFIX}/{name}", getattr(self, f"_{name}"))
        router.add(f"{PREFIX}/", self._index)
        router.add(PREFIX, self._index)

    async def _profile(self, call: Call) -> Reply:
        is_wall = call.query.get("mode") == "wall"

        def work(seconds: float, stop: threading.Event) -> Reply:
            recording = sampling.record(seconds, stop)
            types = _WALL if is_wall else _CPU
            return _reply(call, recording.by_stack(is_wall=is_wall), types, recording)

        return await self._exclusively(call, work, default=30.0, most=MAX_SECONDS)

    async def _heap(self, call: Call) -> Reply:
        def work(seconds: float, stop: threading.Event) -> Reply:
            recording = Recording(time.time_ns(), seconds)
            return _reply(call, _allocations(seconds, stop), _HEAP, recording)

        return await self._exclusively(call, work, default=10.0, most=MAX_SECONDS)

    async def _trace(self, call: Call) -> Reply:
        def work(seconds: float, stop: threading.Event) -> Reply:
            return Reply(trace_events(sampling.record(seconds, stop)), content_type="application/json")

        return await self._exclusively(call, work, default=1.0, most=MAX_TRACE_SECONDS)

    async def _exclusively(
        self, call: Call, work: Callable[[float, threading.Event], Reply], *, default: float, most: float
    ) -> Reply:
        """Run one profile at a time, on a thread that ends early when the process stops."""
        seconds = _seconds(call, default)
        if seconds is None or not 0 < seconds <= most:
            return Reply(f"seconds must be a number above 0 and at most {most:g}\n", 400)
        if not self._is_busy.acquire(blocking=False):
            return Reply("profiling already in use\n", 500)
        stop = threading.Event()
        try:
            return await _on_thread(lambda: work(seconds, stop))
        finally:
            stop.set()
            self._is_busy.release()

    def _goroutine(self, _: Call) -> Reply:
        return Reply("\n".join((*_thread_texts(), *_task_texts(self._loop()))))

    def _cmdline(self, _: Call) -> Reply:
        try:
            words = Path("/proc/self/cmdline").read_bytes().rstrip(b"\0")
        except OSError:
            words = "\0".join(sys.orig_argv).encode()
        return Reply(words)

    async def _symbol(self, _: Call) -> Reply:
        return Reply("num_symbols: 0\n")

    async def _index(self, _: Call) -> Reply:
        rows = "".join(
            f'<tr><td><a href="{PREFIX}/{name}">{name}</a></td><td>{html.escape(text)}</td></tr>'
            for name, text in ENDPOINTS.items()
        )
        page = f"<html><head><title>{PREFIX}/</title></head><body><table>{rows}</table></body></html>\n"
        return Reply(page, content_type="text/html; charset=utf-8")


def trace_events(recording: Recording) -> bytes:
    """A recording as JSON in Chrome's trace format: each call from the look that first to the one that last saw it."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(sight.thread for sight in recording.sights), 1)}
    events: list[dict[str, object]] = [
        {"ph": "M", "pid": 1, "tid": number, "name": "thread_name", "args": {"name": name}}
        for name, number in numbers.items()
    ]
    for name, number in numbers.items():
        open_calls: list[tuple[str, str]] = []
        for sight in (sight for sight in recording.sights if sight.thread == name):
            calls = [(frame.function, frame.file) for frame in reversed(sight.stack)]
            _move(events, number, round(sight.seconds * 1e6), open_calls, calls)
        _move(events, number, round(recording.seconds * 1e6), open_calls, [])
    return msgspec.json.encode({"traceEvents": events, "displayTimeUnit": "ms"})


def _move(
    events: list[dict[str, object]],
    thread: int,
    moment: int,
    open_calls: list[tuple[str, str]],
    calls: Sequence[tuple[str, str]],
) -> None:
    """End the calls that a thread has left and begin those it has entered; `moment` in microseconds."""
    shared = 0
    while shared < min(len(open_calls), len(calls)) and open_calls[shared] == calls[shared]:
        shared += 1
    for function, _ in reversed(open_calls[shared:]):
        events.append({"ph": "E", "pid": 1, "tid": thread, "ts": moment, "name": function})
    del open_calls[shared:]
    for function, file in calls[shared:]:
        events.append({"ph": "B", "pid": 1, "tid": thread, "ts": moment, "name": function, "args": {"file": file}})
        open_calls.append((function, file))


def _allocations(seconds: float, stop: threading.Event) -> dict[Stack, tuple[int, int]]:
    """Objects and bytes by stack: all of them when tracing was on before, else those of the next seconds."""
    was_tracing = tracemalloc.is_tracing()
    if not was_tracing:
        tracemalloc.start(FRAMES)
        stop.wait(seconds)
    try:
        snapshot = tracemalloc.take_snapshot()
    finally:
        if not was_tracing:
            tracemalloc.stop()
    found: dict[Stack, tuple[int, int]] = {}
    for statistic in snapshot.statistics("traceback"):
        stack = tuple(
            Frame(f"{Path(frame.filename).name}:{frame.lineno}", frame.filename, frame.lineno)
            for frame in statistic.traceback[::-1]
        )
        found[stack] = (statistic.count, statistic.size)
    return found


def _reply(
    call: Call, samples: Mapping[Stack, Sequence[int]], types: Sequence[ValueType], recording: Recording
) -> Reply:
    if call.query.get("format") == "folded":
        return Reply(pprof.fold(samples, len(types) - 1))
    body = pprof.encode(
        samples,
        types,
        time_nanos=recording.started_nanos,
        duration_nanos=round(recording.seconds * 1e9),
        period=sampling.PERIOD_NANOS if types is not _HEAP else 0,
    )
    name = call.path.rpartition("/")[2]
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Reply(body, content_type="application/octet-stream", headers=headers)


async def _on_thread(work: Callable[[], T]) -> T:
    """Run blocking work on a thread that a stopping process doesn't wait for."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if done.done():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type]  # without an error there is a result

    def run() -> None:
        result, error = None, None
        try:
            result = work()
        except Exception as raised:  # noqa: BLE001  # handed to who waits
            error = raised
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=run, name="profiling", daemon=True).start()
    return await done


def _seconds(call: Call, default: float) -> float | None:
    """The `seconds` of a query; None when it is no number."""
    try:
        return float(call.query.get("seconds", default))
    except ValueError:
        return None


def _thread_texts() -> list[str]:
    names = {
        thread.ident: f"{thread.name} ({'daemon' if thread.daemon else 'waited for'})"
        for thread in threading.enumerate()
    }
    return [
        f"thread {names.get(ident, ident)}:\n{''.join(traceback.format_stack(frame))}"
        for ident, frame in sys._current_frames().items()  # noqa: SLF001  # the only way
    ]


def _task_texts(loop: asyncio.AbstractEventLoop | None) -> list[str]:
    if loop is None:
        return []
    try:
        tasks = asyncio.all_tasks(loop)
    except RuntimeError as error:  # the set kept changing under our eyes
        return [f"tasks could not be listed: {error}"]
    return [f"task {task.get_name()}:\n{''.join(_task_stack(task))}" for task in tasks]


def _task_stack(task: asyncio.Task[object]) -> list[str]:
    frames = task.get_stack()
    return [line for frame in frames for line in traceback.format_stack(frame, limit=1)]
