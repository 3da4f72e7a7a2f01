"""
What surrounds pods and bears on where they go: namespaces, volume claims, Services and the workloads that own pods.

None of it makes a job or a node; it changes what is known of pods that are there already.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from api import names
from generated.meta.v1 import LabelSelector
from scheduler.state.claims import VolumeClaim
from scheduler.state.terms import read_selector

if TYPE_CHECKING:
    from generated.apps.v1 import ReplicaSet, StatefulSet
    from generated.core.v1 import Namespace, PersistentVolumeClaim, ReplicationController, Service
    from runtime.selector import Selector
    from scheduler.state.cluster import Cluster


class Surroundings:
    """Appliers by kind, as `Facts` wants them."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.appliers: dict[str, Callable[[Any, Any], None]] = {
            "Namespace": self._namespace,
            "PersistentVolumeClaim": self._claim,
            "Service": self._service,
            "ReplicationController": self._replication_controller,
            "ReplicaSet": self._workload,
            "StatefulSet": self._workload,
        }

    def _note(self, *, is_news: bool) -> None:
        if is_news:
            self.cluster.version += 1

    def _namespace(self, old: Namespace | None, new: Namespace | None) -> None:
        subject = new if new is not None else old
        if subject is not None:
            labels = new.metadata.labels if new is not None else None
            self._note(is_news=self.cluster.sight.set_namespace(subject.metadata.name, labels))

    def _claim(self, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim | None) -> None:
        subject = new if new is not None else old
        if subject is not None:
            key = f"{subject.metadata.namespace}/{subject.metadata.name}"
            self._note(is_news=self.cluster.claims.set(key, claim_of(new) if new is not None else None))

    def _service(self, old: Service | None, new: Service | None) -> None:
        subject = new if new is not None else old
        if subject is not None:
            meta = subject.metadata
            selector = new.spec.selector if new is not None else {}
            news = self.cluster.workloads.set_service(meta.namespace, meta.name, selector)
            self._regroup(is_news=news)

    def _replication_controller(self, old: ReplicationController | None, new: ReplicationController | None) -> None:
        subject = new if new is not None else old
        if subject is not None:
            found = read_selector(LabelSelector(match_labels=new.spec.selector)) if new is not None else None
            self._own(subject, "ReplicationController", found)

    def _workload(self, old: ReplicaSet | StatefulSet | None, new: ReplicaSet | StatefulSet | None) -> None:
        subject = new if new is not None else old
        if subject is not None:
            found = read_selector(new.spec.selector) if new is not None else None
            self._own(subject, type(subject).__name__, found)

    def _own(
        self, subject: ReplicaSet | StatefulSet | ReplicationController, kind: str, found: Selector | None
    ) -> None:
        meta = subject.metadata
        self._regroup(is_news=self.cluster.workloads.set_owner(meta.namespace, (kind, meta.name), found))

    def _regroup(self, *, is_news: bool) -> None:
        if is_news:
            self.cluster.sight.regroup()
        self._note(is_news=is_news)


def claim_of(claim: PersistentVolumeClaim) -> VolumeClaim:
    """What scheduling reads of a claim."""
    meta = claim.metadata
    owners = (reference.uid for reference in meta.owner_references if reference.controller)
    return VolumeClaim(
        is_bound=bool(claim.spec.volume_name) and names.PVC_BIND_COMPLETED_ANNOTATION in meta.annotations,
        is_leaving=meta.deletion_timestamp is not None,
        phase=claim.status.phase,
        volume=claim.spec.volume_name,
        owner=next(owners, ""),
    )
