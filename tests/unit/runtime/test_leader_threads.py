from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from runtime.errors import ConnectionFailed, Forbidden
from runtime.leader import TRIES
from runtime.lease import Terms
from runtime.wire import Lease, LeaseSpec, ObjectMeta, Status
from tests.unit.runtime.election_world import Candidate, World, spec


@pytest.fixture
def world() -> World:
    return World()


# Threads: real time, short terms, an API in memory.

QUICK = Terms(lease_duration=1.0, renew_deadline=0.6, retry_period=0.01)


@pytest.fixture
def started() -> Iterator[Callable[[Candidate], Candidate]]:
    running: list[Candidate] = []

    def start(candidate: Candidate) -> Candidate:
        candidate.elector.start()
        running.append(candidate)
        return candidate

    yield start
    for candidate in running:
        candidate.api.vacancy.set()
        candidate.elector.stop()
        candidate.elector._thread.join(10)
        assert not candidate.elector._thread.is_alive()


def test_stopping_the_holder_releases_the_lease(world: World, started: Callable[[Candidate], Candidate]) -> None:
    a = started(Candidate(world, "a", Terms(15, 10, 5)))
    assert a.notes.is_leading.wait(10)
    a.elector.stop()
    assert world.holder == ""
    assert spec(world).lease_duration_seconds == 1
    assert not a.may_write()
    assert a.api.is_closed
    assert a.notes.calls == ["leader: a", "leading"]
    a.elector.stop()


def test_a_standby_takes_over_as_soon_as_the_lease_is_released(
    world: World, started: Callable[[Candidate], Candidate]
) -> None:
    a = started(Candidate(world, "a", Terms(15, 10, 5)))
    assert a.notes.is_leading.wait(10)
    b = started(Candidate(world, "b", Terms(15, 10, 5)))
    while not b.api.waits:
        threading.Event().wait(0.001)
    assert b.api.waits[0] == pytest.approx(5 * (1 + 1.2 * 0.5))
    a.elector.stop()
    b.api.vacancy.set()
    assert b.notes.is_leading.wait(2)


def test_stopping_a_standby_returns_at_once_and_it_never_leads(
    world: World, started: Callable[[Candidate], Candidate]
) -> None:
    world.put(Lease(metadata=ObjectMeta(name="volcano"), spec=LeaseSpec(holder_identity="x")))
    b = started(Candidate(world, "b", Terms(15, 10, 5)))
    while not b.api.waits:
        threading.Event().wait(0.001)
    b.elector.stop()
    world.edit(holder_identity="")
    b.api.vacancy.set()
    b.elector._thread.join(10)
    assert world.holder == ""
    assert "leading" not in b.notes.calls


def test_a_watch_that_is_forbidden_is_not_tried_again(world: World, started: Callable[[Candidate], Candidate]) -> None:
    world.put(Lease(metadata=ObjectMeta(name="volcano"), spec=LeaseSpec(holder_identity="x")))
    b = Candidate(world, "b", QUICK)
    b.api.watch_error = Forbidden(Status(code=403))
    reads = []
    original = b.api.read

    def counted() -> Lease | None:
        reads.append(1)
        return original()

    b.api.read = counted  # type: ignore[method-assign]  # counts
    started(b)
    while len(reads) < 5:
        threading.Event().wait(0.001)
    assert len(b.api.waits) == 1


def test_a_watch_that_fails_otherwise_is_tried_again(world: World, started: Callable[[Candidate], Candidate]) -> None:
    world.put(Lease(metadata=ObjectMeta(name="volcano"), spec=LeaseSpec(holder_identity="x")))
    b = Candidate(world, "b", QUICK)
    b.api.watch_error = ConnectionFailed("reset")
    started(b)
    while len(b.api.waits) < 3:
        threading.Event().wait(0.001)


@pytest.mark.parametrize("error", [RuntimeError("a bug"), ValueError("bad header"), RecursionError()])
def test_a_standby_whose_watch_fails_in_an_unknown_way_goes_on_and_leads(
    world: World, started: Callable[[Candidate], Candidate], caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    world.put(Lease(metadata=ObjectMeta(name="volcano"), spec=LeaseSpec(holder_identity="x")))
    b = Candidate(world, "b", QUICK)
    b.api.watch_error = error
    errors = TRIES.labels("volcano", "error")._value
    before = errors.get()
    started(b)
    while len(b.api.waits) < 3:
        assert b.elector._thread.is_alive()
        threading.Event().wait(0.001)
    world.edit(holder_identity="")
    assert b.notes.is_leading.wait(10)
    assert errors.get() - before >= 2
    assert len([record for record in caplog.records if record.exc_info]) == 1


def test_an_unknown_error_on_release_still_ends_the_thread_in_order(
    world: World, started: Callable[[Candidate], Candidate], caplog: pytest.LogCaptureFixture
) -> None:
    def broken(lease: Lease) -> Lease:
        raise RuntimeError(f"a bug at {lease.metadata.name}")

    a = started(Candidate(world, "a", Terms(15, 10, 5)))
    assert a.notes.is_leading.wait(10)
    a.api.update = broken  # type: ignore[method-assign]  # a bug
    a.elector.stop()
    a.elector._thread.join(10)
    assert a.api.is_closed
    assert "a bug" in caplog.text


def test_a_lost_lease_ends_the_thread(world: World, started: Callable[[Candidate], Candidate]) -> None:
    a = started(Candidate(world, "a", QUICK))
    assert a.notes.is_leading.wait(10)
    world.edit(holder_identity="b")
    a.elector._thread.join(10)
    assert not a.elector._thread.is_alive()
    assert a.notes.calls[-1] == "lost: taken by b"
    assert world.holder == "b"


def test_a_lease_that_cannot_be_released_is_told(
    world: World, started: Callable[[Candidate], Candidate], caplog: pytest.LogCaptureFixture
) -> None:
    a = started(Candidate(world, "a", Terms(15, 10, 5)))
    assert a.notes.is_leading.wait(10)
    world.is_up = False
    a.elector.stop()
    assert "could not release the lease" in caplog.text
    assert not a.may_write()


def test_a_release_after_a_foreign_change_reads_again(world: World, started: Callable[[Candidate], Candidate]) -> None:
    a = started(Candidate(world, "a", Terms(15, 10, 5)))
    assert a.notes.is_leading.wait(10)
    world.edit(preferred_holder="someone")
    a.elector.stop()
    assert world.holder == ""


def test_a_lease_that_went_to_another_is_not_released(world: World, started: Callable[[Candidate], Candidate]) -> None:
    a = started(Candidate(world, "a", Terms(15, 10, 5)))
    assert a.notes.is_leading.wait(10)
    world.edit(holder_identity="b")
    a.elector.stop()
    assert world.holder == "b"


# Whatever happens, no two processes may write at the same time.

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["turn", "turn", "turn", "cut", "heal", "down", "up", "mute", "unmute", "release", "annotate"]),
        st.integers(0, 2),
        st.sampled_from([0.0, 0.5, 2.0, 2.0, 4.0, 9.0, 14.0, 40.0]),
    ),
    max_size=60,
)


@settings(max_examples=300, deadline=None)
@given(STEPS)
def test_no_two_processes_may_write_at_the_same_time(steps: list[tuple[str, int, float]]) -> None:
    world = World()
    candidates = [Candidate(world, name) for name in "abc"]
    over: set[int] = set()
    for action, index, seconds in steps:
        world.now += seconds
        candidate = candidates[index]
        match action:
            case "turn" if index not in over:
                candidate.elector.turn()
                if any(call.startswith("lost") for call in candidate.notes.calls):
                    over.add(index)
            case "cut" | "heal":
                candidate.api.is_reachable = action == "heal"
            case "down" | "up":
                world.is_up = action == "up"
            case "mute" | "unmute":
                world.loses_answers = action == "mute"
            case "release":
                candidate.elector._give_up()
                over.add(index)
            case "annotate" if world.lease is not None:
                world.put(
                    replace(world.lease, metadata=replace(world.lease.metadata, labels={"n": str(world.version)}))
                )
        writers = [candidate.elector.identity for candidate in candidates if candidate.may_write()]
        assert len(writers) <= 1
        assert not writers or world.holder == writers[0]
