"""
Gives a group to pods that have none, and lets the group follow its ReplicaSet or StatefulSet.

The annotation on the pod is written last: a pod that names a group can rely on it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final

from api import names
from api.podgroups import name_for
from controllers.podgroup.groups import build_group, group_patch, unblocking
from controllers.podgroup.reader import Reader, Workload, group_of, replicas_of
from controllers.podgroup.requests import PodKey, Work, WorkloadKey
from generated.apps.v1 import DAEMON_SETS, REPLICA_SETS, STATEFUL_SETS
from generated.batch.v1 import JOBS
from generated.clients.clientset import Clientset
from generated.core.v1 import Pod
from generated.meta.v1 import OwnerReference
from generated.scheduling.v1beta1 import PodGroup
from runtime.controller import DONE, Result
from runtime.errors import AlreadyExists, ApiError, Conflict, DecodeError, Forbidden, NotFound
from runtime.patches import MergePatch
from runtime.resource import Resource

_log = logging.getLogger(__name__)

_OWNERS: Final[Mapping[str, Resource[Any]]] = {
    resource.kind: resource for resource in (REPLICA_SETS, DAEMON_SETS, STATEFUL_SETS, JOBS)
}
"""Kinds whose annotations are inherited, by name only, as owner references of other groups carry them too."""
_BLOCKS: Final = "blockOwnerDeletion"
"""What the API server's refusal names (the admission plugin OwnerReferencesPermissionEnforcement)."""


class PodGroupReconciler:
    """`reconcile` looks at one pod or workload. `clock` gives unix seconds."""

    def __init__(self, clients: Clientset, reader: Reader, *, inherits: bool, clock: Callable[[], float]) -> None:
        self._clients = clients
        self._reader = reader
        self._inherits = inherits
        self._clock = clock

    async def reconcile(self, work: Work) -> Result:
        """Raises ApiError, ConnectionFailed, QuantityError."""
        if isinstance(work, PodKey):
            pod = self._reader.pod(work.key)
            if pod is not None:
                await self._look_at(pod)
        else:
            await self._follow(work)
        return DONE

    async def _look_at(self, pod: Pod) -> None:
        if not self._reader.is_ours(pod) or pod.metadata.deletion_timestamp is not None:
            return
        named, own = group_of(pod), name_for(pod)
        if named not in {"", own}:
            return
        group = self._reader.group(own, pod.metadata.namespace)
        if group is None:
            await self._create(await self._wanted(pod))
        elif not named and self._reader.is_of_new_revision(pod):
            await self._update(group, await self._wanted(pod))
        if not named:
            await self._annotate(pod)

    async def _follow(self, work: WorkloadKey) -> None:
        workload = self._reader.workload(work.kind, work.key)
        if workload is None:
            return
        if replicas_of(workload) == 0:
            await self._drop(work, workload)
            return
        pod = next(iter(self._reader.pods_of(workload)), None)
        if pod is None or not self._reader.is_ours(pod) or group_of(pod):
            return
        wanted = await self._wanted(pod)
        found = self._reader.group(wanted.metadata.name, wanted.metadata.namespace)
        if found is None:
            await self._create(wanted)
        else:
            await self._update(found, wanted)
        await self._annotate(pod)

    async def _drop(self, work: WorkloadKey, workload: Workload) -> None:
        """Delete the group of a workload that wants no pods, if that is still so and none of its pods needs it."""
        meta = workload.metadata
        name = names.workload_pod_group_name(meta.uid)
        group = self._reader.group(name, meta.namespace)
        if group is None or self._reader.members(name, meta.namespace):
            return
        try:
            now = await self._clients.client.get(_OWNERS[work.kind], meta.name, meta.namespace)
        except NotFound:
            return
        if now.metadata.uid != meta.uid or replicas_of(now) != 0:
            return
        with suppress(NotFound, Conflict):
            await self._clients.scheduling_v1beta1.pod_groups.delete(name, meta.namespace, uid=group.metadata.uid)

    async def _create(self, group: PodGroup) -> None:
        """Where clusters allow only some to block the deletion of an owner, the group blocks it not."""
        meta, groups = group.metadata, self._clients.scheduling_v1beta1.pod_groups
        with suppress(AlreadyExists):
            try:
                await groups.create(group)
            except Forbidden as error:
                if _BLOCKS not in error.status.message:
                    raise
                await groups.create(unblocking(group))
            _log.info("podgroup.created podgroup=%s/%s", meta.namespace, meta.name)

    async def _update(self, found: PodGroup, wanted: PodGroup) -> None:
        patch = group_patch(found, wanted)
        if patch is not None:
            meta = found.metadata
            await self._clients.scheduling_v1beta1.pod_groups.patch(meta.name, meta.namespace, MergePatch(patch))

    async def _annotate(self, pod: Pod) -> None:
        meta = pod.metadata
        body = {"metadata": {"uid": meta.uid, "annotations": {names.GROUP_NAME_ANNOTATION: name_for(pod)}}}
        await self._clients.core_v1.pods.patch(meta.name, meta.namespace, MergePatch(body))

    async def _wanted(self, pod: Pod) -> PodGroup:
        inherited = await self._inherited(pod) if self._inherits else {}
        return build_group(pod, inherited, datetime.fromtimestamp(self._clock(), UTC))

    async def _inherited(self, pod: Pod) -> dict[str, str]:
        """Annotations of the pod's owners; of two that have the same the first one counts."""
        found: dict[str, str] = {}
        for owner in pod.metadata.owner_references:
            found = {**await self._annotations_of(owner, pod.metadata.namespace), **found}
        return found

    async def _annotations_of(self, owner: OwnerReference, namespace: str) -> dict[str, str]:
        resource = _OWNERS.get(owner.kind)
        if resource is None:
            return {}
        try:
            found = await self._clients.client.get(resource, owner.name, namespace)
        except (ApiError, DecodeError) as error:
            _log.info("owner not read owner=%s %s/%s error=%s", owner.kind, namespace, owner.name, error)
            return {}
        annotations: dict[str, str] = found.metadata.annotations
        return annotations
