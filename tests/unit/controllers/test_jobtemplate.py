"""Templates list the jobs that were made from them."""

from __future__ import annotations

import pytest

from controllers.jobtemplate import JOB_INDEXERS, JobTemplateReconciler, OnJob, OnTemplate, template_key
from generated.batch.v1alpha1 import Job
from generated.fakes.fakes import Fakes
from generated.flow.v1alpha1 import JOB_TEMPLATES, JobTemplate, JobTemplateStatus
from generated.meta.v1 import ObjectMeta
from runtime.controller import DONE
from runtime.errors import Conflict, NotFound
from runtime.lister import Lister
from runtime.objects import Key
from runtime.queue import WorkQueue
from tests.unit.controllers.fakes import Events, status

LABEL = "volcano.sh/createdByJobTemplate"
KEY = Key("ns", "t.v1")


def a_job(name: str, value: str = "ns.t.v1", annotation: str = "") -> Job:
    annotations = {LABEL: annotation} if annotation else {}
    return Job(metadata=ObjectMeta(name=name, namespace="ns", labels={LABEL: value}, annotations=annotations))


def a_template(*made: str) -> JobTemplate:
    meta = ObjectMeta(name="t.v1", namespace="ns", uid="u", resource_version="3")
    return JobTemplate(metadata=meta, status=JobTemplateStatus(job_depends_on_list=made))


def world(template: JobTemplate | None, *jobs: Job) -> tuple[JobTemplateReconciler, Fakes, Events]:
    fakes, events = Fakes(), Events()
    found = Lister.filled([template] if template else [])
    reconciler = JobTemplateReconciler(fakes.clients, found, Lister.filled(jobs, JOB_INDEXERS), events)
    return reconciler, fakes, events


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        (a_job("j"), KEY),
        (a_job("j", "ns.plain"), Key("ns", "plain")),
        (a_job("j", "cut-off", "ns.t.v1"), KEY),
        (a_job("j", "nodot"), None),
        (a_job("j", "other.t.v1"), None),
        (a_job("j", ""), None),
    ],
)
def test_a_job_names_its_template(job: Job, expected: Key | None) -> None:
    assert template_key(job) == expected


async def test_the_status_lists_jobs_by_name() -> None:
    reconciler, fakes, _ = world(a_template(), a_job("b"), a_job("a"), a_job("x", "ns.other"))
    assert await reconciler.reconcile(KEY) == DONE
    (write,) = fakes.writes
    assert write.body["status"] == {"jobDependsOnList": ["a", "b"]}
    assert write.body["metadata"]["resourceVersion"] == "3"


async def test_jobs_that_are_gone_are_taken_off() -> None:
    reconciler, fakes, _ = world(a_template("a", "b"), a_job("a"))
    await reconciler.reconcile(KEY)
    assert fakes.writes[0].body["status"] == {"jobDependsOnList": ["a"]}


async def test_a_list_that_is_right_is_not_written() -> None:
    reconciler, fakes, _ = world(a_template("a"), a_job("a"))
    await reconciler.reconcile(KEY)
    reconciler, fakes, _ = world(None, a_job("a"))
    await reconciler.reconcile(KEY)
    assert fakes.writes == []


async def test_errors_but_a_vanished_template_are_the_queues() -> None:
    reconciler, fakes, events = world(a_template(), a_job("a"))
    fakes.log.fail(NotFound(status(404, "NotFound")), "update", JOB_TEMPLATES)
    assert await reconciler.reconcile(KEY) == DONE
    fakes.log.fail(Conflict(status(409, "Conflict")), "update", JOB_TEMPLATES)
    with pytest.raises(Conflict) as caught:
        await reconciler.reconcile(KEY)
    await reconciler.give_up(KEY, caught.value)
    assert events.seen == [("Warning", "t.v1", "", " JobTemplate failed for refused: Conflict")]


async def test_what_wakes_a_template() -> None:
    reconciler, _, _ = world(None)
    queue: WorkQueue[Key] = WorkQueue("test")
    OnTemplate(queue, reconciler.fresh).on_add(a_template(), initial=True)
    assert await queue.get() == KEY
    queue.done(KEY)
    OnJob(queue).on_delete(a_job("a"))
    assert await queue.get() == KEY
    queue.done(KEY)
    OnJob(queue).on_add(a_job("a"), initial=True)
    OnJob(queue).on_update(a_job("a"), a_job("a"))
    assert len(queue) == 0
