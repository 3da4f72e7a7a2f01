from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from runtime.errors import DecodeError
from runtime.informer import Informer
from runtime.informer_metrics import OBJECTS
from runtime.interning import InterningDecoder
from runtime.mutation import ENVIRONMENT, CacheMutated
from runtime.objects import Key
from tests.unit.runtime.models import PODS, Container, Pod, PodSpec, key, line, pod
from tests.unit.runtime.recorders import Recorder, Thrower
from tests.unit.runtime.scripted import HANG, Listing, ScriptedClient, failure

pytestmark = pytest.mark.virtual_time


def informer(client: ScriptedClient, **options: Any) -> Informer[Pod]:
    return Informer(client.as_client(), PODS, **options)


@asynccontextmanager
async def running(subject: Informer[Pod]) -> AsyncIterator[None]:
    task = asyncio.ensure_future(subject.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_it_has_synced_when_every_handler_has_seen_the_first_list() -> None:
    client = ScriptedClient([Listing([pod("a"), pod("b")])])
    subject = informer(client)
    seen_while_unsynced: list[bool] = []
    recorder = Recorder(lambda: seen_while_unsynced.append(subject.has_synced))
    place = subject.add_handler(recorder)
    assert (subject.has_synced, place.has_synced) == (False, False)
    async with running(subject):
        await place.wait_synced()
        assert recorder.heard == ["!+a1", "!+b1"]
        assert seen_while_unsynced == [False, False]
        assert (subject.has_synced, place.has_synced) == (True, True)


async def test_it_has_not_synced_while_lists_fail() -> None:
    client = ScriptedClient([failure(500), failure(403), Listing([])])
    subject = informer(client)
    async with running(subject):
        await asyncio.sleep(0.1)
        assert not subject.has_synced
        await subject.wait_synced()
    assert len(client.times("list")) == 3


async def test_an_empty_kind_syncs() -> None:
    subject = informer(ScriptedClient([Listing([])]))
    async with running(subject):
        await subject.wait_synced()
    assert len(subject.lister) == 0


async def test_a_late_handler_gets_what_is_there_and_then_the_changes() -> None:
    client = ScriptedClient([Listing([pod("a")])], [[5, line("MODIFIED", pod("a", 2)), HANG]])
    subject = informer(client)
    async with running(subject):
        await subject.wait_synced()
        late = Recorder()
        place = subject.add_handler(late)
        assert late.heard == ["!+a1"]
        assert place.has_synced
        await asyncio.sleep(6)
        assert late.take() == ["!+a1", "~a1>2"]


async def test_a_handler_added_in_the_middle_of_the_first_list_gets_all_of_it_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("runtime.cooperation.SLICE", 0.0)
    subject = informer(ScriptedClient([Listing([pod(f"p{n}") for n in range(9)])]))
    late = Recorder()
    async with running(subject):
        while not len(subject.lister) >= 4:
            await asyncio.sleep(0)
        assert not subject.has_synced
        place = subject.add_handler(late)
        await place.wait_synced()
    assert late.heard == [f"!+p{n}1" for n in range(9)]


async def test_a_removed_handler_hears_no_more() -> None:
    client = ScriptedClient([Listing([pod("a")])], [[5, line("MODIFIED", pod("a", 2)), HANG]])
    subject = informer(client)
    recorder = Recorder()
    place = subject.add_handler(recorder)
    async with running(subject):
        await subject.wait_synced()
        place.remove()
        await asyncio.sleep(6)
    assert recorder.heard == ["!+a1"]


async def test_objects_of_later_lists_are_not_initial() -> None:
    client = ScriptedClient([Listing([pod("a")], "7"), Listing([pod("b")], "9")], [failure(410)])
    subject = informer(client)
    recorder = Recorder()
    subject.add_handler(recorder)
    async with running(subject):
        await asyncio.sleep(60)
    assert recorder.heard == ["!+a1", "-a1", "+b1"]


async def test_a_handler_that_throws_stops_neither_others_nor_the_informer() -> None:
    client = ScriptedClient([Listing([pod("a")])], [[line("DELETED", pod("a", 2)), HANG]])
    subject = informer(client)
    after = Recorder()
    subject.add_handler(Thrower())
    subject.add_handler(after)
    async with running(subject):
        await asyncio.sleep(5)
        assert client.open_watches == 1
    assert after.heard == ["!+a1", "-a1"]


async def test_decoder_transform_and_indexes_are_applied() -> None:
    texts = [
        Pod(metadata=pod(name).metadata, spec=PodSpec(node_name="n1", containers=(Container(name="c"),)))
        for name in "ab"
    ]
    subject = informer(
        ScriptedClient([Listing([*texts, pod("dropped", app="x")])]),
        decoder=InterningDecoder(Pod, intern=("spec.containers",)),
        transform=lambda obj: None if obj.metadata.labels else obj,
        indexers={"node": lambda obj: [obj.spec.node_name]},
    )
    subject.add_indexers({"name": lambda obj: [obj.metadata.name]})
    async with running(subject):
        await subject.wait_synced()
    first, second = subject.lister.by_index("node", "n1")
    assert first.spec.containers is second.spec.containers
    assert subject.lister.by_index("name", "b") == [second]
    assert subject.lister.get(key("dropped")) is None


async def test_unreadable_objects_are_reported_and_known() -> None:
    reports: list[tuple[Key, str]] = []
    bad = b'{"metadata":{"name":"bad","namespace":"ns"},"spec":{"priority":"high"}}'
    subject = informer(
        ScriptedClient([Listing([bad, pod("a")])]),
        on_unreadable=lambda where, error: reports.append((where, str(error))),
    )
    async with running(subject):
        await subject.wait_synced()
    assert [where for where, _ in reports] == [key("bad")]
    assert "spec.priority" in reports[0][1]
    assert isinstance(subject.unreadable[key("bad")], DecodeError)
    assert subject.lister.keys() == [key("a")]


async def test_a_resync_repeats_the_objects_in_its_rhythm() -> None:
    subject = informer(ScriptedClient([Listing([pod("a")])]), resync=60.0)
    recorder = Recorder()
    subject.add_handler(recorder)
    async with running(subject):
        await asyncio.sleep(150)
    assert recorder.heard == ["!+a1", "~a1>1", "~a1>1"]


async def test_it_stops_cleanly_and_keeps_its_objects() -> None:
    client = ScriptedClient([Listing([pod("a")], "7")])
    subject = informer(client, resync=60.0)
    task = asyncio.ensure_future(subject.run())
    await subject.wait_synced()
    await asyncio.sleep(1)
    assert client.open_watches == 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert client.open_watches == 0
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert subject.lister.keys() == [key("a")]


async def test_it_can_run_again_and_goes_on_where_it_was() -> None:
    client = ScriptedClient([Listing([pod("a")], "7")])
    subject = informer(client)
    for _ in range(2):
        async with running(subject):
            await asyncio.sleep(1)
    assert len(client.times("list")) == 1
    assert client.arguments("watch", "resource_version") == ["7", "7"]
    assert subject.resource_version == "7"


async def test_it_does_not_run_twice_at_once() -> None:
    subject = informer(ScriptedClient([Listing([])]))
    async with running(subject):
        await subject.wait_synced()
        with pytest.raises(RuntimeError, match="informer of pods runs already"):
            await subject.run()


async def test_the_number_of_objects_is_published_while_it_runs() -> None:
    gauge = OBJECTS.labels("pods")._value
    before = gauge.get()
    client = ScriptedClient([Listing([pod("a"), pod("b")])], [[5, line("DELETED", pod("a", 2)), HANG]])
    subject = informer(client)
    async with running(subject):
        await subject.wait_synced()
        assert gauge.get() - before == 2
        await asyncio.sleep(6)
        assert gauge.get() - before == 1
    assert gauge.get() == before


async def test_a_changed_object_in_the_cache_ends_the_informer_in_the_test_mode(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(ENVIRONMENT, "1")
    client = ScriptedClient([Listing([pod("a")])], [[5, line("MODIFIED", pod("a", 2)), HANG]])
    subject = informer(client)
    task = asyncio.ensure_future(subject.run())
    await subject.wait_synced()
    subject.check_cache("nobody")
    cached = subject.lister.get(key("a"))
    assert cached is not None
    cached.metadata.labels["touched"] = "yes"
    with pytest.raises(CacheMutated, match="by the test"):
        subject.check_cache("the test")
    with pytest.raises(CacheMutated):
        await task


async def test_without_the_test_mode_nothing_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENVIRONMENT, "0")
    subject = informer(ScriptedClient([Listing([pod("a")])]))
    async with running(subject):
        await subject.wait_synced()
        for cached in subject.lister:
            cached.metadata.labels["touched"] = "yes"
        subject.check_cache("nobody")
