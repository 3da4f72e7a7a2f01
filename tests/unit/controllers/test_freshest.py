"""What was written last counts until the cache has it."""

from __future__ import annotations

from controllers.freshest import Freshest
from generated.core.v1 import Pod
from generated.meta.v1 import ObjectMeta
from runtime.objects import Key


def pod(version: str, uid: str = "u") -> Pod:
    return Pod(metadata=ObjectMeta(name="p", namespace="ns", uid=uid, resource_version=version))


def test_the_newer_state_counts() -> None:
    fresh: Freshest[Pod] = Freshest()
    fresh.note(pod("9"))
    assert fresh.of(pod("8")) == pod("9")
    assert fresh.of(pod("10")) == pod("10")
    assert len(fresh) == 0


def test_a_write_to_another_one_of_that_name_never_counts() -> None:
    fresh: Freshest[Pod] = Freshest()
    fresh.note(pod("9", "old"))
    assert fresh.of(pod("8")) == pod("8")


def test_own_writes_are_known_as_such() -> None:
    fresh: Freshest[Pod] = Freshest()
    assert not fresh.is_written(pod("9"))
    fresh.note(pod("9"))
    assert fresh.is_written(pod("9"))
    assert not fresh.is_written(pod("10"))
    assert not fresh.is_written(pod("9", "other"))
    fresh.forget(Key("ns", "p"))
    assert not fresh.is_written(pod("9"))
