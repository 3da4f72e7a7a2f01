"""Gangs that wait for pods which wait for the gang: they are let in, and warned of."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from generated.batch.v1alpha1 import CRON_JOBS, JOBS, JobSpec
from tests.unit.webhooks.jobs.samples import job, task
from tests.unit.webhooks.reviews import World, answer, body
from webhooks.cronjobs import CronJobRules
from webhooks.jobs.deadlock import warnings
from webhooks.jobs.validation import JobRules

Json = dict[str, Any]


def warned(obj: Json, old: Json | None = None) -> list[str]:
    response = answer(World().endpoint(JobRules), body(JOBS, obj, old))
    assert response.allowed
    return list(response.warnings or ())


def text(needed: int, first: int, waits: str) -> str:
    return (
        f"spec.minAvailable: {needed} pods must exist before the first one starts, but only {first} are created at"
        f" first: {waits} (dependsOn); the job can never start, set minAvailable to {first} or less"
    )


def after(*names: str, **fields: Any) -> Json:
    return {"name": list(names), **fields}


MASTER = task("master", replicas=1, minAvailable=1)
WORKERS = task("worker", replicas=3, dependsOn=after("master"))
NEVER: dict[str, tuple[Json, str]] = {
    "all of both tasks": (job(MASTER, WORKERS, minAvailable=4), text(4, 1, "task worker waits for task master")),
    "one more than there are": (job(MASTER, WORKERS, minAvailable=2), text(2, 1, "task worker waits for task master")),
    "a chain": (
        job(MASTER, WORKERS, task("last", dependsOn=after("worker")), minAvailable=3),
        text(3, 1, "task worker waits for task master and task last waits for task worker"),
    ),
    "two that are awaited": (
        job(MASTER, task("b"), task("c", dependsOn=after("master", "b")), minAvailable=3),
        text(3, 2, "task c waits for task master, b"),
    ),
    "any of two": (
        job(MASTER, task("b"), task("c", dependsOn=after("master", "b", iteration="any")), minAvailable=3),
        text(3, 2, "task c waits for task master or b"),
    ),
    "an awaited task without a minimum": (
        job(task("a", replicas=2), task("b", dependsOn=after("a")), minAvailable=3),
        text(3, 2, "task b waits for task a"),
    ),
}
CAN: dict[str, Json] = {
    "the first pods are the gang": job(MASTER, WORKERS, minAvailable=1),
    "no dependencies": job(MASTER, task("worker", replicas=3), minAvailable=4),
    "dependencies on nobody": job(MASTER, task("worker", replicas=3, dependsOn={}), minAvailable=4),
    "an awaited task that is ready without pods": job(
        task("a", replicas=2, minAvailable=0), task("b", dependsOn=after("a")), minAvailable=3
    ),
    "an awaited task without replicas": job(task("a", replicas=0), task("b", dependsOn=after("a")), minAvailable=1),
    "any of two, one of them ready without pods": job(
        MASTER,
        task("b", replicas=1, minAvailable=0),
        task("c", dependsOn=after("master", "b", iteration="any")),
        minAvailable=3,
    ),
    "a waiting task without replicas": job(MASTER, task("b", replicas=0, dependsOn=after("master")), minAvailable=1),
}


@pytest.mark.parametrize("name", NEVER)
def test_a_gang_that_can_never_start_is_let_in_with_a_warning(name: str) -> None:
    obj, expected = NEVER[name]
    assert warned(obj) == [expected]


@pytest.mark.parametrize("name", CAN)
def test_a_gang_that_can_start_needs_no_warning(name: str) -> None:
    assert warned(CAN[name]) == []


def test_a_denied_job_is_told_of_its_denial_only() -> None:
    obj = job(MASTER, WORKERS, minAvailable=9)
    response = answer(World().endpoint(JobRules), body(JOBS, obj))
    assert not response.allowed
    assert not response.warnings


@pytest.mark.parametrize(("phase", "is_told"), [("", True), ("Pending", True), ("Aborted", True), ("Running", False)])
def test_a_change_is_judged_while_the_job_has_yet_to_start(phase: str, is_told: bool) -> None:
    old = job(MASTER, WORKERS, minAvailable=1) | {"status": {"state": {"phase": phase}}}
    expected = [text(2, 1, "task worker waits for task master")] if is_told else []
    assert warned(job(MASTER, WORKERS, minAvailable=2), old) == expected


def test_the_jobs_of_a_cron_job_are_judged_with_their_defaults() -> None:
    template = job(MASTER, WORKERS)["spec"]
    del template["minAvailable"]
    cron = {"metadata": {"name": "c"}, "spec": {"schedule": "@daily", "jobTemplate": {"spec": template}}}
    response = answer(World().endpoint(CronJobRules), body(CRON_JOBS, cron))
    assert response.allowed
    assert list(response.warnings or ()) == [text(4, 1, "task worker waits for task master")]


def test_many_tasks_that_wait_for_many_are_judged_in_time_that_grows_with_their_number() -> None:
    names = [f"t{number}" for number in range(30_000)]
    tasks = [{"name": name, "replicas": 1} for name in names]
    last = {"name": "last", "replicas": 1, "dependsOn": {"name": names}}
    spec = msgspec.convert({"tasks": [*tasks, last], "minAvailable": 30_001}, JobSpec)
    assert len(warnings(spec)) == 1
