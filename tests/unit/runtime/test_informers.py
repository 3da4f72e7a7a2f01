from __future__ import annotations

import asyncio

import pytest

from runtime.informers import Informers
from runtime.interning import InterningDecoder
from runtime.mutation import CacheMutated
from runtime.resource import Resource
from tests.unit.runtime.models import PODS, Pod, line, pod
from tests.unit.runtime.scripted import HANG, Listing, ScriptedClient, failure

pytestmark = pytest.mark.virtual_time

NODES: Resource[Pod] = Resource("", "v1", "Node", "nodes", Pod, namespaced=False)


def by_node(obj: Pod) -> list[str]:
    return [obj.spec.node_name]


def by_name(obj: Pod) -> list[str]:
    return [obj.metadata.name]


async def test_one_kind_and_selection_is_one_informer() -> None:
    informers = Informers(ScriptedClient().as_client())
    assert informers.of(PODS) is informers.of(PODS)
    assert informers.of(PODS, namespace="ns") is informers.of(PODS, namespace="ns")
    distinct = {
        id(informers.of(PODS)),
        id(informers.of(PODS, namespace="ns")),
        id(informers.of(PODS, label_selector="a=b")),
        id(informers.of(PODS, field_selector="spec.nodeName=n")),
        id(informers.of(NODES)),
    }
    assert len(distinct) == len(list(informers)) == 5


async def test_indexes_of_all_who_ask_add_up() -> None:
    informers = Informers(ScriptedClient().as_client())
    informers.of(PODS, indexers={"node": by_node})
    shared = informers.of(PODS, indexers={"name": by_name, "node": by_node})
    assert shared.lister.by_index("node", "n") == shared.lister.by_index("name", "a") == []
    with pytest.raises(ValueError, match="declared twice"):
        informers.of(PODS, indexers={"node": by_name})


async def test_the_same_objects_in_two_forms_are_refused() -> None:
    informers = Informers(ScriptedClient().as_client())
    decoder = InterningDecoder(Pod, intern=("spec.containers",))
    shared = informers.of(PODS, decoder=decoder)
    assert informers.of(PODS, decoder=decoder) is shared
    with pytest.raises(ValueError, match="pods is shared already"):
        informers.of(PODS)
    with pytest.raises(ValueError, match="pods is shared already"):
        informers.of(PODS, decoder=decoder, transform=lambda obj: obj)


async def test_all_run_and_sync_together_and_stop_together() -> None:
    client = ScriptedClient([Listing([pod("a")]), Listing([pod("n")])])
    informers = Informers(client.as_client())
    pods, nodes = informers.of(PODS), informers.of(NODES)
    task = asyncio.ensure_future(informers.run())
    assert not informers.has_synced
    await informers.wait_synced()
    assert (len(pods.lister), len(nodes.lister)) == (1, 1)
    await asyncio.sleep(1)
    assert client.open_watches == 2
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert client.open_watches == 0


async def test_an_informer_asked_for_later_starts_at_once() -> None:
    client = ScriptedClient([Listing([]), Listing([pod("n")])])
    informers = Informers(client.as_client())
    informers.of(PODS)
    task = asyncio.ensure_future(informers.run())
    await informers.wait_synced()
    nodes = informers.of(NODES)
    assert not informers.has_synced
    await informers.wait_synced()
    assert len(nodes.lister) == 1
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    informers.of(NODES, namespace="later still")  # not started: nothing runs any more
    assert client.open_watches == 0


async def test_waiting_includes_what_is_asked_for_meanwhile() -> None:
    client = ScriptedClient([failure(500), Listing([]), Listing([])])
    informers = Informers(client.as_client())
    informers.of(PODS)
    task = asyncio.ensure_future(informers.run())
    waiting = asyncio.ensure_future(informers.wait_synced())
    await asyncio.sleep(0.01)
    nodes = informers.of(NODES)
    await waiting
    assert nodes.has_synced
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_one_that_fails_takes_the_others_with_it() -> None:
    client = ScriptedClient([Listing([pod("a")]), Listing([])], [[5, line("DELETED", pod("a", 2)), HANG], [HANG]])
    informers = Informers(client.as_client())
    pods = informers.of(PODS)
    informers.of(NODES)
    task = asyncio.ensure_future(informers.run())
    await informers.wait_synced()
    for cached in pods.lister:
        cached.metadata.labels["touched"] = "yes"
    with pytest.raises(ExceptionGroup) as caught:
        await task
    assert caught.group_contains(CacheMutated)
    assert client.open_watches == 0
