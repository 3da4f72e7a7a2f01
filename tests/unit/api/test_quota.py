from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from api import quota, resources
from generated.core.v1 import Pod, PodSpec

NOW = datetime(2024, 1, 1, 12, 0, 30, tzinfo=UTC)


def spec_of(**of_container: dict[str, Any]) -> dict[str, Any]:
    return {"containers": [{"name": "c", "resources": of_container}]}


def template(**of_container: dict[str, Any]) -> PodSpec:
    return msgspec.convert(spec_of(**of_container), PodSpec)


def test_a_pod_counts_under_all_names_of_quotas() -> None:
    asked = {"cpu": "1", "memory": "1000Mi", "nvidia.com/gpu": 1}
    usage = quota.template_usage(template(requests=asked, limits=asked))
    assert resources.raw(resources.scale(usage, 2)) == {
        "pods": "2",
        "count/pods": "2",
        "cpu": "2",
        "requests.cpu": "2",
        "limits.cpu": "2",
        "memory": "2000Mi",
        "requests.memory": "2000Mi",
        "limits.memory": "2000Mi",
        "nvidia.com/gpu": "2",
        "requests.nvidia.com/gpu": "2",
    }


def test_what_is_only_limited_counts_as_requested() -> None:
    usage = quota.template_usage(template(limits={"cpu": "2", "nvidia.com/gpu": 1}))
    assert resources.raw(usage) == {
        "pods": "1",
        "count/pods": "1",
        "cpu": "2",
        "requests.cpu": "2",
        "limits.cpu": "2",
        "nvidia.com/gpu": "1",
        "requests.nvidia.com/gpu": "1",
    }


def test_huge_pages_and_storage_count_and_unknown_names_do_not() -> None:
    usage = quota.template_usage(template(requests={"hugepages-2Mi": "4Mi", "ephemeral-storage": "1Gi", "gpu": 1}))
    assert resources.raw(usage) == {
        "pods": "1",
        "count/pods": "1",
        "hugepages-2Mi": "4Mi",
        "requests.hugepages-2Mi": "4Mi",
        "ephemeral-storage": "1Gi",
        "requests.ephemeral-storage": "1Gi",
    }


@pytest.mark.parametrize(
    ("metadata", "phase", "is_counted"),
    [
        ({}, "Running", True),
        ({}, "Pending", True),
        ({}, "Succeeded", False),
        ({}, "Failed", False),
        ({"deletionTimestamp": "2024-01-01T12:00:00Z", "deletionGracePeriodSeconds": 30}, "Running", True),
        ({"deletionTimestamp": "2024-01-01T12:00:00Z", "deletionGracePeriodSeconds": 29}, "Running", False),
        ({"deletionTimestamp": "2024-01-01T11:00:00Z"}, "Running", True),
    ],
)
def test_a_pod_that_ended_counts_only_as_an_object(metadata: dict[str, Any], phase: str, is_counted: bool) -> None:
    pod = msgspec.convert(
        {"metadata": metadata, "spec": spec_of(requests={"cpu": "1"}), "status": {"phase": phase}}, Pod
    )
    usage = resources.raw(quota.pod_usage(pod, NOW))
    full = {"pods": "1", "count/pods": "1", "cpu": "1", "requests.cpu": "1"}
    assert usage == (full if is_counted else {"count/pods": "1"})
