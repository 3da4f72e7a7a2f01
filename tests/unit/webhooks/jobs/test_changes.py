from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generated.batch.v1alpha1 import JobSpec
from tests.unit.webhooks.jobs.samples import container, job, pod, task
from webhooks.jobs.changes import first_change

decode = msgspec.json.Decoder(JobSpec).decode


def spec(**fields: Any) -> JobSpec:
    return decode(msgspec.json.encode(job(**fields)["spec"]))


def with_resources(limits: Any) -> JobSpec:
    return decode(
        msgspec.json.encode(job(task(template=pod(containers=[container(resources={"limits": limits})])))["spec"])
    )


LIMITS = "spec.tasks[0].template.spec.containers[0].resources.limits"

CASES: list[tuple[JobSpec, JobSpec, str]] = [
    (spec(), spec(), ""),
    (spec(), spec(queue="other"), "spec.queue"),
    (spec(maxRetry=0), spec(), ""),
    (spec(queue=""), spec(queue=None), ""),
    (spec(ttlSecondsAfterFinished=0), spec(), "spec.ttlSecondsAfterFinished"),
    (spec(plugins={"svc": []}), spec(plugins={}), "spec.plugins[svc]"),
    (spec(plugins={"svc": ["a"]}), spec(plugins={"svc": ["b"]}), "spec.plugins[svc][0]"),
    (spec(plugins={"svc": ["a"]}), spec(plugins={"svc": ["a", "b"]}), "spec.plugins[svc]"),
    (with_resources({"cpu": "1"}), with_resources({"cpu": "1000m"}), ""),
    (with_resources({"cpu": 1}), with_resources({"cpu": "1"}), ""),
    (with_resources({"cpu": "1"}), with_resources({"cpu": "2"}), f"{LIMITS}[cpu]"),
    (with_resources({"cpu": "1"}), with_resources({"cpu": "x"}), f"{LIMITS}[cpu]"),
    (with_resources({"cpu": "1"}), with_resources({}), f"{LIMITS}[cpu]"),
]


@pytest.mark.parametrize(("old", "new", "expected"), CASES)
def test_the_first_difference_in_meaning_is_named(old: JobSpec, new: JobSpec, expected: str) -> None:
    assert first_change(old, new, "spec") == expected
    assert bool(first_change(new, old, "spec")) is bool(expected)


amounts = st.sampled_from(["1", "1000m", 1, "2", "0", "0.5", "500m", "1Ki", "1024"])


@given(
    st.dictionaries(st.sampled_from(["cpu", "memory"]), amounts),
    st.dictionaries(st.sampled_from(["cpu", "memory"]), amounts),
)
def test_amounts_are_compared_by_value(old: dict[str, Any], new: dict[str, Any]) -> None:
    value = {"1": 1.0, "1000m": 1.0, 1: 1.0, "2": 2.0, "0": 0.0, "0.5": 0.5, "500m": 0.5, "1Ki": 1024.0, "1024": 1024.0}
    same = {key: value[amount] for key, amount in old.items()} == {key: value[amount] for key, amount in new.items()}
    assert (first_change(with_resources(old), with_resources(new), "spec") == "") is same
