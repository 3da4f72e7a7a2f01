from __future__ import annotations

import logging

import pytest
from msgspec.structs import replace

from runtime.leader import IS_LEADER, new_identity
from runtime.lease import LeaseLost
from runtime.wire import Lease, LeaseSpec, ObjectMeta
from tests.unit.runtime.election_world import Candidate, World, spec


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def a(world: World) -> Candidate:
    return Candidate(world, "a")


@pytest.fixture
def b(world: World) -> Candidate:
    return Candidate(world, "b")


@pytest.fixture
def leader(world: World, a: Candidate) -> Candidate:
    a.elector.turn()
    assert world.holder == "a"
    assert a.may_write()
    a.notes.calls.clear()
    return a


def test_the_first_candidate_creates_the_lease_and_leads(world: World, a: Candidate) -> None:
    with pytest.raises(LeaseLost):
        a.elector.fence.check()
    a.elector.turn()
    a.elector.fence.check()
    assert a.notes.calls == ["leader: a", "leading"]
    assert spec(world).lease_transitions == 0
    assert spec(world).lease_duration_seconds == 15
    assert a.elector.is_leader
    assert a.elector.leader == "a"
    assert IS_LEADER.labels("volcano")._value.get() == 1


def test_a_second_candidate_waits_while_the_holder_renews(world: World, leader: Candidate, b: Candidate) -> None:
    for _ in range(100):
        world.now += 2
        leader.elector.turn()
        b.elector.turn()
    assert b.notes.calls == ["leader: a"]
    assert not b.may_write()
    assert leader.may_write()


def test_a_renewal_is_one_request(world: World, leader: Candidate, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise AssertionError("read before renewing")

    monkeypatch.setattr(leader.api, "read", refuse)
    world.now += 2
    before = world.writes
    leader.elector.turn()
    assert world.writes == before + 1


def test_the_lease_of_a_dead_holder_is_taken_after_its_duration(world: World, leader: Candidate, b: Candidate) -> None:
    b.elector.turn()
    world.now += 14.9
    b.elector.turn()
    assert world.holder == "a"
    world.now += 0.1
    b.elector.turn()
    assert world.holder == "b"
    assert spec(world).lease_transitions == 1
    assert not leader.may_write()


def test_the_wait_counts_from_the_first_look_and_not_from_the_record(
    world: World, leader: Candidate, b: Candidate
) -> None:
    world.now += 3600
    b.elector.turn()
    assert world.holder == "a"
    world.now += 15
    b.elector.turn()
    assert world.holder == "b"


def test_a_holder_that_was_replaced_learns_it_and_ends(world: World, leader: Candidate, b: Candidate) -> None:
    b.elector.turn()
    world.now += 15
    b.elector.turn()
    leader.elector.turn()
    assert leader.notes.calls == ["leader: b", "lost: taken by b"]
    assert not leader.elector.is_leader
    assert IS_LEADER.labels("volcano")._value.get() == 0
    with pytest.raises(LeaseLost, match="is not held"):
        leader.elector.fence.check()


def test_a_released_lease_is_taken_at_once(world: World, leader: Candidate, b: Candidate) -> None:
    b.elector.turn()
    leader.elector._give_up()
    assert world.holder == ""
    assert not leader.may_write()
    b.elector.turn()
    assert world.holder == "b"
    assert b.notes.calls == ["leader: a", "leader: ", "leader: b", "leading"]


def test_an_outage_closes_the_fence_and_ends_nothing(world: World, leader: Candidate, b: Candidate) -> None:
    b.elector.turn()
    world.is_up = False
    for _ in range(5):
        world.now += 2
        leader.elector.turn()
        b.elector.turn()
    assert [leader.may_write(), b.may_write()] == [False, False]
    for _ in range(300):
        world.now += 2
        leader.elector.turn()
        b.elector.turn()
    assert leader.notes.calls == []
    assert b.notes.calls == ["leader: a"]
    world.is_up = True
    leader.elector.turn()
    assert leader.may_write()
    assert leader.notes.calls == []
    assert world.holder == "a"


def test_after_an_outage_the_lease_may_go_to_another_and_the_old_holder_ends(
    world: World, leader: Candidate, b: Candidate
) -> None:
    b.elector.turn()
    world.is_up = False
    world.now += 100
    leader.elector.turn()
    world.is_up = True
    b.elector.turn()
    assert world.holder == "b"
    leader.elector.turn()
    assert leader.notes.calls == ["leader: b", "lost: taken by b"]


def test_the_fence_counts_from_the_start_of_the_renewal(world: World, leader: Candidate) -> None:
    original = leader.api.update

    def slow(lease: Lease) -> Lease:
        world.now += 6
        return original(lease)

    leader.api.update = slow  # type: ignore[method-assign]  # a slow server
    world.now += 2
    leader.elector.turn()
    found = []
    for seconds in (3.9, 0.2):
        world.now += seconds
        found.append(leader.may_write())
    assert found == [True, False]


def test_a_renewal_whose_answer_was_lost_is_found_again(world: World, leader: Candidate) -> None:
    world.loses_answers = True
    world.now += 2
    leader.elector.turn()
    world.loses_answers = False
    world.now += 2
    leader.elector.turn()
    assert leader.may_write()
    assert leader.notes.calls == []


def test_an_acquisition_whose_answer_was_lost_is_found_again(world: World, a: Candidate) -> None:
    world.loses_answers = True
    a.elector.turn()
    assert world.holder == "a"
    assert not a.may_write()
    world.loses_answers = False
    world.now += 2
    a.elector.turn()
    assert a.may_write()
    assert a.notes.calls == ["leader: a", "leading"]


def test_a_change_beside_the_record_does_not_cost_the_lease(world: World, leader: Candidate) -> None:
    assert world.lease is not None
    world.put(replace(world.lease, metadata=replace(world.lease.metadata, annotations={"note": "hello"})))
    world.now += 2
    leader.elector.turn()
    assert leader.may_write()
    assert world.lease.metadata.annotations == {"note": "hello"}


@pytest.mark.parametrize("is_deleted", [True, False])
def test_a_record_that_was_cleared_is_taken_again_while_the_fence_is_open(
    world: World, leader: Candidate, *, is_deleted: bool
) -> None:
    if is_deleted:
        world.lease = None
    else:
        world.edit(holder_identity="")
    world.now += 2
    leader.elector.turn()
    assert world.holder == "a"
    assert leader.may_write()
    assert leader.notes.calls == ["leader: ", "leader: a"]


@pytest.mark.parametrize("is_deleted", [True, False])
def test_a_record_that_was_cleared_while_the_fence_was_closed_is_lost(
    world: World, leader: Candidate, *, is_deleted: bool
) -> None:
    if is_deleted:
        world.lease = None
    else:
        world.edit(holder_identity="")
    world.now += 30
    leader.elector.turn()
    assert leader.notes.calls[-1].startswith("lost: released or deleted by another")
    assert not leader.may_write()
    assert world.holder == ""


def test_a_cleared_record_that_another_took_first_closes_the_fence(
    world: World, leader: Candidate, b: Candidate
) -> None:
    world.edit(holder_identity="")
    original = leader.api.update

    def overtaken(lease: Lease) -> Lease:
        if spec(world).holder_identity == "" and lease.spec is not None and lease.spec.lease_transitions:
            b.elector.turn()
        return original(lease)

    leader.api.update = overtaken  # type: ignore[method-assign]  # the other is a moment faster
    world.now += 2
    leader.elector.turn()
    assert world.holder == "b"
    assert not leader.may_write()
    world.now += 2
    leader.elector.turn()
    assert leader.notes.calls[-1] == "lost: taken by b"


@pytest.mark.parametrize(
    "found",
    [
        Lease(metadata=ObjectMeta(name="volcano")),
        Lease(metadata=ObjectMeta(name="volcano"), spec=LeaseSpec()),
        Lease(metadata=ObjectMeta(name="volcano"), spec=LeaseSpec(holder_identity="", lease_duration_seconds=0)),
        Lease(metadata=ObjectMeta(name="volcano"), spec=LeaseSpec(lease_transitions=-1, renew_time="never")),
    ],
)
def test_a_lease_without_a_holder_is_taken_whatever_else_it_holds(world: World, a: Candidate, found: Lease) -> None:
    world.put(found)
    a.elector.turn()
    assert world.holder == "a"
    assert a.may_write()


def test_a_holder_with_garbage_beside_it_is_waited_for_as_long_as_we_would_hold(world: World, a: Candidate) -> None:
    world.put(Lease(metadata=ObjectMeta(name="volcano"), spec=LeaseSpec(holder_identity="x", renew_time="garbage")))
    a.elector.turn()
    world.now += 14
    a.elector.turn()
    assert world.holder == "x"
    world.now += 1
    a.elector.turn()
    assert world.holder == "a"


def test_of_two_candidates_that_see_the_same_vacancy_one_wins(world: World, a: Candidate, b: Candidate) -> None:
    world.put(Lease(metadata=ObjectMeta(name="volcano")))
    original = a.api.update

    def overtaken(lease: Lease) -> Lease:
        b.elector.turn()
        return original(lease)

    a.api.update = overtaken  # type: ignore[method-assign]  # the other is a moment faster
    a.elector.turn()
    assert world.holder == "b"
    assert b.may_write()
    assert not a.may_write()
    assert "leading" not in a.notes.calls


def test_of_two_candidates_that_create_the_lease_one_wins(world: World, a: Candidate, b: Candidate) -> None:
    original = a.api.create

    def overtaken(lease: Lease) -> Lease:
        b.elector.turn()
        return original(lease)

    a.api.create = overtaken  # type: ignore[method-assign]  # the other is a moment faster
    a.elector.turn()
    assert world.holder == "b"
    assert not a.may_write()


def test_an_unexpected_error_is_a_failed_try_and_no_end(
    world: World, leader: Candidate, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: Lease) -> Lease:
        raise RuntimeError("a bug")

    with monkeypatch.context() as patch:
        patch.setattr(leader.api, "update", broken)
        world.now += 2
        leader.elector.turn()
    assert "a bug" in caplog.text
    assert leader.may_write()
    leader.elector.turn()
    assert leader.notes.calls == []


def test_a_long_outage_is_told_now_and_then(world: World, leader: Candidate, caplog: pytest.LogCaptureFixture) -> None:
    world.is_up = False
    with caplog.at_level(logging.INFO):
        for _ in range(150):
            world.now += 2
            leader.elector.turn()
        world.is_up = True
        leader.elector.turn()
    lines = [record.getMessage() for record in caplog.records]
    assert 8 <= len([line for line in lines if "try failed" in line]) <= 12
    assert len([line for line in lines if "not renewed in time" in line]) == 1
    assert len([line for line in lines if "renewed after an outage" in line]) == 1


def test_identities_are_unique_and_carry_the_hostname(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "host-1")
    first, second = new_identity(), new_identity()
    assert first.startswith("host-1_")
    assert first != second
    assert len(first) == len("host-1_") + 36
