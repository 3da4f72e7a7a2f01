"""A Lease on a server that can be down, a clock that all share, and candidates without threads of their own."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from msgspec.structs import replace

from runtime.errors import AlreadyExists, Conflict, ConnectionFailed, NotFound
from runtime.leader import Elector
from runtime.lease import Terms
from runtime.wire import Lease, LeaseSpec, Status

TERMS = Terms(lease_duration=15.0, renew_deadline=10.0, retry_period=2.0)


@dataclass
class World:
    """One Lease on a server that can be down, and a clock that all share."""

    now: float = 100.0
    lease: Lease | None = None
    is_up: bool = True
    loses_answers: bool = False
    """Writes are carried out, but the answer never arrives."""
    version: int = 0
    writes: int = 0

    def put(self, lease: Lease) -> Lease:
        self.version += 1
        self.writes += 1
        self.lease = replace(lease, metadata=replace(lease.metadata, resource_version=str(self.version)))
        return self.lease

    def edit(self, **fields: object) -> None:
        """Somebody changes the record by hand."""
        assert self.lease is not None
        self.put(replace(self.lease, spec=replace(self.lease.spec or LeaseSpec(), **fields)))

    @property
    def holder(self) -> str:
        return (self.lease.spec.holder_identity or "") if self.lease is not None and self.lease.spec else ""


class FakeApi:
    """The lease as one elector sees it: answers as the API server does, conflicts included."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.is_reachable = True
        self.vacancy = threading.Event()
        self.is_closed = False
        self.waits: list[float] = []
        self.watch_error: Exception | None = None

    def _reach(self) -> None:
        if not (self.world.is_up and self.is_reachable):
            raise ConnectionFailed("connection refused")

    def _answer(self, lease: Lease) -> Lease:
        if self.world.loses_answers:
            raise ConnectionFailed("timed out")
        return lease

    def read(self) -> Lease | None:
        self._reach()
        return self.world.lease

    def create(self, lease: Lease) -> Lease:
        self._reach()
        if self.world.lease is not None:
            raise AlreadyExists(Status(code=409, reason="AlreadyExists"))
        return self._answer(self.world.put(lease))

    def update(self, lease: Lease) -> Lease:
        self._reach()
        if self.world.lease is None:
            raise NotFound(Status(code=404))
        if lease.metadata.resource_version != self.world.lease.metadata.resource_version:
            raise Conflict(Status(code=409))
        return self._answer(self.world.put(lease))

    def wait_for_vacancy(self, resource_version: str, seconds: float) -> None:
        del resource_version
        self.waits.append(seconds)
        if self.watch_error is not None:
            raise self.watch_error
        self.vacancy.wait(seconds)

    def close(self) -> None:
        self.is_closed = True


@dataclass
class Notes:
    """What an elector told."""

    calls: list[str] = field(default_factory=list)
    is_leading: threading.Event = field(default_factory=threading.Event)

    def on_leading(self) -> None:
        self.calls.append("leading")
        self.is_leading.set()

    def on_lost(self, reason: str) -> None:
        self.calls.append(f"lost: {reason}")

    def on_leader(self, identity: str) -> None:
        self.calls.append(f"leader: {identity}")


class Candidate:
    """An elector with its api and its notes."""

    def __init__(self, world: World, identity: str, terms: Terms = TERMS) -> None:
        self.api = FakeApi(world)
        self.notes = Notes()
        self.elector = Elector(
            self.api,
            self.notes,
            namespace="volcano-system",
            name="volcano",
            identity=identity,
            terms=terms,
            clock=lambda: world.now,
            jitter=lambda: 0.5,
        )

    def may_write(self) -> bool:
        return self.elector.fence.is_open


def spec(world: World) -> LeaseSpec:
    """The record as it is stored."""
    assert world.lease is not None
    assert world.lease.spec is not None
    return world.lease.spec
