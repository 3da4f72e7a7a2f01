"""The job reconciler on filled listers and a recording client, for its tests."""

from __future__ import annotations

from typing import Any

import msgspec

from controllers.job.executor import Executor
from controllers.job.first import FirstStatuses
from controllers.job.podgroups import build_group
from controllers.job.reader import POD_INDEXERS, Listers, Reader
from controllers.job.recent import Recent
from controllers.job.reconcile import JobReconciler, Parts
from controllers.job.requests import SYNC, Request, Target
from controllers.job.tallies import Tallies
from generated.batch.v1alpha1 import Job, LifecyclePolicy
from generated.core.v1 import (
    Pod,
)
from generated.fakes.fakes import Fakes
from generated.listers.batch_v1alpha1 import JobLister
from generated.listers.core_v1 import PodLister
from generated.meta.v1 import ObjectMeta
from generated.scheduling.v1beta1 import Queue
from runtime.lister import Store
from runtime.model import Model
from runtime.objects import Key
from tests.unit.controllers.fakes import Events
from tests.unit.controllers.job.samples import NOW, a_group

KEY = Key("ns", "j")


QUEUE = Queue(metadata=ObjectMeta(name="default"))


class World:
    """Fakes whose job and pods a test may change between two looks."""

    def __init__(self, *objects: Model, max_retries: int = 15) -> None:
        self.fakes = Fakes(*objects)
        self.events = Events()
        self.now = NOW.timestamp()
        self.set_by = 0.0
        """Seconds by which somebody has set the clock of the day, which `now` doesn't show."""
        self.pods: Store[Pod] = Store(POD_INDEXERS)
        for pod in self.fakes.objects_of(Pod):
            self.pods.put(pod)
        self.jobs: Store[Job] = Store(JobLister.INDEXERS)
        for job in self.fakes.objects_of(Job):
            self.jobs.put(job)
        groups = self.fakes.scheduling_v1beta1
        listers = Listers(
            jobs=JobLister(self.jobs),
            pods=PodLister(self.pods),
            groups=groups.pod_groups,
            queues=groups.queues,
            claims=self.fakes.core_v1.persistent_volume_claims,
            priorities=self.fakes.scheduling_v1.priority_classes,
        )
        self.woken: list[Key] = []

        def wake(key: Key, is_urgent: bool) -> None:  # as the controller's
            del is_urgent
            self.woken.append(key)

        self.reader = Reader(listers, Recent(lambda: self.now), FirstStatuses(wake))
        executor = Executor(self.fakes.clients, self.events, self.reader, Tallies(wake))
        self.reconciler = JobReconciler(
            Parts(
                self.fakes.clients,
                self.reader,
                executor,
                self.events,
                lambda: self.now + self.set_by,
                max_retries,
                ticks=lambda: self.now,
            ),
            self.woken.append,
        )

    async def look(self, *requests: Request) -> list[str]:
        """Reconcile once; the writes of this look."""
        for request in requests or (SYNC,):
            self.reconciler.inbox.add(KEY, request)
        before = len(self.fakes.writes)
        self.result = await self.reconciler.reconcile(KEY)
        return [_short(write) for write in self.fakes.writes[before:]]

    def job(self) -> Job:
        found = self.reader.job(KEY)
        assert found is not None
        return found


def _short(write: Any) -> str:
    kind = write.resource.partition(".")[0]
    if write.subresource == "status":
        return f"status {write.body['status']['state']['phase']}"
    return f"{write.verb} {kind} {write.name}"


def failing(pod: str = "j-t-0", exit_code: int = 1) -> Request:
    return Request(
        "PodFailed", job_uid="u", version=0, target=Target("t", pod), pod_uid=f"uid-{pod}", exit_code=exit_code
    )


def with_group(job: Job, phase: str = "Inqueue") -> Any:
    """The group that follows the job already."""
    built = build_group(job, {})
    meta = msgspec.structs.replace(built.metadata, uid="g", resource_version="4")
    return msgspec.structs.replace(built, metadata=meta, status=a_group(phase).status)


POLICY = (LifecyclePolicy(event="PodFailed", action="RestartJob"),)


def restarting(job: Job) -> Job:
    meta = msgspec.structs.replace(job.metadata, resource_version="6")
    state = msgspec.structs.replace(job.status.state, phase="Restarting")
    changed = msgspec.structs.replace(job.status, state=state, version=1, retry_count=1, terminating=1)
    return msgspec.structs.replace(job, metadata=meta, status=changed)
