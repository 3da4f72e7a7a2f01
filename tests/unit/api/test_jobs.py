from __future__ import annotations

from typing import Any

import msgspec
import pytest

from api import jobs, names
from generated.batch.v1alpha1 import JobSpec, TaskSpec
from generated.bus.v1alpha1 import Action, Event


def task(**fields: Any) -> TaskSpec:
    return msgspec.convert({"name": "t", **fields}, TaskSpec)


def policy(size: int, minimum: int) -> dict[str, int]:
    return {"totalPartitions": 4, "partitionSize": size, "minPartitions": minimum}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"replicas": 3}, 3),
        ({}, 0),
        ({"replicas": 3, "minAvailable": 1}, 1),
        ({"replicas": 3, "minAvailable": 0}, 0),
        ({"replicas": 8, "partitionPolicy": policy(2, 3)}, 6),
        ({"replicas": 8, "partitionPolicy": policy(2, 0)}, 8),
        ({"replicas": 8, "partitionPolicy": policy(0, 3)}, 8),
        ({"replicas": 8, "minAvailable": 5, "partitionPolicy": policy(2, 3)}, 5),
    ],
)
def test_pods_that_a_task_needs(fields: dict[str, Any], expected: int) -> None:
    assert jobs.task_min_available(task(**fields)) == expected


def test_sums_over_the_tasks_of_a_job() -> None:
    spec = JobSpec(tasks=(task(replicas=2), task(replicas=3, minAvailable=1)))
    assert jobs.total_min_available(spec) == 3
    assert jobs.total_replicas(spec) == 5
    assert jobs.total_min_available(JobSpec()) == jobs.total_replicas(JobSpec()) == 0


def test_tasks_are_found_by_name() -> None:
    first, second = task(replicas=1), task(replicas=2)
    spec = JobSpec(tasks=(task(name="a"), first, second))
    assert jobs.find_task(spec, "t") is first
    assert jobs.find_task(spec, "zz") is None
    assert jobs.task_name(task(name=""), 2) == "default2"
    assert jobs.task_name(first, 2) == "t"


def test_defaults_of_absent_fields() -> None:
    assert jobs.queue_of(JobSpec()) == jobs.queue_of(JobSpec(queue="")) == "default"
    assert jobs.queue_of(JobSpec(queue="q")) == "q"
    assert jobs.task_max_retry(task()) == jobs.task_max_retry(task(maxRetry=0)) == 3
    assert jobs.task_max_retry(task(maxRetry=7)) == 7
    assert jobs.task_max_retry(task(maxRetry=-1)) == -1


@pytest.mark.parametrize(
    ("ordinal", "size", "expected"), [(5, 2, 2), (5, 1, 5), (0, 2, 0), (1, 2, 0), (5, 0, 0), (5, -1, 0)]
)
def test_the_partition_of_a_pod(ordinal: int, size: int, expected: int) -> None:
    assert jobs.partition_id(ordinal, size) == expected


@pytest.mark.parametrize(
    ("template", "replicas", "hosts"),
    [
        ({}, 2, ("job-t-0.job", "job-t-1.job")),
        ({"subdomain": "sub"}, 1, ("job-t-0.sub",)),
        ({"hostname": "h"}, 3, ("h.job",)),
        ({"hostname": "h", "subdomain": "sub"}, 3, ("h.sub",)),
        ({"hostname": "h"}, 0, ()),
        ({}, 0, ()),
    ],
)
def test_hosts_of_a_task(template: dict[str, str], replicas: int, hosts: tuple[str, ...]) -> None:
    spec = {"containers": [], **template}
    assert jobs.task_hosts("job", task(replicas=replicas, template={"spec": spec})) == hosts


@pytest.mark.parametrize(
    ("present", "kept"),
    [
        ((), ()),
        ((names.JDB_MIN_AVAILABLE_ANNOTATION,), (names.JDB_MIN_AVAILABLE_ANNOTATION,)),
        ((names.JDB_MAX_UNAVAILABLE_ANNOTATION,), (names.JDB_MAX_UNAVAILABLE_ANNOTATION,)),
        (
            (names.JDB_MAX_UNAVAILABLE_ANNOTATION, names.JDB_MIN_AVAILABLE_ANNOTATION),
            (names.JDB_MIN_AVAILABLE_ANNOTATION,),
        ),
    ],
)
def test_one_disruption_annotation_counts(present: tuple[str, ...], kept: tuple[str, ...]) -> None:
    annotations = {"other": "x", **dict.fromkeys(present, "30%")}
    assert jobs.disruption_budget(annotations) == dict.fromkeys(kept, "30%")


def test_actions_and_events_are_either_for_users_or_internal() -> None:
    flow_actions = {Action.SYNC_JOB_FLOW, Action.SYNC_JOB_TEMPLATE}
    assert {*jobs.USER_ACTIONS, *jobs.INTERNAL_ACTIONS, *flow_actions} == set(Action.VALUES)
    assert not jobs.INTERNAL_ACTIONS.intersection(jobs.USER_ACTIONS)
    assert {*jobs.USER_EVENTS, *jobs.INTERNAL_EVENTS} == set(Event.VALUES)
    assert not jobs.INTERNAL_EVENTS.intersection(jobs.USER_EVENTS)


def test_an_aborted_job_is_not_finished() -> None:
    assert {"Completed", "Failed", "Terminated"} == jobs.FINISHED_PHASES
