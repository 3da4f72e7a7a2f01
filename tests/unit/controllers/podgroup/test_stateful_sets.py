"""Groups of StatefulSets, whose pods become others under the same name and the same group."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from controllers.podgroup.groups import build_group, group_patch
from generated.core.v1 import Pod
from generated.scheduling.v1beta1 import NetworkTopologySpec, PodGroup
from tests.unit.controllers.podgroup.samples import NOW, World, a_group, a_pod, of_revision, owner, stateful_set

NOTE = "scheduling.volcano.sh/copied-from-pods"
QUEUE = "scheduling.volcano.sh/queue-name"
PREEMPTABLE = "volcano.sh/preemptable"
COOLDOWN = "volcano.sh/cooldown-time"
MODE, TIER = "volcano.sh/network-topology-mode", "volcano.sh/network-topology-highest-tier"


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


def made(annotations: dict[str, str] | None = None, labels: dict[str, str] | None = None, **inherited: str) -> PodGroup:
    """The group as a pod of the set asks for it."""
    pod = a_pod("p", owner("StatefulSet"), annotations=annotations or {}, labels=labels or {})
    return build_group(pod, {f"volcano.sh/{key}": value for key, value in inherited.items()}, NOW)


def changed(group: PodGroup, **spec: Any) -> PodGroup:
    """The group after somebody changed its spec."""
    return msgspec.structs.replace(group, spec=msgspec.structs.replace(group.spec, **spec))


ALL = {QUEUE: "q", PREEMPTABLE: "true", MODE: "hard", TIER: "2"}


def test_what_a_new_revision_drops_leaves_the_group() -> None:
    patch = group_patch(made(ALL, {COOLDOWN: "5s"}, kept="y", theirs="z"), made(kept="y"))
    assert patch is not None
    note = made(kept="y").metadata.annotations[NOTE]
    assert patch["metadata"]["annotations"] == {NOTE: note, PREEMPTABLE: None, "volcano.sh/theirs": None}
    assert patch["metadata"]["labels"] == {COOLDOWN: None}
    assert patch["spec"] == {"queue": "default", "networkTopology": None}


def test_when_nothing_is_left_the_note_goes_too() -> None:
    patch = group_patch(made({PREEMPTABLE: "true"}), made())
    assert patch is not None
    assert patch["metadata"]["annotations"] == {NOTE: None, PREEMPTABLE: None}
    assert NOTE not in made().metadata.annotations


def test_what_somebody_changed_or_added_stays() -> None:
    found = changed(made(ALL, {COOLDOWN: "5s"}), queue="moved", network_topology=NetworkTopologySpec(mode="soft"))
    meta = found.metadata
    theirs = msgspec.structs.replace(
        meta,
        labels={**meta.labels, COOLDOWN: "9s", PREEMPTABLE: "false"},
        annotations={**meta.annotations, PREEMPTABLE: "false", "volcano.sh/job-allocated-hypernode": "s0"},
    )
    patch = group_patch(msgspec.structs.replace(found, metadata=theirs), made())
    assert patch == {"metadata": {"uid": found.metadata.uid, "annotations": {NOTE: None}}}


@pytest.mark.parametrize("note", [None, "", "no json", '{"labels": 7}'], ids=["none", "empty", "odd", "of odd types"])
def test_without_a_note_that_can_be_read_nothing_is_taken_away(note: str | None) -> None:
    found = made(ALL, {COOLDOWN: "5s"})
    annotations = {key: value for key, value in found.metadata.annotations.items() if key != NOTE}
    annotations |= {NOTE: note} if note is not None else {}
    found = msgspec.structs.replace(found, metadata=msgspec.structs.replace(found.metadata, annotations=annotations))
    wanted = made({PREEMPTABLE: "true"})
    patch = group_patch(found, wanted)
    assert patch == {"metadata": {"uid": found.metadata.uid, "annotations": {NOTE: wanted.metadata.annotations[NOTE]}}}


def test_what_a_new_revision_asks_for_differently_is_followed_whole() -> None:
    patch = group_patch(made({MODE: "hard", TIER: "2"}), made({MODE: "soft", QUEUE: "q2"}))
    assert patch is not None
    topology = {"mode": "soft", "highestTierAllowed": None, "highestTierName": None}
    assert patch["spec"] == {"queue": "q2", "networkTopology": topology}


def test_the_same_wishes_need_no_patch() -> None:
    assert group_patch(made(ALL, {COOLDOWN: "5s"}, x="y"), made(ALL, {COOLDOWN: "5s"}, x="y")) is None


@pytest.mark.parametrize("pod", [a_pod("p", annotations=ALL), a_pod("p", owner(), annotations=ALL)])
def test_a_group_of_one_revision_needs_no_note(pod: Pod) -> None:
    assert NOTE not in build_group(pod, {"volcano.sh/x": "y"}, NOW).metadata.annotations


async def test_the_first_pod_of_a_new_revision_takes_away_what_it_dropped() -> None:
    old = made({QUEUE: "q", PREEMPTABLE: "true"})
    world = World(stateful_set("r1", "r2"), of_revision("p", "r2"), old, inherits=False)
    assert await world.pod() == ["patch podgroups podgroup-rs", "patch pods p"]
    body = world.fakes.writes[0].body
    assert body["spec"] == {"queue": "default"}
    assert body["metadata"]["annotations"] == {NOTE: None, PREEMPTABLE: None}
