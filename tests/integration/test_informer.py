from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from api.poddecoding import pod_decoder
from benchmarks.informer_soak import Soak, Story
from cluster import ControlPlane
from generated.core.v1 import CONFIG_MAPS, PODS, ConfigMap, Pod
from runtime.client import Client
from runtime.controller import DONE, Controller, Result, Watch
from runtime.errors import DecodeError
from runtime.informer import Informer
from runtime.informers import Informers
from runtime.kubeconfig import load
from runtime.model import Model
from runtime.objects import Key, key_of
from runtime.patches import MergePatch
from runtime.transport import Transport
from tests.unit.runtime.models import Meta


@pytest.fixture
async def client(kubeconfig: Path) -> AsyncIterator[Client]:
    async with Transport(load(str(kubeconfig))) as transport:
        yield Client(transport)


@asynccontextmanager
async def running(*parts: Any) -> AsyncIterator[None]:
    tasks = [asyncio.ensure_future(part.run()) for part in parts]
    try:
        yield
        assert not [task for task in tasks if task.done()]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # the world outside gives no signal
            await asyncio.sleep(0.02)


def config_map(name: str, data: dict[str, str] | None = None, **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": labels}, "data": data or {}}


async def create(client: Client, namespace: str, *objects: dict[str, Any]) -> None:
    await asyncio.gather(*(client.create(CONFIG_MAPS, obj, namespace) for obj in objects))


def mine(informer: Informer[Any]) -> set[str]:
    """Names in the cache, without the one that each namespace gets."""
    return {key.name for key in informer.lister.keys()} - {"kube-root-ca.crt"}  # noqa: SIM118  # a store iterates over objects


async def test_a_list_of_several_pages_and_the_changes_after_it_are_in_the_cache(
    client: Client, namespace: str
) -> None:
    await create(client, namespace, *(config_map(f"c{n}") for n in range(25)))
    informer = Informer(client, CONFIG_MAPS, namespace=namespace, page_size=10)
    story = Story("config maps")
    place = informer.add_handler(story)
    async with running(informer):
        await place.wait_synced()
        assert mine(informer) == {f"c{n}" for n in range(25)}
        assert set(story.alive) == set(informer.lister.keys())
        await client.patch(CONFIG_MAPS, "c1", namespace, MergePatch({"data": {"k": "v"}}))
        await client.delete(CONFIG_MAPS, "c2", namespace)
        await create(client, namespace, config_map("new"))
        await until(lambda: "new" in mine(informer) and "c2" not in mine(informer))
        await until(lambda: get(informer, namespace, "c1").data == {"k": "v"})
        assert story.faults == []
        assert story.ended.total() == 1


def get(informer: Informer[ConfigMap], namespace: str, name: str) -> ConfigMap:
    found = informer.lister.get(Key(namespace, name))
    assert found is not None
    return found


async def test_selectors_decide_what_is_followed(client: Client, namespace: str) -> None:
    await create(client, namespace, config_map("a", colour="red"), config_map("b", colour="green"))
    red = Informer(client, CONFIG_MAPS, namespace=namespace, label_selector="colour in (red)")
    named = Informer(client, CONFIG_MAPS, namespace=namespace, field_selector="metadata.name=b")
    story = Story("red")
    red.add_handler(story)
    async with running(red, named):
        await asyncio.gather(red.wait_synced(), named.wait_synced())
        assert (mine(red), mine(named)) == ({"a"}, {"b"})
        for name, colour in (("a", "green"), ("b", "red")):
            await client.patch(CONFIG_MAPS, name, namespace, MergePatch({"metadata": {"labels": {"colour": colour}}}))
        await until(lambda: mine(red) == {"b"})
        assert (story.begun.total(), story.ended.total(), story.faults) == (2, 1, [])


class Counted(Model, kw_only=True):
    """A config map whose labels must all have a meaning that they don't have."""

    metadata: Meta = Meta()
    immutable: int = 0


async def test_an_unreadable_object_is_reported_and_left_out(client: Client, namespace: str) -> None:
    await create(client, namespace, config_map("good"), {**config_map("bad"), "immutable": True})
    reports: list[tuple[Key, DecodeError]] = []
    informer = Informer(
        client,
        CONFIG_MAPS.with_model(Counted),
        namespace=namespace,
        on_unreadable=lambda key, error: reports.append((key, error)),
    )
    async with running(informer):
        await informer.wait_synced()
        assert mine(informer) == {"good"}
        assert [key.name for key, _ in reports] == ["bad"]
        assert "ConfigMap" in str(reports[0][1])
        assert "immutable" in str(reports[0][1])
        await create(client, namespace, {**config_map("worse"), "immutable": True}, config_map("better"))
        await until(lambda: mine(informer) == {"good", "better"} and len(reports) == 2)
        await client.delete(CONFIG_MAPS, "bad", namespace)
        await until(lambda: set(informer.unreadable) == {Key(namespace, "worse")})


async def test_an_object_that_becomes_unreadable_keeps_its_last_good_state_until_it_goes(
    client: Client, namespace: str
) -> None:
    await create(client, namespace, config_map("a", {"k": "v"}))
    informer = Informer(client, CONFIG_MAPS.with_model(Counted), namespace=namespace)
    story = Story("counted")
    informer.add_handler(story)
    async with running(informer):
        await informer.wait_synced()
        await client.patch(CONFIG_MAPS, "a", namespace, MergePatch({"immutable": True}))
        await until(lambda: Key(namespace, "a") in informer.unreadable)
        assert mine(informer) == {"a"}
        await client.delete(CONFIG_MAPS, "a", namespace)
        await until(lambda: mine(informer) == set())
        assert not informer.unreadable
        assert (story.ended.total(), story.faults) == (1, [])


async def test_lines_of_more_than_a_megabyte_come_through(
    client: Client, namespace: str, control_plane: ControlPlane
) -> None:
    big = config_map("big", {"text": "\n" * 800_000})  # two bytes each in JSON
    informer = Informer(client, CONFIG_MAPS, namespace=namespace)
    async with running(informer):
        await informer.wait_synced()
        await asyncio.to_thread(control_plane.api.create, CONFIG_MAPS.path(namespace), big)
        await create(client, namespace, config_map("after"))
        await until(lambda: mine(informer) == {"big", "after"})
        assert len(get(informer, namespace, "big").data["text"]) == 800_000
    again = Informer(client, CONFIG_MAPS, namespace=namespace)
    async with running(again):
        await again.wait_synced()
        assert mine(again) == {"big", "after"}


async def test_pods_are_interned_and_equal_to_plainly_decoded_ones(client: Client, namespace: str) -> None:
    template = {
        "containers": [{"name": "c", "image": "i", "env": [{"name": "A", "value": "1"}]}],
        "schedulerName": "nobody",
    }
    for name in ("p1", "p2"):
        await client.create(PODS, {"metadata": {"name": name}, "spec": template}, namespace)
    plain, interned = (
        Informer(client, PODS, namespace=namespace),
        Informer(client, PODS, namespace=namespace, decoder=pod_decoder()),
    )
    async with running(plain, interned):
        await asyncio.gather(plain.wait_synced(), interned.wait_synced())
        first, second = interned.lister.list()
        assert first.spec.containers is second.spec.containers
        for pod in (first, second):
            assert without_tokens(plain.lister.get(key_of(pod))) == without_tokens(pod)


def without_tokens(pod: Pod | None) -> Any:
    """What must be equal although one decoder renames the token volume and leaves out what nobody reads."""
    assert pod is not None
    spec, container = pod.spec, pod.spec.containers[0]
    return pod.metadata, spec.scheduler_name, spec.tolerations, container.env, container.image, len(spec.volumes)


async def test_a_bookmark_moves_an_idle_informer_on(client: Client, namespace: str) -> None:
    idle = Informer(client, CONFIG_MAPS, namespace=namespace, label_selector="nobody=here", watch_seconds=(3, 3))
    async with running(idle):
        await idle.wait_synced()
        before = int(idle.resource_version)
        await create(client, namespace, *(config_map(f"c{n}") for n in range(5)))
        await until(lambda: int(idle.resource_version or 0) > before)  # the server ends a watch with a bookmark
        assert len(idle.lister) == 0


def is_stamped(obj: ConfigMap) -> bool:
    return "stamped" in obj.metadata.labels


async def test_informers_share_one_cache_and_a_controller_acts_on_it(client: Client, namespace: str) -> None:
    informers = Informers(client)
    shared = informers.of(CONFIG_MAPS, namespace=namespace)
    assert informers.of(CONFIG_MAPS, namespace=namespace) is shared

    async def stamp(key: Key) -> Result:
        found = shared.lister.get(key)
        if found is not None and "stamped" not in found.metadata.labels:
            await client.patch(
                CONFIG_MAPS, key.name, key.namespace, MergePatch({"metadata": {"labels": {"stamped": "y"}}})
            )
        return DONE

    await create(client, namespace, config_map("before"))
    controller = Controller("stamper", stamp, watches=[Watch(shared, lambda obj: [key_of(obj)])])
    async with running(informers, controller):
        await create(client, namespace, config_map("after"))
        await until(lambda: {n for n in mine(shared) if is_stamped(get(shared, namespace, n))} == {"before", "after"})


async def test_a_restart_of_the_api_server_loses_nothing(
    client: Client, namespace: str, control_plane: ControlPlane
) -> None:
    await create(client, namespace, config_map("before"))
    informer = Informer(client, CONFIG_MAPS, namespace=namespace)
    story = Story("across a restart")
    informer.add_handler(story)
    async with running(informer):
        await informer.wait_synced()
        await asyncio.to_thread(control_plane.kill_apiserver)
        await asyncio.to_thread(control_plane.start_apiserver)
        await create(client, namespace, config_map("after"))
        await client.delete(CONFIG_MAPS, "before", namespace)
        await until(lambda: mine(informer) == {"after"}, seconds=60)
        assert (story.ended.total(), story.faults) == (1, [])


async def test_under_fire_every_cache_equals_the_server_at_the_end(control_plane: ControlPlane, namespace: str) -> None:
    run: Awaitable[Any] = Soak(control_plane, namespace, seed=20260801, rate=100).run(12.0, restart_every=30.0)
    report = await run
    assert not report.faults, report
    assert report.restarts >= 1
    assert report.expired >= 1, report
    assert report.heard["deleted"] > 0
