"""
Time that jumps: an event loop for tests whose clock moves to the next timer as soon as nothing else is ready.

A test marked `virtual_time` runs on such a loop: an hour of back-off costs microseconds, and no test sleeps or races.
`loop.time()` is the virtual clock, so code under test must take its time from the loop (or from a clock that the test
hands in); `time.monotonic()` is untouched. Threads live in real time, so the clock stands still while the loop waits
for one: a busy machine is no reason for a deadline to pass. A loop with nothing ready, no timer and no I/O within
`PATIENCE` seconds is a test that waits for ever: it fails with a message instead of hanging.

Tests that look at many small worlds (hypothesis) call `run_virtually` once an example.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Executor
from typing import Any, TypeVar, TypeVarTuple

import pytest

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

IO_GRACE = 0.01
"""Real seconds that open sockets get to become ready before time jumps over them."""
PATIENCE = 5.0
"""Real seconds to wait for a thread, or for I/O when no timer is pending."""
_SELF_PIPE = 1  # the loop's own wake-up socket is always registered


class WaitsForever(RuntimeError):  # noqa: N818  # named for what happened
    """Nothing is ready, no timer is pending and no I/O arrives."""


class _JumpingSelector(selectors.DefaultSelector):
    """Reports real I/O first, and otherwise moves the clock instead of sleeping."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.threads = 0
        """How many calls the loop has handed to threads and not yet heard from."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            ready = super().select(PATIENCE)
            if not ready:
                raise WaitsForever(f"virtual time: nothing to do, no timer, and no I/O within {PATIENCE:g} s")
            return ready
        ready = super().select(self._patience(timeout))
        if not ready and timeout > 0:
            self.now += timeout
        return ready

    def _patience(self, timeout: float) -> float:
        """Real seconds to look for I/O before a timer that is due in `timeout` virtual seconds fires."""
        if timeout <= 0:
            return 0
        if self.threads:
            return PATIENCE
        return min(timeout, IO_GRACE) if len(self.get_map()) > _SELF_PIPE else 0


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """A selector loop that starts at 0 s and jumps from timer to timer."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now

    def run_in_executor(self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts) -> asyncio.Future[T]:
        self._jumping.threads += 1
        future = super().run_in_executor(executor, func, *args)
        future.add_done_callback(self._thread_answered)
        return future

    def _thread_answered(self, _: asyncio.Future[Any]) -> None:
        self._jumping.threads -= 1

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:  # noqa: ASYNC109  # as Python 3.12 calls it
        """Wait for threads without a time limit: they end in real time, which virtual time would jump over."""
        await super().shutdown_default_executor()


def run_virtually(main: Coroutine[Any, Any, T]) -> T:
    """Run one coroutine on a fresh virtual-time loop, as `asyncio.run` does."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "virtual_time: the test's event loop jumps to the next timer when idle")


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """The hook of pytest-asyncio that picks each test's loop."""
    if item.get_closest_marker("virtual_time"):
        return {"virtual": VirtualTimeLoop}
    return {"real": asyncio.SelectorEventLoop}
