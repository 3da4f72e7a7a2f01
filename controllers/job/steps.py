"""
What a job needs before pods: its first status, names and claims for its volumes, its pod group (controllers.md 3.7).

Each step is looked up before it is done, so a repeated look finds what an interrupted one has made.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

import msgspec
from msgspec.structs import replace

from api import names
from controllers.job import status as statuses
from controllers.job.executor import Executor, JobError
from controllers.job.machine import known_phase
from controllers.job.plugins import plugins_of
from controllers.job.podgroups import build_group, group_patch
from controllers.job.policies import unreadable_timeouts
from controllers.job.reader import Reader
from controllers.job.upkeep import NotOwnedError
from controllers.job.volumes import markers, missing_claims, name_claims
from controllers.job.waiting import (
    LEAVING_SECONDS,
    PLUGIN_FAILED,
    RECHECK_SECONDS,
    Obstacle,
    obstacle,
    too_many_pods,
    waiting_condition,
)
from controllers.job.world import World, is_oversized
from generated.batch.v1alpha1 import JOBS, Job, JobPhase
from generated.clients.clientset import Clientset
from generated.scheduling.v1beta1 import PodGroup
from runtime.errors import AlreadyExists, ApiError, ConnectionFailed
from runtime.events import EventRecorder
from runtime.patches import JsonPatch, MergePatch
from runtime.quantity import QuantityError

Reason = names.JobReason


class Step(msgspec.Struct, frozen=True):
    """The job after its preparation, and after how many seconds one that waits is looked at again; 0 waits for nothing."""

    job: Job
    recheck: float = 0.0
    is_frozen: bool = False
    """Whether it goes on, but may create no pods: what its plugins need is somebody else's."""


class Preparation:
    """Brings a job to the point where its pods can be created."""

    def __init__(self, clients: Clientset, executor: Executor, reader: Reader, events: EventRecorder) -> None:
        self._clients = clients
        self._executor = executor
        self._reader = reader
        self._events = events

    async def begin(self, job: Job, now: datetime) -> Job:
        """A job without a status with its first one. Raises ApiError, ConnectionFailed, told on the job before."""
        for sentence in unreadable_timeouts(job):
            self._events.warning(JOBS, job, Reason.POLICY_ERROR, sentence)
        return await self._executor.statuses.begin(job, now)

    async def run(self, job: Job) -> Step:
        """A job that has begun. Raises ApiError, ConnectionFailed, JobError, QuantityError; each is told on the job before."""
        world = self._reader.world(job)
        if known_phase(job.status.state.phase) == JobPhase.PENDING:
            found = obstacle(world)
            if found is not None:
                return Step(await self._explain(job, found), found.recheck)
        elif is_oversized(job):
            found = too_many_pods(job)
            return Step(await self._explain(job, found), found.recheck, is_frozen=True)
        if job.spec.plugins:
            try:
                with self._told(job, Reason.PLUGIN_ERROR, PLUGIN_FAILED, unless=NotOwnedError):
                    job = await self._plugins(job, world)
            except NotOwnedError as error:
                found = not_owned(error)
                return Step(await self._explain(job, found), found.recheck, is_frozen=True)
        if known_phase(job.status.state.phase) == JobPhase.PENDING:
            with self._told(job, Reason.PVC_ERROR, "Failed to create PVC, err: "):
                job = await self._volumes(job, world)
        if world.is_forwarded:
            job = await self._forward(job)
        with self._told(job, Reason.POD_GROUP_ERROR, "Failed to create PodGroup, err: "):
            if self._reader.recent.owes_drop(job.metadata.uid):
                await self._executor.drop_group(job)
            await self._group(job, world)
        return Step(job)

    async def _explain(self, job: Job, found: Obstacle) -> Job:
        """Say once what the job waits for."""
        status = statuses.explained(job.status, found.reason, found.message)
        if status == job.status:
            return job
        if found.event:
            self._events.warning(JOBS, job, found.event, found.event_message)
        return await self._executor.statuses.write(job, status)

    async def _plugins(self, job: Job, world: World) -> Job:
        """
        Let plugins make what they have not made yet, and let the rest follow the job; the marks are saved at once.

        Before pods are made again, what they need is looked for: somebody may have deleted it.
        """
        plugins, marked = plugins_of(job), job.status.controlled_resources
        fresh = [plugin for plugin in plugins if names.plugin_marker(plugin.name) not in marked]
        upkeep = self._executor.upkeep
        await upkeep.establish(job, fresh)
        standing = [plugin for plugin in plugins if plugin not in fresh]
        await upkeep.follow(job, standing)
        if world.lacks_pods and job.status.task_status_count:  # it has had some
            await upkeep.restore(job, standing)
        marks = {names.plugin_marker(plugin.name): plugin.name for plugin in fresh if plugin.leaves_marker}
        return await self._executor.statuses.write(job, replace(job.status, controlled_resources={**marked, **marks}))

    async def _volumes(self, job: Job, world: World) -> Job:
        operations = name_claims(job, _suffix)
        if operations:
            job = await self._executor.statuses.settle(job)
            meta = job.metadata
            answer = await self._clients.batch_v1alpha1.jobs.patch(meta.name, meta.namespace, JsonPatch(operations))
            named = tuple(
                replace(volume, volume_claim_name=written.volume_claim_name)
                for volume, written in zip(job.spec.volumes, answer.spec.volumes, strict=True)
            )
            job = replace(job, metadata=answer.metadata, spec=replace(job.spec, volumes=named))
            self._reader.fresh.note(job)
        for claim in missing_claims(job, world.claims):
            try:
                await self._clients.core_v1.persistent_volume_claims.create(claim)
            except AlreadyExists:
                continue  # an interrupted run of ours, or one that the cache doesn't show yet
        owned = {**job.status.controlled_resources, **markers(job)}
        return await self._executor.statuses.write(job, replace(job.status, controlled_resources=owned))

    async def _forward(self, job: Job) -> Job:
        """Mark a job that its queue sends to another cluster."""
        key = names.JOB_FORWARDING_KEY
        if job.metadata.annotations.get(key) == "true":
            return job
        job = await self._executor.statuses.settle(job)
        body = {"metadata": {"uid": job.metadata.uid, "annotations": {key: "true"}}}
        answer = await self._clients.batch_v1alpha1.jobs.patch(
            job.metadata.name, job.metadata.namespace, MergePatch(body)
        )
        job = replace(job, metadata=answer.metadata)
        self._reader.fresh.note(job)
        return job

    async def _group(self, job: Job, world: World) -> None:
        wanted = build_group(job, world.priorities)
        if world.group is None:
            await self._executor.create_group(job, wanted)
            return
        self._tell_pending(job, world.group)
        patch = group_patch(world.group, wanted)
        if patch is not None:
            await self._executor.patch_group(world.group, patch)

    def _tell_pending(self, job: Job, group: PodGroup) -> None:
        """Why the scheduler keeps the group waiting, if its newest condition says so."""
        found = waiting_condition(group)
        if found is not None:
            place = f"{job.metadata.namespace}:{job.metadata.name}"
            message = f"PodGroup {place} {found.type.lower()}, reason: {found.message}"
            self._events.warning(JOBS, job, Reason.POD_GROUP_PENDING, message)

    @contextmanager
    def _told(self, job: Job, reason: str, prefix: str, unless: type[Exception] | tuple[()] = ()) -> Iterator[None]:
        """Tell on the job what goes wrong."""
        try:
            yield
        except unless:
            raise
        except (ApiError, ConnectionFailed, JobError, QuantityError) as error:
            self._events.warning(JOBS, job, reason, f"{prefix}{error}")
            raise


def not_owned(error: NotOwnedError) -> Obstacle:
    """What an earlier job has left goes by itself, soon; anything else is somebody's to remove."""
    text, recheck = str(error), RECHECK_SECONDS
    if error.is_leaving:
        text, recheck = f"{text}: waits until it is gone with its own job", LEAVING_SECONDS
    return Obstacle(names.JobStateReason.PLUGIN_NOT_AVAILABLE, text, Reason.PLUGIN_ERROR, text, recheck)


def _suffix() -> str:
    return "".join(secrets.choice(names.RANDOM_SUFFIX_ALPHABET) for _ in range(names.RANDOM_SUFFIX_LENGTH))
