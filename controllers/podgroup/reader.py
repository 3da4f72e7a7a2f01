"""The read side of the PodGroup controller: pods by controller and by group, workloads, groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from api import names
from api.owners import controller_of, is_controlled_by
from generated.apps.v1 import ReplicaSet, StatefulSet
from generated.core.v1 import Pod
from generated.listers.scheduling_v1beta1 import PodGroupLister
from generated.scheduling.v1beta1 import PodGroup
from runtime.lister import Indexer, Lister
from runtime.objects import Key
from runtime.selector import InvalidSelector, from_label_selector

Workload = ReplicaSet | StatefulSet

_BY_CONTROLLER: Final = "controller"
_BY_GROUP: Final = "group"
_REVISION_LABEL: Final = "controller-revision-hash"


def group_of(pod: Pod) -> str:
    """The group that a pod says it belongs to, empty for none."""
    return pod.metadata.annotations.get(names.GROUP_NAME_ANNOTATION, "")


def _by_controller(pod: Pod) -> Iterator[str]:
    owner = controller_of(pod.metadata)
    if owner is not None:
        yield owner.uid


def _by_group(pod: Pod) -> Iterator[str]:
    if group := group_of(pod):
        yield f"{pod.metadata.namespace}/{group}"


INDEXERS: Final[Mapping[str, Indexer[Pod]]] = {_BY_CONTROLLER: _by_controller, _BY_GROUP: _by_group}


class Reader(msgspec.Struct, frozen=True):
    """What the caches know. `workloads` are listers by kind, `schedulers` the names of ours."""

    pods: Lister[Pod]
    groups: PodGroupLister
    workloads: Mapping[str, Lister[Workload]]
    schedulers: frozenset[str]

    def is_ours(self, pod: Pod) -> bool:
        """Whether one of our schedulers is to place the pod."""
        return pod.spec.scheduler_name in self.schedulers

    def pod(self, key: Key) -> Pod | None:
        return self.pods.get(key)

    def workload(self, kind: str, key: Key) -> Workload | None:
        lister = self.workloads.get(kind)
        return lister.get(key) if lister is not None else None

    def group(self, name: str, namespace: str) -> PodGroup | None:
        """The group, unless it is being deleted."""
        found = self.groups.get(name, namespace)
        return found if found is not None and found.metadata.deletion_timestamp is None else None

    def members(self, group: str, namespace: str) -> list[Pod]:
        """Pods that name a group and aren't going."""
        pods = self.pods.by_index(_BY_GROUP, f"{namespace}/{group}")
        return [pod for pod in pods if pod.metadata.deletion_timestamp is None]

    def pods_of(self, workload: Workload) -> list[Pod]:
        """
        The pods of a workload that its selector matches, those that stay before those that go, then by name.

        Of a StatefulSet only those of its newest revision.
        """
        if workload.spec.selector is None:
            return []
        selector = from_label_selector(workload.spec.selector)
        if isinstance(selector, InvalidSelector):
            return []
        revision = workload.status.update_revision if isinstance(workload, StatefulSet) else ""
        found = [
            pod
            for pod in self.pods.by_index(_BY_CONTROLLER, workload.metadata.uid)
            if is_controlled_by(pod.metadata, workload.metadata.uid)
            and pod.metadata.namespace == workload.metadata.namespace
            and selector.matches(pod.metadata.labels)
            and (not revision or pod.metadata.labels.get(_REVISION_LABEL) == revision)
        ]
        return sorted(found, key=lambda pod: (pod.metadata.deletion_timestamp is not None, pod.metadata.name))

    def is_of_new_revision(self, pod: Pod) -> bool:
        """
        Whether the pod belongs to a StatefulSet whose pods were others until now, under the same group.

        Its set may not have told of the revision yet.
        """
        owner = controller_of(pod.metadata)
        if owner is None:
            return False
        workload = self.workload(owner.kind, Key(pod.metadata.namespace, owner.name))
        if not isinstance(workload, StatefulSet) or workload.metadata.uid != owner.uid:
            return False
        return workload.status.current_revision not in {"", pod.metadata.labels.get(_REVISION_LABEL, "")}


def replicas_of(workload: Workload) -> int:
    """How many pods are wanted; one where nothing is said."""
    return 1 if workload.spec.replicas is None else workload.spec.replicas
