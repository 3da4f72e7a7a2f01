"""The pods and the PodGroup that a job gets."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from api.jobgroups import build_group
from api.jobpods import pod_document
from generated.batch.v1alpha1 import Job


def job(**spec: Any) -> Job:
    task = {"name": "w", "replicas": 3, "template": {"spec": {"containers": [{"name": "c"}]}}}
    document = {
        "metadata": {"name": "j", "namespace": "ns", "uid": "u", "labels": {"team": "x"}},
        "spec": {"minAvailable": 2, "tasks": [task], "queue": "q", **spec},
    }
    return msgspec.convert(document, Job)


def test_a_pod_carries_its_place_and_its_group() -> None:
    pod = pod_document(job(), 0, 2, {"metadata": {"labels": {"own": "1"}}, "spec": {"containers": [{"name": "c"}]}})
    meta = pod["metadata"]
    assert (meta["name"], meta["namespace"]) == ("j-w-2", "ns")
    assert meta["labels"]["own"] == "1"
    assert meta["labels"]["volcano.sh/task-index"] == "2"
    assert meta["annotations"]["scheduling.k8s.io/group-name"] == "j-u"
    assert meta["annotations"]["volcano.sh/task-spec"] == "w"
    assert meta["ownerReferences"][0]["uid"] == "u"


@pytest.mark.parametrize(
    ("spec", "template", "wanted"),
    [
        ({}, {}, {}),
        ({"schedulerName": "s"}, {}, {"schedulerName": "s"}),
        ({"schedulerName": "s"}, {"schedulerName": "t"}, {"schedulerName": "t"}),
        ({"priorityClassName": "p"}, {}, {"priorityClassName": "p"}),
        ({"priorityClassName": "p"}, {"priorityClassName": "r"}, {"priorityClassName": "r"}),
    ],
)
def test_the_template_wins_over_the_job(spec: dict[str, Any], template: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert pod_document(job(**spec), 0, 0, {"spec": template})["spec"] == wanted


def test_a_volume_is_mounted_in_every_container() -> None:
    held = job(volumes=[{"mountPath": "/d", "volumeClaimName": "claim"}])
    spec = pod_document(held, 0, 0, {"spec": {"containers": [{"name": "a"}, {"name": "b"}]}})["spec"]
    assert spec["volumes"][0]["persistentVolumeClaim"] == {"claimName": "claim"}
    assert [container["volumeMounts"][0]["mountPath"] for container in spec["containers"]] == ["/d", "/d"]


def test_the_group_has_the_jobs_minimum_queue_and_owner() -> None:
    group = build_group(job(), {})
    assert (group.metadata.name, group.metadata.labels) == ("j-u", {"team": "x"})
    assert (group.spec.min_member, group.spec.queue, group.spec.min_task_member) == (2, "q", {"w": 3})
    assert group.metadata.owner_references[0].uid == "u"
