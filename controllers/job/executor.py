"""
Carries out plans: the only writes of the job controller.

Every write may be repeated, so a plan that broke off anywhere is made and carried out again: names are fixed, deletes
name the UID, the status comes last.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, TypeVar

from api import names
from api.owners import is_controlled_by
from controllers.job import metrics
from controllers.job.machine import known_phase
from controllers.job.plan import ACTIVE, Plan
from controllers.job.plugins import plugins_of
from controllers.job.plugins.base import JobPlugin
from controllers.job.pods import build_pod
from controllers.job.reader import Reader
from controllers.job.statuses import StatusWriter
from controllers.job.tallies import Tallies
from controllers.job.upkeep import PluginUpkeep
from controllers.job.world import Place, World
from generated.batch.v1alpha1 import JOBS, Job
from generated.clients.clientset import Clientset
from generated.core.v1 import Pod
from generated.scheduling.v1beta1 import PodGroup
from runtime.controller import ReconcileError
from runtime.cooperation import cooperate
from runtime.errors import AlreadyExists, ApiError, Conflict, ConnectionFailed, DecodeError, Forbidden, NotFound
from runtime.events import EventRecorder
from runtime.patches import MergePatch

_log = logging.getLogger(__name__)

T = TypeVar("T")

IN_FLIGHT: Final = 64
"""Requests of one job on their way at once; the client's rate limit counts beside."""
_SHOWN_ERRORS: Final = 10
"""Errors that one event tells of."""
_NAMESPACE_TERMINATING: Final = "NamespaceTerminating"
REFUSED: Final = (ApiError, ConnectionFailed, DecodeError)


class JobError(ReconcileError):
    """Some writes for a job failed. The message counts them."""


class NameTakenError(JobError):
    """An object that the job needs exists already and is somebody else's."""


class Executor:
    """Writes for one job at a time a call; several calls may run side by side."""

    def __init__(self, clients: Clientset, events: EventRecorder, reader: Reader, tallies: Tallies) -> None:
        self._clients = clients
        self._events = events
        self._reader = reader
        self.tallies = tallies
        self.statuses = StatusWriter(clients, events, reader, tallies)
        self.upkeep = PluginUpkeep(clients)

    async def carry_out(self, world: World, plan: Plan) -> Job:
        """
        Create, mark and delete, write the status, drop the group; the job as it is then.

        A status that tells little may be left to a later look.
        Raises JobError when pods could not be created or deleted: the status is not written then.
        """
        job = world.job
        plugins = plugins_of(job)
        if plan.create:
            await self._create(world, plan.create, plugins)
        if plan.delete or plan.mark:
            await self._delete(world, plan)
        if plan.drops_group and plugins and _may_have_objects(job):
            await self.upkeep.remove(job, plugins)
        written = await self.statuses.follow(job, plan.status)
        if plan.drops_group:
            await self.drop_group(written)
        return written

    async def create_group(self, job: Job, group: PodGroup) -> None:
        """
        Create the pod group, or find the one that is there. While an old one of its name is still going there is none.

        Raises NameTakenError when it is somebody else's.
        """
        groups = self._clients.scheduling_v1beta1.pod_groups
        self.tallies.note_write()
        try:
            with self._reader.first.writing():
                created = await groups.create(group)
        except AlreadyExists:
            created = await groups.get(group.metadata.name, job.metadata.namespace)
            if not is_controlled_by(created.metadata, job.metadata.uid):
                raise NameTakenError(
                    f"PodGroup {group.metadata.name} exists and is not owned by job "
                    f"{job.metadata.namespace}/{job.metadata.name}"
                ) from None
        self._reader.recent.created_group(job.metadata.uid, created)

    async def patch_group(self, group: PodGroup, patch: Mapping[str, Any]) -> None:
        """Let the pod group follow the job."""
        groups = self._clients.scheduling_v1beta1.pod_groups
        await groups.patch(group.metadata.name, group.metadata.namespace, MergePatch(patch))

    async def drop_group(self, job: Job) -> None:
        """Delete the job's pod group. One that could not be deleted is owed, and counts as absent all the same."""
        recent, uid, cached = self._reader.recent, job.metadata.uid, self._reader.cached_group(job)
        group = cached if recent.owes_drop(uid) else recent.group(uid, cached)
        if group is not None:
            meta = group.metadata
            recent.dropping_group(uid, meta.uid)
            with suppress(NotFound, Conflict):
                await self._clients.scheduling_v1beta1.pod_groups.delete(meta.name, meta.namespace, uid=meta.uid)
        recent.dropped_group(uid)

    async def _create(self, world: World, wanted: Sequence[Place], plugins: Sequence[JobPlugin]) -> None:
        for place in {place.task: place for place in wanted}.values():
            build_pod(world.job, place, plugins)  # what fails for a task fails before any pod is created

        async def create(place: Place) -> None:
            await cooperate()
            await self._create_pod(world, place, plugins)

        with self._reader.first.writing():
            errors = await _each(wanted, create)
        if errors:
            job = world.job
            self._warn(job, names.JobReason.FAILED_CREATE, f"Error creating pods: {_listed(errors)}")
            raise JobError(f"failed to create {len(errors)} pods of {len(job.spec.tasks)}") from errors[0]

    async def _create_pod(self, world: World, place: Place, plugins: Sequence[JobPlugin]) -> None:
        job = world.job
        pods = self._clients.core_v1.pods
        self.tallies.note_write()
        try:
            pod = await pods.create(build_pod(job, place, plugins, is_forwarded=world.is_forwarded))
        except AlreadyExists:
            pod = await pods.get(place.pod, job.metadata.namespace)
            if not is_controlled_by(pod.metadata, job.metadata.uid):
                raise NameTakenError(
                    f"pod {place.pod} exists and is not owned by job {job.metadata.namespace}/{job.metadata.name}"
                ) from None
        else:
            metrics.observe_creation(job, pod)
        self._reader.recent.created(job.metadata.uid, pod)

    async def _delete(self, world: World, plan: Plan) -> None:
        marked = {pod.metadata.uid for pod in plan.mark}
        deleted = {pod.metadata.uid for pod in plan.delete}
        pods = {pod.metadata.uid: pod for pod in (*plan.mark, *plan.delete)}

        async def remove(pod: Pod) -> None:
            await cooperate()
            uid = pod.metadata.uid
            is_there = await self._mark(pod) if uid in marked else True
            if is_there and uid in deleted:
                await self._delete_pod(world.job, pod)

        errors = await _each(pods.values(), remove)
        if errors:
            self._warn(world.job, names.JobReason.FAILED_DELETE, f"Error deleting pods: {_listed(errors)}")
            verb, total = ("kill", len(world.pods)) if plan.mark else ("delete", len(deleted))
            raise JobError(f"failed to {verb} {len(errors)} pods of {total}") from errors[0]

    async def _mark(self, pod: Pod) -> bool:
        """Note on the pod that the controller deletes it; False when it is gone."""
        if names.OUT_OF_SYNC_ANNOTATION in pod.metadata.annotations:
            return True
        body = {"metadata": {"uid": pod.metadata.uid, "annotations": {names.OUT_OF_SYNC_ANNOTATION: "true"}}}
        try:
            await self._clients.core_v1.pods.patch(pod.metadata.name, pod.metadata.namespace, MergePatch(body))
        except (NotFound, Conflict):
            return False
        return True

    async def _delete_pod(self, job: Job, pod: Pod) -> None:
        meta = pod.metadata
        self.tallies.note_write()
        with suppress(NotFound, Conflict):  # gone, or another pod of that name
            await self._clients.core_v1.pods.delete(meta.name, meta.namespace, uid=meta.uid)
        self._reader.recent.deleted(job.metadata.uid, meta.uid)

    def _warn(self, job: Job, reason: str, message: str) -> None:
        self._events.warning(JOBS, job, reason, message)


def _may_have_objects(job: Job) -> bool:
    """Whether plugins made something, or were about to when they were interrupted."""
    markers = (key for key in job.status.controlled_resources if key.startswith(names.PLUGIN_MARKER_PREFIX))
    return known_phase(job.status.state.phase) in ACTIVE or any(markers)


def is_namespace_leaving(error: BaseException | None) -> bool:
    """Whether a write was refused, or what it led to, because the whole namespace is being deleted."""
    while error is not None:
        details = error.status.details if isinstance(error, Forbidden) else None
        if details is not None and any(cause.reason == _NAMESPACE_TERMINATING for cause in details.causes):
            return True
        error = error.__cause__
    return False


async def _each(items: Iterable[T], work: Callable[[T], Awaitable[None]]) -> list[Exception]:
    """
    Do the work for every item, a few at a time; the errors of those whose requests were refused.

    They come in the order of the items, so that the same trouble has the same words each time.
    """
    errors: dict[int, Exception] = {}
    defects: list[Exception] = []
    everything = list(items)
    waiting = iter(enumerate(everything))

    async def worker() -> None:
        for index, item in waiting:
            try:
                await work(item)
            except (*REFUSED, JobError) as error:
                errors[index] = error
            except Exception as defect:  # noqa: BLE001  # raised below, as itself and not in a group
                defects.append(defect)
                return

    async with asyncio.TaskGroup() as group:
        for _ in range(min(IN_FLIGHT, len(everything))):
            group.create_task(worker())
    if defects:
        raise defects[0]
    return [errors[index] for index in sorted(errors)]


def _listed(errors: list[Exception]) -> str:
    shown = ", ".join(str(error) for error in errors[:_SHOWN_ERRORS])
    rest = len(errors) - _SHOWN_ERRORS
    return f"[{shown} and {rest} more]" if rest > 0 else f"[{shown}]"
