"""Groups of StatefulSets, whose pods become others under the same name and the same group."""

from __future__ import annotations

import pytest

from generated.core.v1 import Pod
from tests.unit.controllers.podgroup.samples import World, a_group, of_revision, stateful_set


async def test_only_the_newest_revision_of_a_stateful_set_counts() -> None:
    pods = (of_revision("a", "r1"), of_revision("b", "r2"))
    world = World(stateful_set("r1", "r2"), *pods, inherits=False)
    assert await world.workload("StatefulSet") == ["create podgroups podgroup-rs", "patch pods b"]


async def test_the_first_pod_of_a_new_revision_takes_the_group_along() -> None:
    """Its group may wait for the resources that the old revision asked for, and the pod with it."""
    old = a_group(min_member=1, min_resources={"cpu": "100", "requests.cpu": "100"}, queue="default")
    world = World(stateful_set("r1", "r2"), of_revision("p", "r2"), old, inherits=False)
    assert await world.pod() == ["patch podgroups podgroup-rs", "patch pods p"]
    least = world.fakes.writes[0].body["spec"]["minResources"]
    assert (least["cpu"], least["requests.cpu"]) == ("1", "1")


@pytest.mark.parametrize(
    ("pod", "current", "newest"),
    [
        (of_revision("p", "r1"), "r1", "r2"),  # a partition holds the pod back
        (of_revision("p", "r1"), "r1", "r1"),
        (of_revision("p", "r1"), "", ""),
    ],
    ids=["an old one", "the only one", "none told yet"],
)
async def test_pods_that_bring_nothing_new_leave_the_group_alone(pod: Pod, current: str, newest: str) -> None:
    world = World(stateful_set(current, newest), pod, a_group(min_member=7), inherits=False)
    assert await world.pod() == ["patch pods p"]


async def test_a_new_revision_is_known_before_its_set_tells_of_it() -> None:
    world = World(stateful_set("r1", "r1"), of_revision("p", "r2"), a_group(min_member=7), inherits=False)
    assert await world.pod() == ["patch podgroups podgroup-rs", "patch pods p"]


async def test_a_pod_of_another_set_of_the_name_changes_nothing() -> None:
    pod = of_revision("p", "r2")
    other = stateful_set("r1", "r2")
    other = type(other)(metadata=type(other.metadata)(name="w", namespace="ns", uid="x"), status=other.status)
    assert await World(other, pod, a_group(min_member=7), inherits=False).pod() == ["patch pods p"]
