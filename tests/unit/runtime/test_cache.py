from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.cache import Cache
from runtime.errors import DecodeError
from runtime.event_reader import Broken, Deleted
from runtime.informer_metrics import OBJECTS, InformerMetrics
from runtime.lister import Indexer
from runtime.mutation import CacheMutated, MutationGuard
from runtime.objects import Key, key_of
from tests.unit.runtime.models import Pod, key, pod
from tests.unit.runtime.recorders import Recorder, Thrower


def broken(name: str, version: int, uid: str = "") -> Broken:
    return Broken(key(name), uid or f"{name}-uid", str(version), DecodeError(f"Pod ns/{name}: spec: wrong"))


def apply(cache: Cache[Pod], event: str, obj: Pod | Broken) -> None:
    """Give the cache what the reader makes of an event."""
    if event == "DELETED":
        where, uid = (obj.key, obj.uid) if isinstance(obj, Broken) else (key_of(obj), obj.metadata.uid)
        cache.delete(Deleted(where, uid, "999"))
    elif isinstance(obj, Broken):
        cache.leave_out(obj)
    else:
        cache.put(obj)


class World:
    """A cache and one handler at it."""

    def __init__(
        self,
        transform: Callable[[Pod], Pod | None] | None = None,
        indexers: dict[str, Indexer[Pod]] | None = None,
        on_unreadable: Callable[[Key, DecodeError], None] | None = None,
    ) -> None:
        self.cache: Cache[Pod] = Cache(
            "Pod",
            InformerMetrics.of("pods.cache-test"),
            transform=transform,
            indexers=indexers,
            guard=MutationGuard("Pod"),
            on_unreadable=on_unreadable,
        )
        self.recorder = Recorder()
        self.cache.handlers.add(self.recorder, ())

    def listed(self, *items: Pod | Broken, initial: bool = False) -> list[str]:
        if not initial:
            self.cache.synced.set()
        asyncio.run(self.cache.replace(items))
        return self.recorder.take()

    def event(self, event: str, obj: Pod | Broken) -> list[str]:
        apply(self.cache, event, obj)
        return self.recorder.take()

    @property
    def versions(self) -> dict[str, str]:
        return {each.metadata.name: each.metadata.resource_version for each in self.cache.store}


def test_events_of_a_life_are_told_in_order() -> None:
    world = World()
    assert world.event("ADDED", pod("a", 1)) == ["+a1"]
    assert world.event("MODIFIED", pod("a", 2)) == ["~a1>2"]
    assert world.event("DELETED", pod("a", 3)) == ["-a2"]
    assert len(world.cache.store) == 0


def test_the_number_of_objects_is_published_when_a_batch_or_a_list_is_over() -> None:
    world = World()
    gauge = OBJECTS.labels("pods.cache-test")._value
    before = gauge.get()
    world.event("ADDED", pod("a", 1))
    world.event("ADDED", pod("b", 1))
    world.event("MODIFIED", pod("b", 2))
    world.event("DELETED", pod("a", 2))
    assert gauge.get() == before
    world.cache.settle()
    assert gauge.get() == before + 1
    world.cache.settle()
    assert gauge.get() == before + 1
    world.listed(pod("c", 1), pod("d", 1), pod("e", 1))
    assert gauge.get() == before + 3


def test_the_first_list_is_initial_and_a_later_one_tells_the_difference() -> None:
    world = World()
    assert world.listed(pod("a", 1), pod("b", 2), pod("c", 3), initial=True) == ["!+a1", "!+b2", "!+c3"]
    assert world.listed(pod("b", 2), pod("c", 9), pod("d", 8)) == ["-a1", "~c3>9", "+d8"]
    assert world.versions == {"b": "2", "c": "9", "d": "8"}


def test_a_deletion_that_only_a_list_shows_is_told_once() -> None:
    world = World()
    world.listed(pod("a", 1))
    assert world.listed() == ["-a1"]
    assert world.listed() == []
    assert world.event("DELETED", pod("a", 2)) == []


def test_a_name_taken_again_is_a_deletion_and_an_addition() -> None:
    world = World()
    world.listed(pod("a", 1, uid="first"))
    assert world.listed(pod("a", 5, uid="second")) == ["-a1", "+a5"]
    assert world.event("MODIFIED", pod("a", 7, uid="third")) == ["-a5", "+a7"]


def test_the_deletion_of_a_former_namesake_is_no_news() -> None:
    world = World()
    world.listed(pod("a", 5, uid="second"))
    assert world.event("DELETED", pod("a", 4, uid="first")) == []
    assert world.versions == {"a": "5"}


def test_what_is_seen_again_is_not_told_again() -> None:
    world = World()
    world.event("ADDED", pod("a", 1))
    assert world.event("ADDED", pod("a", 1)) == []
    assert world.listed(pod("a", 1)) == []


def test_a_server_that_went_back_in_time_is_followed() -> None:
    world = World()
    world.listed(pod("a", 50))
    assert world.listed(pod("a", 20)) == ["~a50>20"]


def test_an_unreadable_object_is_reported_and_left_out(caplog: pytest.LogCaptureFixture) -> None:
    reports: list[str] = []
    world = World(on_unreadable=lambda where, error: reports.append(f"{where}: {error}"))
    with caplog.at_level(logging.ERROR):
        assert world.listed(pod("a", 1), broken("b", 2)) == ["+a1"]
    assert world.versions == {"a": "1"}
    assert list(world.cache.unreadable) == [key("b")]
    assert reports == ["ns/b: Pod ns/b: spec: wrong"]
    assert "object.unreadable kind=Pod object=ns/b cached=nothing error=Pod ns/b: spec: wrong" in caplog.text
    assert world.event("ADDED", broken("c", 3)) == []
    assert reports[1:] == ["ns/c: Pod ns/c: spec: wrong"]


def test_the_same_fault_is_reported_once_until_it_is_cured() -> None:
    reports: list[Key] = []
    world = World(on_unreadable=lambda where, _: reports.append(where))
    for version in (1, 2, 3):
        world.event("MODIFIED", broken("a", version))
    assert reports == [key("a")]
    world.event("MODIFIED", pod("a", 4))
    assert not world.cache.unreadable
    world.event("MODIFIED", broken("a", 5))
    assert reports == [key("a"), key("a")]


def test_an_object_that_becomes_unreadable_keeps_its_last_good_state_and_its_deletion() -> None:
    world = World()
    world.event("ADDED", pod("a", 1))
    assert world.event("MODIFIED", broken("a", 2)) == []
    assert world.listed(broken("a", 3)) == []
    assert world.versions == {"a": "1"}
    assert world.event("MODIFIED", pod("a", 4)) == ["~a1>4"]
    world.event("MODIFIED", broken("a", 5))
    assert world.event("DELETED", broken("a", 6)) == ["-a4"]
    assert not world.cache.unreadable


def test_an_unreadable_object_that_a_list_no_longer_shows_is_deleted() -> None:
    world = World()
    world.event("ADDED", pod("a", 1))
    world.event("MODIFIED", broken("a", 2))
    world.event("ADDED", broken("never-read", 3))
    assert world.listed() == ["-a1"]
    assert not world.cache.unreadable


def test_an_unreadable_namesake_ends_the_life_of_the_former_one() -> None:
    world = World()
    world.event("ADDED", pod("a", 1, uid="first"))
    assert world.listed(broken("a", 5, uid="second")) == ["-a1"]
    assert list(world.cache.unreadable) == [key("a")]


def test_a_reporter_that_throws_is_survived(caplog: pytest.LogCaptureFixture) -> None:
    def report(_key: Key, _error: DecodeError) -> None:
        raise RuntimeError("no reports today")

    world = World(on_unreadable=report)
    assert world.listed(broken("a", 1), pod("b", 2)) == ["+b2"]
    assert "no reports today" in caplog.text


def test_a_transform_slims_and_drops() -> None:
    def transform(obj: Pod) -> Pod | None:
        return None if obj.metadata.labels.get("drop") else pod(obj.metadata.name, obj.metadata.resource_version)

    world = World(transform)
    assert world.event("ADDED", pod("a", 1, big="x")) == ["+a1"]
    assert world.cache.store.get(key("a")) == pod("a", 1)
    assert world.event("ADDED", pod("b", 2, drop="yes")) == []
    assert world.event("MODIFIED", pod("a", 3, drop="yes")) == ["-a1"]
    assert world.event("MODIFIED", pod("a", 4, drop="yes")) == []
    assert world.event("DELETED", pod("a", 5, drop="yes")) == []
    assert world.event("MODIFIED", pod("b", 6)) == ["+b6"]
    assert world.listed(pod("b", 7, drop="yes")) == ["-b6"]


def test_a_transform_that_throws_spoils_one_object_only() -> None:
    def transform(obj: Pod) -> Pod:
        if obj.metadata.resource_version == "2":
            raise ZeroDivisionError("in the transform")
        return obj

    world = World(transform)
    assert world.listed(pod("a", 1), pod("b", 2)) == ["+a1"]
    assert "ZeroDivisionError: in the transform" in str(world.cache.unreadable[key("b")])
    assert world.event("MODIFIED", pod("b", 3)) == ["+b3"]


def test_an_indexer_that_throws_spoils_one_object_only() -> None:
    def index(obj: Pod) -> list[str]:
        return [obj.metadata.labels["app"]]

    world = World(indexers={"app": index})
    assert world.listed(pod("a", 1), pod("b", 2, app="x")) == ["+b2"]
    assert "KeyError" in str(world.cache.unreadable[key("a")])


def test_a_handler_that_throws_leaves_the_cache_right() -> None:
    world = World()
    world.cache.handlers.add(Thrower(), ())
    after = Recorder()
    world.cache.handlers.add(after, ())
    assert world.listed(pod("a", 1), pod("b", 1)) == ["+a1", "+b1"]
    assert after.heard == ["+a1", "+b1"]
    assert world.versions == {"a": "1", "b": "1"}


def test_a_resync_repeats_every_object() -> None:
    world = World()
    world.listed(pod("a", 1), pod("b", 2))
    asyncio.run(world.cache.resync())
    assert world.recorder.take() == ["~a1>1", "~b2>2"]


def test_a_long_list_lets_the_event_loop_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.cooperation.SLICE", 0.0)
    world = World()

    async def main() -> int:
        turns = 0

        async def tick() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        ticking = asyncio.ensure_future(tick())
        await world.cache.replace([pod(f"p{n}") for n in range(50)])
        ticking.cancel()
        return turns

    assert asyncio.run(main()) >= 45


def test_a_reader_that_changes_a_cached_object_is_found_at_its_next_event() -> None:
    world = World()
    world.event("ADDED", pod("a", 1))
    cached = world.cache.store.get(key("a"))
    assert cached is not None
    cached.metadata.labels["touched"] = "yes"
    with pytest.raises(CacheMutated):
        world.cache.check("a test")
    with pytest.raises(CacheMutated):
        world.event("MODIFIED", pod("a", 2))


def test_an_unwatched_cache_needs_no_guard() -> None:
    cache: Cache[Pod] = Cache("Pod", InformerMetrics.of("pods.cache-test"))
    for event, obj in (("ADDED", pod("a")), ("MODIFIED", pod("a", 2)), ("DELETED", pod("a", 2))):
        apply(cache, event, obj)
    cache.check("nobody")


NAMES = "abc"


class Server:
    """A tiny model of the server: objects that come, change, turn unreadable, go and come back under their name."""

    def __init__(self) -> None:
        self.version = 0
        self.objects: dict[str, Pod | Broken] = {}
        self.lives = 0

    def step(self, name: str, is_readable: bool, is_deleted: bool) -> tuple[str, Pod | Broken] | None:
        self.version += 1
        present = self.objects.get(name)
        if is_deleted:
            if present is None:
                return None
            del self.objects[name]
            return "DELETED", present
        if present is None:
            self.lives += 1
            uid = f"uid-{self.lives}"
        else:
            uid = present.uid if isinstance(present, Broken) else present.metadata.uid
        obj = pod(name, self.version, uid=uid) if is_readable else broken(name, self.version, uid)
        self.objects[name] = obj
        return ("ADDED" if present is None else "MODIFIED"), obj


STEPS = st.lists(
    st.tuples(st.sampled_from(NAMES), st.booleans(), st.booleans(), st.sampled_from(["watch", "miss", "list"])),
    max_size=40,
)


class Lives(Recorder):
    """Checks that what a handler hears is a possible story: no update of the unknown, one end for each beginning."""

    def __init__(self) -> None:
        super().__init__()
        self.alive: dict[str, Pod] = {}
        self.ended: list[str] = []

    def on_add(self, obj: Pod, initial: bool) -> None:
        assert obj.metadata.name not in self.alive
        self.alive[obj.metadata.name] = obj

    def on_update(self, old: Pod, new: Pod) -> None:
        assert self.alive[old.metadata.name] is old
        assert old.metadata.uid == new.metadata.uid
        self.alive[new.metadata.name] = new

    def on_delete(self, obj: Pod) -> None:
        assert self.alive.pop(obj.metadata.name) is obj
        assert obj.metadata.uid not in self.ended
        self.ended.append(obj.metadata.uid)


@given(STEPS)
def test_whatever_happens_handlers_hear_a_true_story(steps: list[tuple[str, bool, bool, str]]) -> None:
    world, server, lives = World(), Server(), Lives()
    world.cache.handlers.add(lives, ())
    is_behind = False
    for name, is_readable, is_deleted, delivery in steps:
        event = server.step(name, is_readable, is_deleted)
        if delivery == "list" or (is_behind and delivery == "watch"):
            world.listed(*server.objects.values())
            is_behind = False
        elif delivery == "miss":
            is_behind = True
        elif event is not None:
            world.event(*event)
    world.listed(*server.objects.values())
    check_against(server.objects.values(), world, lives)


def check_against(objects: Iterable[Pod | Broken], world: World, lives: Lives) -> None:
    readable = {key_of(obj): obj for obj in objects if isinstance(obj, Pod)}
    unreadable = {obj.key: obj for obj in objects if isinstance(obj, Broken)}
    assert set(world.cache.unreadable) == set(unreadable)
    stored = {key_of(obj): obj for obj in world.cache.store}
    assert {where: stored.get(where) for where in readable} == readable
    for where, obj in stored.items():
        if where not in readable:  # a last good state: of the same life
            assert obj.metadata.uid == unreadable[where].uid
    assert {key_of(obj): obj for obj in lives.alive.values()} == stored
