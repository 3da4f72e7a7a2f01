"""plugins.md 18.3 as tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from generated.core.v1 import Affinity, PodAffinity, PodAffinityTerm, PodAntiAffinity, WeightedPodAffinityTerm
from generated.meta.v1 import LabelSelector
from scheduler.contract.view import View
from scheduler.kube import interpod
from scheduler.kube.interpod import Preferences, SpanNormaliser
from scheduler.state.status import Status
from scheduler.state.task import Shape, Task
from tests.unit.scheduler.build import World, shape
from tests.unit.scheduler.sociable import HOST, ZONE, pod_task


def near(key: str, app: str | None = "web", **scope: Any) -> PodAffinityTerm:
    selector = LabelSelector(match_labels={"app": app}) if app is not None else None
    return PodAffinityTerm(label_selector=selector, topology_key=key, **scope)


def required(*terms: PodAffinityTerm, anti: bool = False) -> Shape:
    wanted: dict[str, Any] = {"required_during_scheduling_ignored_during_execution": terms}
    if anti:
        return shape(affinity=Affinity(pod_anti_affinity=PodAntiAffinity(**wanted)))
    return shape(affinity=Affinity(pod_affinity=PodAffinity(**wanted)))


def preferred(weight: int, term: PodAffinityTerm, *, anti: bool = False) -> Shape:
    wish = WeightedPodAffinityTerm(weight=weight, pod_affinity_term=term)
    wanted: dict[str, Any] = {"preferred_during_scheduling_ignored_during_execution": (wish,)}
    if anti:
        return shape(affinity=Affinity(pod_anti_affinity=PodAntiAffinity(**wanted)))
    return shape(affinity=Affinity(pod_affinity=PodAffinity(**wanted)))


def world(*pods: tuple[str, str, dict[str, str], Shape]) -> World:
    """Nodes a, b (zone 1), c (zone 2), d (no labels); pods are (namespace, node, labels, shape)."""
    made = World()
    for name, zone in (("a", "1"), ("b", "1"), ("c", "2")):
        made.node(name, labels={HOST: name, ZONE: zone})
    made.node("d")
    made.cluster.sight.set_namespace("ns", {"team": "x"})
    made.cluster.sight.set_namespace("far", {"team": "y"})
    for number, (namespace, node, labels, wanted) in enumerate(pods):
        task = pod_task(f"old-{number}", namespace, labels, wanted, job="", status=Status.RUNNING)
        made.cluster.add_task(task, node)
    return made


def incoming(made: World, labels: dict[str, str], wanted: Shape) -> tuple[Task, View]:
    task = pod_task("new", "ns", labels, wanted, job="")
    made.cluster.add_task(task)
    made.cluster.settle()
    made.cluster.sight.carried(task)
    return task, View.all(made.cluster)


WEB = {"app": "web"}
PLAIN = shape()


@pytest.mark.parametrize(
    ("pods", "labels", "wanted", "verdicts"),
    [
        pytest.param([("ns", "a", WEB, PLAIN)], {}, required(near(ZONE)), [0, 0, 1, 1], id="near a pod of the zone"),
        pytest.param([("ns", "a", WEB, PLAIN)], {}, required(near(HOST)), [0, 1, 1, 1], id="near a pod of the host"),
        pytest.param([("far", "a", WEB, PLAIN)], {}, required(near(ZONE)), [1, 1, 1, 1], id="other namespace"),
        pytest.param(
            [("far", "a", WEB, PLAIN)],
            {},
            required(near(ZONE, namespaces=("far",))),
            [0, 0, 1, 1],
            id="named namespace",
        ),
        pytest.param(
            [("far", "a", WEB, PLAIN)],
            {},
            required(near(ZONE, namespace_selector=LabelSelector(match_labels={"team": "y"}))),
            [0, 0, 1, 1],
            id="selected namespace",
        ),
        pytest.param(
            [("far", "a", WEB, PLAIN)],
            {},
            required(near(ZONE, namespace_selector=LabelSelector())),
            [0, 0, 1, 1],
            id="all namespaces",
        ),
        pytest.param([], {}, required(near(ZONE)), [1, 1, 1, 1], id="nobody to be near to"),
        pytest.param([], WEB, required(near(ZONE)), [0, 0, 0, 1], id="first of its own group"),
        pytest.param([("ns", "c", WEB, PLAIN)], WEB, required(near(ZONE)), [1, 1, 0, 1], id="second of its group"),
        pytest.param([("ns", "d", WEB, PLAIN)], WEB, required(near(ZONE)), [0, 0, 0, 1], id="a pod without domain"),
        pytest.param(
            [("ns", "a", WEB, PLAIN), ("ns", "c", {"app": "db"}, PLAIN)],
            {},
            required(near(ZONE), near(ZONE, "db")),
            [1, 1, 1, 1],
            id="one pod must match all terms",
        ),
        pytest.param([("ns", "a", WEB, PLAIN)], {}, required(near(ZONE, None)), [1, 1, 1, 1], id="no selector"),
        pytest.param(
            [("ns", "a", WEB, PLAIN)], {}, required(near(ZONE), anti=True), [2, 2, 0, 0], id="far from a zone"
        ),
        pytest.param(
            [("ns", "a", WEB, PLAIN)], {}, required(near(HOST), anti=True), [2, 0, 0, 0], id="far from a host"
        ),
        pytest.param([("ns", "a", {}, required(near(ZONE), anti=True))], WEB, PLAIN, [3, 3, 0, 0], id="kept away"),
        pytest.param([("ns", "a", {}, required(near(ZONE), anti=True))], {}, PLAIN, [0, 0, 0, 0], id="not meant"),
        pytest.param([("far", "a", {}, required(near(ZONE), anti=True))], WEB, PLAIN, [0, 0, 0, 0], id="not its own"),
        pytest.param(
            [("ns", "a", WEB, required(near(HOST), anti=True))],
            WEB,
            required(near(HOST), anti=True),
            [2, 0, 0, 0],
            id="its own anti-affinity is told first",
        ),
    ],
)
def test_required_terms(pods: Any, labels: dict[str, str], wanted: Shape, verdicts: list[int]) -> None:
    task, view = incoming(world(*pods), labels, wanted)
    assert interpod.required(task, view).tolist() == verdicts
    assert interpod.is_bound(task) or not any(verdicts)


@pytest.mark.parametrize(
    ("pods", "labels", "wanted", "hard_weight", "raw"),
    [
        pytest.param([("ns", "a", WEB, PLAIN)], {}, preferred(5, near(ZONE)), 0, [5, 5, 0, 0], id="wish of the pod"),
        pytest.param(
            [("ns", "a", WEB, PLAIN)], {}, preferred(5, near(HOST), anti=True), 0, [-5, 0, 0, 0], id="wish to keep away"
        ),
        pytest.param([("ns", "c", {}, preferred(7, near(ZONE)))], WEB, PLAIN, 0, [0, 0, 7, 0], id="wish of another"),
        pytest.param(
            [("ns", "c", {}, required(near(ZONE)))], WEB, PLAIN, 0, [0, 0, 0, 0], id="required counts nothing"
        ),
        pytest.param([("ns", "c", {}, required(near(ZONE)))], WEB, PLAIN, 3, [0, 0, 3, 0], id="unless given a weight"),
        pytest.param(
            [("ns", "a", WEB, preferred(2, near(ZONE)))], WEB, preferred(2, near(ZONE)), 0, [4, 4, 0, 0], id="both ways"
        ),
    ],
)
def test_wishes_add_up(pods: Any, labels: dict[str, str], wanted: Shape, hard_weight: int, raw: list[float]) -> None:
    task, view = incoming(world(*pods), labels, wanted)
    preferences = Preferences(hard_weight)
    assert preferences.rate(task, view).tolist() == raw
    assert preferences.applies(task) or not any(raw)


def test_a_pod_that_is_being_deleted_still_counts() -> None:
    made = world()
    leaving = pod_task("old", "ns", WEB, PLAIN, job="", status=Status.RELEASING)
    made.cluster.add_task(leaving, "a")
    task, view = incoming(made, {}, required(near(HOST), anti=True))
    assert interpod.required(task, view).tolist() == [2, 0, 0, 0]


def test_labels_of_a_namespace_that_change_change_what_is_meant() -> None:
    term = near(ZONE, namespace_selector=LabelSelector(match_labels={"team": "y"}))
    made = world(("far", "a", WEB, PLAIN))
    task, _ = incoming(made, {}, required(term, anti=True))
    assert interpod.required(task, View.all(made.cluster)).tolist() == [2, 2, 0, 0]
    assert made.cluster.sight.set_namespace("far", {"team": "z"})
    assert not made.cluster.sight.set_namespace("far", {"team": "z"})
    made.cluster.settle()
    assert interpod.required(task, View.all(made.cluster)).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("raw", "expected"), [([-5, 0, 5], [0, 50, 100]), ([3, 3], [0, 0]), ([0, 1, 3], [0, 33, 100]), ([], [])]
)
def test_wishes_are_scaled_between_the_lowest_and_the_highest(raw: list[float], expected: list[float]) -> None:
    normaliser, values = SpanNormaliser(), np.array(raw, dtype=np.float64)
    assert normaliser.scale(values, normaliser.bounds(values)).tolist() == expected
