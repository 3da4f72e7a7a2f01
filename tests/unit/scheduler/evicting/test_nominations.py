"""Room kept for whom it was made: what it holds back, how it is handed over, and how it ends."""

from __future__ import annotations

import pytest

from generated.scheduling.v1beta1 import PodGroup
from scheduler.evicting.nominations import PATIENCE, Nominations
from scheduler.state.status import Status
from scheduler.state.task import Task
from tests.unit.scheduler.build import World, shape
from tests.unit.scheduler.evictions import victim_job


def granted(*, cpu: float = 2000.0) -> tuple[World, Nominations, Task]:
    """A full node of 4 cpu, two of whose pods are evicted for one of 2 cpu."""
    world = World()
    world.node("n0")
    victims = victim_job(world, "low", {"n0": 4})
    world.gang("high", [("w", 1, shape(cpu, 0.0))])
    cluster = world.cluster
    cluster.settle()
    task = cluster.tasks["uid-high-w-0"]
    nominations = Nominations(cluster)
    task.node = cluster.node_by_name["n0"]
    nominations.grant([task], "preempt", victims[:2])
    task.node = None
    for victim in victims[:2]:
        cluster.remove_task(victim.uid)
    return world, nominations, task


def free(world: World) -> float:
    columns = world.cluster.columns
    return float((columns.allocatable - columns.used + columns.releasing - columns.pipelined)[0, 0])


def test_the_room_is_taken_in_a_session_and_free_while_its_job_is_in_turn() -> None:
    world, nominations, _ = granted()
    before = world.cluster.columns.dynamic.tobytes()
    nominations.hold(0.0)
    assert free(world) == 0.0
    with nominations.lifted("ns/high"):
        assert free(world) == 2000.0
    assert free(world) == 0.0
    with nominations.lifted("ns/other"):
        assert free(world) == 0.0
    nominations.release()
    assert world.cluster.columns.dynamic.tobytes() == before


def test_what_the_job_placed_in_its_turn_is_not_kept_twice() -> None:
    world, nominations, task = granted()
    nominations.hold(0.0)
    with nominations.lifted("ns/high"):
        world.cluster.remove_task(task.uid)
        task.status = Status.PIPELINED
        world.cluster.add_task(task, "n0")
    assert free(world) == 0.0
    nominations.release()
    assert free(world) == 0.0


@pytest.mark.parametrize("status", [Status.RUNNING, Status.BINDING, Status.FAILED])
def test_a_pod_that_no_longer_waits_needs_no_room_kept(status: Status) -> None:
    world, nominations, task = granted()
    world.cluster.remove_task(task.uid)
    task.status = status
    world.cluster.add_task(task, "n0")
    nominations.hold(0.0)
    assert (len(nominations), nominations.lapses()) == (0, ())


@pytest.mark.parametrize(
    ("case", "why"),
    [
        ("pod", "the pod is gone"),
        ("node", "node n0 is gone"),
        ("room", "node n0 no longer has enough cpu"),
    ],
)
def test_a_nomination_that_can_not_be_kept_is_reported(case: str, why: str) -> None:
    world, nominations, task = granted()
    if case == "pod":
        world.cluster.remove_task(task.uid)
    elif case == "node":
        world.cluster.remove_node("n0")
        world.cluster.settle()
    else:
        world.running("thief", "n0", shape(1000.0, 0.0))
    nominations.hold(0.0)
    (lapse,) = nominations.lapses()
    assert (lapse.why, lapse.tasks, lapse.victims) == (why, ("ns/high-w-0",), ("ns/low-w-0", "ns/low-w-1"))
    assert isinstance(lapse.pod_group, PodGroup)
    assert nominations.lapses() == ()


def test_a_job_that_was_tried_in_vain_gives_up_all_its_room() -> None:
    _, nominations, task = granted()
    nominations.hold(0.0)
    nominations.judge(lambda _: None)
    assert len(nominations) == 1
    task.nominated = "n0"
    nominations.judge(lambda tried: "no node" if tried is task else None)
    (lapse,) = nominations.lapses()
    assert (lapse.why, len(nominations), task.nominated) == ("no node", 0, "")


def test_a_gang_gives_up_its_room_when_one_without_room_of_its_own_was_tried_in_vain() -> None:
    world, nominations, task = granted()
    job = world.cluster.jobs[task.job]
    sibling = Task(uid="uid-sibling", namespace="ns", name="sibling", job=job.id, shape=task.shape, role="w")
    world.cluster.add_task(sibling)
    job.min_available = len(job.pending)

    def why_not(tried: Task) -> str | None:
        return "no node" if tried is sibling else None

    nominations.hold(0.0)
    nominations.judge(lambda _: None)
    assert len(nominations) == 1
    job.min_available = 0
    nominations.judge(why_not)
    assert len(nominations) == 1, "what is whole can use its room without the others"
    job.min_available = len(job.pending)
    nominations.judge(why_not)
    assert [lapse.why for lapse in nominations.lapses()] == ["no node"]


def test_patience_begins_when_the_last_victim_is_gone() -> None:
    world, nominations, _ = granted()
    leaving = world.cluster.tasks["uid-low-w-2"]
    nominations.by_task = {
        uid: type(known)(known.uid, known.task, known.job, known.node, known.reason, {leaving.uid: leaving.key})
        for uid, known in nominations.by_task.items()
    }
    for now in (0.0, 1000.0):
        nominations.hold(now)
        nominations.release()
    assert len(nominations) == 1
    world.cluster.remove_task(leaving.uid)
    nominations.hold(2000.0)
    nominations.release()
    nominations.hold(2000.0 + PATIENCE - 1.0)
    nominations.release()
    assert len(nominations) == 1
    nominations.hold(2000.0 + PATIENCE)
    assert len(nominations) == 0


def test_a_task_that_is_granted_room_again_answers_for_all_who_were_evicted_for_it() -> None:
    world, nominations, task = granted()
    task.node = world.cluster.node_by_name["n0"]
    (third, *_) = [victim for victim in world.cluster.tasks.values() if victim.job == "ns/low"]
    nominations.grant([task], "preempt", [third])
    task.node = None
    world.cluster.remove_task(task.uid)
    nominations.hold(0.0)
    (lapse,) = nominations.lapses()
    assert len(lapse.victims) == 3
