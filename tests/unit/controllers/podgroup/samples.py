"""Pods, workloads and groups for tests of the PodGroup controller, and the controller on them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from controllers.podgroup.reader import INDEXERS, Reader
from controllers.podgroup.reconcile import PodGroupReconciler
from controllers.podgroup.requests import PodKey, WorkloadKey
from generated.apps.v1 import ReplicaSet, ReplicaSetSpec, StatefulSet, StatefulSetSpec, StatefulSetStatus
from generated.core.v1 import Container, Pod, PodSpec, PodStatus, ResourceRequirements
from generated.fakes.fakes import Fakes
from generated.meta.v1 import LabelSelector, ObjectMeta, OwnerReference
from generated.scheduling.v1beta1 import PodGroup, PodGroupSpec
from runtime.controller import DONE
from runtime.lister import Lister, Store

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


def stateful_set(current: str, newest: str) -> StatefulSet:
    """Whose pods were all of the revision `current`, and are to become of the `newest`."""
    return StatefulSet(
        metadata=ObjectMeta(name="w", namespace="ns", uid="rs"),
        spec=StatefulSetSpec(replicas=1, selector=SELECTOR),
        status=StatefulSetStatus(current_revision=current, update_revision=newest),
    )


def of_revision(name: str, revision: str, **meta: Any) -> Pod:
    """A pod of that set."""
    labels = {"app": "a", "controller-revision-hash": revision}
    return a_pod(name, owner("StatefulSet"), labels=labels, **meta)


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
