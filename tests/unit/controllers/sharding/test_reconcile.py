"""From nodes to shards: what is written when, and which configuration counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from controllers.sharding.reconcile import ShardingReconciler
from controllers.sharding.requests import (
    Measure,
    OnConfigMap,
    OnNode,
    OnPod,
    OnShard,
    Shard,
    Sync,
    Work,
    is_usable,
)
from controllers.sharding.settings import Settings
from controllers.sharding.shards import Shards
from controllers.sharding.usage import Usage
from generated.core.v1 import ConfigMap, NodeCondition, NodeSpec
from generated.fakes.fakes import Fakes
from generated.meta.v1 import ObjectMeta
from generated.shard.v1alpha1 import NODE_SHARDS, NodeShard, NodeShardSpec, NodeShardStatus
from runtime.controller import DONE, GiveUp, again_after
from runtime.errors import NotFound, ServerError
from runtime.lister import Lister
from runtime.objects import Key
from runtime.queue import WorkQueue
from tests.unit.controllers.fakes import Events, status
from tests.unit.controllers.sharding.samples import FLAGS, config_map, document, node, pod

PLACE = Key("volcano-system", "volcano-sharding-configmap")
NOW = 1_777_636_800.0
TOLD = "2026-05-01T12:00:00Z"
ALL = {"cpuUtilizationMax": 1}


def shard(name: str, *desired: str, used: tuple[str, ...] = (), told: str | None = TOLD) -> NodeShard:
    return NodeShard(
        metadata=ObjectMeta(name=name, uid=f"uid-{name}", resource_version="5"),
        spec=NodeShardSpec(nodes_desired=desired),
        status=NodeShardStatus(nodes_in_use=used, last_update_time=told),
    )


class World:
    def __init__(self, *objects: Any, data: Mapping[str, str] | None = None, flags: Settings = FLAGS) -> None:
        self.fakes = Fakes(*objects)
        self.events = Events()
        self.asked: list[Work] = []
        self.now = NOW
        self.configs: Lister[ConfigMap] = Lister.filled([config_map(data)] if data is not None else [])
        self.shards: Lister[NodeShard] = self.fakes.shard_v1alpha1.node_shards.lister
        self.nodes = self.fakes.core_v1.nodes.lister
        self.usage = Usage(self.nodes, self.fakes.core_v1.pods)
        self.reconciler = ShardingReconciler(
            flags,
            PLACE,
            configs=self.configs,
            nodes=self.nodes,
            usage=self.usage,
            shards=Shards(self.fakes.clients, self.shards, lambda: self.now),
            events=self.events,
            ask=self.asked.append,
            clock=lambda: self.now,
        )

    def put(self, obj: Any, into: Lister[Any]) -> None:
        into.put(obj)  # type: ignore[attr-defined]  # a filled lister is a store

    async def sync(self) -> list[str]:
        """One sync and the writes that it asks for."""
        before = len(self.fakes.writes)
        self.asked.clear()
        self.result = await self.reconciler.reconcile(Sync())
        for work in tuple(self.asked):
            assert await self.reconciler.reconcile(work) == DONE
        return [
            f"{write.verb} {write.name}{' status' if write.subresource else ''}" for write in self.fakes.writes[before:]
        ]


async def test_missing_shards_are_created_and_their_status_is_written_as_such() -> None:
    world = World(node("n1"), node("n2"), data=document({"name": "a", **ALL, "maxNodes": 1}, {"name": "b", **ALL}))
    assert await world.sync() == ["create a", "patch a status", "create b", "patch b status"]
    assert world.result == again_after(60)
    create, told, *_ = world.fakes.writes
    assert create.body["spec"] == {"nodesDesired": ["n1"]}
    assert told.body["status"] == {"lastUpdateTime": TOLD, "nodesToAdd": ["n1"], "nodesToRemove": []}


async def test_a_changed_shard_tells_what_to_take_up_and_give_up() -> None:
    world = World(
        node("n1"), node("n2"), shard("a", "n2", "n3", used=("n3", "n2")), data=document({"name": "a", **ALL})
    )
    assert await world.sync() == ["patch a", "patch a status"]
    spec, _ = world.fakes.writes
    assert spec.body == {"metadata": {"uid": "uid-a"}, "spec": {"nodesDesired": ["n1", "n2"]}}
    assert spec.subresource == ""


async def test_the_status_is_made_of_what_the_server_says_is_in_use() -> None:
    world = World(node("n1"), shard("a"), data=document({"name": "a", **ALL}))
    world.fakes.log.answer(shard("a", "n1", "n2", used=("n3", "n2", "n4")), "patch", subresource="")
    await world.sync()
    told = world.fakes.writes[1].body["status"]
    assert (told["nodesToAdd"], told["nodesToRemove"]) == (["n1"], ["n3", "n4"])
    assert "nodesInUse" not in told


@pytest.mark.parametrize(
    ("held", "written"),
    [
        (["n1", "n2"], []),
        (["n2", "n1"], []),
        (["n1"], ["patch a", "patch a status"]),
        (["n1", "gone"], ["patch a", "patch a status"]),
        (["n1", "n2", "gone"], ["patch a", "patch a status"]),
    ],
    ids=["the same", "another order", "one more", "one for another", "one went"],
)
async def test_any_other_node_is_written_and_nothing_else(held: list[str], written: list[str]) -> None:
    world = World(node("n1"), node("n2"), shard("a", *held), data=document({"name": "a", **ALL}))
    assert await world.sync() == written


async def test_one_node_of_many_that_was_exchanged_is_written() -> None:
    names = [f"n{i:02d}" for i in range(50)]
    world = World(*map(node, names), shard("a", *names[1:], "gone"), data=document({"name": "a", **ALL}))
    assert await world.sync() == ["patch a", "patch a status"]


async def test_a_status_that_was_not_told_is_told_later() -> None:
    world = World(node("n1"), data=document({"name": "a", **ALL}))
    world.fakes.log.fail(ServerError(status(500, "InternalError")), subresource="status")
    with pytest.raises(ServerError):
        await world.sync()
    world.put(shard("a", "n1"), world.shards)
    assert await world.sync() == ["patch a status"]
    assert await world.sync() == []


async def test_a_status_that_nobody_ever_told_is_told_after_a_restart() -> None:
    world = World(node("n1"), shard("a", "n1", told=None), data=document({"name": "a", **ALL}))
    assert await world.sync() == ["patch a status"]


async def test_a_look_on_an_old_cache_repeats_nothing() -> None:
    world = World(node("n1"), shard("a"), data=document({"name": "a", **ALL}))
    newer = shard("a", "n1")
    meta = ObjectMeta(name="a", uid="uid-a", resource_version="9")
    world.fakes.log.answer(NodeShard(metadata=meta, spec=newer.spec, status=newer.status), "patch", times=None)
    assert await world.sync() == ["patch a", "patch a status"]
    assert await world.sync() == []


async def test_shards_of_others_are_deleted() -> None:
    world = World(shard("old"), shard("a"), data=document({"name": "a", **ALL}))
    assert await world.sync() == ["delete old"]
    assert world.fakes.writes[0].body["preconditions"] == {"uid": "uid-old"}
    world.fakes.log.fail(NotFound(status(404, "NotFound")), "delete", NODE_SHARDS)
    await world.sync()


async def test_without_config_map_the_flags_count() -> None:
    world = World(node("n1"))
    await world.sync()
    assert [write.name for write in world.fakes.log.find("create")] == ["volcano", "agent-scheduler"]


async def test_an_invalid_config_map_at_the_start_deletes_nothing_and_is_told() -> None:
    world = World(node("n1"), shard("mine", "n1"), data={"sharding.yaml": "schedulerConfigs: []"})
    await world.sync()
    assert world.fakes.log.find("delete") == []
    assert len(world.fakes.log.find("create")) == 2
    await world.sync()
    words = "schedulerConfigs is empty: at least one scheduler is needed"
    assert world.events.seen == [("Warning", "volcano-sharding-configmap", "InvalidConfiguration", words)]
    world.put(config_map(document({"name": "a", **ALL}), "2"), world.configs)
    assert "delete mine" in await world.sync()


async def test_an_invalid_config_map_keeps_the_last_one_and_so_does_none() -> None:
    world = World(node("n1"), shard("a", "n1"), data=document({"name": "a", **ALL}, shardSyncPeriod="10s"))
    assert await world.sync() == []
    world.put(config_map({}, "2"), world.configs)
    assert (await world.sync(), world.result) == ([], again_after(10))
    world.configs.remove(PLACE)  # type: ignore[attr-defined]  # a filled lister is a store
    assert (await world.sync(), world.result) == ([], again_after(10))


async def test_without_any_scheduler_nothing_is_deleted() -> None:
    world = World(shard("mine"), flags=Settings((), 60, follows_nodes=True))
    assert await world.sync() == []


async def test_one_shard_is_written_from_an_assignment_of_all() -> None:
    data = document({"name": "a", **ALL, "maxNodes": 1}, {"name": "b", **ALL})
    world = World(node("n1"), node("n2"), data=data)
    await world.reconciler.reconcile(Shard("b"))
    assert world.fakes.log.find("create")[0].body["spec"] == {"nodesDesired": ["n2"]}


async def test_an_assignment_holds_for_five_minutes() -> None:
    world = World(node("n1"), shard("a", "n1"), data=document({"name": "a", **ALL}))
    await world.sync()
    world.put(node("n2"), world.nodes)
    await world.reconciler.reconcile(Shard("a"))
    assert world.fakes.writes == []
    world.now += 301
    await world.reconciler.reconcile(Shard("a"))
    assert world.fakes.writes[0].body["spec"] == {"nodesDesired": ["n1", "n2"]}


async def test_a_shard_of_nobody_is_given_up() -> None:
    with pytest.raises(GiveUp, match="scheduler config not found for x"):
        await World(shard("x")).reconciler.reconcile(Shard("x"))
    assert await World().reconciler.reconcile(Shard("x")) == DONE


async def test_a_leap_of_loads_asks_for_a_sync() -> None:
    world = World(node("n1"))
    await world.sync()
    world.asked.clear()
    await world.reconciler.reconcile(Measure())
    assert world.asked == []
    world.put(pod("p", "n1", "9"), world.fakes.core_v1.pods.lister)
    world.usage.mark("n1")
    await world.reconciler.reconcile(Measure())
    assert world.asked == [Sync()]


@pytest.mark.parametrize(("later", "rest"), [(0, 1.0), (0.5, 0.5), (0.9, 0.2), (10, 0.2)])
async def test_looks_at_all_nodes_keep_a_second_apart(later: float, rest: float) -> None:
    world = World(node("n1"))
    assert world.reconciler.rest == 0.2
    await world.sync()
    world.now += later
    assert world.reconciler.rest == pytest.approx(rest, abs=1e-6)


def ready(state: str, reason: str = "") -> dict[str, Any]:
    return {"conditions": (NodeCondition(type="Ready", status=state, reason=reason),)}


@pytest.mark.parametrize(
    ("fields", "usable"),
    [
        ({}, True),
        (ready("True"), True),
        (ready("False"), False),
        (ready("Unknown"), False),
        (ready("Unknown", "NodeStatusNeverUpdated"), True),
        ({"spec": NodeSpec(unschedulable=True)}, False),
        ({"meta": {"deletion_timestamp": TOLD}}, False),
    ],
)
async def test_nodes_that_can_run_nothing_are_in_no_shard(fields: dict[str, Any], usable: bool) -> None:
    assert is_usable(node("n", **fields)) is usable
    world = World(node("n", **fields), shard("a"), data=document({"name": "a", **ALL}))
    assert bool(await world.sync()) is usable


class Woken:
    def __init__(self) -> None:
        self.woken: list[Work] = []
        self.world = World()
        self.nodes = OnNode(self.world.usage, self.woken.append)
        self.pods = OnPod(self.world.usage, self.woken.append)


@pytest.mark.parametrize(
    ("happen", "woken", "marked"),
    [
        (lambda on: on.nodes.on_add(node("n"), initial=True), [], {"n"}),
        (lambda on: on.nodes.on_add(node("n"), initial=False), [Sync()], {"n"}),
        (lambda on: on.nodes.on_delete(node("n")), [Sync()], {"n"}),
        (lambda on: on.nodes.on_update(node("n"), node("n")), [], set()),
        (lambda on: on.nodes.on_update(node("n"), node("n", labels={"a": "b"})), [Sync()], set()),
        (lambda on: on.nodes.on_update(node("n"), node("n", annotations={"a": "b"})), [Sync()], set()),
        (lambda on: on.nodes.on_update(node("n"), node("n", cpu="15")), [], {"n"}),
        (lambda on: on.nodes.on_update(node("n"), node("n", cpu="15500m")), [Sync()], {"n"}),
        (lambda on: on.nodes.on_update(node("n"), node("n", cpu="16")), [Sync()], {"n"}),
        (lambda on: on.nodes.on_update(node("n"), node("n", cpu="x")), [Sync()], {"n"}),
        (lambda on: on.nodes.on_update(node("n"), node("n", **ready("False"))), [Sync()], set()),
        (lambda on: on.pods.on_add(pod("p", "n"), initial=True), [], {"n"}),
        (lambda on: on.pods.on_add(pod("p", "n"), initial=False), [Measure()], {"n"}),
        (lambda on: on.pods.on_add(pod("p", ""), initial=False), [], set()),
        (lambda on: on.pods.on_delete(pod("p", "n")), [Measure()], {"n"}),
        (lambda on: on.pods.on_update(pod("p", "n"), pod("p", "n")), [], set()),
        (lambda on: on.pods.on_update(pod("p", ""), pod("p", "n")), [Measure()], {"n"}),
        (lambda on: on.pods.on_update(pod("p", "n"), pod("p", "n", "2")), [Measure()] * 2, {"n"}),
        (lambda on: on.pods.on_update(pod("p", "n"), pod("p", "n", phase="Failed")), [Measure()] * 2, {"n"}),
        (lambda on: on.pods.on_update(pod("p", "n", phase="Pending"), pod("p", "n")), [], set()),
    ],
)
async def test_what_wakes_it(happen: Callable[[Any], None], woken: list[Work], marked: set[str]) -> None:
    on = Woken()
    happen(on)
    assert (on.woken, on.world.usage._changed) == (woken, marked)


async def drained(queue: WorkQueue[Work]) -> list[Work]:
    found = []
    while len(queue):
        found.append(await queue.get())
        queue.done(found[-1])
    return found


async def test_the_configuration_and_shards_wake_it() -> None:
    queue: WorkQueue[Work] = WorkQueue("test")
    forgotten: list[NodeShard] = []
    maps, shards = OnConfigMap(queue), OnShard(queue, forgotten.append)
    maps.on_add(config_map({}), initial=True)
    maps.on_update(config_map({}), config_map({"a": "b"}))
    assert await drained(queue) == [Sync()]
    maps.on_update(config_map({}), config_map({}))
    maps.on_delete(config_map({}))
    shards.on_add(shard("x"), initial=True)
    shards.on_update(shard("x"), shard("x", used=("n",)))
    assert await drained(queue) == []
    shards.on_add(shard("a"), initial=False)
    shards.on_update(shard("b"), shard("b", "n"))
    shards.on_delete(shard("c"))
    assert await drained(queue) == [Shard("a"), Shard("b"), Shard("c")]
    assert forgotten == [shard("c")]
