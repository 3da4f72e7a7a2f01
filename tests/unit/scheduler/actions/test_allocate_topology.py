"""allocate and backfill with network topologies and sub-groups: what is placed where, and what those who wait hear."""

from __future__ import annotations

from typing import Any

import pytest

from generated.core.v1 import Pod, PodStatus
from generated.meta.v1 import ObjectMeta
from generated.scheduling.v1beta1 import NetworkTopologySpec
from scheduler.cycle import Result
from scheduler.plugin import Plugin
from scheduler.session import Session
from scheduler.state.status import Status
from scheduler.state.subjob import Grouping, grouping_of
from scheduler.state.task import Task
from tests.unit.scheduler.build import World, binds, cycle, memory_of, require, shape
from tests.unit.scheduler.hypernodes import (
    CONFIGURATION,
    by_name,
    child,
    divide,
    grow,
    hard,
    hypernode,
    labelled,
    limit,
    policy,
)

TREE = {
    "s0": (1, ["n0", "n1"]),
    "s1": (1, ["n2", "n3"]),
    "s2": (1, ["n4", "n5"]),
    "s3": (1, ["n6", "n7"]),
    "t0": (2, ["s0", "s1"]),
    "t1": (2, ["s2", "s3"]),
}
ONE = shape(1000.0, 0.0)
NOTHING = shape(0.0, 0.0)
WITHOUT_GRADIENTS = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: gang}, {name: predicates}]
"""


def world(cpu: float = 2000.0, nodes: int = 8) -> World:
    made = World()
    for number in range(nodes):
        made.node(f"n{number}", cpu=cpu)
    grow(made, TREE)
    return made


def gang(
    made: World,
    name: str,
    count: int,
    *,
    tier: int | None = None,
    mode: str = "hard",
    tier_name: str = "",
    minimum: int | None = None,
    **more: Any,
) -> Grouping:
    made.gang(name, [("w", count, more.pop("shape", ONE))], minimum=minimum, **more)
    limit(made.cluster.jobs[f"ns/{name}"], mode, tier, tier_name)
    return grouping_of(made.cluster.jobs[f"ns/{name}"])


def run(made: World, text: str = CONFIGURATION, **plugins: type[Plugin]) -> Result:
    return cycle(made, memory_of(made.cluster, text, dict(plugins)))


def homes(result: Result, job: str = "") -> list[str]:
    """The leaves in which the pods of a job were bound, in order of pods."""
    leaf = {node: name for name, (tier, nodes) in TREE.items() if tier == 1 for node in nodes}
    return [leaf[node] for pod, node in binds(result) if pod.startswith(job)]


def told(result: Result, pod: str) -> str:
    return next(outcome.message for outcome in result.outcome.tasks if outcome.task.name == pod)


def event(result: Result, job: str) -> str:
    return next(outcome.event for outcome in result.outcome.jobs if outcome.job.id == f"ns/{job}")


# Hard limits.


def test_a_gang_goes_where_it_fits_as_a_whole_and_its_place_is_remembered() -> None:
    made = world()
    made.running("old", "n0", ONE)
    gang(made, "j", 4, tier=1)
    assert set(homes(run(made))) == {"s1"}
    found = made.cluster.jobs["ns/j"].grouping
    assert found is not None
    assert (found.allocated, found.sub_jobs["ns/j"].allocated) == ("s1", "s1")


def test_a_higher_tier_is_used_only_when_the_lower_doesnt_do() -> None:
    made = world()
    gang(made, "j", 5, tier=2)
    assert set(homes(run(made))) == {"s0", "s1"}


def test_a_gang_is_never_placed_across_its_tier() -> None:
    made = world()
    gang(made, "j", 5, tier=1)
    result = run(made)
    assert not binds(result)
    assert told(result, "j-w-0") == (
        "no hypernode of tier 1 or lower has enough free resources: "
        "the best, s0, lacks cpu (wants 5000, 1000 more than is free)"
    )
    assert event(result, "j").endswith("1000 more than is free)")


def test_enough_in_total_but_not_on_any_node_names_the_hypernode() -> None:
    made = world(cpu=1500.0)
    gang(made, "j", 2, tier=1, shape=shape(1600.0, 0.0))
    made.cluster.jobs["ns/j"].min_available = 1
    for task in list(made.cluster.jobs["ns/j"].tasks)[1:]:
        made.cluster.remove_task(task)
    result = run(made)
    assert told(result, "j-w-0") == "In hyperNode s3: 0/2 nodes are unavailable: 2 Insufficient cpu."


def test_filters_count_inside_a_hypernode() -> None:
    made = World()
    for number in range(4):
        made.node(f"n{number}", labels={"disk": "ssd" if number > 1 else "hdd"})
    grow(made, {"s0": (1, ["n0", "n1"]), "s1": (1, ["n2", "n3"])})
    gang(made, "j", 2, tier=1, shape=shape(1000.0, 0.0, affinity=require("disk", "ssd")))
    found = binds(run(made))
    assert len(found) == 2
    assert {node for _, node in found} <= {"n2", "n3"}


def test_both_hypernodes_are_tried_without_minimum_resources() -> None:
    made = World()
    made.node("a", cpu=1000.0)
    made.node("b", cpu=2000.0)
    grow(made, {"s0": (1, ["a"]), "s1": (1, ["b"])})
    gang(made, "j", 2, tier=1)
    assert binds(run(made)) == [("j-w-0", "b"), ("j-w-1", "b")]


def test_a_partly_running_job_stays_where_it_is_after_a_restart() -> None:
    made = world()
    gang(made, "j", 1, tier=1, minimum=2)
    made.member("j", "j-old", "n5", ONE)
    made.running("full", "n4", shape(2000.0))
    made.running("full2", "n5", ONE)
    result = run(made)
    assert not binds(result)
    assert told(result, "j-w-0") == "In hyperNode s2: 0/2 nodes are unavailable: 2 Insufficient cpu."
    assert made.cluster.jobs["ns/j"].grouping.allocated == "s2"  # type: ignore[union-attr]


def test_further_pods_of_a_whole_job_come_beside_it() -> None:
    made = world()
    gang(made, "j", 4, tier=1, minimum=2)
    assert set(homes(run(made))) == {"s0"}
    assert len(homes(run(made))) == 0
    for number in range(4):
        made.cluster.remove_task(f"uid-j-w-{number}")
    assert made.cluster.jobs["ns/j"].counts[Status.BINDING] == 0


def test_the_place_is_forgotten_with_the_last_pod_or_the_hypernode() -> None:
    made = world()
    found = gang(made, "j", 2, tier=1)
    found.allocated = found.sub_jobs["ns/j"].allocated = "s3"
    assert set(homes(run(made))) == {"s0"}
    other = gang(made, "k", 1, tier=1, minimum=2)
    made.member("k", "k-old", "n6", ONE)
    other.allocated = other.sub_jobs["ns/k"].allocated = "gone"
    assert homes(run(made), "k") == ["s3"]


def test_without_hypernodes_tier_1_is_everything_and_tier_0_nothing() -> None:
    made = World()
    made.node("n0")
    gang(made, "all", 2, tier=1)
    gang(made, "none", 2, tier=0)
    result = run(made)
    assert [pod for pod, _ in binds(result)] == ["all-w-0", "all-w-1"]
    assert told(result, "none-w-0").startswith("there is no hypernode of tier 0 or lower")


def test_pods_being_released_make_room_that_is_kept_but_not_bound() -> None:
    made = world()
    for number in range(8):
        made.running(f"full{number}", f"n{number}", shape(2000.0), Status.RELEASING if number < 2 else Status.RUNNING)
    gang(made, "j", 3, tier=1)
    result = run(made)
    assert not binds(result)
    assert told(result, "j-w-0") == (
        "Pod ns/j-w-0 can possibly be assigned to n0, once resource is released and minAvailable is satisfied"
    )
    assert made.cluster.jobs["ns/j"].grouping.allocated == ""  # type: ignore[union-attr]


# Soft limits and names.


def test_soft_keeps_together_what_it_can_and_spreads_what_it_must() -> None:
    made = world()
    gang(made, "fits", 4, mode="soft")
    gang(made, "wide", 11, mode="soft", tier=1)
    result = run(made)
    assert set(homes(result, "fits")) == {"s0"}
    assert len(homes(result, "wide")) == 11


NAMES = [("hard", "rack", {"s0"}, ""), ("hard", "lost", set(), "failed to find hypernode tier name lost"),
         ("soft", "lost", {"s0", "s1", "s2"}, "")]  # fmt: skip


@pytest.mark.parametrize(("mode", "name", "expected", "message"), NAMES)
def test_a_tier_may_be_named(mode: str, name: str, expected: set[str], message: str) -> None:
    made = world()
    made.cluster.hypernodes.set(hypernode("s0", 1, by_name("n0"), by_name("n1"), tier_name="rack"))
    gang(made, "j", 4 if mode == "hard" else 10, mode=mode, tier_name=name)
    result = run(made)
    assert set(homes(result)) == expected
    if message:
        assert told(result, "j-w-0") == message


def test_hard_without_any_tier_is_no_limit() -> None:
    made = world()
    gang(made, "j", 16)
    assert len(binds(run(made))) == 16


def test_the_pod_group_is_never_changed() -> None:
    made = world()
    gang(made, "j", 2, mode="soft")
    before = made.cluster.jobs["ns/j"].pod_group
    run(made)
    assert made.cluster.jobs["ns/j"].pod_group is before
    assert before is not None
    assert before.spec.network_topology == NetworkTopologySpec(mode="soft")


def test_no_plugin_for_gradients_leaves_hard_jobs_waiting_and_the_others_go_on() -> None:
    made = world()
    gang(made, "hard", 2, tier=1)
    gang(made, "soft", 2, mode="soft")
    made.gang("plain", [("w", 2, ONE)])
    result = run(made, WITHOUT_GRADIENTS)
    assert {pod.split("-")[0] for pod, _ in binds(result)} == {"soft", "plain"}
    assert "enable network-topology-aware" in told(result, "hard-w-0")


# A tree in error.


def test_a_disputed_part_of_the_tree_waits_and_the_rest_goes_on() -> None:
    made = world()
    made.cluster.hypernodes.set(hypernode("t1", 2, child("s1"), child("s2"), child("s3")))
    gang(made, "leaf", 2, tier=1)
    gang(made, "row", 8, tier=2)
    result = run(made)
    assert set(homes(result)) == {"s0"}
    error = "HyperNode s1 already has a parent t0, and cannot set another parent t1"
    assert told(result, "row-w-0") == f"the hypernode tree is not ready: {error}"
    made.cluster.hypernodes.set(hypernode("t1", 2, child("s2"), child("s3")))
    assert set(homes(run(made))) == {"s2", "s3"}


# Sub-groups.


def two_groups(made: World, size: int, least: int, **labels: Any) -> None:
    made.gang("j", [], minimum=size * least)
    job = made.cluster.jobs["ns/j"]
    divide(job, policy("p", "block", size=size, least=least, topology=hard(1)))
    for block in range(labels.pop("blocks", least)):
        for ordinal in range(size):
            labelled(made, "j", f"j-{block}-{ordinal}", ONE, block=str(block))


def test_each_sub_group_gets_a_hypernode_of_its_tier() -> None:
    made = world()
    two_groups(made, 4, 3)
    result = run(made)
    by_block = {block: set(homes(result, f"j-{block}")) for block in range(3)}
    assert all(len(places) == 1 for places in by_block.values())
    assert set().union(*by_block.values()) == {"s0", "s1", "s2"}
    sub_jobs = made.cluster.jobs["ns/j"].grouping.sub_jobs  # type: ignore[union-attr]
    assert {each.allocated for each in sub_jobs.values()} == {"s0", "s1", "s2"}


def test_the_job_limit_holds_over_its_sub_groups() -> None:
    made = world()
    two_groups(made, 4, 2)
    limit(made.cluster.jobs["ns/j"], tier=2)
    made.running("old", "n0", ONE)
    assert set(homes(run(made))) == {"s2", "s3"}


def test_too_few_whole_sub_groups_bind_nothing() -> None:
    made = world()
    two_groups(made, 4, 5, blocks=5)
    assert not binds(run(made))


def test_too_few_sub_groups_are_told() -> None:
    made = world()
    two_groups(made, 2, 3, blocks=2)
    made.cluster.jobs["ns/j"].min_available = 4
    assert not binds(run(made))


def test_required_sub_groups_come_first_and_the_rest_as_far_as_there_is_room() -> None:
    made = world()
    for node in ("n4", "n5", "n6", "n7"):
        made.running(f"full-{node}", node, shape(2000.0))
    made.gang("j", [], minimum=4)
    divide(made.cluster.jobs["ns/j"], policy("p", "block", size=4, least=1, topology=hard(1)))
    for block in (3, 2, 1):
        for ordinal in range(4):
            labelled(made, "j", f"j-{block}-{ordinal}", ONE, block=str(block))
    result = run(made)
    assert {pod[:3] for pod, _ in binds(result)} == {"j-1", "j-2"}


def test_sub_groups_without_any_limit_are_still_whole_or_not_at_all() -> None:
    made = world(nodes=3)
    made.gang("j", [], minimum=4)
    divide(made.cluster.jobs["ns/j"], policy("p", "block", size=4, least=1))
    for block in range(2):
        for ordinal in range(4):
            labelled(made, "j", f"j-{block}-{ordinal}", ONE, block=str(block))
    assert {pod[:3] for pod, _ in binds(run(made))} == {"j-0"}


# Nominations.


def nominated(made: World, nodes: list[str], place: str) -> Task:
    made.gang("j", [], minimum=len(nodes))
    limit(made.cluster.jobs["ns/j"], tier=1)
    for number, node in enumerate(nodes):
        name = f"j-w-{number}"
        pod = Pod(metadata=ObjectMeta(name=name, namespace="ns"), status=PodStatus(nominated_node_name=node))
        made.cluster.add_task(Task(uid=f"uid-{name}", namespace="ns", name=name, job="ns/j", shape=ONE, pod=pod))
    grouping_of(made.cluster.jobs["ns/j"]).sub_jobs["ns/j"].nominated = place
    return made.cluster.tasks["uid-j-w-0"]


def test_a_nomination_is_redeemed() -> None:
    made = world()
    nominated(made, ["n6", "n7"], "s3")
    assert binds(run(made)) == [("j-w-0", "n6"), ("j-w-1", "n7")]
    found = made.cluster.jobs["ns/j"].grouping
    assert found is not None
    assert (found.allocated, found.sub_jobs["ns/j"].nominated) == ("s3", "")


MISSES = [
    ("a node outside", ["n6", "n0"], "s3"),
    ("an unknown node", ["n6", "n99"], "s3"),
    ("no node", ["n6", ""], "s3"),
    ("a hypernode that is gone", ["n6", "n7"], "gone"),
    ("no room beside each other", ["n6", "n6"], "s3"),
]


@pytest.mark.parametrize(("case", "nodes", "place"), MISSES, ids=[case for case, _, _ in MISSES])
def test_a_nomination_that_no_longer_holds_is_dropped_as_a_whole(case: str, nodes: list[str], place: str) -> None:
    del case
    made = world()
    made.running("old", "n6", ONE)
    task = nominated(made, nodes, place)
    found = homes(run(made))
    assert len(found) == 2
    assert len(set(found)) == 1
    assert made.cluster.jobs["ns/j"].grouping.sub_jobs["ns/j"].nominated == ""  # type: ignore[union-attr]
    assert task.nominated == ""


def test_nominated_jobs_come_first_in_their_queue() -> None:
    made = world(nodes=2)
    gang(made, "first", 4, mode="soft", priority=100)
    nominated(made, ["n0", "n1"], "s0")
    assert {pod[0] for pod, _ in binds(run(made))} == {"j"}


def test_a_nomination_waits_for_what_is_being_released() -> None:
    made = world()
    made.running("going", "n6", shape(2000.0), Status.RELEASING)
    nominated(made, ["n6", "n7"], "s3")
    assert not binds(run(made))
    assert made.cluster.jobs["ns/j"].grouping.sub_jobs["ns/j"].nominated == "s3"  # type: ignore[union-attr]
    made.cluster.remove_task("uid-going")
    assert binds(run(made)) == [("j-w-0", "n6"), ("j-w-1", "n7")]


def test_a_plain_job_redeems_its_nomination_too() -> None:
    made = world()
    nominated(made, ["n6", "n7"], "t1")
    limit(made.cluster.jobs["ns/j"])
    grouping_of(made.cluster.jobs["ns/j"]).sub_jobs["ns/j"].nominated = "t1"
    assert binds(run(made)) == [("j-w-0", "n6"), ("j-w-1", "n7")]


def test_a_pod_goes_to_the_node_that_its_status_names_if_it_can() -> None:
    made = world()
    nominated(made, ["n5"], "")
    limit(made.cluster.jobs["ns/j"])
    assert binds(run(made)) == [("j-w-0", "n5")]
    full = world()
    full.running("old", "n5", shape(2000.0))
    nominated(full, ["n5"], "")
    limit(full.cluster.jobs["ns/j"])
    assert binds(run(full)) == [("j-w-0", "n0")]


# Other actions.


def test_pods_that_ask_for_nothing_stay_within_the_tier_of_their_job() -> None:
    made = world()
    gang(made, "j", 2, tier=1, shape=NOTHING, minimum=1)
    made.member("j", "j-old", "n5", ONE)
    assert set(homes(run(made))) == {"s2"}
    fresh = world()
    gang(fresh, "j", 3, tier=1, shape=NOTHING)
    assert len(set(homes(run(fresh)))) == 1


def test_pods_that_ask_for_nothing_have_nowhere_to_go_when_their_job_lies_too_wide() -> None:
    made = world()
    gang(made, "j", 1, tier=1, shape=NOTHING, minimum=1)
    made.member("j", "j-a", "n0", ONE)
    made.member("j", "j-b", "n5", ONE)
    result = run(made)
    assert not binds(result)
    assert told(result, "j-w-0") == "no node is within the network topology that the job allows"


def test_pending_jobs_enter_their_queue_in_allocate_where_enqueue_is_off() -> None:
    made = world()
    gang(made, "j", 2, tier=1)
    assert len(binds(run(made, CONFIGURATION.replace("enqueue, ", "")))) == 2


class Picky(Plugin):
    """Refuses a node by its handler, so that a plan can't be applied."""

    name = "picky"

    def on_session_open(self, session: Session) -> None:
        session.add_event_handler(self.name, allocate=lambda task, node: "no" if node.name == "n1" else None)


def test_a_node_that_a_handler_refuses_counts_as_full() -> None:
    made = world()
    gang(made, "j", 4, tier=1)
    text = CONFIGURATION.replace("{name: gang}", "{name: gang}, {name: picky}")
    result = run(made, text, picky=Picky)
    assert set(homes(result)) == {"s1"}
    assert not any(task.node.name == "n1" for task in made.cluster.tasks.values() if task.node is not None)
