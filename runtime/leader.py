"""
Leader election on a Lease, in a thread of its own with its own connection.

A main loop or a scheduling thread that is busy for seconds must not cost the lease, so nothing here runs on
them. Writes of this process are guarded by the fence: it closes by the clock alone when renewals fail. While
the API server can't be reached nobody else can take the lease either, so the holder keeps waiting, with the
fence closed, and ends only when it learns that the lease went to another.
"""

from __future__ import annotations

import logging
import math
import random
import socket
import threading
import uuid
from collections.abc import Callable
from typing import Protocol

from runtime import lease, metrics
from runtime.errors import AlreadyExists, ApiError, Conflict, ConnectionFailed, DecodeError, Forbidden, NotFound
from runtime.lease import Clock, Fence, Observation, Terms
from runtime.wire import Lease

log = logging.getLogger(__name__)

REPORT_PERIOD = 30.0
"""Seconds between two log lines about an election that goes on failing."""

IS_LEADER = metrics.gauge(
    "leader_election_master_status", "Whether this process holds the lease (1) or waits for it (0).", ["name"]
)
TRIES = metrics.counter("volcano_leader_election_tries_total", "Tries to take or renew a lease.", ["name", "result"])


class LeaseApi(Protocol):
    """One Lease on the server. Used by the election thread only. All methods raise `runtime.errors`."""

    def read(self) -> Lease | None:
        """The lease, None when there is none."""

    def create(self, lease: Lease) -> Lease: ...

    def update(self, lease: Lease) -> Lease:
        """Replace the lease; a Conflict when somebody changed it since it was read."""

    def wait_for_vacancy(self, resource_version: str, seconds: float) -> None:
        """Return as soon as the lease is released or deleted, at the latest after some seconds."""

    def close(self) -> None: ...


class Listener(Protocol):
    """Is told of changes, in the election thread: it must return at once."""

    def on_leading(self) -> None:
        """This process holds the lease."""

    def on_lost(self, reason: str) -> None:
        """Another process holds the lease: this one must end. Comes at most once, and nothing after it."""

    def on_leader(self, identity: str) -> None:
        """The holder changed; empty when nobody holds the lease."""


def new_identity() -> str:
    """How this process signs its leases: `<hostname>_<uuid>`."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


class Elector:
    """Takes part in one election from `start` to `stop`."""

    def __init__(
        self,
        api: LeaseApi,
        listener: Listener,
        *,
        namespace: str,
        name: str,
        identity: str,
        terms: Terms | None = None,
        clock: Clock = lease.boot_clock,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._api = api
        self._listener = listener
        self._namespace = namespace
        self._name = name
        self.identity = identity
        self._terms = terms if terms is not None else Terms()
        self._clock = clock
        self._jitter = jitter
        self._subject = f"{namespace}/{name}"
        self.fence = Fence(self._subject, clock)
        self._observation = Observation(self._terms.lease_duration, clock)
        self._held: Lease | None = None
        self._seen: Lease | None = None
        self._leader = ""
        self._is_over = False
        self._has_lapsed = False
        self._is_failing = False
        self._may_watch = True
        self._reported_at = -math.inf
        self._puzzled_at = -math.inf
        self._stopping = threading.Event()
        self._turns = threading.Condition()
        self._is_busy = False
        self._thread = threading.Thread(target=self._run, name="leader-election", daemon=True)

    @property
    def is_leader(self) -> bool:
        """Whether the lease is ours. Says nothing of the right to write: that is the fence's."""
        return self._held is not None

    @property
    def leader(self) -> str:
        """Identity of the holder as last seen, empty when none was."""
        return self._leader

    def start(self) -> None:
        """Begin to compete."""
        IS_LEADER.labels(self._name).set(0)
        log.info("attempting to acquire leader lease lease=%s identity=%s", self._subject, self.identity)
        self._thread.start()

    def stop(self, seconds: float = 5.0) -> None:
        """Leave the election, and release the lease when it is ours, which may take some seconds. Idempotent."""
        with self._turns:
            self._stopping.set()
            self._turns.wait_for(lambda: not self._is_busy, seconds)
        if self.is_leader:
            self._thread.join(seconds)

    def _run(self) -> None:
        while self._begin():
            try:
                self.turn()
            finally:
                self._end()
            if self._is_over:
                break
            self._pause()
        self._give_up()
        self._api.close()

    def turn(self) -> None:
        """One try to take or to renew the lease; what fails is logged. The election's thread calls it again and again."""
        started = self._clock()
        try:
            if self._held is None or not self._renew(self._held, started):
                self._look(started)
        except (ApiError, ConnectionFailed, DecodeError) as error:
            self._failed(str(error))
        except Exception as error:  # noqa: BLE001  # an election that ends leaves a standby that never leads
            self._puzzled(error)

    def _begin(self) -> bool:
        """Start a turn, unless `stop` was called: after that no turn begins."""
        with self._turns:
            self._is_busy = not self._stopping.is_set()
            return self._is_busy

    def _end(self) -> None:
        with self._turns:
            self._is_busy = False
            self._turns.notify_all()

    def _renew(self, held: Lease, started: float) -> bool:
        """Renew without reading first; False when the record is no longer the one that we wrote."""
        try:
            renewed = self._api.update(lease.renewed(held, self._terms, lease.wall_text()))
        except (Conflict, NotFound):
            return False
        self._hold(renewed, started)
        return True

    def _look(self, started: float) -> None:
        """Read the record and act on it."""
        self._note(self._api.read())
        found = self._seen
        if found is not None and self._observation.holder == self.identity:
            self._hold(self._api.update(lease.renewed(found, self._terms, lease.wall_text())), started)
        elif self.is_leader and not self._may_retake():
            self._lose()
        elif self._observation.is_vacant:
            self._acquire(found, started)
        else:
            self._succeeded("standby")

    def _may_retake(self) -> bool:
        """Whether a record that is no longer ours was surely held by nobody else since we wrote it."""
        return not self._observation.holder and self.fence.is_open

    def _acquire(self, found: Lease | None, started: float) -> None:
        now = lease.wall_text()
        try:
            if found is None:
                new = lease.created(self._namespace, self._name, self.identity, self._terms, now)
                taken = self._api.create(new)
            else:
                taken = self._api.update(lease.acquired(found, self.identity, self._terms, now))
        except (AlreadyExists, Conflict):
            log.debug("another process was faster lease=%s", self._subject)
            self.fence.close()  # a leader whose record was cleared and taken in between
            self._succeeded("standby")
            return
        self._hold(taken, started)

    def _hold(self, taken: Lease, started: float) -> None:
        """The server confirmed that the lease is ours; `started` is when we began to ask for it."""
        is_new = not self.is_leader
        self._held = taken
        self._note(taken)
        self.fence.open_until(started + self._terms.renew_deadline)
        self._succeeded("held")
        if self._has_lapsed:
            self._has_lapsed = False
            log.info("lease renewed after an outage, writing again lease=%s", self._subject)
        if is_new:
            IS_LEADER.labels(self._name).set(1)
            log.info("acquired lease lease=%s identity=%s", self._subject, self.identity)
            self._listener.on_leading()

    def _note(self, found: Lease | None) -> None:
        self._seen = found
        self._observation.note(found)
        if self._observation.holder != self._leader:
            self._leader = self._observation.holder
            log.info("leader changed lease=%s leader=%s", self._subject, self._leader or "none")
            self._listener.on_leader(self._leader)

    def _lose(self) -> None:
        self.fence.close()
        self._held = None
        self._is_over = True
        IS_LEADER.labels(self._name).set(0)
        holder = self._observation.holder
        reason = f"taken by {holder}" if holder else "released or deleted by another while it could not be renewed"
        log.error("lost lease lease=%s identity=%s reason=%s", self._subject, self.identity, reason)
        self._listener.on_lost(reason)

    def _give_up(self) -> None:
        """Release the lease on the way out, so that a standby need not wait for it to expire."""
        held, self._held = self._held, None
        self.fence.close()
        if held is None:
            return
        IS_LEADER.labels(self._name).set(0)
        try:
            self._release(held)
        except (ApiError, ConnectionFailed, DecodeError) as error:
            log.warning("could not release the lease, others wait until it expires lease=%s: %s", self._subject, error)
        except Exception:
            log.exception("could not release the lease, others wait until it expires lease=%s", self._subject)
        else:
            log.info("released lease lease=%s identity=%s", self._subject, self.identity)

    def _release(self, held: Lease) -> None:
        try:
            self._api.update(lease.released(held, lease.wall_text()))
        except Conflict:
            found = self._api.read()
            if found is not None and found.spec is not None and found.spec.holder_identity == self.identity:
                self._api.update(lease.released(found, lease.wall_text()))

    def _pause(self) -> None:
        """Between two turns: the holder waits a fixed time, all others a random one, cut short by a release."""
        seconds = self._terms.retry_period
        if self.is_leader:
            self._stopping.wait(seconds)
            return
        seconds *= 1 + lease.JITTER * self._jitter()
        if self._seen is None or self._is_failing or not self._may_watch or self._observation.is_vacant:
            self._stopping.wait(seconds)
            return
        try:
            self._api.wait_for_vacancy(self._seen.metadata.resource_version, seconds)
        except (ApiError, ConnectionFailed, DecodeError) as error:
            self._may_watch = not isinstance(error, Forbidden)
            log.debug("could not watch the lease lease=%s: %s", self._subject, error)
            self._stopping.wait(seconds)
        except Exception as error:  # noqa: BLE001  # as in `turn`
            self._puzzled(error)
            self._stopping.wait(seconds)

    def _succeeded(self, result: str) -> None:
        TRIES.labels(self._name, result).inc()
        self._is_failing = False
        self._reported_at = -math.inf

    def _puzzled(self, error: Exception) -> None:
        """An error that no part of the client is declared to raise: with its traceback, but that not each time."""
        now = self._clock()
        if now - self._puzzled_at >= REPORT_PERIOD:
            self._puzzled_at = now
            log.error("leader election failed lease=%s", self._subject, exc_info=error)
        self._failed(f"unexpected error: {error!r}")

    def _failed(self, problem: str) -> None:
        """Count a failed try; tell the log now and then, not each time."""
        TRIES.labels(self._name, "error").inc()
        self._is_failing = True
        if self.is_leader and not self.fence.is_open and not self._has_lapsed:
            self._has_lapsed = True
            log.warning("lease not renewed in time, writes stop until it is lease=%s", self._subject)
        now = self._clock()
        if now - self._reported_at >= REPORT_PERIOD:
            self._reported_at = now
            log.warning("leader election try failed lease=%s: %s", self._subject, problem)
