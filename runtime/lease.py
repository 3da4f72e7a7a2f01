"""
The record of a leader election and the fence that guards writes, without threads or I/O.

Time is never taken from the record: another machine's clock may be wrong by hours. A record counts as expired
when it has not changed for its duration by our own clock, and a holder stops writing before that can happen
anywhere else.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from runtime import timestamps
from runtime.resource import Resource
from runtime.wire import Lease, LeaseSpec, ObjectMeta

LEASES: Resource[Lease] = Resource("coordination.k8s.io", "v1", "Lease", "leases", Lease)
JITTER = 1.2
"""Retries are spread up to this factor, so a renewal must be possible within renew deadline / JITTER."""

Clock = Callable[[], float]

_BOOT = getattr(time, "CLOCK_BOOTTIME", None)  # Linux; elsewhere CLOCK_MONOTONIC runs on during sleep


def boot_clock() -> float:
    """Seconds that only go forward, counting the time that the machine was suspended."""
    return time.clock_gettime(time.CLOCK_MONOTONIC if _BOOT is None else _BOOT)


def wall_text() -> str:
    """UTC now, with microseconds, as a Lease spells it."""
    return timestamps.format_micro(timestamps.now())


class LeaseLost(Exception):  # noqa: N818  # named for what happened
    """This process may not write: it does not hold its lease, or could not renew it in time."""


class Terms(msgspec.Struct, frozen=True):
    """The times of an election, in seconds."""

    lease_duration: float = 15.0
    """How long others wait, after the last change that they saw, before they take the lease."""
    renew_deadline: float = 10.0
    """How long the holder goes on writing after the start of its last successful renewal."""
    retry_period: float = 2.0
    """Pause between two tries."""

    def problems(self) -> list[str]:
        """What contradicts itself; empty when all is well."""
        found = [
            f"{name} must be greater than zero"
            for name, value in (
                ("leaseDuration", self.lease_duration),
                ("renewDeadline", self.renew_deadline),
                ("retryPeriod", self.retry_period),
            )
            if value <= 0
        ]
        if self.lease_duration <= self.renew_deadline:
            found.append("leaseDuration must be greater than renewDeadline")
        if self.renew_deadline <= self.retry_period * JITTER:
            found.append(f"renewDeadline must be greater than retryPeriod*{JITTER}")
        return found

    @property
    def duration_seconds(self) -> int:
        """Lease duration as the record holds it: rounded up, since a shorter one would let others in too early."""
        return math.ceil(self.lease_duration)


class Fence:
    """Open while this process may write. Asked from any thread, moved by the election only."""

    def __init__(self, subject: str, clock: Clock = boot_clock) -> None:
        """`subject` names the lease in messages. A new fence is closed."""
        self._subject = subject
        self._clock = clock
        self._until = -math.inf

    @property
    def is_open(self) -> bool:
        return self._clock() < self._until

    def open_until(self, moment: float) -> None:
        """Let writes through until a moment of the clock."""
        self._until = moment

    def close(self) -> None:
        self._until = -math.inf

    def check(self) -> None:
        """Raise LeaseLost unless the fence is open. Called before every write."""
        late = self._clock() - self._until
        if late < 0:
            return
        if late == math.inf:
            raise LeaseLost(f"lease {self._subject} is not held: nothing may be written")
        raise LeaseLost(
            f"lease {self._subject} could not be renewed in time, {late:.1f}s over its deadline: "
            "writes wait until the API server answers"
        )


class Observation:
    """The last record seen, and when it last changed by our own clock."""

    def __init__(self, fallback_duration: float, clock: Clock = boot_clock) -> None:
        """`fallback_duration` in seconds stands in for a record without a usable one."""
        self._fallback = fallback_duration
        self._clock = clock
        self._spec = LeaseSpec()
        self._changed_at = -math.inf

    @property
    def holder(self) -> str:
        """The holder's identity, empty when nobody holds the lease."""
        return self._spec.holder_identity or ""

    def note(self, lease: Lease | None) -> None:
        """Take notice of a record, None when there is none."""
        spec = lease.spec if lease is not None and lease.spec is not None else LeaseSpec()
        if spec != self._spec:
            self._spec = spec
            self._changed_at = self._clock()

    @property
    def is_vacant(self) -> bool:
        """Whether the lease may be taken: nobody holds it, or its holder has not moved for the lease's duration."""
        seconds = self._spec.lease_duration_seconds or 0
        duration = seconds if seconds > 0 else self._fallback
        return not self.holder or self._clock() >= self._changed_at + duration


def created(namespace: str, name: str, identity: str, terms: Terms, now: str) -> Lease:
    """The first record of a lease."""
    return _held(Lease(metadata=ObjectMeta(name=name, namespace=namespace)), identity, terms, now, 0)


def acquired(lease: Lease, identity: str, terms: Terms, now: str) -> Lease:
    """A record taken over from another holder or from none; what others wrote beside it is kept."""
    before = lease.spec.lease_transitions if lease.spec is not None else 0
    return _held(lease, identity, terms, now, max(before or 0, 0) + 1)


def renewed(lease: Lease, terms: Terms, now: str) -> Lease:
    """Our own record, renewed."""
    spec = lease.spec if lease.spec is not None else LeaseSpec()
    return replace(lease, spec=replace(spec, renew_time=now, lease_duration_seconds=terms.duration_seconds))


def released(lease: Lease, now: str) -> Lease:
    """Our own record given up: others need not wait."""
    spec = lease.spec if lease.spec is not None else LeaseSpec()
    return replace(
        lease,
        spec=replace(spec, holder_identity="", lease_duration_seconds=1, renew_time=now, acquire_time=now),
    )


def _held(lease: Lease, identity: str, terms: Terms, now: str, transitions: int) -> Lease:
    spec = lease.spec if lease.spec is not None else LeaseSpec()
    return replace(
        lease,
        spec=replace(
            spec,
            holder_identity=identity,
            lease_duration_seconds=terms.duration_seconds,
            acquire_time=now,
            renew_time=now,
            lease_transitions=transitions,
        ),
    )
