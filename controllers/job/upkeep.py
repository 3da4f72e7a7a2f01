"""
Keeps the objects that a job's plugins ask for: made before its pods, following the job, removed when it is killed.

What is there is only touched when this very job owns it (controllers.md DB-17). What was written is remembered, so that
a settled job costs no request; after a restart each job's objects are looked at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Final

from msgspec.structs import replace

from api.owners import controller_of, is_controlled_by, is_of_kind
from controllers.job.plugins.base import JobPlugin, PluginError, Upkeep, Wanted, document
from generated.batch.v1alpha1 import JOBS, Job
from generated.clients.clientset import Clientset
from generated.core.v1 import CONFIG_MAPS, SECRETS, SERVICES
from generated.meta.v1 import OwnerReference
from generated.networking.v1 import NETWORK_POLICIES
from runtime.errors import AlreadyExists, Conflict, NotFound
from runtime.patches import MergePatch
from runtime.rbac import Rule

RULES: Final = (
    Rule("", (CONFIG_MAPS.plural, SECRETS.plural), ("get", "create", "patch", "delete")),
    Rule("", (SERVICES.plural,), ("get", "create", "delete")),
    Rule(NETWORK_POLICIES.group, (NETWORK_POLICIES.plural,), ("get", "create", "delete")),
)


class NotOwnedError(PluginError):
    """An object of that name is somebody else's, or is left from an earlier job and not gone yet: `is_leaving`."""

    def __init__(self, wanted: Wanted, job: Job, owner: OwnerReference | None) -> None:
        self.is_leaving = owner is not None and is_of_kind(owner, JOBS) and owner.name == job.metadata.name
        place = f"{job.metadata.namespace}/{job.metadata.name}"
        super().__init__(f"{wanted.resource.kind} {wanted.name} exists and is not owned by job {place}")


class PluginUpkeep:
    """Writes for the plugins of jobs."""

    def __init__(self, clients: Clientset) -> None:
        self._client = clients.client
        self._told: dict[str, dict[tuple[str, str], Mapping[str, str]]] = {}
        """By job's UID, then kind and name: the content that an object is known to have."""

    async def establish(self, job: Job, plugins: Iterable[JobPlugin]) -> None:
        """Make what is missing and bring up to date what is not. Raises NotOwnedError, ApiError, ConnectionFailed."""
        for plugin in plugins:
            for wanted in plugin.objects(job):
                await self._ensure(job, wanted)

    async def follow(self, job: Job, plugins: Iterable[JobPlugin]) -> None:
        """Let follow what follows a running job. Raises as `establish`."""
        for plugin in plugins:
            for wanted in plugin.objects(job):
                if wanted.upkeep is Upkeep.FOLLOW:
                    await self._ensure(job, wanted)

    async def restore(self, job: Job, plugins: Iterable[JobPlugin]) -> None:
        """Make again what somebody has deleted, since pods are about to need it. Raises as `establish`."""
        for plugin in plugins:
            for wanted in plugin.objects(job):
                await self._keep(job, wanted)

    async def remove(self, job: Job, plugins: Iterable[JobPlugin]) -> None:
        """Delete what this job owns. Raises ApiError, ConnectionFailed."""
        # names don't depend on pods, of which there may be any number
        bare = replace(job, spec=replace(job.spec, tasks=()))
        for plugin in plugins:
            for wanted in plugin.objects(bare):
                await self._delete(job, wanted)
        self.forget(job.metadata.uid)

    def forget(self, uid: str) -> None:
        """The job is gone, or its objects are."""
        self._told.pop(uid, None)

    async def _ensure(self, job: Job, wanted: Wanted) -> None:
        known = self._told.setdefault(job.metadata.uid, {})
        key = (wanted.resource.kind, wanted.name)
        if known.get(key) == wanted.tells:
            return
        if key in known or not await self._create(job, wanted):
            await self._keep(job, wanted)
        known[key] = wanted.tells

    async def _keep(self, job: Job, wanted: Wanted) -> None:
        """Bring an object that was there up to date, or make it again when somebody has deleted it."""
        if not await self._update(job, wanted):
            await self._create(job, wanted)

    async def _create(self, job: Job, wanted: Wanted) -> bool:
        content = await asyncio.to_thread(wanted.content) if wanted.upkeep is Upkeep.RENEW else wanted.content()
        try:
            await self._client.create(wanted.resource, document(job, wanted.name, content), job.metadata.namespace)
        except AlreadyExists:
            return False
        return True

    async def _update(self, job: Job, wanted: Wanted) -> bool:
        """Bring an object that is there up to date; False when it is gone."""
        namespace = job.metadata.namespace
        try:
            found = await self._client.get(wanted.resource, wanted.name, namespace)
        except NotFound:
            return False
        if not is_controlled_by(found.metadata, job.metadata.uid):
            raise NotOwnedError(wanted, job, controller_of(found.metadata))
        if wanted.upkeep is Upkeep.KEEP:
            return True
        data: Mapping[str, str] = found.data
        is_same = data == wanted.tells if wanted.upkeep is Upkeep.FOLLOW else wanted.tells.items() <= data.items()
        if is_same:
            return True
        content = await asyncio.to_thread(wanted.content)
        body = {"metadata": {"uid": found.metadata.uid}, "data": {**dict.fromkeys(data), **content["data"]}}
        await self._client.patch(wanted.resource, wanted.name, namespace, MergePatch(body))
        return True

    async def _delete(self, job: Job, wanted: Wanted) -> None:
        namespace = job.metadata.namespace
        try:
            found = await self._client.get(wanted.resource, wanted.name, namespace)
        except NotFound:
            return
        if is_controlled_by(found.metadata, job.metadata.uid):
            with suppress(NotFound, Conflict):
                await self._client.delete(wanted.resource, wanted.name, namespace, uid=found.metadata.uid)
