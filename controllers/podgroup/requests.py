"""What wakes the PodGroup controller: pods without a group, workloads, groups that vanish under their pods."""

from __future__ import annotations

from typing import NamedTuple

from api.owners import controller_of
from controllers.podgroup.reader import Reader, Workload, replicas_of
from generated.core.v1 import Pod
from generated.scheduling.v1beta1 import PodGroup
from runtime.objects import Key, key_of
from runtime.queue import WorkQueue


class PodKey(NamedTuple):
    """A pod to be looked at."""

    namespace: str
    name: str

    @property
    def key(self) -> Key:
        return Key(self.namespace, self.name)


class WorkloadKey(NamedTuple):
    """A ReplicaSet or StatefulSet to be looked at."""

    kind: str
    namespace: str
    name: str

    @property
    def key(self) -> Key:
        return Key(self.namespace, self.name)


Work = PodKey | WorkloadKey
Requests = WorkQueue[Work]


class OnPod:
    """Pods that come, if they ask for one of our schedulers."""

    def __init__(self, requests: Requests, reader: Reader) -> None:
        self._requests = requests
        self._reader = reader

    def on_add(self, obj: Pod, initial: bool) -> None:  # noqa: FBT001  # as Handler
        if self._reader.is_ours(obj):
            self._requests.add(PodKey(*key_of(obj)), is_urgent=not initial)

    def on_update(self, old: Pod, new: Pod) -> None:
        """A pod keeps its scheduler, and nobody takes a group away from it."""

    def on_delete(self, obj: Pod) -> None:
        """The group goes with its owner, or with the last pod of one that was scaled to nothing."""
        owner = controller_of(obj.metadata)
        if owner is None:
            return
        workload = self._reader.workload(owner.kind, Key(obj.metadata.namespace, owner.name))
        if workload is not None and replicas_of(workload) == 0:
            self._requests.add(WorkloadKey(owner.kind, obj.metadata.namespace, owner.name))


class OnPodGroup:
    """A group that is deleted while pods still name it is made anew."""

    def __init__(self, requests: Requests, reader: Reader) -> None:
        self._requests = requests
        self._reader = reader

    def on_add(self, obj: PodGroup, initial: bool) -> None:  # noqa: FBT001  # as Handler
        """It was made here, or by somebody who knows why."""

    def on_update(self, old: PodGroup, new: PodGroup) -> None:
        """What it says is its scheduler's business."""

    def on_delete(self, obj: PodGroup) -> None:
        for pod in self._reader.members(obj.metadata.name, obj.metadata.namespace):
            self._requests.add(PodKey(*key_of(pod)))


class OnWorkload:
    """ReplicaSets or StatefulSets that come or change."""

    def __init__(self, requests: Requests, kind: str) -> None:
        self._requests = requests
        self._kind = kind

    def on_add(self, obj: Workload, initial: bool) -> None:  # noqa: FBT001  # as Handler
        self._requests.add(WorkloadKey(self._kind, *key_of(obj)), is_urgent=not initial)

    def on_update(self, old: Workload, new: Workload) -> None:
        if old.metadata.resource_version != new.metadata.resource_version:
            self._requests.add(WorkloadKey(self._kind, *key_of(new)))

    def on_delete(self, obj: Workload) -> None:
        """The group goes with it."""
