"""CronJobs, their jobs, and a controller that looks at them on filled listers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from api.owners import owner_reference
from controllers.cronjob.reader import JOB_INDEXERS, Reader
from controllers.cronjob.reconcile import CronJobReconciler
from controllers.cronjob.runs import reference
from controllers.cronjob.texts import DECODER
from controllers.freshest import Freshest
from generated.batch.v1alpha1 import CRON_JOBS, JOBS, CronJob, Job, JobState, JobStatus
from generated.core.v1 import ObjectReference
from generated.fakes.fakes import Fakes
from generated.meta.v1 import ObjectMeta
from runtime.controller import Result
from runtime.lister import Lister
from runtime.objects import Key
from tests.unit.controllers.fakes import Events

KEY = Key("ns", "c")
DAY = "2026-05-01"


def at(clock: str) -> str:
    """A time of the samples' day: `10:05` or `10:05:30`."""
    return f"{DAY}T{clock}{':00' if clock.count(':') == 1 else ''}Z"


def moment(clock: str) -> datetime:
    return datetime.fromisoformat(at(clock)).astimezone(UTC)


def cron_job(
    schedule: str = "*/5 * * * *", *, last: str = "", active: tuple[ObjectReference, ...] = (), **spec: Any
) -> CronJob:
    names = {
        "zone": "timeZone",
        "deadline": "startingDeadlineSeconds",
        "policy": "concurrencyPolicy",
        "keep": "successfulJobsHistoryLimit",
        "keep_failed": "failedJobsHistoryLimit",
    }
    given = {names.get(key, key): value for key, value in spec.items()}
    template = {
        "metadata": {"labels": {"l": "1"}, "annotations": {"a": "2"}},
        "spec": {"minAvailable": 1, "fromTheFuture": True},
    }
    document = {
        "metadata": {
            "name": "c",
            "namespace": "ns",
            "uid": "uid-c",
            "generation": 1,
            "resourceVersion": "5",
            "creationTimestamp": at("10:00"),
        },
        "spec": {"schedule": schedule, "jobTemplate": template, **given},
        "status": {"lastScheduleTime": at(last)} if last else {},
    }
    found = DECODER.decode(msgspec.json.encode(document))
    return msgspec.structs.replace(found, status=msgspec.structs.replace(found.status, active=active))


def job(name: str, phase: str = "Running", ended: str = "", owner: CronJob | None = None, **meta: Any) -> Job:
    owners = meta.pop("owner_references", (owner_reference(CRON_JOBS, owner or cron_job()),))
    meta.setdefault("creation_timestamp", at("09:00"))
    return Job(
        metadata=ObjectMeta(
            name=name, namespace="ns", uid=f"uid-{name}", resource_version="7", owner_references=owners, **meta
        ),
        status=JobStatus(state=JobState(phase=phase, last_transition_time=at(ended) if ended else None)),
    )


def refs(*jobs: Job) -> tuple[ObjectReference, ...]:
    return tuple(map(reference, jobs))


class World:
    """One CronJob, what the cache knows beside it, and what is written."""

    def __init__(self, found: CronJob | None, now: str, *jobs: Job) -> None:
        self.fakes = Fakes()
        self.fakes.log.answer(job("new"), "create", JOBS, times=None)
        self.events = Events()
        self.now = now
        self.reader = Reader(Lister.filled([found] if found else []), Lister.filled(jobs, JOB_INDEXERS), Freshest())
        self.reconciler = CronJobReconciler(
            self.fakes.clients, self.reader, self.events, lambda: moment(self.now).timestamp(), UTC
        )

    async def look(self) -> Result:
        return await self.reconciler.reconcile(KEY)

    @property
    def created(self) -> list[str]:
        return [write.name for write in self.fakes.log.find("create", JOBS)]

    @property
    def deleted(self) -> list[str]:
        return [write.name for write in self.fakes.log.find("delete", JOBS)]

    @property
    def status(self) -> dict[str, Any]:
        """The status that was written last."""
        written: dict[str, Any] = self.fakes.log.find("update", CRON_JOBS)[-1].body.get("status", {})
        return written

    @property
    def active(self) -> list[str]:
        return [ref["name"] for ref in self.status.get("active", ())]

    @property
    def told(self) -> list[str]:
        return [reason for _, _, reason, _ in self.events.seen]


def run(clock: str) -> str:
    """The name of the job that is due at a time."""
    return f"c-{int(moment(clock).timestamp()) // 60}"
