"""Finished jobs go when their time is over, and only they."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.garbagecollector import GarbageCollector, OnJob, expiry, is_perishable
from generated.batch.v1alpha1 import JOBS, Job, JobCondition, JobSpec, JobState, JobStatus
from generated.fakes.fakes import Fakes
from generated.meta.v1 import ObjectMeta
from runtime.controller import DONE, again_after
from runtime.errors import Conflict, Forbidden, NotFound
from runtime.objects import Key
from runtime.queue import WorkQueue
from runtime.timestamps import parse
from tests.unit.controllers.fakes import readable, status

FINISHED = "2026-05-01T12:00:00Z"
KEY = Key("ns", "j")


def a_job(
    ttl: int | None = 60, phase: str = "Completed", at: str | None = FINISHED, uid: str = "u", **fields: Any
) -> Job:
    conditions = fields.pop("conditions", ())
    return Job(
        metadata=ObjectMeta(name="j", namespace="ns", uid=uid, **fields),
        spec=JobSpec(ttl_seconds_after_finished=ttl),
        status=JobStatus(state=JobState(phase=phase, last_transition_time=at), conditions=conditions),
    )


def after(seconds: float) -> float:
    return parse(FINISHED).timestamp() + seconds


def collector(now: float, *jobs: Job, stored: Job | None = None) -> tuple[GarbageCollector, Fakes]:
    fakes = Fakes(*jobs)
    if stored is not None:
        readable(fakes, JOBS.plural, stored)
    return GarbageCollector(fakes.clients, fakes.batch_v1alpha1.jobs, lambda: now), fakes


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        (a_job(), True),
        (a_job(0, "Failed"), True),
        (a_job(phase="Terminated"), True),
        (a_job(phase="Aborted"), False),
        (a_job(phase="Running"), False),
        (a_job(None), False),
        (a_job(deletion_timestamp=FINISHED), False),
    ],
)
def test_only_finished_jobs_with_a_time_to_live_perish(job: Job, expected: bool) -> None:
    assert is_perishable(job) is expected


@pytest.mark.parametrize(
    ("job", "seconds"),
    [
        (a_job(60), 60),
        (a_job(60, at=None, conditions=(JobCondition(status="Completed", last_transition_time=FINISHED),)), 60),
        (a_job(60, at=None, creation_timestamp=FINISHED), 60),
    ],
    ids=["its phase", "its last condition", "its creation"],
)
def test_time_counts_from_the_best_known_end(job: Job, seconds: int) -> None:
    assert expiry(job) == after(seconds)


async def test_a_job_is_deleted_with_what_it_owns_when_its_time_is_over() -> None:
    work, fakes = collector(after(61), a_job(), stored=a_job())
    assert await work.reconcile(KEY) == DONE
    (write,) = fakes.writes
    assert (write.verb, write.body["preconditions"], write.body["propagationPolicy"]) == (
        "delete",
        {"uid": "u"},
        "Foreground",
    )


async def test_a_job_with_time_left_is_looked_at_again_when_it_is_over() -> None:
    work, fakes = collector(after(20), a_job())
    assert await work.reconcile(KEY) == again_after(40)
    assert fakes.writes == []


async def test_a_finish_in_the_future_is_waited_for() -> None:
    work, _ = collector(after(-100), a_job(0))
    assert await work.reconcile(KEY) == again_after(100)


@pytest.mark.parametrize(
    ("stored", "result"),
    [
        (a_job(600), again_after(539)),
        (a_job(uid="another"), DONE),
        (a_job(phase="Running"), DONE),
        (a_job(None), DONE),
    ],
    ids=["given more time", "another one", "running again", "kept for good"],
)
async def test_what_the_cache_does_not_know_yet_counts(stored: Job, result: object) -> None:
    work, fakes = collector(after(61), a_job(), stored=stored)
    assert await work.reconcile(KEY) == result
    assert fakes.writes == []


async def test_a_job_that_is_gone_needs_nothing() -> None:
    work, fakes = collector(after(61))
    assert await work.reconcile(KEY) == DONE
    assert fakes.writes == []


@pytest.mark.parametrize("error", [NotFound(status(404, "NotFound")), Conflict(status(409, "Conflict"))])
async def test_a_job_that_goes_meanwhile_is_no_error(error: Exception) -> None:
    work, fakes = collector(after(61), a_job(), stored=a_job())
    fakes.log.fail(error, "delete", JOBS)
    assert await work.reconcile(KEY) == DONE


async def test_other_errors_are_the_queues() -> None:
    work, fakes = collector(after(61), a_job(), stored=a_job())
    fakes.log.fail(Forbidden(status(403, "Forbidden")), "delete", JOBS)
    with pytest.raises(Forbidden):
        await work.reconcile(KEY)


async def test_only_news_of_perishable_jobs_wake_it() -> None:
    queue: WorkQueue[Key] = WorkQueue("test")
    handler = OnJob(queue)
    handler.on_add(a_job(phase="Running"), initial=False)
    handler.on_update(a_job(), a_job())
    assert len(queue) == 0
    handler.on_update(a_job(phase="Running"), a_job())
    assert await queue.get() == KEY
    queue.done(KEY)
    handler.on_update(a_job(60), a_job(30))
    assert len(queue) == 1
