"""
The long-running parts of a process: how one is described, watched over, and brought to its end.

A part that fails or ends by itself ends the process, unless it was declared optional: half a process that looks
alive is worse than one that is started again.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Sequence
from enum import IntEnum

import msgspec

from runtime import metrics

log = logging.getLogger(__name__)

LAST_SECONDS = 1.0
"""How long a part may take to end after it was cancelled."""

CRASHES = metrics.counter("volcano_runnable_failures_total", "Parts of the process that failed.", ["name"])


class Stage(IntEnum):
    """When a part runs. Started in this order, ended in the reverse one."""

    SERVICES = 0
    """From start to end: events, measurements."""
    CACHES = 1
    """From start to end as well: informers, so that a standby is warm."""
    LEADING = 2
    """While this process holds the lease, or always where there is no election."""


class Runnable(msgspec.Struct, frozen=True):
    """A part of the process."""

    name: str
    run: Callable[[], Awaitable[object]]
    stage: Stage = Stage.LEADING
    stop: Callable[[], Awaitable[object] | None] | None = None
    """
    Asks the part to finish what it has begun.

    A plain function returns at once, and `run` ends when all is done. A coroutine function returns when all is
    done, and `run` is cancelled then. Without `stop`, `run` is cancelled at once.
    """
    is_optional: bool = False
    """The process goes on without it."""
    may_finish: bool = False
    """Ending by itself is no failure."""
    plain: tuple[type[Exception], ...] = ()
    """Failures whose text says all that a reader can use: told without a traceback."""


def threaded(
    name: str, work: Callable[[threading.Event], None], *, stage: Stage = Stage.LEADING, is_optional: bool = False
) -> Runnable:
    """A part that runs on a thread of its own, until the event that it is given is set."""
    stop = threading.Event()

    async def run() -> None:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()

        def settle(error: BaseException | None) -> None:
            if not done.done():
                done.set_exception(error) if error is not None else done.set_result(None)

        def target() -> None:
            error: BaseException | None = None
            try:
                work(stop)
            except BaseException as raised:  # noqa: BLE001  # handed to who watches
                error = RuntimeError("exited") if isinstance(raised, SystemExit) else raised
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, error)

        threading.Thread(target=target, name=name, daemon=True).start()
        await done

    return Runnable(name, run, stage, stop.set, is_optional)


class Running:
    """The parts that run. Belongs to the loop."""

    def __init__(self, fail: Callable[[str], None]) -> None:
        """`fail` is told why the process can't go on."""
        self._fail = fail
        self._tasks: dict[Runnable, asyncio.Task[None]] = {}
        self._is_stopping = False

    def start(self, runnable: Runnable) -> None:
        """Start a part and watch over it."""
        self._tasks[runnable] = asyncio.get_running_loop().create_task(self._watch(runnable), name=runnable.name)

    async def stop(self, stage: Stage, seconds: float) -> list[str]:
        """End the parts of a stage. Returns the names of those that were not done after some seconds."""
        self._is_stopping = True
        tasks = {runnable: task for runnable, task in self._tasks.items() if runnable.stage == stage}
        for runnable in tasks:
            del self._tasks[runnable]
        stopping = [asyncio.ensure_future(_ask(runnable, task)) for runnable, task in tasks.items()]
        if not stopping:
            return []
        await asyncio.wait(stopping, timeout=seconds)
        late = [runnable.name for runnable, task in tasks.items() if not task.done()]
        await _cancel([*stopping, *tasks.values()])
        return late

    async def _watch(self, runnable: Runnable) -> None:
        try:
            await runnable.run()
        except Exception as error:
            CRASHES.labels(runnable.name).inc()
            trace = None if isinstance(error, runnable.plain) else error
            words = "part of the process failed name=%s error=%s"
            log.log(logging.ERROR, words, runnable.name, _describe(error), exc_info=trace)
            problem = f"{runnable.name} failed: {_describe(error)}"
        else:
            if runnable.may_finish or self._is_stopping:
                return
            problem = f"{runnable.name} ended unexpectedly"
            log.error("part of the process ended name=%s", runnable.name)
        if runnable.is_optional:
            log.warning("going on without it name=%s", runnable.name)
        elif not self._is_stopping:
            self._fail(problem)


async def _ask(runnable: Runnable, task: asyncio.Task[None]) -> None:
    """Have a part finish, by the means that it offers."""
    finished: Awaitable[object] | None = None
    if runnable.stop is not None:
        try:
            finished = runnable.stop()
            if finished is not None:
                await finished
        except Exception:
            log.exception("part of the process could not be stopped name=%s", runnable.name)
            task.cancel()
    if runnable.stop is None or finished is not None:
        task.cancel()
    await asyncio.wait([task])


async def _cancel(tasks: Sequence[asyncio.Future[None]]) -> None:
    for task in tasks:
        task.cancel()
    _, stuck = await asyncio.wait(tasks, timeout=LAST_SECONDS)
    for task in stuck:
        log.warning("task does not end task=%s", task)


def _describe(error: BaseException) -> str:
    """The text of an error, of the first one in a group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__
