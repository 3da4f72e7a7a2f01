from __future__ import annotations

import re
import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime import lease
from runtime.lease import Fence, LeaseLost, Observation, Terms
from runtime.wire import Lease, LeaseSpec, ObjectMeta

NOW = "2026-08-01T10:00:00.000001Z"
TERMS = Terms()


class Clock:
    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def held(identity: str = "a", *, seconds: int | None = 15, renew: str = NOW, transitions: int = 3) -> Lease:
    return Lease(
        metadata=ObjectMeta(name="volcano", namespace="volcano-system", resource_version="7"),
        spec=LeaseSpec(
            holder_identity=identity,
            lease_duration_seconds=seconds,
            acquire_time="2026-08-01T09:00:00.000000Z",
            renew_time=renew,
            lease_transitions=transitions,
        ),
    )


@pytest.mark.parametrize(
    ("terms", "problems"),
    [
        (Terms(), []),
        (Terms(3.0, 2.0, 0.5), []),
        (Terms(10.0, 10.0, 2.0), ["leaseDuration must be greater than renewDeadline"]),
        (Terms(15.0, 2.4, 2.0), ["renewDeadline must be greater than retryPeriod*1.2"]),
        (Terms(15.0, 10.0, 0.0), ["retryPeriod must be greater than zero"]),
        (
            Terms(-1.0, 1.0, 2.0),
            [
                "leaseDuration must be greater than zero",
                "leaseDuration must be greater than renewDeadline",
                "renewDeadline must be greater than retryPeriod*1.2",
            ],
        ),
    ],
)
def test_times_that_contradict_each_other_are_named(terms: Terms, problems: list[str]) -> None:
    assert terms.problems() == problems


@given(st.floats(0.001, 1e6))
def test_the_recorded_duration_is_never_shorter_than_the_real_one(seconds: float) -> None:
    recorded = Terms(lease_duration=seconds).duration_seconds
    assert recorded >= seconds
    assert recorded >= 1
    assert recorded - seconds < 1


def test_a_new_fence_is_closed() -> None:
    fence = Fence("volcano-system/volcano", Clock())
    assert not fence.is_open
    with pytest.raises(LeaseLost, match="volcano-system/volcano is not held"):
        fence.check()


def test_an_open_fence_closes_by_itself_at_its_moment() -> None:
    clock = Clock()
    fence = Fence("ns/name", clock)
    fence.open_until(1010.0)
    fence.check()
    clock.now = 1009.999
    fence.check()
    clock.now = 1012.5
    assert not fence.is_open
    with pytest.raises(LeaseLost, match=re.escape("ns/name could not be renewed in time, 2.5s over")):
        fence.check()


def test_a_closed_fence_opens_again_with_a_renewal() -> None:
    clock = Clock()
    fence = Fence("ns/name", clock)
    fence.open_until(1010.0)
    clock.now = 1100.0
    fence.open_until(1110.0)
    fence.check()
    fence.close()
    assert not fence.is_open


def test_checking_an_open_fence_is_cheap_enough_for_every_write() -> None:
    fence = Fence("ns/name")
    fence.open_until(lease.boot_clock() + 3600)
    started = time.thread_time()
    for _ in range(10_000):
        fence.check()
    assert (time.thread_time() - started) / 10_000 < 10e-6


def test_the_clock_counts_seconds_forward() -> None:
    first = lease.boot_clock()
    assert 0 <= lease.boot_clock() - first < 5


def test_a_lease_that_nobody_holds_is_vacant() -> None:
    for found in (None, Lease(), Lease(spec=LeaseSpec()), held("")):
        observation = Observation(15.0, Clock())
        observation.note(found)
        assert observation.is_vacant
        assert observation.holder == ""


def test_a_held_lease_is_vacant_when_it_has_not_changed_for_its_duration() -> None:
    clock = Clock()
    observation = Observation(99.0, clock)
    observation.note(held(seconds=15))
    clock.now += 14.9
    observation.note(held(seconds=15))
    assert not observation.is_vacant
    clock.now += 0.1
    assert observation.is_vacant


def test_each_renewal_starts_the_wait_again() -> None:
    clock = Clock()
    observation = Observation(15.0, clock)
    observation.note(held())
    clock.now += 14
    observation.note(held(renew="2026-08-01T10:00:14.000000Z"))
    clock.now += 14
    assert not observation.is_vacant


def test_a_change_beside_the_record_is_no_renewal() -> None:
    clock = Clock()
    observation = Observation(15.0, clock)
    observation.note(held())
    clock.now += 14
    observation.note(msgspec.structs.replace(held(), metadata=ObjectMeta(resource_version="8", labels={"a": "b"})))
    clock.now += 1
    assert observation.is_vacant


@pytest.mark.parametrize("renew", ["1970-01-01T00:00:00.000000Z", "2099-01-01T00:00:00.000000Z", "garbage", ""])
def test_the_times_of_another_clock_are_not_believed(renew: str) -> None:
    clock = Clock()
    observation = Observation(15.0, clock)
    observation.note(held(renew=renew))
    assert not observation.is_vacant
    clock.now += 15
    assert observation.is_vacant


@pytest.mark.parametrize("seconds", [None, 0, -5])
def test_a_record_without_a_usable_duration_counts_with_ours(seconds: int | None) -> None:
    clock = Clock()
    observation = Observation(15.0, clock)
    observation.note(held(seconds=seconds))
    clock.now += 14.9
    assert not observation.is_vacant
    clock.now += 0.1
    assert observation.is_vacant


def test_a_first_record_names_the_holder_and_no_transition() -> None:
    found = lease.created("ns", "name", "me", TERMS, NOW)
    assert (found.metadata.namespace, found.metadata.name) == ("ns", "name")
    assert found.spec == LeaseSpec(
        holder_identity="me", lease_duration_seconds=15, acquire_time=NOW, renew_time=NOW, lease_transitions=0
    )


def test_a_takeover_counts_a_transition_and_keeps_what_others_wrote() -> None:
    before = Lease(
        metadata=ObjectMeta(name="name", namespace="ns", labels={"keep": "me"}),
        spec=LeaseSpec(holder_identity="other", lease_transitions=3, preferred_holder="x"),
    )
    after = lease.acquired(before, "me", TERMS, NOW)
    assert after.metadata == before.metadata
    assert after.spec is not None
    assert after.spec.holder_identity == "me"
    assert after.spec.lease_transitions == 4
    assert after.spec.acquire_time == after.spec.renew_time == NOW
    assert after.spec.preferred_holder == "x"


@pytest.mark.parametrize("broken", [Lease(), Lease(spec=LeaseSpec(lease_transitions=-3)), Lease(spec=LeaseSpec())])
def test_a_broken_record_can_be_taken(broken: Lease) -> None:
    after = lease.acquired(broken, "me", TERMS, NOW)
    assert after.spec is not None
    assert after.spec.holder_identity == "me"
    assert after.spec.lease_transitions == 1
    assert after.spec.lease_duration_seconds == 15


def test_a_renewal_moves_only_the_renew_time() -> None:
    after = lease.renewed(held("me"), TERMS, "2026-08-01T10:00:02.000000Z")
    assert after == held("me", renew="2026-08-01T10:00:02.000000Z")


def test_a_released_record_has_an_empty_holder_and_the_shortest_duration() -> None:
    spec = lease.released(held("me"), NOW).spec
    assert spec is not None
    assert (spec.holder_identity, spec.lease_duration_seconds, spec.lease_transitions) == ("", 1, 3)


def test_an_empty_holder_is_written_and_not_left_out() -> None:
    text = msgspec.json.encode(lease.released(held("me"), NOW))
    assert b'"holderIdentity":""' in text


def test_times_are_utc_with_microseconds() -> None:
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", lease.wall_text())
    hours = int(lease.wall_text()[11:13])
    assert abs(hours - time.gmtime().tm_hour) in {0, 1, 23}


@pytest.mark.parametrize(
    "text",
    [
        b'{"metadata":{"name":"x"},"spec":{"holderIdentity":null,"renewTime":null,"leaseDurationSeconds":null}}',
        b'{"metadata":{"name":"x"},"spec":null}',
        b'{"metadata":{"name":"x"}}',
        b'{"metadata":{"name":"x","managedFields":[{"manager":"kubectl"}]},"spec":{"future":{"a":1}}}',
    ],
)
def test_null_and_unknown_fields_are_read(text: bytes) -> None:
    assert msgspec.json.decode(text, type=Lease).metadata.name == "x"


def test_metadata_of_others_survives_a_write() -> None:
    text = (
        b'{"metadata":{"name":"x","labels":{"a":"b"},"annotations":{"c":"d"},"finalizers":["f"],'
        b'"ownerReferences":[{"kind":"K","uid":"u"}]}}'
    )
    assert msgspec.json.encode(msgspec.json.decode(text, type=Lease)) == text
