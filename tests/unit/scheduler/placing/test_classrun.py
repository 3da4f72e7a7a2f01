"""Runs of pods that look at their siblings: what they decide, and that they are placed many at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from generated.core.v1 import (
    Affinity,
    Container,
    ContainerPort,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)
from generated.meta.v1 import LabelSelector
from scheduler.placing.classrun import ClassRun
from scheduler.state.status import Status
from scheduler.state.task import Shape
from tests.unit.scheduler.build import World, binds, cycle, prefer, shape
from tests.unit.scheduler.slow import Slow
from tests.unit.scheduler.sociable import HOST, ZONE, pod_task, sociable_gang

WEB = {"app": "web"}
SELECTOR = LabelSelector(match_labels=WEB)


def spread_over(key: str, when: str = "DoNotSchedule", skew: int = 1) -> dict[str, Any]:
    constraint = TopologySpreadConstraint(
        topology_key=key, max_skew=skew, when_unsatisfiable=when, label_selector=SELECTOR
    )
    return {"topology_spread_constraints": (constraint,)}


def apart(key: str) -> dict[str, Any]:
    term = PodAffinityTerm(label_selector=SELECTOR, topology_key=key)
    far = PodAntiAffinity(required_during_scheduling_ignored_during_execution=(term,))
    return {"affinity": Affinity(pod_anti_affinity=far)}


def together(key: str) -> dict[str, Any]:
    term = PodAffinityTerm(label_selector=SELECTOR, topology_key=key)
    return {"affinity": Affinity(pod_affinity=PodAffinity(required_during_scheduling_ignored_during_execution=(term,)))}


def liking(key: str, weight: int) -> dict[str, Any]:
    """A wish to be together, or with a negative weight to keep apart."""
    term = WeightedPodAffinityTerm(
        weight=abs(weight), pod_affinity_term=PodAffinityTerm(label_selector=SELECTOR, topology_key=key)
    )
    wishes = {"preferred_during_scheduling_ignored_during_execution": (term,)}
    near, far = PodAffinity(**wishes), PodAntiAffinity(**wishes)  # type: ignore[arg-type]
    return {"affinity": Affinity(pod_affinity=near) if weight > 0 else Affinity(pod_anti_affinity=far)}


def ports() -> dict[str, Any]:
    return {"containers": (Container(name="c", ports=(ContainerPort(container_port=1, host_port=80),)),)}


def world(nodes: int, count: int, wanted: Shape, minimum: int | None = None) -> World:
    """Nodes in turn in zones a, b and c; one gang of `count` web pods."""
    made = World()
    for number in range(nodes):
        made.node(f"node-{number:02d}", labels={HOST: f"h{number}", ZONE: "abc"[number % 3]})
    sociable_gang(made, "job", [("w", count, wanted)], WEB, minimum=count if minimum is None else minimum)
    return made


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Lengths of the runs that are placed."""
    lengths: list[int] = []
    place = ClassRun.place

    def recorded(run: ClassRun) -> Sequence[int]:
        rows = place(run)
        lengths.append(len(rows))
        return rows

    monkeypatch.setattr(ClassRun, "place", recorded)
    return lengths


def zones(found: list[tuple[str, str]]) -> Counter[str]:
    return Counter("abc"[int(node.removeprefix("node-")) % 3] for _, node in found)


@pytest.mark.parametrize(
    ("spec", "lengths"),
    [
        pytest.param(spread_over(ZONE), [12], id="zones, as a rule"),
        pytest.param(spread_over(ZONE, "ScheduleAnyway"), [12], id="zones, as a wish"),
        pytest.param(apart(HOST), [12], id="one a host"),
        pytest.param(apart(HOST) | spread_over(ZONE), [12], id="one a host, and zones as a rule"),
        pytest.param(apart(HOST) | spread_over(ZONE, "ScheduleAnyway"), [12], id="one a host, and zones as a wish"),
        pytest.param(spread_over(HOST), [12], id="hosts, as a rule"),
        pytest.param(spread_over(HOST, "ScheduleAnyway"), [12], id="hosts, as a wish"),
        pytest.param(liking(HOST, -10), [12], id="a wish for hosts of their own"),
        pytest.param(
            liking(HOST, -10) | spread_over(ZONE, "ScheduleAnyway"), [12], id="wishes for own hosts and level zones"
        ),
        pytest.param(liking(HOST, -10) | spread_over(ZONE), [12], id="a wish for own hosts, and zones as a rule"),
        pytest.param(ports(), [12], id="a port a node"),
        pytest.param(liking(ZONE, 10), [12], id="a wish to be together"),
        pytest.param(together(ZONE), [11], id="together: the first one by itself"),
    ],
)
def test_pods_that_look_at_their_siblings_go_in_one_run(
    runs: list[int], spec: dict[str, Any], lengths: list[int]
) -> None:
    made = world(15, 12, shape(**spec))
    expected = Slow(made.cluster).cycle()
    assert len(expected) == 12
    assert binds(cycle(made)) == expected
    assert runs == lengths


def test_a_rule_over_zones_keeps_them_level() -> None:
    assert zones(binds(cycle(world(15, 11, shape(**spread_over(ZONE)))))) in (
        Counter(a=4, b=4, c=3), Counter(a=4, b=3, c=4), Counter(a=3, b=4, c=4),
    )  # fmt: skip


def test_a_wish_over_hosts_spreads_over_all_of_them() -> None:
    made = world(6, 6, shape(**spread_over(HOST, "ScheduleAnyway")))
    assert len({node for _, node in binds(cycle(made))}) == 6


def test_a_node_that_takes_several_ends_the_run_where_that_changes_its_worth(runs: list[int]) -> None:
    made = world(1, 12, shape(250.0, 2.0**20, **liking(HOST, -1)))
    expected = Slow(made.cluster).cycle()
    assert len(expected) == 12
    assert binds(cycle(made)) == expected
    assert runs == [4, 4, 4]


def test_a_gang_with_one_pod_too_many_for_the_hosts_waits_and_says_why() -> None:
    result = cycle(world(3, 4, shape(**apart(HOST))))
    assert not binds(result)
    messages = {task.message for task in result.outcome.tasks}
    assert "0/3 nodes are unavailable: 3 node(s) didn't match pod anti-affinity rules." in messages


def test_a_gang_that_a_rule_holds_back_waits_and_says_why() -> None:
    made = World()
    made.node("small", labels={ZONE: "a"}, cpu=1000.0)
    made.node("large", labels={ZONE: "b"}, cpu=8000.0)
    made.node("bare", cpu=8000.0)
    sociable_gang(made, "job", [("w", 4, shape(**spread_over(ZONE)))], WEB)
    result = cycle(made)
    assert not binds(result)
    texts = " ".join(task.message for task in result.outcome.tasks)
    refusal = "node(s) didn't match pod topology spread constraints"
    assert f"1 {refusal}, 1 {refusal} (missing required label)" in texts
    assert "1 Insufficient cpu" in texts


def test_a_preference_whose_holder_fills_up_ends_the_run(runs: list[int]) -> None:
    wanted = shape(
        2000.0, affinity=Affinity(node_affinity=prefer(5, HOST, "h0").node_affinity), **spread_over(ZONE, skew=9)
    )
    made = world(6, 8, wanted)
    expected = Slow(made.cluster).cycle()
    assert binds(cycle(made)) == expected
    assert len(runs) > 1
    assert max(runs) > 1


def test_a_class_that_may_open_ends_waiting_for_releasing_room() -> None:
    made = World()
    made.node("full", labels={ZONE: "a"}, cpu=2000.0)
    made.node("free", labels={ZONE: "b"}, cpu=2000.0)
    made.cluster.add_task(pod_task("old", "other", {}, shape(2000.0), job="", status=Status.RELEASING), "full")
    made.cluster.add_task(pod_task("web", "ns", WEB, shape(100.0), job="", status=Status.RUNNING), "free")
    sociable_gang(made, "job", [("w", 2, shape(**spread_over(ZONE)))], WEB, minimum=1)
    expected = Slow(made.cluster)
    expected.cycle()
    result = cycle(made)
    assert binds(result) == expected.binds


def test_more_classes_than_pay_off_are_not_made(monkeypatch: pytest.MonkeyPatch, runs: list[int]) -> None:
    monkeypatch.setattr("scheduler.placing.classrun._MAX_CLASSES", 2)
    made = world(15, 6, shape(**spread_over(ZONE)))
    expected = Slow(made.cluster).cycle()
    assert binds(cycle(made)) == expected
    assert not runs
