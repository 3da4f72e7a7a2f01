"""
The garbage collector: finished jobs go when their time to live is over (controllers.md 10).

A timer a job, nothing else: what has no time to live, or has not finished, costs nothing here. Before it deletes, the
job is read anew, so that one that was given more time, or that another one of its name replaced, stays.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from api.jobs import FINISHED_PHASES
from controllers.blueprint import Blueprint, Context
from controllers.stored import DECODER
from generated.batch.v1alpha1 import JOBS, Job
from generated.clients.clientset import Clientset
from generated.listers.batch_v1alpha1 import JobLister
from runtime import timestamps
from runtime.controller import DONE, Controller, Result, again_after
from runtime.errors import Conflict, NotFound
from runtime.objects import Key, key_of
from runtime.queue import WorkQueue
from runtime.rbac import READ, Rule

_log = logging.getLogger(__name__)

NAME: Final = "gc-controller"
RULES: Final = (Rule(JOBS.group, (JOBS.plural,), (*READ, "delete")),)


def is_perishable(job: Job) -> bool:
    """Whether a job has finished and has a time to live."""
    return (
        job.spec.ttl_seconds_after_finished is not None
        and job.metadata.deletion_timestamp is None
        and job.status.state.phase in FINISHED_PHASES
    )


def expiry(job: Job) -> float:
    """When the time of a perishable job is over, in unix seconds: counted from its last change of phase known."""
    conditions = job.status.conditions
    finished = (
        job.status.state.last_transition_time
        or (conditions[-1].last_transition_time if conditions else None)
        or job.metadata.creation_timestamp
    )
    since = timestamps.parse_nanoseconds(finished) / 1e9 if finished else 0.0
    return since + (job.spec.ttl_seconds_after_finished or 0)


class GarbageCollector:
    """`reconcile` looks at one job. `clock` gives unix seconds."""

    def __init__(self, clients: Clientset, jobs: JobLister, clock: Callable[[], float]) -> None:
        self._jobs = jobs
        self._client = clients.batch_v1alpha1.jobs
        self._clock = clock

    async def reconcile(self, key: Key) -> Result:
        """Raises ApiError, ConnectionFailed."""
        cached = self._jobs.by_key(key)
        if cached is None or not is_perishable(cached):
            return DONE
        if (left := expiry(cached) - self._clock()) > 0:
            return again_after(left)
        try:
            job = await self._client.get(key.name, key.namespace)
        except NotFound:
            return DONE
        if job.metadata.uid != cached.metadata.uid or not is_perishable(job):
            return DONE
        if (left := expiry(job) - self._clock()) > 0:
            return again_after(left)
        with suppress(NotFound, Conflict):  # gone, or another one of that name
            await self._client.delete(key.name, key.namespace, uid=job.metadata.uid, propagation="Foreground")
            _log.info("job.collected job=%s ttl=%d", key, job.spec.ttl_seconds_after_finished)
        return DONE


class OnJob:
    """Jobs that are finished when they are seen."""

    def __init__(self, queue: WorkQueue[Key]) -> None:
        self._queue = queue

    def on_add(self, obj: Job, initial: bool) -> None:  # noqa: FBT001  # as Handler
        if is_perishable(obj):
            self._queue.add(key_of(obj), is_urgent=not initial)

    def on_update(self, old: Job, new: Job) -> None:
        if is_perishable(new) and (not is_perishable(old) or expiry(old) != expiry(new)):
            self._queue.add(key_of(new))

    def on_delete(self, obj: Job) -> None:
        """It is gone already."""


def build(context: Context) -> Controller[Key]:
    """The controller on the process's informers."""
    jobs = context.informers.of(JOBS, indexers=JobLister.INDEXERS, decoder=DECODER)
    collector = GarbageCollector(context.clients, JobLister(jobs.lister), context.clock)
    controller: Controller[Key] = Controller(
        NAME, collector.reconcile, watches=(), reads=[jobs], workers=context.options.workers["gc"]
    )
    jobs.add_handler(OnJob(controller.queue))
    return controller


BLUEPRINT: Final = Blueprint(NAME, build, RULES)
