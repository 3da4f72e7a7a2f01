"""The PodGroup controller on filled listers and a recording client."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from controllers.podgroup.groups import build_group, group_patch
from controllers.podgroup.reader import INDEXERS, Reader
from controllers.podgroup.reconcile import PodGroupReconciler
from controllers.podgroup.requests import OnPod, OnPodGroup, OnWorkload, PodKey, WorkloadKey
from generated.apps.v1 import (
    REPLICA_SETS,
    ReplicaSet,
    ReplicaSetSpec,
    StatefulSet,
    StatefulSetSpec,
    StatefulSetStatus,
)
from generated.core.v1 import Container, Pod, PodSpec, PodStatus, ResourceRequirements
from generated.fakes.fakes import Fakes
from generated.meta.v1 import LabelSelector, ObjectMeta, OwnerReference
from generated.scheduling.v1beta1 import POD_GROUPS, NetworkTopologySpec, PodGroup, PodGroupSpec
from runtime.controller import DONE
from runtime.errors import AlreadyExists
from runtime.lister import Lister, Store
from runtime.objects import key_of
from runtime.queue import WorkQueue
from tests.unit.controllers.fakes import readable, status

NOW = datetime(2026, 5, 1, tzinfo=UTC)
SELECTOR = LabelSelector(match_labels={"app": "a"})
GROUP = "scheduling.k8s.io/group-name"


def owner(kind: str = "ReplicaSet", uid: str = "rs", *, controller: bool = True, name: str = "w") -> OwnerReference:
    return OwnerReference(api_version="apps/v1", kind=kind, name=name, uid=uid, controller=controller)


def a_pod(
    name: str = "p", *owners: OwnerReference, scheduler: str = "volcano", going: bool = False, **meta: Any
) -> Pod:
    meta.setdefault("labels", {"app": "a"})
    requests = ResourceRequirements(requests={"cpu": "1", "example.com/gpu": "1"})
    return Pod(
        metadata=ObjectMeta(
            name=name,
            namespace="ns",
            uid=f"uid-{name}",
            owner_references=owners,
            deletion_timestamp="2026-05-01T00:00:00Z" if going else None,
            **meta,
        ),
        spec=PodSpec(
            scheduler_name=scheduler, containers=(Container(name="c", resources=requests),), priority_class_name="high"
        ),
        status=PodStatus(phase="Pending"),
    )


def replica_set(replicas: int | None = 1, uid: str = "rs", **meta: Any) -> ReplicaSet:
    metadata = ObjectMeta(name="w", namespace="ns", uid=uid, **meta)
    return ReplicaSet(metadata=metadata, spec=ReplicaSetSpec(replicas=replicas, selector=SELECTOR))


def a_group(name: str = "podgroup-rs", **spec: Any) -> PodGroup:
    return PodGroup(metadata=ObjectMeta(name=name, namespace="ns", uid="g"), spec=PodGroupSpec(**spec))


class World:
    def __init__(self, *objects: Any, inherits: bool = True) -> None:
        self.fakes = Fakes(*objects)
        pods: Store[Pod] = Store(INDEXERS)
        for pod in self.fakes.objects_of(Pod):
            pods.put(pod)
        sets: dict[str, Lister[Any]] = {
            model.__name__: Lister.filled(self.fakes.objects_of(model)) for model in (ReplicaSet, StatefulSet)
        }
        groups = self.fakes.scheduling_v1beta1.pod_groups
        self.reader = Reader(pods=pods, groups=groups, workloads=sets, schedulers=frozenset(["volcano"]))
        self.reconciler = PodGroupReconciler(self.fakes.clients, self.reader, inherits=inherits, clock=NOW.timestamp)

    async def pod(self, name: str = "p") -> list[str]:
        assert await self.reconciler.reconcile(PodKey("ns", name)) == DONE
        return self.writes()

    async def workload(self, kind: str = "ReplicaSet") -> list[str]:
        await self.reconciler.reconcile(WorkloadKey(kind, "ns", "w"))
        return self.writes()

    def writes(self) -> list[str]:
        return [f"{write.verb} {write.resource.partition('.')[0]} {write.name}" for write in self.fakes.writes]


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


async def test_only_the_newest_revision_of_a_stateful_set_counts() -> None:
    stateful = StatefulSet(
        metadata=ObjectMeta(name="w", namespace="ns", uid="rs"),
        spec=StatefulSetSpec(replicas=1, selector=SELECTOR),
        status=StatefulSetStatus(update_revision="r2"),
    )
    old = a_pod("a", owner("StatefulSet"), labels={"app": "a", "controller-revision-hash": "r1"})
    new = a_pod("b", owner("StatefulSet"), labels={"app": "a", "controller-revision-hash": "r2"})
    world = World(stateful, old, new, inherits=False)
    assert await world.workload("StatefulSet") == ["create podgroups podgroup-rs", "patch pods b"]


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
