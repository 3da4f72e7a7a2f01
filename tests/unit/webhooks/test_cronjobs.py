from __future__ import annotations

from typing import Any

import pytest

from generated.batch.v1alpha1 import CRON_JOBS
from runtime.errors import ConnectionFailed
from tests.unit.webhooks.jobs.samples import container, job, pod, task
from tests.unit.webhooks.reviews import Server, World, answer, body, message
from webhooks.cronjobs import CronJobRules

Json = dict[str, Any]
QUALIFIED = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric"
    " character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is"
    " '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


def cron_job(name: str = "c", template: Json | None = None, **spec: Any) -> Json:
    filled = {"schedule": "* * * * *", "jobTemplate": {"spec": (template or job())["spec"]}, **spec}
    return {"metadata": {"name": name, "namespace": "n"}, "spec": filled}


def judged(obj: Json, old: Json | None = None, world: World | None = None) -> tuple[str, tuple[str, ...]]:
    response = answer((world or World()).endpoint(CronJobRules), body(CRON_JOBS, obj, old))
    return message(response), tuple(response.warnings or ())


@pytest.mark.parametrize(
    "schedule",
    ["* * * * *", " 0 0 * * 0 ", "@daily", "@every 1h30m", "*/5 1-3,,7 ? jan-MAR sun", "0 0 1/2 * *", "5-9-3 * * * *"][
        :6
    ],
)
def test_a_schedule_is_cron(schedule: str) -> None:
    assert judged(cron_job(schedule=schedule)) == ("", ())


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"schedule": ""}, "schedule is required, but got empty"),
        (
            {"schedule": "TZ=UTC * * * * *"},
            "schedule should not contain TZ or CRON_TZ, TZ should only be set in the timeZone field",
        ),
        ({"timeZone": ""}, "timeZone must be nil or non-empty string, got empty string"),
        ({"timeZone": "Local"}, "timeZone can't be Local, and must be defined in https://www.iana.org/time-zones"),
        ({"timeZone": "lOCAL"}, "timeZone can't be Local, and must be defined in https://www.iana.org/time-zones"),
        ({"timeZone": "utc"}, "invalid timeZone"),
        ({"timeZone": "Mars/Olympus"}, "invalid timeZone"),
        ({"timeZone": "../.."}, "unknown timeZone unknown timeZone invalid timeZone"),
        ({"timeZone": "-x/a b"}, "unknown timeZone unknown timeZone invalid timeZone"),
        (
            {"schedule": "", "timeZone": "x"},
            "schedule is required, but got empty invalid timeZone",
        ),
    ],
)
def test_what_is_wrong_is_told_in_known_words(spec: Json, expected: str) -> None:
    assert judged(cron_job(**spec))[0] == expected


@pytest.mark.parametrize("zone", ["UTC", "Asia/Shanghai", "America/Argentina/Buenos_Aires", "Etc/GMT+5"])
def test_zones_are_those_of_the_database(zone: str) -> None:
    assert judged(cron_job(timeZone=zone)) == ("", ())


@pytest.mark.parametrize(
    ("schedule", "why"),
    [
        ("* * * *", "found 4"),
        ("60 * * * *", "minute '60'"),
        ("* * * * 7", "day of week '7'"),
        ("@reboot", "unknown macro '@reboot'"),
        (" @daily", "found 1"),
        ("@every x", "@every"),
    ],
)
def test_a_bad_schedule_says_why(schedule: str, why: str) -> None:
    text, warnings = judged(cron_job(schedule=schedule))
    assert text.startswith("schedule is not a valid cron expression")
    assert why in text
    assert warnings == ()


@pytest.mark.parametrize(
    ("schedule", "warning"),
    [
        ("0 0 31 2 *", "names a date that never comes"),
        ("@every 500ms", "less than a second"),
        ("@every -1h", "less than a second"),
    ],
)
def test_a_schedule_that_is_valid_but_odd_is_warned_of(schedule: str, warning: str) -> None:
    text, warnings = judged(cron_job(schedule=schedule))
    assert text == ""
    assert len(warnings) == 1
    assert warning in warnings[0]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a" * 52, ""),
        ("a" * 53, "cronJob name must be no more than 52 characters to accommodate job name suffix (max 63 total)"),
        ("a_", f'invalid cronJob name "a_": {QUALIFIED}'),
    ],
)
def test_a_name_leaves_room_for_the_names_of_jobs(name: str, expected: str) -> None:
    template = job(task("t", template=pod()))
    assert judged(cron_job(name, template))[0].split("; spec.jobTemplate")[0] == expected or expected == ""


def test_several_mistakes_are_joined() -> None:
    text, _ = judged(cron_job("a" * 53, schedule=""))
    assert text.startswith("schedule is required, but got empty; cronJob name must be no more than 52 characters")


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ({"spec": {}}, "spec.jobTemplate: No task specified in job spec"),
        (job(plugins={"mpi": []}), "spec.jobTemplate: The specified mpi master task was not found"),
        (
            job(task(template=pod(containers=[container(image="")]))),
            "spec.jobTemplate: spec.task[0].template.spec.containers[0].image: Required value.",
        ),
        (
            job(task("a", dependsOn={"name": ["a"]})),
            (
                "spec.jobTemplate: job has dependencies between tasks, but doesn't form a directed acyclic graph(DAG):"
                " a -> a;"
            ),
        ),
    ],
)
def test_the_jobs_to_come_are_judged_as_jobs(template: Json, expected: str) -> None:
    assert judged(cron_job(template=template))[0] == expected


def test_the_template_is_judged_with_its_defaults() -> None:
    nameless = {"spec": {"tasks": [{"replicas": 2, "template": pod()}, {"replicas": 1, "template": pod()}]}}
    assert judged(cron_job(template=nameless)) == ("", ())


@pytest.mark.parametrize(
    ("queue", "warning"),
    [
        ("q", 'spec.jobTemplate.spec.queue: unable to find job queue: queue.scheduling.volcano.sh "q" not found'),
        ("root", "spec.jobTemplate.spec.queue: can not submit job to root queue"),
        ("default", ""),
    ],
)
def test_the_queue_is_only_warned_of(queue: str, warning: str) -> None:
    text, warnings = judged(cron_job(template=job(queue=queue)))
    assert text == ""
    assert warnings == ((warning,) if warning else ())


def test_a_server_that_can_not_be_asked_is_warned_of() -> None:
    world = World(server=Server(q=ConnectionFailed("refused")))
    text, warnings = judged(cron_job(template=job(queue="q")), world=world)
    assert text == ""
    assert "can't be read: refused" in warnings[0]


BROKEN = job(task(template=pod(containers=[])))


def test_a_stored_template_does_not_keep_a_cron_job_from_being_suspended() -> None:
    old = cron_job(template=BROKEN)
    assert judged(cron_job(template=BROKEN, suspend=True), old)[0] == ""
    assert judged(cron_job("d", template=BROKEN), old)[0] == ""
    assert judged(cron_job(template=BROKEN, schedule="x"), old)[0].startswith("schedule is not a valid")


def test_a_new_template_is_judged_on_an_update_too() -> None:
    assert judged(cron_job(template=BROKEN), cron_job())[0].startswith("spec.jobTemplate: spec.task[0]")


def test_a_cron_job_on_its_way_out_may_become_anything() -> None:
    leaving = cron_job(schedule="x")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert judged(leaving, cron_job())[0] == ""
