"""The pods of a job, built from its template."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from controllers.job.pods import build_pod
from controllers.job.world import places
from controllers.stored import DECODER, StoredTask, template_document
from generated.batch.v1alpha1 import Job, PartitionPolicySpec, VolumeSpec
from tests.unit.controllers.job.samples import TEMPLATE, a_job, a_task, replaced


def stored(template: dict[str, Any], **spec: Any) -> Job:
    """As an informer decodes it."""
    task = {"name": "t", "replicas": 2, "template": template}
    document = {
        "metadata": {"name": "j", "namespace": "ns", "uid": "u"},
        "spec": {"tasks": [task], "queue": "q", "schedulerName": "volcano", **spec},
        "status": {"version": 2, "retryCount": 1},
    }
    return DECODER.decode(msgspec.json.encode(document))


def first(job: Job, **options: Any) -> dict[str, Any]:
    return build_pod(job, next(iter(places(job).values())), **options)


def test_places_are_named_by_job_task_and_ordinal() -> None:
    job = a_job(a_task("a", 2), a_task("", 1), a_task("c", 0))
    assert [(place.pod, place.task, place.task_name, place.ordinal) for place in places(job).values()] == [
        ("j-a-0", 0, "a", 0),
        ("j-a-1", 0, "a", 1),
        ("j-default1-0", 1, "default1", 0),
    ]


def test_controllers_read_a_task_without_a_name_as_admission_would_have_named_it() -> None:
    tasks = [{"replicas": 1}, {"name": "", "replicas": 1}, {"name": "c", "replicas": 1}]
    job = DECODER.decode(msgspec.json.encode({"metadata": {"name": "j"}, "spec": {"tasks": tasks}}))
    assert [task.name for task in job.spec.tasks] == ["default0", "default1", "c"]
    assert [place.pod for place in places(job).values()] == ["j-default0-0", "j-default1-0", "j-c-0"]


def test_a_pod_carries_what_makes_it_one_of_the_job() -> None:
    pod = first(stored({"spec": {"containers": [{"name": "c", "image": "i"}]}}))
    shared = {
        "volcano.sh/task-index": "0",
        "volcano.sh/task-spec": "t",
        "volcano.sh/job-name": "j",
        "volcano.sh/queue-name": "q",
    }
    assert pod["metadata"] == {
        "name": "j-t-0",
        "namespace": "ns",
        "labels": {**shared, "volcano.sh/job-namespace": "ns"},
        "annotations": {
            **shared,
            "volcano.sh/template-uid": "j-t",
            "scheduling.k8s.io/group-name": "j-u",
            "volcano.sh/job-version": "2",
            "volcano.sh/job-retry-count": "1",
        },
        "ownerReferences": [
            {
                "apiVersion": "batch.volcano.sh/v1alpha1",
                "kind": "Job",
                "name": "j",
                "uid": "u",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
    }
    assert pod["spec"] == {"containers": [{"name": "c", "image": "i"}], "schedulerName": "volcano"}


def test_the_template_reaches_the_pod_as_it_was_written() -> None:
    spec = {
        "containers": [{"name": "c", "image": "i", "fieldOfTomorrow": {"a": [1, None]}}],
        "hostNetwork": False,
        "terminationGracePeriodSeconds": 0,
        "nodeSelector": {},
    }
    template = {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}, "name": "ignored"}, "spec": spec}
    pod = first(stored(template))
    assert pod["spec"] == {**spec, "schedulerName": "volcano"}
    assert (pod["metadata"]["labels"]["a"], pod["metadata"]["annotations"]["c"]) == ("b", "d")
    assert pod["metadata"]["name"] == "j-t-0"


@pytest.mark.parametrize(
    ("spec", "policy"),
    [
        ({"hostNetwork": True}, "ClusterFirstWithHostNet"),
        ({"hostNetwork": True, "dnsPolicy": ""}, "ClusterFirstWithHostNet"),
        ({"hostNetwork": True, "dnsPolicy": "Default"}, "Default"),
        ({"hostNetwork": False}, None),
        ({}, None),
    ],
)
def test_pods_in_the_network_of_their_node_find_services_even_where_admission_has_not_seen_to_it(
    spec: dict[str, Any], policy: str | None
) -> None:
    assert first(stored({"spec": spec}))["spec"].get("dnsPolicy") == policy


def test_own_keys_win_over_the_templates() -> None:
    template = {"metadata": {"labels": {"volcano.sh/job-name": "x"}, "annotations": {"volcano.sh/job-version": "9"}}}
    meta = first(stored(template))["metadata"]
    assert (meta["labels"]["volcano.sh/job-name"], meta["annotations"]["volcano.sh/job-version"]) == ("j", "2")


@pytest.mark.parametrize(
    ("template", "spec", "scheduler", "priority"),
    [
        ({}, {}, "volcano", None),
        ({"schedulerName": "mine"}, {}, "mine", None),
        ({}, {"schedulerName": ""}, None, None),
        ({}, {"priorityClassName": "high"}, "volcano", "high"),
        ({"priorityClassName": "low"}, {"priorityClassName": "high"}, "volcano", "low"),
    ],
)
def test_scheduler_and_priority_are_the_templates_else_the_jobs(
    template: dict[str, Any], spec: dict[str, Any], scheduler: str | None, priority: str | None
) -> None:
    pod = first(stored({"spec": template}, **spec))
    assert (pod["spec"].get("schedulerName"), pod["spec"].get("priorityClassName")) == (scheduler, priority)


def test_keys_of_the_job_are_copied() -> None:
    job = stored({})
    annotations = {
        "volcano.sh/preemptable": "true",
        "volcano.sh/cooldown-time": "60s",
        "volcano.sh/revocable-zone": "*",
        "volcano.sh/jdb-min-available": "1",
        "volcano.sh/jdb-max-unavailable": "2",
        "other": "stays",
    }
    labels = {"volcano.sh/preemptable": "false", "volcano.sh/cooldown-time": "1s", "volcano.sh/revocable-zone": "no"}
    meta = msgspec.structs.replace(job.metadata, annotations=annotations, labels=labels)
    pod = first(msgspec.structs.replace(job, metadata=meta))["metadata"]
    copied = {key: pod["annotations"].get(key) for key in annotations}
    assert copied == {**annotations, "volcano.sh/jdb-max-unavailable": None, "other": None}
    assert {key: pod["labels"].get(key) for key in labels} == {**labels, "volcano.sh/revocable-zone": None}


@pytest.mark.parametrize(("size", "partitions"), [(2, ["0", "0", "1"]), (3, ["0", "0", "0"]), (0, ["0", "0", "0"])])
def test_pods_of_a_task_with_partitions_know_theirs(size: int, partitions: list[str]) -> None:
    policy = PartitionPolicySpec(total_partitions=2, partition_size=size)
    job = a_job(a_task(partition_policy=policy, topology_policy="best-effort"))
    pods = [build_pod(job, place)["metadata"] for place in places(job).values()]
    assert [pod["labels"]["volcano.sh/partition-id"] for pod in pods] == partitions
    assert pods[0]["annotations"]["volcano.sh/numa-topology-policy"] == "best-effort"


def test_a_forwarded_job_marks_its_pods() -> None:
    meta = first(stored({}), is_forwarded=True)["metadata"]
    assert meta["labels"]["volcano.sh/job-forwarding"] == meta["annotations"]["volcano.sh/job-forwarding"] == "true"


def test_claims_are_mounted_into_every_container_each_once() -> None:
    volumes = (
        VolumeSpec(mount_path="/data", volume_claim_name="claim"),
        VolumeSpec(mount_path="/again", volume_claim_name="claim"),
        VolumeSpec(mount_path="/nameless"),
    )
    template = {
        "spec": {
            "containers": [{"name": "a", "volumeMounts": [{"name": "x", "mountPath": "/x"}]}, {"name": "b"}],
            "initContainers": [{"name": "init"}],
            "volumes": [{"name": "x", "emptyDir": {}}],
        }
    }
    job = replaced(stored(template), volumes=volumes)
    spec = first(job)["spec"]
    name = spec["volumes"][1]["name"]
    assert name.startswith("j-")
    assert len(name) == len("j-") + 12
    assert spec["volumes"][1] == {"name": name, "persistentVolumeClaim": {"claimName": "claim"}}
    mount = {"name": name, "mountPath": "/data"}
    assert [container.get("volumeMounts") for container in spec["containers"]] == [
        [{"name": "x", "mountPath": "/x"}, mount],
        [mount],
    ]
    assert spec["initContainers"] == [{"name": "init"}]
    assert first(job) == first(job)
    assert len(spec["volumes"]) == 2


def test_building_a_pod_leaves_the_job_as_it_is() -> None:
    job = stored({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c"}]}})
    before = msgspec.json.encode(job)
    first(job)["metadata"]["labels"]["a"] = "changed"
    assert msgspec.json.encode(job) == before


def test_stored_jobs_hold_the_text_of_their_templates_beside_the_model() -> None:
    (task,) = stored({"spec": {"containers": [{"name": "c", "new": 1}]}}).spec.tasks
    assert isinstance(task, StoredTask)
    assert task.template.spec.containers[0].name == "c"
    assert template_document(task) == {"spec": {"containers": [{"name": "c", "new": 1}]}}


@pytest.mark.parametrize("spec", [{}, {"tasks": []}, {"tasks": None}, {"tasks": [{"name": "t"}]}])
def test_jobs_without_tasks_or_templates_can_be_read(spec: dict[str, Any]) -> None:
    job = DECODER.decode(msgspec.json.encode({"metadata": {"name": "j"}, "spec": spec}))
    assert [template_document(task) for task in job.spec.tasks] == [{}] * len(spec.get("tasks") or ())


def test_a_job_that_no_server_sent_has_a_template_too() -> None:
    assert template_document(a_task(template=TEMPLATE)) == {"spec": {"containers": [{"name": "c", "image": "i"}]}}
