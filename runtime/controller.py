"""
Reconcilers: functions of a key that bring the world a step nearer to what the object says.

A controller wakes its reconciler for every key that a watched change concerns, runs a few at a time, never the same key
twice at once, and repeats what failed after a growing pause. A failure concerns its own key only, and so does a key
that hangs (`runtime.workers`).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from runtime.errors import ApiError
from runtime.failures import is_conflict, is_outage
from runtime.informer import Informer
from runtime.metrics import counter, exponential, histogram
from runtime.mutation import CacheMutated
from runtime.objects import Object
from runtime.queue import WorkQueue
from runtime.retry_limiter import DEFAULT_LIMITS, RetryLimits
from runtime.workers import Workers

R = TypeVar("R")
T = TypeVar("T", bound=Object)
K = TypeVar("K", bound=Hashable)

_log = logging.getLogger(__name__)

RECONCILES = counter(
    "volcano_reconcile_total",
    "Reconciliations by outcome: done, again, conflict, outage, error, gave_up.",
    ("controller", "result"),
)
SECONDS = histogram(
    "volcano_reconcile_seconds", "How long one reconciliation took.", ("controller",), buckets=exponential(0.001, 4, 9)
)

KEY_TIMEOUT = 600.0
"""Seconds: enough for thousands of writes of one key under a client's rate limit."""
SOONEST = 0.010
"""Seconds; the floor of `again_after`, so that a key which is never done doesn't use up the processor."""


class Result(msgspec.Struct, frozen=True):
    """What a reconciliation came to: done, or to be looked at again after some seconds."""

    again_after: float | None = None


DONE = Result()


def again_after(seconds: float) -> Result:
    """Reconcile the key again after some seconds, `SOONEST` at least, if nothing wakes it before."""
    return Result(seconds)


class GiveUp(Exception):  # noqa: N818  # named for what it asks
    """Raised by a reconciler when repeating is of no use: the key rests until something changes."""


class ReconcileError(Exception):
    """Base of failures that a reconciler foresees. They are repeated like others, but logged in one line."""


class BrokenOffError(Exception):
    """Something that a reconciler waited for was cancelled, though the reconciler was not."""


class Watch(msgspec.Struct, Generic[T, K], frozen=True):
    """
    Which keys a change of an object concerns.

    An update concerns the keys of both states, so that what an object let go of hears of it, too.
    """

    informer: Informer[T]
    to_keys: Callable[[T], Iterable[K]]


class _Enqueue(Generic[T, K]):
    """The handler of a watch: puts keys into the queue, those of the first list behind those of changes."""

    def __init__(self, to_keys: Callable[[T], Iterable[K]], queue: WorkQueue[K]) -> None:
        self._to_keys = to_keys
        self._queue = queue

    def on_add(self, obj: T, initial: bool) -> None:  # noqa: FBT001  # as Handler
        for key in self._to_keys(obj):
            self._queue.add(key, is_urgent=not initial)

    def on_update(self, old: T, new: T) -> None:
        add = self._queue.add
        keys, former = tuple(self._to_keys(new)), tuple(self._to_keys(old))
        for key in keys:
            add(key)
        if former != keys:
            for key in former:
                add(key)

    def on_delete(self, obj: T) -> None:
        for key in self._to_keys(obj):
            self._queue.add(key)


class Controller(Generic[K]):
    """
    Runs a reconciler for the keys of its watches.

    `reads` are informers whose listers the reconciler uses without being woken by them; `run` waits for all of them.
    A reconciler that raises is repeated after a back-off (`limits`). With `max_retries` (0 or more) a key that failed
    once more than that is dropped, after a call of `on_give_up`; conflicts with another writer and outages of the API
    don't count (`runtime.failures`).

    `workers` keys are worked on at once, beside those that take long (`runtime.workers`). What isn't over after
    `key_timeout` seconds is cancelled and has failed with a TimeoutError, so reconcilers must bear to be broken off at
    any `await`; None lets them take for ever. `queue` is open to handlers of the owner's own.
    """

    def __init__(
        self,
        name: str,
        reconcile: Callable[[K], Awaitable[Result]],
        *,
        watches: Sequence[Watch[Any, K]],
        reads: Sequence[Informer[Any]] = (),
        workers: int = 4,
        key_timeout: float | None = KEY_TIMEOUT,
        limits: RetryLimits = DEFAULT_LIMITS,
        max_retries: int | None = None,
        on_give_up: Callable[[K, Exception], Awaitable[None]] | None = None,
    ) -> None:
        self.name = name
        self.queue: WorkQueue[K] = WorkQueue(name, limits)
        needed = [*(watch.informer for watch in watches), *reads]
        self.informers: tuple[Informer[Any], ...] = tuple(dict.fromkeys(needed))
        """Every informer that this controller needs, each once."""
        self._reconcile = reconcile
        self._watches = tuple(watches)
        self._workers = workers
        self._key_timeout = key_timeout
        self._max_retries = max_retries
        self._on_give_up = on_give_up
        self._attempts: dict[K, int] = {}
        """Failures of each key that count against `max_retries`."""

    async def run(self) -> None:
        """
        Reconcile until cancelled, which breaks off running reconciliations, or until `shut_down`, which doesn't.

        Keys are collected from now on, and worked on once all informers have synced.
        """
        places = [watch.informer.add_handler(_Enqueue(watch.to_keys, self.queue)) for watch in self._watches]
        try:
            await self._wait_synced()
            _log.info("controller.started controller=%s workers=%d keys=%d", self.name, self._workers, len(self.queue))
            await Workers(self.name, self.queue, self._process, self._workers).run()
        finally:
            for place in places:
                place.remove()
        _log.info("controller.stopped controller=%s", self.name)

    def shut_down(self) -> None:
        """Begin no further reconciliation; `run` returns when the running ones are over. It can't run again."""
        self.queue.shut_down()

    async def _wait_synced(self) -> None:
        """Wait for all informers, or for a shutdown that comes before."""
        synced = asyncio.gather(*(informer.wait_synced() for informer in self.informers))
        down = asyncio.ensure_future(self.queue.wait_shut_down())
        try:
            await asyncio.wait((synced, down), return_when=asyncio.FIRST_COMPLETED)
        finally:
            synced.cancel()
            down.cancel()
            await asyncio.gather(synced, down, return_exceptions=True)

    async def _process(self, key: K) -> None:
        began = time.perf_counter()
        try:
            result = await self._reconcile_in_time(key)
        except CacheMutated:
            raise
        except Exception as error:  # noqa: BLE001  # a defect shown by one key must not stop the others
            await self._failed(key, error)
        else:
            self._succeeded(key, result)
        finally:
            SECONDS.labels(self.name).observe(time.perf_counter() - began)
        for informer in self.informers:
            informer.check_cache(f"controller {self.name} at {key}")

    async def _reconcile_in_time(self, key: K) -> Result:
        limit = asyncio.timeout(self._key_timeout)
        try:
            async with limit:
                return await _unless_cancelled(self._reconcile(key))
        except TimeoutError as error:
            if limit.expired():
                raise TimeoutError(f"not over after {self._key_timeout:g} s: broken off") from error
            raise

    def _succeeded(self, key: K, result: Result) -> None:
        self._forget(key)
        if result.again_after is not None:
            self.queue.add_after(key, max(result.again_after, SOONEST))
        RECONCILES.labels(self.name, "done" if result.again_after is None else "again").inc()

    async def _failed(self, key: K, error: Exception) -> None:
        if isinstance(error, GiveUp):
            await self._give_up(key, error)
            return
        if is_conflict(error):
            RECONCILES.labels(self.name, "conflict").inc()
            _log.info("reconcile.conflict controller=%s key=%s error=%s", self.name, key, error)
        elif is_outage(error):
            RECONCILES.labels(self.name, "outage").inc()
            self._tell(key, error, has_traceback=False)
        else:
            attempts = self._attempts[key] = self._attempts.get(key, 0) + 1
            if self._max_retries is not None and 0 <= self._max_retries < attempts:
                await self._give_up(key, error)
                return
            RECONCILES.labels(self.name, "error").inc()
            self._tell(key, error, has_traceback=not isinstance(error, ApiError | ReconcileError))
        self.queue.add_rate_limited(key)

    def _tell(self, key: K, error: Exception, *, has_traceback: bool) -> None:
        cause = error.__cause__
        _log.error(
            "reconcile.failed controller=%s key=%s attempts=%d error=%s: %s%s",
            self.name,
            key,
            self.queue.failures(key) + 1,
            type(error).__name__,
            error,
            f" cause={type(cause).__name__}: {cause}" if cause is not None else "",
            exc_info=error if has_traceback else None,
        )

    async def _give_up(self, key: K, error: Exception) -> None:
        RECONCILES.labels(self.name, "gave_up").inc()
        _log.error("reconcile.gave_up controller=%s key=%s error=%s", self.name, key, error)
        self._forget(key)
        if self._on_give_up is None:
            return
        try:
            await _unless_cancelled(self._on_give_up(key, error))
        except Exception:  # noqa: BLE001  # the last word failed; there is nobody left to tell
            _log.exception("reconcile.give_up_failed controller=%s key=%s", self.name, key)

    def _forget(self, key: K) -> None:
        self._attempts.pop(key, None)
        self.queue.forget(key)


async def _unless_cancelled(work: Awaitable[R]) -> R:
    """Wait for the work. Raises BrokenOffError for a cancellation that isn't meant for the current task."""
    try:
        return await work
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise BrokenOffError("something that was waited for was cancelled") from error
