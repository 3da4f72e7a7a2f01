"""The counts always equal those of a walk over all pods, whatever was placed, evicted and taken back."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generated.core.v1 import Affinity, PodAffinityTerm, PodAntiAffinity
from generated.meta.v1 import LabelSelector
from scheduler.contract.journal import Journal
from scheduler.state import moves
from scheduler.state.profile import Carried, Counted, Kind
from scheduler.state.status import OFF_NODE, Status
from scheduler.state.terms import HostPort, PodTerm, read_selector
from tests.unit.scheduler.build import World, shape
from tests.unit.scheduler.sociable import HOST, pod_task, selector, sociable_world

if TYPE_CHECKING:
    from scheduler.state.cluster import Cluster
    from scheduler.state.profile import Tally
    from scheduler.state.task import Task


def carries(cluster: Cluster, key: Any, task: Task) -> int:
    """How often: a pod may have the same wish twice."""
    if isinstance(key, HostPort):
        return task.shape.ports.count(key)
    found = cluster.sight.affinities(task)
    terms = {Kind.REQUIRED: found.required, Kind.FORBIDDEN: found.forbidden, Kind.PREFERRED: found.preferred}
    return terms[key.kind].count(key.placed)


def walked(cluster: Cluster, tally: Tally) -> dict[str, int]:
    """What a tally should say, by name of node."""
    counts: dict[str, int] = {}
    for task in cluster.tasks.values():
        if task.node is None or not task.in_kube or task.status in OFF_NODE:
            continue
        if tally.live and task.status is Status.RELEASING:
            continue
        if isinstance(tally.key, Counted):
            labels = task.pod.metadata.labels if task.pod is not None else {}
            team = cluster.sight.namespaces.get(task.namespace, {})
            counted = int(all(term.matches(task.namespace, labels, team) for term in tally.key.terms))
        else:
            counted = carries(cluster, tally.key, task)
        if counted:
            counts[task.node.name] = counts.get(task.node.name, 0) + counted
    return counts


def assert_counts_are_right(cluster: Cluster) -> None:
    sight = cluster.sight
    for tally in (*sight._counted.values(), *sight._carried.values()):
        found = {node.name: count for node, count in tally.counts.items()}
        assert found == walked(cluster, tally)
        columns = tally.columns(len(cluster.nodes))
        assert [columns[node.row] for node in cluster.nodes] == [found.get(node.name, 0) for node in cluster.nodes]


def watch_some(cluster: Cluster, rng: random.Random) -> None:
    for live in (False, True):
        read = read_selector(selector(rng))
        if read is not None and not {want.key for want in read.requirements} <= cluster.sight._visible:
            continue  # nobody carries such a term here, so nobody asks
        cluster.sight.tally(Counted((PodTerm(frozenset({"ns"}), None, read),), live=live))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_counts_follow_every_move_and_every_roll_back(seed: int) -> None:
    rng = random.Random(seed)
    cluster = sociable_world(seed).cluster
    cluster.settle()
    if not cluster.sight.is_active:
        return
    watch_some(cluster, rng)
    journal = Journal()
    marks = [0]
    for _ in range(12):
        pending = [task for task in cluster.tasks.values() if task.status is Status.PENDING and task.job]
        running = [
            task for task in cluster.tasks.values() if task.status in {Status.RUNNING, Status.BOUND} and task.node
        ]
        move = rng.random()
        if move < 0.5 and pending and cluster.nodes:
            task = rng.choice(pending)
            status = rng.choice([Status.ALLOCATED, Status.PIPELINED])
            moves.place(cluster, (task,), (rng.choice(cluster.nodes),), status, journal)
        elif move < 0.7 and running:
            moves.restatus(cluster, (rng.choice(running),), Status.RELEASING, journal, in_kube=False)
        elif move < 0.8:
            watch_some(cluster, rng)
        else:
            marks.append(len(journal))
        assert_counts_are_right(cluster)
    for mark in reversed(marks):
        journal.rollback(mark)
        assert_counts_are_right(cluster)


@pytest.mark.parametrize("seed", range(10))
def test_counts_follow_pods_nodes_and_new_labels_from_outside(seed: int) -> None:
    rng = random.Random(seed)
    cluster = sociable_world(seed).cluster
    cluster.settle()
    for number in range(10):
        watch_some(cluster, rng)
        for uid in rng.sample(sorted(cluster.tasks), min(2, len(cluster.tasks))):
            cluster.remove_task(uid)
        cluster.add_task(
            pod_task(f"late-{number}", "ns", {"app": "red"}, shape(), job="", status=Status.RUNNING),
            f"node-{rng.randrange(25):02d}",
        )
        world = World(cluster)
        world.node(f"node-{20 + number % 5:02d}")
        cluster.remove_node(f"node-{number:02d}")
        cluster.settle()
        assert_counts_are_right(cluster)


def test_nothing_is_counted_before_a_pod_looks_at_others() -> None:
    world = World()
    world.node("a")
    world.cluster.add_task(pod_task("p", "ns", {"app": "red"}, shape(), job="", status=Status.RUNNING), "a")
    world.cluster.settle()
    assert not world.cluster.sight.is_active
    assert world.cluster.tasks["uid-p"].profile is None


def test_pods_that_differ_only_in_labels_that_nobody_looks_at_share_a_profile() -> None:
    cluster = sociable_world(3).cluster
    cluster.settle()
    first = pod_task("p-0", "ns", {"app": "red", "own": "1"}, shape(), job="")
    second = pod_task("p-1", "ns", {"app": "red", "own": "2"}, shape(), job="")
    third = pod_task("p-2", "ns", {"app": "blue", "own": "2"}, shape(), job="")
    profiles = [cluster.sight.profile(task) for task in (first, second, third)]
    assert profiles[0] is profiles[1]
    assert profiles[0] is not profiles[2]


def test_very_many_tallies_are_forgotten_and_those_in_use_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = sociable_world(3).cluster
    cluster.settle()
    for number in range(20):
        read = read_selector(None) if number % 2 else None
        cluster.sight.tally(Counted((PodTerm(frozenset({f"ns-{number}"}), None, read),)))
    before = {key for key in cluster.sight._carried if isinstance(key, Carried)}
    monkeypatch.setattr(cluster.sight, "_limit", 10)
    cluster.settle()
    assert not cluster.sight._counted
    assert {key for key in cluster.sight._carried if isinstance(key, Carried)} <= before
    assert_counts_are_right(cluster)


def test_what_is_noted_of_shapes_goes_with_their_last_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scheduler.state.sight._MAX_KEPT", 20)
    cluster = lonely_world().cluster
    cluster.add_task(lonely("stays"), "a")
    for number in range(200):
        task = lonely(f"p-{number}")
        cluster.add_task(task, "a")
        cluster.settle()
        cluster.remove_task(task.uid)
    (profile,) = cluster.sight._profiles.values()
    assert len(profile.carried) + len(profile.affinities) <= 22
    assert cluster.tasks["uid-stays"].shape in profile.carried
    assert_counts_are_right(cluster)


def test_what_is_noted_of_shapes_in_use_stays_however_many_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scheduler.state.sight._MAX_KEPT", 20)
    cluster = lonely_world().cluster
    for number in range(100):
        cluster.add_task(lonely(f"p-{number}"), "a")
    cluster.settle()
    version = cluster.sight.extent
    (profile,) = cluster.sight._profiles.values()
    found = dict(profile.affinities)
    cluster.settle()
    assert len(found) == 100
    assert all(profile.affinities[each] is terms for each, terms in found.items())
    assert cluster.sight.extent == version


def lonely_world() -> World:
    made = World()
    made.node("a", labels={HOST: "a"}, pods=500.0, cpu=1e6, memory=1e15)
    made.cluster.settle()
    made.cluster.sight._limit = made.cluster.sight._notes_limit = 20
    return made


def lonely(name: str) -> Task:
    """A pod that wants no other of its kind beside it, with a shape of its own."""
    far = PodAffinityTerm(label_selector=LabelSelector(match_labels={"app": "web"}), topology_key=HOST)
    terms = PodAntiAffinity(required_during_scheduling_ignored_during_execution=(far,))
    wanted = shape(affinity=Affinity(pod_anti_affinity=terms))
    return pod_task(name, "ns", {"app": "web"}, wanted, job="", status=Status.RUNNING)
