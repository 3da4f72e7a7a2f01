"""
The life of a process: start order, election, readiness, and an end that leaves nothing half done.

Health is served first, then the component sets up, then caches fill while the election runs, then what only a
leader does begins. At SIGTERM leaders' work is drained, the lease released, events flushed, in this order, and
the exit code says how it went.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from runtime import garbage, process_metrics, version
from runtime.endpoints import Endpoints
from runtime.errors import ApiError, ConfigError, ConnectionFailed
from runtime.features import FeatureError
from runtime.health import Check, Health
from runtime.leader import Elector, LeaseApi, new_identity
from runtime.options import ElectionOptions, ServingOptions
from runtime.runnables import Runnable, Running, Stage
from runtime.serving import BindError
from runtime.signals import Signals, end_process

log = logging.getLogger(__name__)

SWITCH_INTERVAL = 0.0005
"""Seconds after which a busy thread must let others run."""
LOOP_TIMEOUT = 120.0
"""Seconds without a sign of life of the main loop after which `/livez` fails."""
RELEASE_SECONDS = 3.0
SERVICE_SECONDS = 3.0
"""How long events may take to be flushed at the end."""
OVERDUE_SECONDS = 15.0
"""Beyond the time for draining, after which a process that still lives is ended hard."""

_PLAIN_ERRORS = (ConfigError, BindError, FeatureError, ApiError, ConnectionFailed, OSError)
"""What a user can do something about: told without a traceback."""


class Ending(msgspec.Struct, frozen=True):
    """An exit code, and last words on stderr."""

    code: int
    message: str = ""


class Endings(msgspec.Struct, frozen=True):
    """How a component ends; they differ, and scripts look at the codes."""

    stopped: Ending = Ending(0)
    """By a signal."""
    stopped_without_election: Ending = Ending(0)
    """By a signal, where there is no election."""
    lease_lost: Ending = Ending(255, "leaderelection lost")
    undrained: Ending | None = None
    """By a signal, when work was not done in time; None: as if it had been."""
    failed: int = 1


class _Moments(msgspec.Struct):
    """What has happened so far. Read by health checks on another thread."""

    is_started: bool = False
    is_stopping: bool = False
    beat: float = msgspec.field(default_factory=time.monotonic)
    """Last sign of life of the main loop."""


Setup = Callable[["Manager"], Awaitable[None]]


class Manager:
    """
    Runs one component. Made in the main thread; `run` returns the exit code.

    In `setup` the component builds its parts, hands them over with `add` and joins the election.
    """

    def __init__(
        self,
        component: str,
        *,
        serving: ServingOptions | None = None,
        election: ElectionOptions | None = None,
        endings: Endings | None = None,
        drain_seconds: float = 20.0,
        needs_metrics: bool = False,
        has_level_socket: bool = False,
        end: Callable[[int], None] = end_process,
    ) -> None:
        """`election` None or not enabled means none; for `needs_metrics` and `has_level_socket` see Endpoints."""
        self.component = component
        self.health = Health()
        self.identity = new_identity()
        self.elector: Elector | None = None
        """Present from `join_election` on."""
        self._election = election if election is not None and election.is_enabled else None
        self._endings = endings if endings is not None else Endings()
        self._drain_seconds = drain_seconds
        self._end = end
        self._signals = Signals(end=end)
        self._runnables: list[Runnable] = []
        self._begun: set[Stage] = set()
        self._moments = _Moments()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._leading = asyncio.Event()
        self._outcome: asyncio.Future[Ending] | None = None
        self._early: Ending | None = None
        self._running = Running(self.fail)
        self._overdue = threading.Timer(drain_seconds + OVERDUE_SECONDS, self._end_hard)
        self._overdue.daemon = True
        self.endpoints = Endpoints(
            serving if serving is not None else ServingOptions(),
            self.health,
            loop=lambda: self._loop,
            needs_metrics=needs_metrics,
            has_level_socket=has_level_socket,
        )
        self.health.readyz.add("leader", self._readiness)
        self.health.livez.add("main-loop", self._liveness)
        self.add(Runnable("loop-lag", process_metrics.watch_loop, Stage.SERVICES))
        self.add(Runnable("heartbeat", self._beat, Stage.SERVICES))

    # What a component uses in `setup`.

    def add(self, runnable: Runnable) -> None:
        """Hand over a part of the process. Parts of a stage that has begun start at once."""
        self._runnables.append(runnable)
        if runnable.stage in self._begun:
            self._running.start(runnable)

    def require(self, name: str, check: Check) -> None:
        """Be ready only when a check passes. Does not count for a standby, whose leader does the work."""
        self.health.readyz.add(name, lambda: check() if self._is_leading else "")

    def join_election(self, connect: Callable[[ElectionOptions], LeaseApi]) -> None:
        """Take part in the election, when there is one, over a connection of its own."""
        if self._election is not None:
            options = self._election
            self.elector = Elector(
                connect(options),
                self,
                namespace=options.namespace,
                name=options.name,
                identity=self.identity,
                terms=options.terms,
            )

    def check_lease(self) -> None:
        """The guard of the API client: raises LeaseLost when this process may not write. Any thread."""
        if self.elector is not None:
            self.elector.fence.check()

    def on_signal(self, number: int, callback: Callable[[], None]) -> None:
        """Call back at a signal such as SIGUSR1, on the signal thread. From the main thread."""
        self._signals.on(number, callback)

    def stop(self) -> None:
        """End as at SIGTERM. Any thread."""
        has_election = self._election is not None
        self._finish(self._endings.stopped if has_election else self._endings.stopped_without_election)

    def fail(self, problem: str) -> None:
        """End because something can't go on. Any thread."""
        self._finish(Ending(self._endings.failed, problem))

    # The life.

    def run(self, setup: Setup) -> int:
        """Live from start to end; returns the exit code, having told stderr the last words."""
        log.info(
            "starting component=%s version=%s identity=%s", self.component, version.current().version, self.identity
        )
        interval = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_INTERVAL)
        process_metrics.watch_gc()
        thread_hook, threading.excepthook = threading.excepthook, _report_thread
        self._signals.install(self.stop)
        try:
            self.endpoints.start()
            with garbage.long_lived():
                ending = asyncio.run(self._live(setup))
        except Exception as error:  # noqa: BLE001  # told, and becomes the exit code
            ending = self._failure(error)
        finally:
            self.endpoints.stop()
            self._overdue.cancel()
            self._signals.restore()
            threading.excepthook = thread_hook
            sys.setswitchinterval(interval)
        self._say(ending.message)
        log.info("ended component=%s code=%d", self.component, ending.code)
        return ending.code

    async def _live(self, setup: Setup) -> Ending:
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(_report_task)
        self._outcome = self._loop.create_future()
        if self._early is not None:
            self._outcome.set_result(self._early)
        starting = asyncio.ensure_future(self._start(setup))
        both: list[asyncio.Future[Any]] = [starting, self._outcome]
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if starting.done() and starting.exception() is None:
            ending = await self._outcome
        elif starting.done():
            ending = self._failure(starting.exception())
        else:
            ending = self._outcome.result()
            starting.cancel()
            await asyncio.wait([starting], timeout=1.0)
        return await self._shut_down(ending)

    async def _start(self, setup: Setup) -> None:
        await setup(self)
        if self._election is not None and self.elector is None:
            raise ConfigError(f"{self.component} elects a leader but its setup did not join the election")
        self._moments.is_started = True
        self._start_stages(Stage.SERVICES, Stage.CACHES)
        if self.elector is not None:
            self.elector.start()
            await self._leading.wait()
        self._leading.set()
        self._start_stages(Stage.LEADING)
        log.info("running component=%s", self.component)

    def _start_stages(self, *stages: Stage) -> None:
        for stage in stages:
            self._begun.add(stage)
            for runnable in self._runnables:
                if runnable.stage == stage:
                    self._running.start(runnable)

    async def _shut_down(self, ending: Ending) -> Ending:
        """Drain, release, flush. Bounded, also when a part of it hangs."""
        self._moments.is_stopping = True
        self._overdue.start()
        late = await self._running.stop(Stage.LEADING, self._drain_seconds)
        if late:
            log.warning("not drained in time component=%s parts=%s", self.component, ",".join(late))
            if ending.code == 0 and self._endings.undrained is not None:
                ending = self._endings.undrained
        if self.elector is not None:
            await asyncio.to_thread(self.elector.stop, RELEASE_SECONDS)
        # The watches end before the connection that the services close, or each would report its loss.
        await self._running.stop(Stage.CACHES, SERVICE_SECONDS)
        await self._running.stop(Stage.SERVICES, SERVICE_SECONDS)
        return ending

    def _finish(self, ending: Ending) -> None:
        """Begin to end, for the first reason that comes. Any thread."""
        self._moments.is_stopping = True
        if self._loop is None:
            self._early = self._early or ending
        elif not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._settle, ending)

    def _settle(self, ending: Ending) -> None:
        if self._outcome is not None and not self._outcome.done():
            self._outcome.set_result(ending)

    def _failure(self, error: BaseException | None) -> Ending:
        """What a failed start comes to."""
        if not isinstance(error, _PLAIN_ERRORS):
            log.error("start failed component=%s", self.component, exc_info=error)
        return Ending(self._endings.failed, str(error) or type(error).__name__)

    def _end_hard(self) -> None:
        log.critical("the end takes too long, ending at once component=%s", self.component)
        if self.elector is not None:
            self.elector.stop(RELEASE_SECONDS)
        self._end(self._endings.failed)

    def _say(self, message: str) -> None:
        if message:
            sys.stderr.write(f"{message}\n")
            sys.stderr.flush()

    # The election's listener, on the election's thread.

    def on_leading(self) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._leading.set)

    def on_lost(self, reason: str) -> None:
        """Another process leads: whatever this one is doing, it must not go on."""
        ending = self._endings.lease_lost
        log.critical("%s component=%s reason=%s", ending.message, self.component, reason)
        if self._moments.is_stopping:
            return
        self._say(ending.message)
        self._end(ending.code)
        self._finish(Ending(ending.code))

    def on_leader(self, identity: str) -> None:
        """Nothing to do: the elector has logged it, and readiness asks the elector."""

    # Health, on the serving thread.

    @property
    def _is_leading(self) -> bool:
        return self._election is None or (self.elector is not None and self.elector.is_leader)

    def _readiness(self) -> str:
        if self._moments.is_stopping:
            return "stopping"
        if not self._moments.is_started:
            return "starting"
        if self._is_leading or (self.elector is not None and self.elector.leader):
            return ""
        return "no leader seen yet"

    def _liveness(self) -> str:
        silent = time.monotonic() - self._moments.beat
        return f"main loop silent for {silent:.0f}s" if silent > LOOP_TIMEOUT else ""

    async def _beat(self) -> None:
        while True:
            self._moments.beat = time.monotonic()
            await asyncio.sleep(1.0)


def _report_task(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """A task that nobody waited for has failed: it must not vanish."""
    del loop
    log.error("unhandled in the event loop: %s", context.get("message"), exc_info=context.get("exception"))


def _report_thread(args: threading.ExceptHookArgs) -> None:
    if args.exc_type is SystemExit:
        return
    name = args.thread.name if args.thread is not None else "unknown"
    log.error("thread failed name=%s", name, exc_info=args.exc_value)
