"""Reading one's own writes."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from controllers.freshest import Freshest
from controllers.job.recent import KEPT_SECONDS, Recent
from generated.batch.v1alpha1 import Job
from generated.meta.v1 import ObjectMeta
from runtime.objects import key_of
from tests.unit.controllers.job.samples import a_group, a_pod

POD = a_pod("j-t-0")


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_created_pod_is_seen_until_the_cache_has_it() -> None:
    recent = Recent(Clock())
    recent.created("u", POD)
    assert recent.pods("u", {})[0] == {"j-t-0": POD}
    assert recent.pods("other", {})[0] == {}
    newer = a_pod("j-t-0", "Succeeded")
    assert recent.pods("u", {"j-t-0": newer})[0] == {"j-t-0": newer}
    assert recent.pods("u", {})[0] == {}


def test_a_created_pod_that_is_gone_before_it_was_seen_is_forgotten() -> None:
    recent = Recent(Clock())
    recent.created("u", POD)
    recent.gone("u", a_pod("j-t-1"))
    assert recent.pods("u", {})[0] == {"j-t-0": POD}
    recent.gone("u", POD)
    assert recent.pods("u", {})[0] == {}


def test_a_pod_that_no_watch_ever_shows_is_forgotten_after_a_while() -> None:
    clock = Clock()
    recent = Recent(clock)
    recent.created("u", POD)
    recent.deleted("u", "uid-x")
    clock.now += KEPT_SECONDS - 1
    assert recent.pods("u", {}) == ({"j-t-0": POD}, frozenset({"uid-x"}))
    assert recent.was_deleted("u", "uid-x")
    assert not recent.was_deleted("v", "uid-x")
    clock.now += 2
    assert recent.pods("u", {}) == ({}, frozenset())


def test_a_deletion_is_remembered_as_long_as_the_cache_shows_the_pod_and_a_while_longer() -> None:
    clock = Clock()
    recent = Recent(clock)
    recent.deleted("u", POD.metadata.uid)
    clock.now += KEPT_SECONDS * 2
    assert recent.pods("u", {"j-t-0": POD})[1] == {"uid-j-t-0"}
    recent.gone("u", POD)
    assert recent.pods("u", {})[1] == {"uid-j-t-0"}
    clock.now += KEPT_SECONDS + 1
    assert recent.pods("u", {})[1] == frozenset()
    recent.gone("u", POD)
    assert not recent.was_deleted("u", POD.metadata.uid)


def test_a_created_group_is_seen_until_the_cache_has_it() -> None:
    recent = Recent(Clock())
    made, seen = a_group(""), a_group("Inqueue")
    recent.created_group("u", made)
    assert recent.group("u", None) == made
    assert recent.group("u", seen) == seen
    assert recent.group("u", None) is None


def test_a_created_group_that_never_shows_is_believed_in_for_a_while() -> None:
    clock = Clock()
    recent = Recent(clock)
    recent.created_group("u", a_group(""))
    clock.now += KEPT_SECONDS + 1
    assert recent.group("u", None) is None


def test_a_dropped_group_counts_as_absent_and_its_successor_does_not() -> None:
    recent = Recent(Clock())
    old = a_group("Running")
    successor = msgspec.structs.replace(old, metadata=msgspec.structs.replace(old.metadata, uid="g2"))
    recent.dropping_group("u", "g")
    assert recent.group("u", old) is None
    recent.created_group("u", successor)
    assert recent.group("u", old) == successor
    recent.group_gone("u", "g")
    assert recent.group("u", None) == successor
    assert recent.group("u", successor) == successor


def test_a_group_that_is_being_deleted_counts_as_absent() -> None:
    old = a_group("Running")
    meta = msgspec.structs.replace(old.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
    assert Recent(Clock()).group("u", msgspec.structs.replace(old, metadata=meta)) is None


def test_a_job_that_is_gone_leaves_nothing() -> None:
    recent = Recent(Clock())
    recent.created("u", POD)
    recent.deleted("u", "x")
    recent.created_group("u", a_group())
    recent.forget("u")
    assert recent.pods("u", {}) == ({}, frozenset())
    assert recent.group("u", None) is None


def _job(version: str, uid: str = "u") -> Job:
    return Job(metadata=ObjectMeta(name="j", namespace="ns", uid=uid, resource_version=version))


@pytest.mark.parametrize(
    ("cached", "written", "newest"),
    [
        (_job("5"), None, _job("5")),
        (_job("5"), _job("6"), _job("6")),
        (_job("9"), _job("10"), _job("10")),
        (_job("6"), _job("6"), _job("6")),
        (_job("7"), _job("6"), _job("7")),
        (_job("5", "v"), _job("6"), _job("5", "v")),
    ],
)
def test_the_newest_state_counts(cached: Job, written: Job | None, newest: Job) -> None:
    fresh: Freshest[Job] = Freshest()
    if written is not None:
        fresh.note(written)
    assert fresh.of(cached) == newest


def test_a_write_that_the_cache_has_caught_up_with_is_let_go() -> None:
    fresh: Freshest[Job] = Freshest()
    fresh.note(_job("6"))
    assert len(fresh) == 1
    fresh.of(_job("6"))
    assert len(fresh) == 0
    fresh.note(_job("7"))
    fresh.forget(key_of(_job("7")))
    assert len(fresh) == 0


def test_a_pod_that_was_gone_before_its_creation_was_answered_is_not_believed_in() -> None:
    recent = Recent(Clock())
    recent.gone("u", POD)
    recent.created("u", POD)
    assert recent.pods("u", {})[0] == {}
    for number in range(2_000):
        recent.gone("u", replace(POD, metadata=replace(POD.metadata, uid=f"u{number}")))
    assert len(recent._gone) == 1_000
