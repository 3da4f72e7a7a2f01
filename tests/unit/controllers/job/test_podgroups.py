"""The PodGroup of a job, and how it follows the job."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.minresources import min_resources
from api.resources import raw
from controllers.job.podgroups import build_group, group_patch
from generated.batch.v1alpha1 import Job, PartitionPolicySpec, TaskSpec
from generated.core.v1 import Container, PodSpec, PodTemplateSpec, ResourceRequirements
from generated.scheduling.v1beta1 import NetworkTopologySpec, PodGroup
from tests.unit.controllers.job.samples import a_job, a_task, replaced


def template(priority: str = "", *, limits: dict[str, str] | None = None, **requests: str) -> PodTemplateSpec:
    resources = ResourceRequirements(requests=dict(requests), limits=dict(limits or {}))
    return PodTemplateSpec(
        spec=PodSpec(containers=(Container(name="c", resources=resources),), priority_class_name=priority)
    )


def task(name: str, cpu: str, replicas: int, least: int | None = None, priority: str = "") -> TaskSpec:
    return a_task(name, replicas, least, template=template(priority, cpu=cpu))


def cpu_of(job: Job, **priorities: int) -> str:
    return str(raw(min_resources(job.spec, priorities)).get("cpu", "0"))


GPU = "nvidia.com/gpu"


def test_the_case_of_the_specification() -> None:
    amounts = {"cpu": "1", "memory": "1000Mi", GPU: "1"}
    both = template(limits=amounts, **amounts)
    job = a_job(a_task("a", 1, template=both), a_task("b", 1, template=both))
    assert raw(min_resources(job.spec, {})) == {
        "pods": "2",
        "count/pods": "2",
        "cpu": "2",
        "requests.cpu": "2",
        "limits.cpu": "2",
        "memory": "2000Mi",
        "requests.memory": "2000Mi",
        "limits.memory": "2000Mi",
        GPU: "2",
        f"requests.{GPU}": "2",
    }


def test_what_is_only_limited_counts_as_requested() -> None:
    job = a_job(a_task("a", 2, template=template(limits={"cpu": "2", GPU: "1"})))
    found = raw(min_resources(job.spec, {}))
    assert (found["requests.cpu"], found[f"requests.{GPU}"]) == ("4", "2")


@pytest.mark.parametrize(
    ("job", "priorities", "cpu"),
    [
        # fewer pods than the tasks' minimums: the first by priority, by replicas
        (a_job(task("a", "1", 3), task("b", "10", 3), min_available=4), {}, "13"),
        (a_job(task("a", "1", 3), task("b", "10", 3, priority="high"), min_available=4), {"high": 5}, "31"),
        (a_job(task("a", "1", 3), task("b", "10", 3, priority="gone"), min_available=4), {}, "13"),
        # at least the minimums: those first, then the rest by priority
        (a_job(task("a", "1", 3, 1), task("b", "10", 3, 1), min_available=3), {}, "12"),
        (a_job(task("a", "1", 3, 1), task("b", "10", 3, 1, "high"), min_available=3), {"high": 5}, "21"),
        (a_job(task("a", "1", 3, 3), task("b", "10", 3, 3), min_available=6), {}, "33"),
        (a_job(task("a", "1", 3), min_available=0), {}, "0"),
        (a_job(task("a", "1", 2), min_available=9), {}, "2"),
    ],
)
def test_the_first_pods_count(job: Job, priorities: dict[str, int], cpu: str) -> None:
    assert cpu_of(job, **priorities) == cpu


def test_partitions_make_the_minimum_of_a_task() -> None:
    policy = PartitionPolicySpec(total_partitions=2, partition_size=2, min_partitions=1)
    first = a_task("a", 4, template=template(cpu="1"), partition_policy=policy)
    assert cpu_of(a_job(first, task("b", "10", 2, 1), min_available=3)) == "12"


@given(
    st.lists(st.tuples(st.integers(0, 4), st.none() | st.integers(0, 4), st.sampled_from(["", "high"])), max_size=4),
    st.integers(0, 12),
)
def test_so_many_pods_count_as_the_job_needs_or_has(
    rows: list[tuple[int, int | None, str]], min_available: int
) -> None:
    tasks = [task(f"t{i}", "1", count, least, priority) for i, (count, least, priority) in enumerate(rows)]
    job = replaced(a_job(), tasks=tuple(tasks), min_available=min_available)
    assert int(cpu_of(job, high=3)) == min(min_available, sum(count for count, *_ in rows))


def test_a_group_says_what_the_job_needs() -> None:
    policy = PartitionPolicySpec(
        total_partitions=2,
        partition_size=2,
        min_partitions=1,
        network_topology=NetworkTopologySpec(highest_tier_allowed=1),
    )
    job = a_job(a_task("a", 4, partition_policy=policy), a_task("b", 3, 2), priority_class_name="high", queue="q")
    topology = NetworkTopologySpec(mode="soft", highest_tier_allowed=2, highest_tier_name="spine")
    job = replaced(job, network_topology=topology)
    meta = msgspec.structs.replace(job.metadata, labels={"a": "b"}, annotations={"c": "d"})
    group = build_group(msgspec.structs.replace(job, metadata=meta), {})
    assert (group.metadata.name, group.metadata.namespace) == ("j-u", "ns")
    assert (group.metadata.labels, group.metadata.annotations) == ({"a": "b"}, {"c": "d"})
    assert [(owner.uid, owner.controller) for owner in group.metadata.owner_references] == [("u", True)]
    spec = group.spec
    assert (spec.min_member, spec.min_task_member) == (7, {"a": 2, "b": 2})
    assert (spec.queue, spec.priority_class_name) == ("q", "high")
    assert spec.network_topology == NetworkTopologySpec(mode="soft", highest_tier_allowed=2)
    (part,) = spec.sub_group_policy
    assert msgspec.to_builtins(part) == {
        "name": "a",
        "subGroupSize": 2,
        "minSubGroups": 1,
        "labelSelector": {"matchLabels": {"volcano.sh/task-spec": "a"}},
        "matchLabelKeys": ("volcano.sh/partition-id",),
        "networkTopology": {"highestTierAllowed": 1},
    }


def test_a_copy_of_the_jobs_manifest_is_not_copied() -> None:
    job = a_job()
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": "{}", "a": "b"}
    meta = msgspec.structs.replace(job.metadata, annotations=annotations)
    assert build_group(msgspec.structs.replace(job, metadata=meta), {}).metadata.annotations == {"a": "b"}


def as_stored(group: PodGroup, **spec: Any) -> PodGroup:
    """As the server gives it back."""
    meta = msgspec.structs.replace(group.metadata, uid="g", resource_version="9")
    return msgspec.structs.replace(group, metadata=meta, spec=msgspec.structs.replace(group.spec, **spec))


BASE = a_job(a_task("a", 2), a_task("b", 1))
BUILT = build_group(BASE, {})


def test_a_group_that_follows_needs_no_patch() -> None:
    assert group_patch(as_stored(BUILT), BUILT) is None


@pytest.mark.parametrize(
    "spec",
    [
        {"min_resources": {"pods": 3, "count/pods": "3000m"}},
        {"queue": "moved"},
    ],
)
def test_the_same_in_other_words_needs_no_patch(spec: dict[str, Any]) -> None:
    assert group_patch(as_stored(BUILT, **spec), BUILT) is None


def test_server_defaults_are_no_difference() -> None:
    policy = PartitionPolicySpec(total_partitions=2, partition_size=2, network_topology=NetworkTopologySpec())
    job = replaced(a_job(a_task("a", 4, partition_policy=policy)), network_topology=NetworkTopologySpec())
    wanted = build_group(job, {})
    defaulted = NetworkTopologySpec(mode="hard")
    (part,) = wanted.spec.sub_group_policy
    stored_part = msgspec.structs.replace(part, network_topology=defaulted, min_sub_groups=0)
    assert group_patch(as_stored(wanted, network_topology=defaulted, sub_group_policy=(stored_part,)), wanted) is None


@pytest.mark.parametrize(
    ("spec", "patch"),
    [
        ({"min_member": 9}, {"minMember": 3}),
        ({"priority_class_name": "old"}, {"priorityClassName": None}),
        ({"min_task_member": {"a": 2, "b": 1, "gone": 4}}, {"minTaskMember": {"a": 2, "b": 1, "gone": None}}),
        ({"min_task_member": {}}, {"minTaskMember": {"a": 2, "b": 1}}),
        (
            {"min_resources": {"pods": "1", "count/pods": "3", "cpu": "1"}},
            {"minResources": {"pods": "3", "count/pods": "3", "cpu": None}},
        ),
        ({"network_topology": NetworkTopologySpec(mode="soft")}, {"networkTopology": None}),
    ],
)
def test_what_differs_is_patched(spec: dict[str, Any], patch: dict[str, Any]) -> None:
    assert group_patch(as_stored(BUILT, **spec), BUILT) == {"metadata": {"uid": "g"}, "spec": patch}


def test_labels_of_the_job_are_added_and_foreign_ones_stay() -> None:
    found = as_stored(BUILT)
    found = msgspec.structs.replace(
        found, metadata=msgspec.structs.replace(found.metadata, labels={"foreign": "x", "mine": "old"})
    )
    wanted = msgspec.structs.replace(
        BUILT, metadata=msgspec.structs.replace(BUILT.metadata, labels={"mine": "new"}, annotations={"a": "b"})
    )
    assert group_patch(found, wanted) == {
        "metadata": {"uid": "g", "labels": {"mine": "new"}, "annotations": {"a": "b"}}
    }


def test_a_changed_partition_is_patched_whole() -> None:
    policy = PartitionPolicySpec(total_partitions=2, partition_size=2)
    wanted = build_group(a_job(a_task("a", 4, partition_policy=policy)), {})
    patch = group_patch(as_stored(wanted, sub_group_policy=()), wanted)
    assert patch is not None
    assert [part["name"] for part in patch["spec"]["subGroupPolicy"]] == ["a"]
