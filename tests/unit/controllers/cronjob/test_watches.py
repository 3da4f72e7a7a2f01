"""What wakes the CronJob controller, and when."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from controllers.cronjob.watches import OnCronJob, OnJob
from generated.batch.v1alpha1 import CronJob
from generated.meta.v1 import OwnerReference
from runtime.objects import Key
from runtime.queue import WorkQueue
from tests.unit.controllers.cronjob.samples import KEY, World, at, cron_job, job

pytestmark = pytest.mark.virtual_time


class Watched:
    def __init__(self, now: str = "10:00") -> None:
        self.world = World(cron_job(), now)
        self.queue: WorkQueue[Key] = WorkQueue("test")
        self.crons = OnCronJob(self.queue, self.world.reconciler, self.world.reader.fresh)
        self.jobs = OnJob(self.queue)

    @property
    def waiting(self) -> tuple[int, list[float]]:
        """Keys that wait for a worker, and seconds until delayed ones come."""
        now = self.queue._now()
        return len(self.queue), [round(due - now, 3) for due, *_ in self.queue._due.values()]


def later(found: CronJob) -> CronJob:
    return msgspec.structs.replace(found, metadata=msgspec.structs.replace(found.metadata, resource_version="6"))


@pytest.mark.parametrize(
    ("old", "new", "waiting"),
    [
        (cron_job(), later(cron_job(suspend=True)), (1, [])),
        (cron_job(), cron_job(), (0, [])),
        (cron_job("@every 1m", last="10:00"), later(cron_job("@every 3m", last="10:00")), (0, [180.1])),
        (cron_job(), later(cron_job("*/30 * * * *")), (0, [1800.1])),
        (cron_job(), later(cron_job(zone="Asia/Tokyo")), (0, [300.1])),
        (cron_job(), later(cron_job("59 23 31 2 *")), (1, [])),
        (cron_job(), later(cron_job(zone="Nope/Nope")), (1, [])),
        (cron_job(), later(cron_job("nope")), (1, [])),
    ],
)
async def test_a_changed_schedule_waits_for_its_next_time(
    old: CronJob, new: CronJob, waiting: tuple[int, list[float]]
) -> None:
    watched = Watched()
    watched.crons.on_update(old, new)
    assert watched.waiting == waiting
    assert watched.world.events.seen == []  # a standby sees changes as well, and must not tell of them


async def test_own_writes_wake_nobody() -> None:
    watched = Watched()
    watched.world.reader.fresh.note(later(cron_job(last="10:00")))
    watched.crons.on_update(cron_job(), later(cron_job(last="10:00")))
    assert watched.waiting == (0, [])


async def test_cron_jobs_that_come_and_go_wake_it() -> None:
    watched = Watched()
    watched.crons.on_add(cron_job(), initial=True)
    assert await watched.queue.get() == KEY
    watched.queue.done(KEY)
    watched.world.reader.fresh.note(cron_job())
    watched.crons.on_delete(cron_job())
    assert (watched.waiting, len(watched.world.reader.fresh)) == ((1, []), 0)


OTHER = OwnerReference(api_version="batch.volcano.sh/v1alpha1", kind="CronJob", name="d", uid="uid-d", controller=True)
BATCH = OwnerReference(api_version="batch/v1", kind="CronJob", name="d", uid="uid-d", controller=True)


@pytest.mark.parametrize(
    ("happen", "names"),
    [
        (lambda on: on.on_add(job("a"), initial=False), {"c"}),
        (lambda on: on.on_add(job("a"), initial=True), set()),
        (lambda on: on.on_add(job("a", owner_references=()), initial=False), set()),
        (lambda on: on.on_add(job("a", owner_references=(BATCH,)), initial=False), set()),
        (lambda on: on.on_delete(job("a")), {"c"}),
        (lambda on: on.on_update(job("a"), job("a")), set()),
        (lambda on: on.on_update(job("a"), job("a", "Completed")), {"c"}),
        (lambda on: on.on_update(job("a"), job("a", deletion_timestamp=at("10:00"))), {"c"}),
        (lambda on: on.on_update(job("a"), job("a", owner_references=(OTHER,))), {"c", "d"}),
        (lambda on: on.on_update(job("a"), job("a", owner_references=())), {"c"}),
    ],
)
async def test_jobs_wake_who_controls_them(happen: Callable[[Any], None], names: set[str]) -> None:
    watched = Watched()
    happen(watched.jobs)
    woken = set()
    while len(watched.queue):
        key = await watched.queue.get()
        woken.add(key.name)
        watched.queue.done(key)
    assert woken == names
