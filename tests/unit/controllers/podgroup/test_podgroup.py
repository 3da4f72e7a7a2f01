"""The PodGroup controller on filled listers and a recording client."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from controllers.podgroup.groups import build_group, group_patch
from controllers.podgroup.requests import OnPod, OnPodGroup, OnWorkload, PodKey, WorkloadKey
from generated.apps.v1 import REPLICA_SETS, ReplicaSet
from generated.core.v1 import Pod
from generated.scheduling.v1beta1 import POD_GROUPS, NetworkTopologySpec
from runtime.errors import AlreadyExists, Forbidden
from runtime.objects import key_of
from runtime.queue import WorkQueue
from tests.unit.controllers.fakes import readable, status
from tests.unit.controllers.podgroup.samples import GROUP, NOW, World, a_group, a_pod, owner, replica_set


async def test_a_pod_gets_a_group_and_then_its_name() -> None:
    world = World(a_pod())
    assert await world.pod() == ["create podgroups podgroup-uid-p", "patch pods p"]
    assert world.fakes.writes[1].body == {"metadata": {"uid": "uid-p", "annotations": {GROUP: "podgroup-uid-p"}}}
    (reference,) = world.fakes.writes[0].body["metadata"]["ownerReferences"]
    assert (reference["kind"], reference["uid"], reference["controller"]) == ("Pod", "uid-p", True)
    assert world.fakes.writes[0].body["status"] == {"phase": "Pending"}


@pytest.mark.parametrize(
    "pod",
    [
        a_pod(scheduler="default-scheduler"),
        a_pod(annotations={GROUP: "mine"}),
        a_pod(going=True),
    ],
    ids=["another scheduler's", "grouped", "going"],
)
async def test_other_pods_are_left_alone(pod: Pod) -> None:
    assert await World(pod).pod() == []


async def test_a_pod_that_is_gone_needs_nothing() -> None:
    assert await World().pod() == []


async def test_a_group_that_exists_is_not_touched_by_its_pods() -> None:
    world = World(a_pod("p", owner()), a_group(min_member=7))
    assert await world.pod() == ["patch pods p"]


async def test_a_group_that_another_worker_has_just_made_is_used() -> None:
    world = World(a_pod())
    world.fakes.log.fail(AlreadyExists(status(409, "AlreadyExists")), "create", POD_GROUPS)
    assert await world.pod() == ["create podgroups podgroup-uid-p", "patch pods p"]


async def test_a_cluster_that_lets_us_block_no_deletion_gets_the_group_all_the_same() -> None:
    world = World(a_pod("p", msgspec.structs.replace(owner(), block_owner_deletion=True)), inherits=False)
    refusal = "podgroups is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a resource"
    told = msgspec.structs.replace(status(403, "Forbidden"), message=refusal)
    world.fakes.log.fail(Forbidden(told), "create", POD_GROUPS)
    assert await world.pod() == ["create podgroups podgroup-rs", "create podgroups podgroup-rs", "patch pods p"]
    first, second, _ = (write.body["metadata"] for write in world.fakes.writes)
    assert [owner["blockOwnerDeletion"] for owner in first["ownerReferences"]] == [True]
    assert [owner["uid"] for owner in second["ownerReferences"] if "blockOwnerDeletion" not in owner] == ["rs"]


async def test_another_refusal_is_raised() -> None:
    world = World(a_pod())
    world.fakes.log.fail(Forbidden(status(403, "Forbidden")), "create", POD_GROUPS)
    with pytest.raises(Forbidden):
        await world.pod()


async def test_a_pod_whose_group_is_missing_gets_it_again() -> None:
    world = World(a_pod("p", owner(), annotations={GROUP: "podgroup-rs"}), inherits=False)
    assert await world.pod() == ["create podgroups podgroup-rs"]


async def test_annotations_of_the_owner_say_how_large_the_gang_is() -> None:
    world = World(a_pod("p", owner()))
    annotations = {"scheduling.volcano.sh/group-min-member": "2", "volcano.sh/x": "y", "other": "z"}
    readable(world.fakes, REPLICA_SETS.plural, replica_set(annotations=annotations))
    await world.pod()
    body = world.fakes.writes[0].body
    assert body["metadata"]["name"] == "podgroup-rs"
    assert body["metadata"]["annotations"] == {"volcano.sh/x": "y"}
    assert body["spec"]["minMember"] == 2
    assert body["spec"]["minResources"]["example.com/gpu"] == "2"
    assert body["spec"]["priorityClassName"] == "high"


async def test_owners_of_other_kinds_are_not_read() -> None:
    world = World(a_pod("p", owner("ReplicationController", "rc")))
    assert await world.pod() == ["create podgroups podgroup-rc", "patch pods p"]
    assert world.fakes.writes[0].body["spec"]["minMember"] == 1


async def test_the_owner_is_not_asked_when_nothing_is_inherited() -> None:
    world = World(a_pod("p", owner()), inherits=False)
    assert await world.pod() == ["create podgroups podgroup-rs", "patch pods p"]


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({"volcano.sh/network-topology-mode": "SOFT"}, NetworkTopologySpec(mode="soft")),
        (
            {"volcano.sh/network-topology-mode": "x", "volcano.sh/network-topology-highest-tier": "3"},
            NetworkTopologySpec(mode="hard", highest_tier_allowed=3),
        ),
        ({"volcano.sh/network-topology-highest-tier": "3"}, NetworkTopologySpec(mode="hard", highest_tier_allowed=3)),
        ({}, None),
    ],
)
def test_topology_comes_from_the_pod(annotations: dict[str, str], expected: NetworkTopologySpec | None) -> None:
    assert build_group(a_pod(annotations=annotations), {}, NOW).spec.network_topology == expected


def test_what_the_scheduler_needs_to_know_is_copied() -> None:
    pod = a_pod(
        annotations={
            "scheduling.volcano.sh/queue-name": "q",
            "volcano.sh/preemptable": "true",
            "volcano.sh/jdb-min-available": "1",
            "volcano.sh/jdb-max-unavailable": "2",
            "volcano.sh/other": "x",
        },
        labels={"volcano.sh/preemptable": "true", "volcano.sh/cooldown-time": "5s", "app": "a"},
    )
    group = build_group(pod, {"volcano.sh/preemptable": "false", "volcano.sh/kept": "y"}, NOW)
    assert group.spec.queue == "q"
    assert group.metadata.annotations == {
        "volcano.sh/preemptable": "true",
        "volcano.sh/kept": "y",
        "volcano.sh/jdb-min-available": "1",
    }
    assert group.metadata.labels == {"volcano.sh/preemptable": "true", "volcano.sh/cooldown-time": "5s"}


async def test_a_set_that_was_scaled_to_nothing_loses_its_group() -> None:
    world = World(replica_set(0), a_group())
    readable(world.fakes, REPLICA_SETS.plural, replica_set(0))
    assert await world.workload() == ["delete podgroups podgroup-rs"]
    assert world.fakes.writes[0].body["preconditions"] == {"uid": "g"}


@pytest.mark.parametrize("now", [replica_set(1), replica_set(0, "another")], ids=["scaled up again", "another set"])
async def test_a_stale_zero_deletes_nothing(now: ReplicaSet) -> None:
    world = World(replica_set(0), a_group())
    readable(world.fakes, REPLICA_SETS.plural, now)
    assert await world.workload() == []


async def test_a_group_that_a_pod_names_stays() -> None:
    pod = a_pod("p", owner(), annotations={GROUP: "podgroup-rs"})
    assert await World(replica_set(0), a_group(), pod).workload() == []


@pytest.mark.parametrize("replicas", [1, None])
async def test_a_set_with_pods_gets_a_group(replicas: int | None) -> None:
    world = World(replica_set(replicas), a_pod("p", owner()), inherits=False)
    assert await world.workload() == ["create podgroups podgroup-rs", "patch pods p"]


async def test_a_group_follows_its_set_with_a_new_pod() -> None:
    world = World(replica_set(), a_pod("p", owner()), a_group(min_member=3, queue="default"), inherits=False)
    assert await world.workload() == ["patch podgroups podgroup-rs", "patch pods p"]
    spec = world.fakes.writes[0].body["spec"]
    assert spec["minMember"] == 1
    assert "queue" not in spec


def test_a_group_that_the_server_has_completed_needs_no_patch() -> None:
    wanted = build_group(a_pod("p", owner()), {}, NOW)
    found = msgspec.structs.replace(
        wanted,
        metadata=msgspec.structs.replace(wanted.metadata, labels={"theirs": "x"}, annotations={"theirs": "y"}),
        spec=msgspec.structs.replace(
            wanted.spec,
            queue="default",
            min_resources={name: str(value) for name, value in (wanted.spec.min_resources or {}).items()},
        ),
    )
    assert group_patch(found, wanted) is None


@pytest.mark.parametrize(
    "pod",
    [
        a_pod("p", owner(uid="other")),
        a_pod("p", owner(), labels={"app": "b"}),
        a_pod("p", owner(), scheduler="default-scheduler"),
        a_pod("p", owner(), annotations={GROUP: "podgroup-rs"}),
    ],
    ids=["of another set", "not selected", "another scheduler's", "grouped"],
)
async def test_pods_that_are_not_the_sets_make_no_group(pod: Pod) -> None:
    assert await World(replica_set(), pod, inherits=False).workload() == []


async def test_a_pod_that_stays_is_preferred() -> None:
    pods = (a_pod("a", owner(), going=True), a_pod("b", owner()))
    assert await World(replica_set(), *pods, inherits=False).workload() == [
        "create podgroups podgroup-rs",
        "patch pods b",
    ]


async def test_what_wakes_the_controller() -> None:
    named = a_pod("named", owner(), annotations={GROUP: "podgroup-rs"})
    world = World(named)
    queue: WorkQueue[Any] = WorkQueue("test")
    OnPod(queue, world.reader).on_add(a_pod(), initial=False)
    OnPod(queue, world.reader).on_add(a_pod(scheduler="other"), initial=False)
    OnPodGroup(queue, world.reader).on_delete(a_group())
    first, second = replica_set(resource_version="1"), replica_set(resource_version="2")
    OnWorkload(queue, "ReplicaSet").on_update(first, second)
    OnWorkload(queue, "ReplicaSet").on_update(first, first)
    woken = [await queue.get() for _ in range(3)]
    assert woken == [PodKey("ns", "p"), PodKey("ns", "named"), WorkloadKey("ReplicaSet", "ns", "w")]
    assert woken[2].key == key_of(first)
    assert len(queue) == 0


@pytest.mark.parametrize(("replicas", "woken"), [(0, 1), (1, 0), (None, 0)])
async def test_the_end_of_the_last_pod_lets_the_group_of_a_set_of_none_go(replicas: int | None, woken: int) -> None:
    world = World(replica_set(replicas))
    queue: WorkQueue[Any] = WorkQueue("test")
    handler = OnPod(queue, world.reader)
    handler.on_delete(a_pod("p", owner(name="w")))
    handler.on_delete(a_pod())
    assert len(queue) == woken
