"""The resources that a queue names."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.webhooks.queues.worlds import queue
from webhooks.causes import Causes, aggregate
from webhooks.queues import amounts

SPEC = "requestBody.spec"


def told(**spec: Any) -> str:
    causes = Causes()
    amounts.check(causes, queue("q", **spec).spec)
    return aggregate(causes)


def guarantee(**resource: Any) -> dict[str, Any]:
    return {"resource": resource}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, ""),
        ({"capability": None, "deserved": None}, ""),
        ({"capability": {"cpu": "1500m", "memory": "1.5", "pods": 3, "nvidia.com/gpu": "2"}}, ""),
        (
            {"capability": {"cpu": "-1"}},
            f'{SPEC}.capability.cpu: Invalid value: "-1": must be greater than or equal to 0',
        ),
        ({"capability": {"pods": "1500m"}}, f'{SPEC}.capability.pods: Invalid value: "1500m": must be an integer'),
        ({"deserved": {"services": 0.5}}, f'{SPEC}.deserved.services: Invalid value: "500m": must be an integer'),
        (
            {"deserved": {"nvidia.com/gpu": "1.5"}},
            f'{SPEC}.deserved.nvidia.com/gpu: Invalid value: "1500m": must be an integer',
        ),
        (
            {"capability": {"pods": "-500m"}},
            (
                f'[{SPEC}.capability.pods: Invalid value: "-500m": must be greater than or equal to 0,'
                f' {SPEC}.capability.pods: Invalid value: "-500m": must be an integer]'
            ),
        ),
        (
            {"deserved": {"cpu": "1e1.5"}},
            (
                f"{SPEC}.deserved.cpu: Invalid value: \"1e1.5\": '1e1.5' is not a quantity:"
                " the exponent 1.5 is not a whole number"
            ),
        ),
        (
            {"guarantee": guarantee(cpu="2")},
            f'{SPEC}.deserved.cpu: Invalid value: "<nil>": deserved[cpu] must be >= guarantee[cpu]=2',
        ),
        (
            {"guarantee": guarantee(memory="2048Mi"), "deserved": {"memory": "1Gi"}},
            f'{SPEC}.deserved.memory: Invalid value: "1Gi": deserved[memory]=1Gi must be >= guarantee[memory]=2Gi',
        ),
        ({"guarantee": guarantee(cpu="1000m"), "deserved": {"cpu": 1}}, ""),
        (
            {"guarantee": guarantee(pods="1500m"), "deserved": {"pods": "2"}},
            f'{SPEC}.guarantee.resource.pods: Invalid value: "1500m": must be an integer',
        ),
        (
            {"deserved": {"cpu": "3"}, "capability": {"cpu": "2000m"}},
            f'{SPEC}.deserved.cpu: Invalid value: "3": deserved[cpu]=3 must be <= capability[cpu]=2',
        ),
        ({"deserved": {"cpu": "3"}, "capability": {"memory": "1"}}, ""),
    ],
)
def test_each_mistake_has_its_words(spec: Any, expected: str) -> None:
    assert told(**spec) == expected


def test_mistakes_come_in_the_order_of_the_checks_and_then_of_names() -> None:
    text = told(
        capability={"pods": "0.5", "cpu": "-1"},
        deserved={"cpu": "2", "memory": "1"},
        guarantee=guarantee(memory="2", gpu="1"),
    )
    places = [part.split(":")[0] for part in text.strip("[]").split(", ")]
    fields = ["capability.cpu", "capability.pods", "deserved.gpu", "deserved.memory", "deserved.cpu"]
    assert places == [f"{SPEC}.{field}" for field in fields]


def test_an_amount_that_cannot_be_read_is_not_called_missing_too() -> None:
    text = told(guarantee=guarantee(cpu="1"), deserved={"cpu": "1e1.5"})
    assert "<nil>" not in text
    assert text.count("Invalid value") == 1


numbers = st.integers(0, 10)


@given(guaranteed=numbers, deserved=numbers, capability=numbers)
def test_what_is_in_order_is_accepted_and_nothing_else(guaranteed: int, deserved: int, capability: int) -> None:
    text = told(
        guarantee=guarantee(cpu=guaranteed), deserved={"cpu": deserved}, capability={"cpu": f"{capability}000m"}
    )
    assert (text == "") is (guaranteed <= deserved <= capability)
