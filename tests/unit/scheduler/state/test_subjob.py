"""Sub-jobs: who belongs to which, and what stands."""

from __future__ import annotations

import pytest

from generated.scheduling.v1beta1 import NetworkTopologySpec
from scheduler.state import subjob
from scheduler.state.job import Job
from scheduler.state.status import Status
from scheduler.state.subjob import grouping_of, joined
from tests.unit.scheduler.build import World, shape
from tests.unit.scheduler.hypernodes import divide, hard, labelled, limit, policy

ONE = shape(1000.0)


def job_of(world: World, name: str = "j", minimum: int = 4) -> Job:
    world.gang(name, [], minimum=minimum)
    return world.cluster.jobs[f"ns/{name}"]


def ids(job: Job) -> dict[str, list[str]]:
    return {uid: [task.name for task in each.tasks.values()] for uid, each in grouping_of(job).sub_jobs.items()}


def test_a_job_without_policies_is_one_sub_job_with_the_jobs_minimum() -> None:
    world = World()
    job = job_of(world)
    limit(job, tier=1)
    labelled(world, "j", "j-w-0", ONE)
    only = grouping_of(job).sub_jobs["ns/j"]
    assert (only.group, only.min_available, only.topology, only.match_index) == ("ns/j", 4, hard(1), 0)


GROUPED = [
    ("the first policy that takes it", {"block": "7", "rack": "r"}, "ns/j/first-7"),
    ("the next one where the first has no value", {"rack": "r"}, "ns/j/second-r"),
    ("an empty value counts as none", {"block": "", "rack": "r"}, "ns/j/second-r"),
    ("no policy", {"other": "x"}, "ns/j"),
]


@pytest.mark.parametrize(("case", "labels", "expected"), GROUPED, ids=[case for case, _, _ in GROUPED])
def test_pods_go_to(case: str, labels: dict[str, str], expected: str) -> None:
    del case
    world = World()
    job = job_of(world)
    divide(job, policy("first", "block"), policy("second", "rack"))
    labelled(world, "j", "j-w-0", ONE, labels)
    assert list(ids(job)) == [expected]


def test_selectors_narrow_a_policy_and_no_keys_take_nobody() -> None:
    world = World()
    job = job_of(world)
    divide(job, policy("keyless", labels={}), policy("mine", "block", labels={"team": "a"}))
    labelled(world, "j", "j-w-0", ONE, block="1", team="a")
    labelled(world, "j", "j-w-1", ONE, block="1", team="b")
    assert ids(job) == {"ns/j/mine-1": ["j-w-0"], "ns/j": ["j-w-1"]}


def test_several_keys_join_their_values_and_the_first_gives_the_index() -> None:
    world = World()
    job = job_of(world)
    divide(job, policy("p", "a", "b", size=3))
    labelled(world, "j", "j-w-0", ONE, a="12", b="x")
    labelled(world, "j", "j-w-1", ONE, a="q", b="y")
    found = grouping_of(job).sub_jobs
    assert {uid: (each.match_index, each.min_available, each.group) for uid, each in found.items()} == {
        "ns/j/p-12-x": (12, 3, "ns/j/p"),
        "ns/j/p-q-y": (0, 3, "ns/j/p"),
    }


HASHED = [(["a"], "a"), (["a", "b"], "a-b"), (["a" * 128], "a" * 128), (["a" * 129], "78566b547b")]


@pytest.mark.parametrize(("values", "expected"), HASHED)
def test_long_values_are_hashed(values: list[str], expected: str) -> None:
    assert joined(values) == expected


def test_sizes_default_to_one_pod_and_so_does_the_default_sub_job_of_a_divided_job() -> None:
    world = World()
    job = job_of(world, minimum=9)
    divide(job, policy("p", "a"))
    labelled(world, "j", "j-w-0", ONE, a="1")
    labelled(world, "j", "j-w-1", ONE)
    assert [each.min_available for each in grouping_of(job).sub_jobs.values()] == [1, 1]


def test_the_priority_is_that_of_the_highest_task_and_sinks_with_it() -> None:
    world = World()
    job = job_of(world)
    labelled(world, "j", "j-w-0", ONE).priority = 7
    labelled(world, "j", "j-w-1", ONE).priority = -3
    assert grouping_of(job).sub_jobs["ns/j"].priority == 7
    world.cluster.remove_task("uid-j-w-0")
    assert grouping_of(job).sub_jobs["ns/j"].priority == 0


def test_places_are_remembered_over_regrouping_and_lost_with_the_policies() -> None:
    world = World()
    job = job_of(world)
    divide(job, policy("p", "a"))
    labelled(world, "j", "j-w-0", ONE, a="1")
    first = grouping_of(job)
    first.allocated = "t0"
    first.sub_jobs["ns/j/p-1"].allocated = "s0"
    first.sub_jobs["ns/j/p-1"].nominated = "s1"
    labelled(world, "j", "j-w-1", ONE, a="1")
    second = grouping_of(job)
    assert second is not first
    kept = second.sub_jobs["ns/j/p-1"]
    assert (second.allocated, kept.allocated, kept.nominated, len(kept.tasks)) == ("t0", "s0", "s1", 2)
    divide(job, policy("p", "a", size=2))
    assert grouping_of(job).sub_jobs["ns/j/p-1"].allocated == ""


def test_the_same_facts_give_the_same_grouping() -> None:
    world = World()
    job = job_of(world)
    labelled(world, "j", "j-w-0", ONE)
    assert grouping_of(job) is grouping_of(job)


def test_tasks_know_whether_their_sub_job_has_a_topology() -> None:
    world = World()
    job = job_of(world)
    divide(job, policy("close", "a", topology=NetworkTopologySpec(mode="soft")), policy("far", "b"))
    close = labelled(world, "j", "j-w-0", ONE, a="1")
    far = labelled(world, "j", "j-w-1", ONE, b="1")
    grouping_of(job)
    assert (close.has_topology, far.has_topology) == (True, False)
    divide(job)
    grouping_of(job)
    assert not close.has_topology
    limit(job, "soft")
    grouping_of(job)
    assert far.has_topology


COUNTS = [
    # statuses, size, ready, pipelined, missing
    ([Status.RUNNING, Status.PENDING], 2, False, False, 1),
    ([Status.RUNNING, Status.PIPELINED], 2, False, True, 1),
    ([Status.BOUND, Status.SUCCEEDED], 2, True, True, 0),
    ([Status.FAILED, Status.FAILED], 1, False, False, 1),
    ([], 0, True, True, 0),
]


@pytest.mark.parametrize(("statuses", "size", "ready", "pipelined", "missing"), COUNTS)
def test_what_stands(statuses: list[Status], size: int, ready: bool, pipelined: bool, missing: int) -> None:
    world = World()
    world.node("n0")
    job = job_of(world)
    divide(job, policy("p", "a", size=size))
    labelled(world, "j", "j-w-x", ONE, a="1", status=Status.FAILED)
    for number, status in enumerate(statuses):
        labelled(world, "j", f"j-w-{number}", ONE, node="n0", status=status, a="1")
    found = grouping_of(job).sub_jobs["ns/j/p-1"]
    assert (found.is_ready(), found.is_pipelined(), found.missing) == (ready, pipelined, missing)


def test_a_pending_pod_that_asks_for_nothing_counts_as_ready() -> None:
    world = World()
    job = job_of(world)
    divide(job, policy("p", "a", size=2))
    labelled(world, "j", "j-w-0", ONE, a="1", status=Status.SUCCEEDED)
    labelled(world, "j", "j-w-1", shape(0.0, 0.0), a="1")
    assert grouping_of(job).sub_jobs["ns/j/p-1"].is_ready()


def test_groups_need_as_many_sub_jobs_as_their_policy_says() -> None:
    world = World()
    world.node("n0")
    job = job_of(world)
    divide(job, policy("p", "a", size=1, least=2), policy("free", "b"))
    labelled(world, "j", "j-w-0", ONE, a="1")
    assert not subjob.sub_groups_valid(job)
    labelled(world, "j", "j-w-1", ONE, a="2", node="n0")
    assert subjob.sub_groups_valid(job)
    assert not subjob.sub_groups_ready(job)
    assert not subjob.sub_groups_pipelined(job)
    labelled(world, "j", "j-w-2", ONE, a="1", node="n0", status=Status.PIPELINED)
    assert subjob.sub_groups_pipelined(job)
    assert not subjob.sub_groups_ready(job)
    labelled(world, "j", "j-w-3", ONE, a="1", node="n0")
    assert subjob.sub_groups_ready(job)
