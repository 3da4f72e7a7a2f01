"""What nodes have to do with why a job waits, in numbers."""

from __future__ import annotations

from typing import Any

from generated.core.v1 import (
    Affinity,
    Container,
    ContainerPort,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    Taint,
    TopologySpreadConstraint,
)
from generated.meta.v1 import LabelSelector
from scheduler.explain.report import CauseKind
from scheduler.state.status import Status
from tests.unit.scheduler.build import FIVE_PLUGINS, GIB, World, shape
from tests.unit.scheduler.explain.explaining import explained, kinds
from tests.unit.scheduler.sociable import pod_task

GPU = "nvidia.com/gpu"


TAINT = (Taint(key="dedicated", value="x", effect="NoSchedule"),)


def gpus(number: float) -> Any:
    return shape(scalars={GPU: number * 1000})


def test_the_nearest_node_is_told_in_numbers() -> None:
    world = World()
    world.node("n-1", scalars={GPU: 4000.0})
    world.node("n-3", scalars={GPU: 8000.0})
    world.node("n-4", scalars={GPU: 8000.0})
    world.running("old", "n-3", gpus(2))
    world.running("older", "n-4", gpus(8))
    world.gang("a", [("w", 2, gpus(8))])
    answer = explained(world, "a")
    (waiting,) = answer.waiting
    assert waiting.nearest is not None
    assert waiting.nearest.text == "needs 8 nvidia.com/gpu, the best node n-3 has 6 free"
    assert [(lack.resource, lack.needs, lack.free, lack.missing) for lack in waiting.nearest.lacks] == [
        (GPU, "8", "6", "2")
    ]
    assert answer.summary == f"2 pods of role w find no node: {waiting.nearest.text}"
    assert not answer.can_start
    (need,) = answer.needs
    assert need == (
        f"room for 2 more pods asking for 1 cpu, 1Gi memory and 8 {GPU} each: "
        f"2 {GPU} more free on node n-3 for one of them"
    )


def test_a_pod_that_is_larger_than_every_node_is_told_so() -> None:
    world = World()
    for number in range(3):
        world.node(f"n-{number}", cpu=8000.0)
    world.gang("a", [("w", 3, shape(cpu=9000.0))])
    answer = explained(world, "a")
    (waiting,) = answer.waiting
    assert waiting.nearest is not None
    assert waiting.nearest.is_too_small
    assert waiting.nearest.text == "needs 9 cpu, and no node is that large (largest: 8 cpu)"
    assert answer.needs == [
        "a larger node, or pods that ask for less: each needs 9 cpu, and no node is that large (largest: 8 cpu)"
    ]


def test_a_pod_that_no_node_takes_in_all_that_it_asks_for_is_told_of_the_nearest() -> None:
    world = World()
    world.node("n-1", cpu=8000.0, memory=1 * GIB)
    world.node("n-2", cpu=2000.0, memory=8 * GIB)
    world.gang("a", [("w", 1, shape(cpu=4000.0, memory=4 * GIB))])
    (need,) = explained(world, "a").needs
    assert need == (
        "a larger node, or pods that ask for less: each needs 4 cpu beside the rest, "
        "and no node is that large (the nearest, n-2, has 2 cpu in all)"
    )


def test_more_pods_than_the_nodes_hold_when_empty_are_told_so() -> None:
    world = World()
    world.node("n-1", cpu=4000.0)
    world.node("n-2", cpu=6000.0)
    world.gang("a", [("w", 3, shape(cpu=5000.0))])
    (need,) = explained(world, "a", text=FIVE_PLUGINS).needs
    assert need == (
        "room for 2 more pods asking for 5 cpu and 1Gi memory each: "
        "all nodes together hold 1 such pod at most, even when empty: add nodes"
    )


def test_siblings_are_placed_before_the_nodes_are_counted() -> None:
    world = World()
    for name in ("n-1", "n-2"):
        world.node(name, cpu=4000.0)
    world.gang("a", [("w", 5, shape(cpu=2000.0))])
    (waiting,) = explained(world, "a", text=FIVE_PLUGINS).waiting
    assert (waiting.pods, waiting.placeable) == (5, 4)
    assert waiting.nearest is not None
    assert waiting.nearest.text == "needs 2 cpu, the best node n-1 has 0 free"
    assert waiting.message == "0/2 nodes are unavailable: 2 Insufficient cpu."


def test_filters_are_counted_each_and_by_what_they_alone_refuse() -> None:
    world = World()
    world.node("free", taints=TAINT)
    world.node("cordoned", taints=TAINT, cordoned=True)
    world.node("small", cpu=500.0, taints=TAINT)
    world.node("tiny", cpu=100.0)
    world.gang("a", [("w", 1, shape(cpu=1000.0))])
    (waiting,) = explained(world, "a").waiting
    nodes = waiting.nodes
    assert nodes is not None
    assert (nodes.total, nodes.roomy, nodes.passing, nodes.fitting) == (4, 2, 1, 0)
    assert [(found.name, found.refused, found.alone) for found in nodes.filters] == [
        ("NodeUnschedulable", 1, 0),
        ("TaintToleration", 3, 1),
    ]
    assert nodes.filters[1].reasons == {"node(s) had untolerated taint(s)": 3}
    assert [(lack.resource, lack.nodes, lack.alone) for lack in nodes.insufficient] == [("cpu", 2, 1)]
    assert waiting.nearest is not None
    assert waiting.nearest.node == "free", "tiny would not have room even when empty"
    assert explained(world, "a").needs[-1] == (
        "or 1 node with room that only TaintToleration refuses: node(s) had untolerated taint(s)"
    )


def test_where_every_node_with_room_refuses_the_refusal_is_told() -> None:
    world = World()
    world.node("n-1", taints=TAINT)
    world.node("n-2", cordoned=True, taints=TAINT)
    world.gang("a", [("w", 1, shape())])
    (waiting,) = explained(world, "a").waiting
    assert waiting.nearest is not None
    assert waiting.nearest.text == "node n-1 has room, but refuses: node(s) had untolerated taint(s)"
    assert waiting.nearest.lacks == []


def test_no_node_at_all_is_no_nearest_one() -> None:
    world = World()
    world.gang("a", [("w", 1, shape())])
    answer = explained(world, "a")
    (waiting,) = answer.waiting
    assert waiting.nearest is None
    assert waiting.nodes is not None
    assert waiting.nodes.total == 0
    assert not answer.can_start


def test_without_nodes_every_filter_is_asked_in_vain() -> None:
    terms = (PodAffinityTerm(topology_key="zone", label_selector=LabelSelector(match_labels={"a": "b"})),)
    wishes: dict[str, Any] = {
        "affinity": Affinity(
            pod_affinity=PodAffinity(required_during_scheduling_ignored_during_execution=terms),
            pod_anti_affinity=PodAntiAffinity(required_during_scheduling_ignored_during_execution=terms),
        ),
        "topology_spread_constraints": (
            TopologySpreadConstraint(topology_key="zone", max_skew=1, when_unsatisfiable="DoNotSchedule"),
        ),
        "node_selector": {"a": "b"},
        "containers": (Container(name="c", ports=(ContainerPort(container_port=1, host_port=1),)),),
    }
    world = World()
    world.gang("a", [("w", 1, shape(**wishes))], phase="Inqueue")
    answer = explained(world, "a", text=FIVE_PLUGINS)
    assert kinds(answer) == [CauseKind.NO_PLACE]
    world.node("n-1", labels={"zone": "z"})
    (waiting,) = explained(world, "a", text=FIVE_PLUGINS).waiting
    assert waiting.nodes is not None
    assert [found.name for found in waiting.nodes.filters] == ["NodeAffinity", "InterPodAffinity"]
    assert waiting.nearest is not None
    assert len(waiting.nearest.refusals) == 2


def test_room_that_is_being_released_is_told_with_whom_it_waits_for() -> None:
    world = World()
    world.node("n-1", cpu=2000.0)
    world.running("old", "n-1", shape(cpu=2000.0), Status.RELEASING)
    world.gang("a", [("w", 1, shape(cpu=2000.0))], phase="Inqueue")
    answer = explained(world, "a")
    assert kinds(answer) == [CauseKind.RELEASING]
    assert answer.causes[0].text == "its room on n-1 is being released by other/old"


def test_roles_are_counted() -> None:
    world = World()
    world.node("n-1")
    world.gang("a", [("ps", 1, shape()), ("w", 2, shape(cpu=9000.0))], role_minimum={"ps": 1, "w": 2})
    answer = explained(world, "a")
    assert [(role.name, role.needed, role.ready) for role in answer.gang.roles] == [("ps", 1, 0), ("w", 2, 0)]
    assert [(waiting.role, waiting.pods, waiting.placeable) for waiting in answer.waiting] == [
        ("ps", 1, 1),
        ("w", 2, 0),
    ]
    assert answer.summary.startswith("2 pods of role w find no node")


def test_memory_is_named_in_binary_units() -> None:
    world = World()
    world.node("n-1", memory=2 * GIB)
    world.gang("a", [("w", 1, shape(memory=3 * GIB))])
    assert (
        explained(world, "a").summary
        == "1 pod of role w finds no node: needs 3Gi memory, and no node is that large (largest: 2Gi memory)"
    )


def test_pods_of_a_role_are_one_kind_though_others_of_their_job_look_at_them() -> None:
    world = World()
    world.node("n", cpu=100.0)
    term = PodAffinityTerm(label_selector=LabelSelector(match_labels={"app": "a"}), topology_key="zone")
    avoiding = shape(
        affinity=Affinity(
            pod_anti_affinity=PodAntiAffinity(required_during_scheduling_ignored_during_execution=(term,))
        )
    )
    world.running("other", "n", shape(affinity=avoiding.spec.affinity, cpu=1.0))  # that labels count is known before
    world.gang("g", [], minimum=3)
    plain = shape()
    for name, wanted, role in (("g-a-0", plain, "a"), ("g-b-0", avoiding, "b"), ("g-a-1", plain, "a")):
        world.cluster.add_task(pod_task(name, "ns", {"app": "a"}, wanted, job="ns/g", role=role))
    assert [(waiting.role, waiting.pods) for waiting in explained(world, "g").waiting] == [("a", 2), ("b", 1)]
