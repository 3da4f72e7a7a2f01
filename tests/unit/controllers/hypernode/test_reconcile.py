"""Following the configuration: which sources run, what they write, and what users hear."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from controllers.hypernode import ufm as fabric_manager
from controllers.hypernode.fabric import Port
from controllers.hypernode.requests import CountAll, CountOne, Discover, OnConfigMap, OnHyperNode, OnNode, Reload, Work
from runtime.controller import DONE, again_after
from runtime.queue import WorkQueue
from tests.unit.controllers.hypernode.samples import LABELS, World, config, hypernode, node, raw_config, ufm

PORTS = [Port("Computer", "l1", "n1"), Port("Computer", "l2", "n2")]


@pytest.fixture
def fabric(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[Port] | Exception]:
    """What the fabric manager says, one answer after the other; the last one stays."""
    script: list[Sequence[Port] | Exception] = [PORTS]

    async def ports(*_: Any) -> Sequence[Port]:
        found = script.pop(0) if len(script) > 1 else script[0]
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr(fabric_manager, "ports", ports)
    return script


async def reload(world: World, *entries: Any) -> list[Work]:
    world.asked.clear()
    world.configure(config(*entries))
    await world.reconciler.reconcile(Reload())
    return list(world.asked)


async def test_enabled_sources_are_started_and_only_changed_ones_again() -> None:
    world = World()
    assert await reload(world, LABELS, ufm()) == [Discover("label"), Discover("ufm")]
    assert await reload(world, LABELS, ufm()) == []
    assert await reload(world, LABELS, ufm(interval="5m")) == [Discover("ufm")]
    assert await reload(world, LABELS) == []
    assert await reload(world, LABELS, ufm()) == [Discover("ufm")]


async def test_a_source_that_was_stopped_looks_no_more_and_its_hypernodes_stay(fabric: list[Any]) -> None:
    world = World(hypernode("leaf-hn-9", 1, "gone", source="ufm"))
    await reload(world, ufm())
    await reload(world)
    assert await world.reconciler.reconcile(Discover("ufm")) == DONE
    assert world.written == []


async def test_without_config_map_everything_stops() -> None:
    world = World(node("n", rack="a"))
    await reload(world, LABELS)
    world.configs.remove(next(iter(world.configs.keys())))  # type: ignore[attr-defined]  # a store
    await world.reconciler.reconcile(Reload())
    assert (world.reconciler.watched, await world.reconciler.reconcile(Discover("label"))) == (frozenset(), DONE)
    assert world.written == []


async def test_nodes_with_labels_become_hypernodes() -> None:
    world = World(node("n1", rack="a", row="x"))
    await reload(world, LABELS)
    assert world.reconciler.watched == {"rack", "row"}
    assert await world.reconciler.reconcile(Discover("label")) == DONE
    first, second = world.fakes.writes
    assert (first.body["spec"]["tier"], second.body["spec"]["tier"]) == (1, 2)
    assert first.name.startswith("hypernode-net-tier1-")


async def test_a_fabric_is_asked_again_after_its_interval(fabric: list[Any]) -> None:
    world = World()
    await reload(world, ufm())
    assert await world.reconciler.reconcile(Discover("ufm")) == again_after(600)
    assert world.written == ["create leaf-hn-0", "create leaf-hn-1", "create spine-hn"]


async def test_an_empty_fabric_deletes_what_it_made(fabric: list[Any]) -> None:
    fabric[:] = [[]]
    world = World(hypernode("leaf-hn-0", 1, "n", source="ufm"), hypernode("mine", 1, "n"))
    await reload(world, ufm())
    await world.reconciler.reconcile(Discover("ufm"))
    assert world.written == ["delete leaf-hn-0"]


async def test_a_fabric_that_gives_no_answer_is_asked_sooner_and_told_of_once(fabric: list[Any]) -> None:
    fabric[:] = [fabric_manager.UfmError("no route"), fabric_manager.UfmError("no route"), PORTS]
    world = World(hypernode("leaf-hn-0", 1, "n", source="ufm"))
    await reload(world, ufm())
    looks = [await world.reconciler.reconcile(Discover("ufm")) for _ in range(2)]
    assert looks == [again_after(30), again_after(60)]
    assert world.written == []
    words = ("Warning", "volcano-controller-configmap", "DiscoveryFailed", "network topology source ufm: no route")
    assert world.events.seen == [words]
    assert await world.reconciler.reconcile(Discover("ufm")) == again_after(600)


async def test_tries_after_a_failure_are_never_rarer_than_the_interval(fabric: list[Any]) -> None:
    fabric[:] = [fabric_manager.UfmError("no route")]
    world = World()
    await reload(world, ufm())
    for _ in range(40):
        result = await world.reconciler.reconcile(Discover("ufm"))
    assert result == again_after(600)


async def test_an_answer_for_settings_that_changed_meanwhile_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, release = asyncio.Event(), asyncio.Event()

    async def ports(*_: Any) -> Sequence[Port]:
        asked.set()
        await release.wait()
        return PORTS

    monkeypatch.setattr(fabric_manager, "ports", ports)
    world = World()
    await reload(world, ufm())
    look = asyncio.create_task(world.reconciler.reconcile(Discover("ufm")))
    await asked.wait()
    assert await reload(world, ufm("http://other.invalid")) == [Discover("ufm")]
    release.set()
    assert await look == DONE
    assert world.written == []


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"source": "roce", "enabled": True}, "network topology source roce: unsupported discoverer type: roce"),
        (ufm(interval="soon"), "network topology source ufm: failed to parse config: "),
        ({**LABELS, "config": {"networkTopologyTypes": 5}}, "network topology source label: failed to parse config"),
    ],
)
async def test_a_bad_source_is_told_and_the_others_run(entry: dict[str, Any], message: str) -> None:
    world = World()
    others: list[dict[str, Any]] = [each for each in (LABELS, ufm()) if each["source"] != entry["source"]]
    assert await reload(world, entry, *others) == [Discover(each["source"]) for each in others]
    ((kind, _, reason, text),) = world.events.seen
    assert (kind, reason, text.startswith(message)) == ("Warning", "InvalidConfiguration", True)


async def test_a_source_whose_entry_became_unreadable_goes_on_as_before(fabric: list[Any]) -> None:
    world = World()
    await reload(world, ufm())
    assert await reload(world, ufm(interval="soon")) == []
    assert await world.reconciler.reconcile(Discover("ufm")) == again_after(600)


async def test_a_document_that_can_not_be_read_changes_nothing_and_is_told_once(fabric: list[Any]) -> None:
    world = World()
    await reload(world, ufm())
    for _ in range(2):
        world.configure(raw_config({}))
        assert await world.reconciler.reconcile(Reload()) == DONE
    assert [text for *_, text in world.events.seen] == ["config key not found in ConfigMap: volcano-controller.conf"]
    assert await world.reconciler.reconcile(Discover("ufm")) == again_after(600)


async def test_counting_all_asks_for_those_that_differ() -> None:
    world = World(hypernode("a", 1, "n1"), hypernode("b", 1, "n1", count=1))
    await world.reconciler.reconcile(CountAll())
    assert world.asked == [CountOne("a")]
    await world.reconciler.reconcile(CountOne("a"))
    assert world.written == ["patch a"]


async def test_settled_is_quiet(fabric: list[Any]) -> None:
    first = World(node("n1", rack="a"))
    await reload(first, LABELS, ufm())
    existing = [
        hypernode("hypernode-net-tier1-x", 1, "n1", source="label", tier_name="rack", rack="a", count=1),
        hypernode("leaf-hn-0", 1, "n1", source="ufm", count=1),
        hypernode("leaf-hn-1", 1, "n2", source="ufm", count=1),
        hypernode("spine-hn", 2, "leaf-hn-0", "leaf-hn-1", source="ufm", count=2),
    ]
    world = World(node("n1", rack="a"), *existing)
    await reload(world, LABELS, ufm())
    world.asked.clear()
    counts = [CountOne(each.metadata.name) for each in existing]
    everything: list[Work] = [Discover("label"), Discover("ufm"), CountAll(), *counts]
    for work in everything:
        await world.reconciler.reconcile(work)
    assert (world.fakes.writes, world.lists, world.asked, world.events.seen) == ([], 0, [], [])


class Woken:
    """A queue, and what waits in it with its pause in seconds."""

    def __init__(self) -> None:
        self.queue: WorkQueue[Work] = WorkQueue("test")

    @property
    def waiting(self) -> list[tuple[Work, float]]:
        now = self.queue._now()
        keys = [*self.queue._urgent, *self.queue._patient]
        return [
            *((key, 0.0) for key in keys),
            *((key, round(due - now, 3)) for key, (due, *_) in self.queue._due.items()),
        ]


@pytest.mark.virtual_time
async def test_changes_of_the_configuration_wake_a_reload() -> None:
    woken = Woken()
    handler = OnConfigMap(woken.queue)
    handler.on_update(config(LABELS), config(LABELS))
    assert woken.waiting == []
    handler.on_update(config(LABELS), config())
    assert woken.waiting == [(Reload(), 0.0)]
    woken.queue._urgent.clear()
    handler.on_add(config(), initial=True)
    assert woken.waiting == [(Reload(), 0.0)]
    woken.queue._urgent.clear()
    handler.on_delete(config())
    assert woken.waiting == [(Reload(), 0.0)]


@pytest.mark.virtual_time
async def test_hypernodes_wake_counts() -> None:
    woken = Woken()
    handler = OnHyperNode(woken.queue)
    handler.on_add(hypernode("a", 1), initial=True)
    handler.on_add(hypernode("b", 1), initial=False)
    handler.on_update(hypernode("c", 1, team="x"), hypernode("c", 1))
    handler.on_update(hypernode("d", 1), hypernode("d", 1, "n"))
    handler.on_update(hypernode("e", 1, count=4), hypernode("e", 1))
    handler.on_delete(hypernode("f", 1))
    assert woken.waiting == [
        (CountOne("b"), 0.0),
        (CountOne("d"), 0.0),
        (CountOne("e"), 0.0),
        (CountAll(), 0.0),
        (Discover("label"), 1.0),
    ]


BOTH = [(Discover("label"), 1.0), (CountAll(), 1.0)]


@pytest.mark.virtual_time
@pytest.mark.parametrize(
    ("before", "after", "waiting"),
    [
        (None, node("n", rack="a"), BOTH),
        (None, node("n", other="a"), BOTH[1:]),
        (node("n", rack="a"), None, BOTH),
        (node("n", rack="a"), node("n", rack="b"), BOTH),
        (node("n", rack="a"), node("n"), BOTH),
        (node("n"), node("n", rack=""), BOTH),
        (node("n", rack="a"), node("n", rack="a", other="x"), BOTH[1:]),
        (node("n", rack="a"), node("n", rack="a"), []),
    ],
)
async def test_nodes_wake_what_looks_at_their_labels(before: Any, after: Any, waiting: list[Any]) -> None:
    woken = Woken()
    handler = OnNode(woken.queue, lambda: frozenset({"rack"}))
    handler.on_add(node("first", rack="a"), initial=True)
    if before is None:
        handler.on_add(after, initial=False)
    elif after is None:
        handler.on_delete(before)
    else:
        handler.on_update(before, after)
    assert woken.waiting == waiting
