"""What a gang can give: which of its pods are safe to take, and which bundles are taken first."""

from __future__ import annotations

import numpy as np
import pytest

from generated.meta.v1 import ObjectMeta
from generated.scheduling.v1beta1 import PodGroup, PodGroupSpec, SubGroupPolicySpec
from scheduler.evicting.bundles import Bundle, bundles_of, gain, ranked
from scheduler.state.dimensions import Dimensions
from scheduler.state.job import Job
from scheduler.state.status import Status
from scheduler.state.task import Task
from tests.unit.scheduler.build import World, shape
from tests.unit.scheduler.sociable import pod_task


def job_of(roles: dict[str, int], minimum: int, role_minimum: dict[str, int] | None = None) -> Job:
    """A job with running tasks of these roles; the n-th has priority n."""
    world = World()
    world.node("n", cpu=64000.0)
    world.gang("g", [], minimum=minimum, role_minimum=role_minimum)
    number = 0
    for role, count in roles.items():
        for _ in range(count):
            task = Task(
                uid=f"{role}{number}", namespace="ns", name=f"{role}{number}", job="ns/g", shape=shape(1000.0, 0.0),
                role=role, priority=number, status=Status.RUNNING,
            )  # fmt: skip
            world.cluster.add_task(task, "n")
            number += 1
    return world.cluster.jobs["ns/g"]


def divided(job: Job) -> dict[bool, list[str]]:
    """Names of the tasks of the safe bundle and of the whole one."""
    found = bundles_of(job, job.tasks.values(), Dimensions())
    return {bundle.is_safe: [task.name for task in bundle.tasks] for bundle in found}


@pytest.mark.parametrize(
    ("roles", "minimum", "role_minimum", "expected"),
    [
        ({"a": 3}, 3, {}, {False: ["a0", "a1", "a2"]}),
        ({"a": 3}, 1, {}, {True: ["a0", "a1"], False: ["a2"]}),
        ({"a": 3}, 4, {}, {True: ["a0", "a1", "a2"]}),  # broken anyway
        ({"a": 3}, 0, {}, {True: ["a0", "a1", "a2"]}),
        # The one of role a is needed, whatever the surplus of the job.
        ({"a": 1, "b": 3}, 2, {"a": 1, "b": 1}, {True: ["b1", "b2"], False: ["a0", "b3"]}),
        # Minimums of roles that exceed the job's count for nothing.
        ({"a": 1, "b": 3}, 1, {"a": 1, "b": 1}, {True: ["a0", "b1", "b2"], False: ["b3"]}),
        ({"a": 1, "b": 2}, 1, {"b": 1}, {True: ["a0", "b1"], False: ["b2"]}),
    ],
)
def test_a_pod_is_safe_when_its_gang_stays_whole_without_it(
    roles: dict[str, int], minimum: int, role_minimum: dict[str, int], expected: dict[bool, list[str]]
) -> None:
    assert divided(job_of(roles, minimum, role_minimum)) == expected


def bundle(job: str, local: float, total: float, *, safe: bool = False) -> Bundle:
    task = Task(uid=f"uid-{job}", namespace="ns", name=job, job=job, shape=shape())
    return Bundle(Job(job), (task,), safe, np.array([local, 0.0, 0.0]), np.array([total, 0.0, 0.0]))


def test_what_a_bundle_gives_is_weighed_against_what_its_jobs_end_costs() -> None:
    need = np.array([2000.0, 0.0, 0.0])
    assert gain(bundle("a", 1000.0, 4000.0), need) == 0.25
    assert gain(bundle("a", 4000.0, 4000.0), need) == 0.5  # more than is needed is no gain
    assert gain(bundle("a", 1000.0, 0.0, safe=True), need) == float("inf")


def test_safe_bundles_come_first_then_jobs_by_their_order_then_those_that_gain_most() -> None:
    need = np.array([2000.0, 0.0, 0.0])
    low, high = bundle("low", 1000.0, 8000.0), bundle("high", 1000.0, 2000.0)
    safe, twin = bundle("safe", 1000.0, 0.0, safe=True), bundle("high-2", 1000.0, 4000.0)

    def none(_: Job, __: Job) -> int:
        return 0

    assert ranked([low, twin, high, safe], need, none) == [safe, high, twin, low]

    def low_first(left: Job, right: Job) -> int:
        return (right.id == "low") - (left.id == "low")

    assert ranked([twin, high, safe, low], need, low_first) == [safe, low, high, twin]


@pytest.mark.parametrize(
    ("needed", "expected"),
    [
        (0, {True: ["w0", "w1"], False: ["w2", "w3"]}),
        (1, {True: ["w0", "w1"], False: ["w2", "w3"]}),
        (2, {False: ["w0", "w1", "w2", "w3"]}),
    ],
)
def test_no_sub_group_is_broken_that_its_job_needs(needed: int, expected: dict[bool, list[str]]) -> None:
    world = World()
    world.node("n", cpu=64000.0)
    world.gang("g", [], minimum=2)
    job = world.cluster.jobs["ns/g"]
    policy = SubGroupPolicySpec(name="p", match_label_keys=("part",), sub_group_size=2, min_sub_groups=needed)
    job.pod_group = PodGroup(
        metadata=ObjectMeta(name="g", namespace="ns"), spec=PodGroupSpec(sub_group_policy=(policy,))
    )
    for number in range(4):
        labels = {"part": str(number // 2)}
        task = pod_task(
            f"w{number}", "ns", labels, shape(1000.0, 0.0), job="ns/g", priority=number, status=Status.RUNNING
        )
        world.cluster.add_task(task, "n")
    assert divided(job) == expected
