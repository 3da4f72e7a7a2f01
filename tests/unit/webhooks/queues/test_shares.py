"""Resources beside those of relatives."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generated.scheduling.v1beta1 import Queue
from tests.unit.webhooks.queues.worlds import queue, tree
from webhooks.queues import shares


def guarantee(**resource: Any) -> dict[str, Any]:
    return {"resource": resource}


def told(new: Queue, *others: Queue) -> str:
    return shares.problem(new, tree(*others, new))


GPU = "nvidia.com/gpu"
PARENT = queue(
    "p", "root", capability={"cpu": "10", GPU: "4"}, deserved={"cpu": "8"}, guarantee=guarantee(cpu="4", memory="16Gi")
)
MIDDLE = queue("m", "p", capability={"memory": "10Gi"})


@pytest.mark.parametrize(
    ("spec", "parent", "expected"),
    [
        ({"capability": {"cpu": "10"}}, "p", ""),
        ({"capability": {"cpu": "20"}}, "p", "queue q capability[cpu]=20 exceeds its ancestor's capability=10"),
        ({"capability": {"cpu": "10001m"}}, "m", "queue q capability[cpu]=10001m exceeds its ancestor's capability=10"),
        (
            {"capability": {"memory": "11Gi"}},
            "m",
            "queue q capability[memory]=11Gi exceeds its ancestor's capability=10Gi",
        ),
        (
            {"capability": {GPU: "5"}},
            "m",
            "queue q capability[nvidia.com/gpu]=5000.00 exceeds its ancestor's capability=4000.00",
        ),
        ({"capability": {"memory": "1Ti", "pods": 100, "foo": "9", "count/pods": "9"}}, "p", ""),
        ({"capability": {"cpu": "99"}}, "root", ""),
        ({"deserved": {"cpu": "8"}, "guarantee": guarantee(cpu="4")}, "p", ""),
        (
            {"deserved": {"cpu": "9"}},
            "p",
            (
                "parent queue p validation failed: sum of children's deserved (cpu 9000.00, memory 0.00)"
                " exceeds parent's deserved limit (cpu 8000.00, memory 0.00)"
            ),
        ),
        (
            {"guarantee": guarantee(memory="17Gi", **{GPU: "1"})},
            "p",
            (
                "parent queue p validation failed: sum of children's guarantee (cpu 0.00, memory 18253611008.00,"
                " nvidia.com/gpu 1000.00) exceeds parent's guarantee limit (cpu 4000.00, memory 17179869184.00)"
            ),
        ),
        ({"deserved": {"memory": "1Ti", GPU: "8"}}, "p", ""),
        ({"deserved": {"cpu": "1000"}}, "m", ""),
        ({}, "gone", 'parent queue gone not found: queue.scheduling.volcano.sh "gone" not found'),
    ],
)
def test_a_queue_fits_below_its_ancestors(spec: Any, parent: str, expected: str) -> None:
    assert told(queue("q", parent, **spec), PARENT, MIDDLE) == expected


def test_a_zero_of_the_parent_is_a_limit_and_its_silence_is_none() -> None:
    parent = queue("p", "root", deserved={"cpu": "0"})
    assert told(queue("q", "p", deserved={"memory": "1Gi"}), parent) == ""
    assert "exceeds parent's deserved limit" in told(queue("q", "p", deserved={"cpu": "1m"}), parent)


def test_siblings_count_and_the_stored_copy_of_the_queue_does_not() -> None:
    sibling, stored = queue("a", "p", deserved={"cpu": "5"}), queue("q", "p", deserved={"cpu": "9"})
    assert told(queue("q", "p", deserved={"cpu": "3"}), PARENT, sibling, stored) == ""
    text = told(queue("q", "p", deserved={"cpu": "3500m"}), PARENT, sibling, stored)
    assert "sum of children's deserved (cpu 8500.00, memory 0.00)" in text


def test_the_first_sum_that_is_too_large_is_told() -> None:
    siblings = [queue("a", "p", deserved={"cpu": "9"}), queue("b", "p", deserved={"cpu": "9"})]
    assert "(cpu 9000.00, memory 0.00) exceeds" in told(queue("q", "p"), PARENT, *siblings)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"capability": {"cpu": "6", "memory": "20Gi"}}, ""),
        ({"capability": {"cpu": "5"}}, "queue q capability[cpu]=5 is smaller than its descendants' max capability=6"),
        (
            {"capability": {"memory": "1Gi"}},
            "queue q capability[memory]=1Gi is smaller than its descendants' max capability=8Gi",
        ),
        ({"capability": {"cpu": "0"}}, ""),
        (
            {"guarantee": guarantee(cpu="1")},
            (
                "queue q validation failed: sum of children's guarantee (cpu 3000.00, memory 0.00)"
                " exceeds parent's guarantee limit (cpu 1000.00, memory 0.00)"
            ),
        ),
        ({"guarantee": guarantee(cpu="3")}, ""),
    ],
)
def test_a_queue_is_large_enough_for_those_below(spec: Any, expected: str) -> None:
    below = [
        queue("a", "q", capability={"cpu": "6"}, guarantee=guarantee(cpu="3")),
        queue("b", "q"),
        queue("c", "b", capability={"cpu": "2", "memory": "8Gi"}),
        queue("d", "a", capability={"cpu": "7"}),
    ]
    assert told(queue("q", "root", **spec), *below) == expected


def test_what_cannot_be_read_of_others_is_nobodys_limit() -> None:
    parent = queue("p", "root", capability={"cpu": "1e1.5"}, deserved={"cpu": "1e1.5"})
    assert told(queue("q", "p", capability={"cpu": "5"}, deserved={"cpu": "5"}), parent) == ""


def test_circles_end_every_walk() -> None:
    circle = [queue("a", "b", capability={"cpu": "1"}), queue("b", "a", capability={"cpu": "1"})]
    assert told(queue("q", "a"), *circle) == ""
    assert "exceeds its ancestor's" in told(queue("a", "b", capability={"cpu": "2"}), *circle)
    assert told(queue("q", "q", capability={"cpu": "2"})) == ""


amounts = st.integers(0, 6)


@given(limit=amounts, siblings=st.lists(amounts, max_size=4), own=amounts)
def test_deserved_amounts_fit_exactly_when_their_sum_does(limit: int, siblings: list[int], own: int) -> None:
    others = [queue(f"s{index}", "p", deserved={"cpu": amount}) for index, amount in enumerate(siblings)]
    parent = queue("p", "root", deserved={"cpu": limit})
    text = told(queue("q", "p", deserved={"cpu": f"{own}000m"}), parent, *others)
    assert (text == "") is (sum(siblings) + own <= limit)
