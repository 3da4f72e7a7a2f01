from __future__ import annotations

from typing import Any

import pytest

from generated.batch.v1alpha1 import CronJob, CronJobSpec, Job, JobSpec, TaskSpec
from generated.bus.v1alpha1 import Command
from generated.core.v1 import Container, ContainerPort, PodSpec, PodTemplateSpec
from generated.defaults import ROOTS, defaulted
from generated.meta.v1 import ObjectMeta
from generated.scheduling.v1beta1 import (
    NetworkTopologySpec,
    PodGroup,
    PodGroupSpec,
    Queue,
    QueueSpec,
    SubGroupPolicySpec,
)
from runtime.decoding import decoder_of
from runtime.defaulting import apply

META = ObjectMeta(name="a")


def test_a_job_gets_the_servers_defaults() -> None:
    job = Job(metadata=META, spec=JobSpec(min_available=1))
    assert defaulted(job) == Job(metadata=META, spec=JobSpec(min_available=1, queue="default", max_retry=3))


def test_what_is_absent_stays_absent() -> None:
    assert defaulted(Job(metadata=META)) == Job(metadata=META)
    assert defaulted(decoder_of(Job).decode(b'{"spec":{}}')).spec == JobSpec(queue="default", max_retry=3)


def test_what_is_set_stays() -> None:
    queue = Queue(spec=QueueSpec(weight=7, dequeue_strategy="fifo"))
    assert defaulted(queue) == queue
    assert defaulted(Job(spec=JobSpec(queue="", max_retry=0))).spec == JobSpec(queue="", max_retry=0)


def test_defaults_inside_pod_templates() -> None:
    port = ContainerPort(container_port=80)
    spec = PodSpec(containers=(Container(name="c", ports=(port,)),))
    job = defaulted(Job(spec=JobSpec(tasks=(TaskSpec(template=PodTemplateSpec(spec=spec)),))))
    assert job.spec.tasks[0].template.spec is not None
    assert job.spec.tasks[0].template.spec.containers[0].ports[0].protocol == "TCP"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (PodGroupSpec(min_member=1), PodGroupSpec(min_member=1, queue="default")),
        (
            PodGroupSpec(network_topology=NetworkTopologySpec()),
            PodGroupSpec(queue="default", network_topology=NetworkTopologySpec(mode="hard")),
        ),
        (
            PodGroupSpec(sub_group_policy=(SubGroupPolicySpec(name="s"),)),
            PodGroupSpec(
                queue="default", sub_group_policy=(SubGroupPolicySpec(name="s", sub_group_size=1, min_sub_groups=0),)
            ),
        ),
    ],
)
def test_pod_groups_get_theirs(given: PodGroupSpec, expected: PodGroupSpec) -> None:
    assert defaulted(PodGroup(spec=given)).spec == expected


def test_a_cron_job_gets_those_of_its_job_too() -> None:
    text: Any = {"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {}}}}
    assert apply(text, ROOTS[CronJob])["spec"] == {
        "schedule": "* * * * *",
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
        "jobTemplate": {"spec": {"queue": "default", "maxRetry": 3}},
    }
    assert defaulted(CronJob(spec=CronJobSpec(schedule="x"))).spec.concurrency_policy == "Allow"


def test_a_kind_without_defaults_is_left_alone() -> None:
    command = Command(metadata=META, action="AbortJob")
    assert defaulted(command) is command
