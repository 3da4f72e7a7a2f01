"""Pods that ask for another scheduler, though their job waits for this one."""

from __future__ import annotations

from typing import Any

import pytest

from generated.core.v1 import Pod
from scheduler.cache.foreign import ForeignPods
from scheduler.state.job import Job
from tests.unit.scheduler.cache.test_facts import pod


def foreign(name: str = "a", scheduler: str = "default-scheduler", **rest: Any) -> Pod:
    return pod(name, spec={"schedulerName": scheduler, **rest.pop("spec", {})}, **rest)


def told(pods: ForeignPods, job: str = "ns/g") -> list[str]:
    return [cause.text for cause, _ in pods.known(Job(job))]


def handler(*pods: Pod, own: tuple[str, ...] = ("volcano",)) -> ForeignPods:
    made = ForeignPods(own)
    for each in pods:
        made.on_add(each, initial=True)
    return made


@pytest.mark.parametrize(
    ("pods", "own", "text"),
    [
        (
            [foreign("a"), foreign("b")],
            ("volcano",),
            "2 pods of it ask for scheduler default-scheduler; this one is volcano and leaves them alone",
        ),
        (
            [foreign("a", scheduler="")],
            ("x", "w"),
            "1 pod of it asks for scheduler default-scheduler; this one is w and x and leaves it alone",
        ),
        (
            [foreign("a", "p"), foreign("b", "q"), pod("c")],
            ("volcano",),
            "2 pods of it ask for scheduler p and q; this one is volcano and leaves them alone",
        ),
    ],
)
def test_a_job_of_such_pods_is_told_whose_they_are(pods: list[Pod], own: tuple[str, ...], text: str) -> None:
    (found,) = told(handler(*pods, own=own))
    assert found == text


@pytest.mark.parametrize(
    "other",
    [
        pod("a"),
        foreign("a", spec={"nodeName": "n1"}),
        foreign("a", status={"phase": "Succeeded"}),
        foreign("a", metadata={"annotations": {}}),
    ],
    ids=["ours", "has its node", "has ended", "of no job"],
)
def test_other_pods_are_no_matter(other: Pod) -> None:
    assert told(handler(other)) == []


def test_what_is_over_is_no_longer_told() -> None:
    placed = foreign("a", spec={"nodeName": "n1"})
    pods = handler(foreign("a"), foreign("b"))
    pods.on_update(foreign("a"), placed)
    assert told(pods) == ["1 pod of it asks for scheduler default-scheduler; this one is volcano and leaves it alone"]
    pods.on_update(placed, placed)
    pods.on_delete(placed)
    pods.on_delete(foreign("b"))
    assert told(pods) == []
    pods.on_delete(foreign("b"))
    assert told(pods) == []


def test_a_pod_that_joins_a_job_later_is_told_there() -> None:
    alone = foreign("a", metadata={"annotations": {}})
    pods = handler(alone)
    pods.on_update(alone, foreign("a"))
    assert len(told(pods)) == 1
    assert told(pods, "ns/other") == []
