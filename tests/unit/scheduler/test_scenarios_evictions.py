"""Lives of clusters in which the more urgent take room from the less urgent: who runs in the end, and who had to go."""

from __future__ import annotations

import pytest

from scheduler.state.status import Status
from scheduler.state.task import Task
from tests.unit.scheduler.build import World
from tests.unit.scheduler.life import Life, chart, nodes, pod

PREEMPT = "enqueue, allocate, preempt, backfill"
GANGPREEMPT = "enqueue, allocate, gangpreempt, backfill"
UNPROTECTED = "enablePreemptable: false"


def urgent(
    world: World, text: str, count: int, cpu: float = 1.0, *, minimum: int | None = None, grace: int = 0
) -> Life:
    """What there is starts; then an urgent gang comes."""
    life = Life(world, text, grace=grace)
    life.step()
    assert all(
        life.running(job.name) == len(job.tasks) for job in map(world.cluster.jobs.get, world.cluster.jobs) if job
    )
    world.gang("high", [("w", count, pod(cpu))], priority=100, minimum=minimum)
    return life


@pytest.mark.parametrize(("gang", "expected"), [("", (8, 0)), (UNPROTECTED, (0, 8))])
def test_a_gang_that_needs_all_its_pods_is_replaced_only_where_gangs_may_be_broken(
    gang: str, expected: tuple[int, int]
) -> None:
    world = nodes(2)
    world.gang("low", [("w", 8, pod())])
    life = urgent(world, chart(PREEMPT, gang=gang).replace("  - name: overcommit\n", ""), 8)
    assert life.settle().running("low", "high") == expected


def test_pods_beyond_the_minimum_make_way_and_no_more_than_are_needed() -> None:
    world = nodes(2)
    world.gang("low", [("w", 8, pod())], minimum=5)
    life = urgent(world, chart(PREEMPT), 3, minimum=1)
    assert life.settle().running("low", "high") == (7, 1)
    world.gang("higher", [("w", 4, pod())], priority=200, minimum=1)
    assert life.settle().running("low", "high", "higher") == (6, 1, 1)
    assert len(life.evicted) == 2


def test_a_gang_that_would_not_be_whole_after_all_evictions_takes_nothing() -> None:
    world = nodes(2)
    world.gang("low", [("w", 8, pod())], minimum=4)
    life = urgent(world, chart(PREEMPT), 6)
    assert life.settle().running("low", "high") == (8, 0)
    assert life.evicted == []


def test_one_large_pod_makes_way_for_two_small_ones() -> None:
    world = nodes(1, 8.0)
    world.gang("low", [("w", 1, pod(8))])
    life = urgent(world, chart(PREEMPT, gang=UNPROTECTED), 2, 2.0)
    assert life.settle().running("low", "high") == (0, 2)
    assert life.evicted == ["low-w-0"]


def test_a_node_with_cpu_left_but_no_slot_for_a_pod_is_cleared_too() -> None:
    world = nodes(1, 8.0, pods=4.0)
    world.gang("low", [("w", 4, pod(0.1))], minimum=1)
    life = urgent(world, chart(PREEMPT), 2, 0.1)
    assert life.settle().running("low", "high") == (2, 2)
    assert len(life.evicted) == 2


def test_the_least_urgent_go_first_though_all_pods_are_alike() -> None:
    world = nodes(1)
    world.gang("mid", [("w", 2, pod())], minimum=0, priority=50)
    world.gang("low", [("w", 2, pod())], minimum=0)
    life = urgent(world, chart(PREEMPT), 2)
    assert life.settle().running("low", "mid", "high") == (0, 2, 2)
    assert {name.partition("-")[0] for name in life.evicted} == {"low"}


def test_two_urgent_gangs_get_their_minimum_and_the_rest_is_left_alone() -> None:
    world = nodes(3)
    world.gang("low", [("w", 12, pod())], minimum=1)
    life = urgent(world, chart(PREEMPT).replace("  - name: overcommit\n", ""), 12, minimum=4)
    world.gang("other", [("w", 12, pod())], priority=100, minimum=4)
    assert life.settle().running("low", "high", "other") == (4, 4, 4)
    assert len(life.evicted) == 8


@pytest.mark.parametrize("actions", [PREEMPT, GANGPREEMPT])
def test_victims_that_take_their_time_are_waited_for_and_not_replaced_by_others(actions: str) -> None:
    world = nodes(2)
    world.gang("low", [("w", 8, pod())], minimum=1)
    life = urgent(world, chart(actions).replace("  - name: overcommit\n", ""), 4, grace=4)
    life.step()
    victims = list(life.evicted)
    assert len(victims) == 4
    for _ in range(3):
        assert life.step().decisions == ()
        assert life.phase("high") == "Inqueue"
    life.settle()
    assert (life.running("low", "high"), life.evicted) == ((4, 4), victims)
    assert life.phase("high") == "Running"


@pytest.mark.parametrize(
    ("case", "queue", "priority", "preemptable"),
    [
        ("of another queue", "other", 0, True),
        ("as urgent as the newcomer", "default", 100, True),
        ("protected by its label", "default", 0, False),
    ],
)
@pytest.mark.parametrize("actions", [PREEMPT, GANGPREEMPT])
def test_nobody_makes_way_who_is(actions: str, case: str, queue: str, priority: int, preemptable: bool) -> None:
    world = nodes(2)
    world.gang("low", [("w", 8, pod())], minimum=1, queue=queue, priority=priority)
    for task in world.cluster.jobs["ns/low"].tasks.values():
        task.preemptable = preemptable
    life = urgent(world, chart(actions), 1)
    life.settle()
    assert (life.running("low"), life.running("high"), life.evicted) == (8, 0, []), case


def test_within_a_job_urgent_pods_replace_others_where_all_of_its_pods_count_as_starving() -> None:
    world = nodes(1)
    world.gang("job", [("w", 4, pod())], minimum=1)
    text = chart(PREEMPT, gang=f"{UNPROTECTED}\n    enableJobStarving: false")
    life = Life(world, text)
    life.step()
    world.gang("job", [("chief", 2, pod())], minimum=1)
    for task in world.cluster.jobs["ns/job"].pending.values():
        task.priority = 100
    life.settle()
    chiefs = [task for task in world.cluster.jobs["ns/job"].tasks.values() if task.role == "chief"]
    assert [task.status for task in chiefs] == [Status.RUNNING] * 2
    assert (life.running("job"), len(life.evicted)) == (4, 2)


@pytest.mark.parametrize("queues", ["proportion", "capacity"])
@pytest.mark.parametrize("action", ["preempt", "reclaim", "gangpreempt", "gangreclaim"])
def test_pods_start_also_where_evicting_actions_have_their_turn_before_allocate(action: str, queues: str) -> None:
    world = nodes(2)
    world.gang("first", [("w", 4, pod())])
    text = chart(f"enqueue, {action}, allocate, backfill", queues=queues, gang=UNPROTECTED)
    life = Life(world, text.replace("  - name: overcommit\n", "")).settle(2)
    world.gang("second", [("w", 4, pod())], priority=100)
    assert life.settle(2).running("first", "second") == (4, 4)
    assert life.evicted == []


@pytest.mark.parametrize("grace", [0, 3])
@pytest.mark.parametrize("action", ["preempt", "gangpreempt"])
def test_room_is_kept_for_whom_it_was_made_where_evicting_actions_come_before_allocate(action: str, grace: int) -> None:
    world = nodes(2)
    world.gang("low", [("w", 8, pod())], minimum=0)
    text = chart(f"enqueue, {action}, allocate, backfill").replace("  - name: overcommit\n", "")
    life = urgent(world, text, 4, grace=grace)
    life.step()
    victims = list(life.evicted)
    assert len(victims) == 4
    world.gang("rival", [("w", 1, pod())], priority=200, minimum=0)
    life.settle()
    assert (life.running("low", "high", "rival"), life.evicted) == ((4, 4, 0), victims)


@pytest.mark.parametrize("action", ["preempt", "reclaim", "gangpreempt", "gangreclaim"])
def test_pods_that_never_preempt_wait_for_room_and_then_start(action: str) -> None:
    world = nodes(1)
    for name in ("own", "other"):
        world.queue(name, weight=1, deserved={"cpu": "2"})
    world.gang("low", [("w", 4, pod())], minimum=0, queue="own" if action.endswith("preempt") else "other")
    text = chart(f"enqueue, allocate, {action}, backfill", queues="capacity").replace("  - name: overcommit\n", "")
    life = Life(world, text).settle(2)
    world.gang("high", [("w", 2, pod(preemption_policy="Never"))], priority=100, queue="own")
    assert life.settle(4).running("low", "high") == (4, 0)
    life.delete("low")
    assert life.settle(4).running("high") == 2
    assert life.evicted == []


@pytest.mark.parametrize("action", ["preempt", "reclaim"])
def test_room_is_made_for_the_minimum_of_each_role_whichever_comes_first(action: str) -> None:
    world = nodes(1)
    for name in ("own", "other"):
        world.queue(name, weight=1, deserved={"cpu": "2"})
    world.gang("low", [("w", 4, pod())], minimum=0, queue="own" if action == "preempt" else "other")
    text = chart(f"enqueue, allocate, {action}, backfill", queues="capacity").replace("  - name: overcommit\n", "")
    life = Life(world, text).settle(2)
    roles = [("master", 2, pod()), ("worker", 6, pod(0.5))]
    least = {"master": 1, "worker": 2}
    world.gang("high", roles, minimum=3, role_minimum=least, priority=100, queue="own")
    life.settle()
    running = [task.role for task in world.cluster.jobs["ns/high"].tasks.values() if task.status is Status.RUNNING]
    assert {role: running.count(role) for role in least} == least
    assert (life.running("low"), len(life.evicted)) == (2, 2)


@pytest.mark.parametrize("grace", [0, 2])
def test_the_share_of_its_queue_that_preempt_made_room_for_goes_to_whom_it_was_made_for(grace: int) -> None:
    """An elastic job of higher priority, which lacks nothing, would take it, and the preemptor evict the next one."""
    world = World()
    for number in range(3):
        world.node(f"n{number}", cpu=4000.0)
    world.queue("q", capability={"cpu": "4"}, deserved={"cpu": "4"})
    world.gang("victim", [("w", 3, pod(1))], minimum=0, queue="q", priority=0)
    world.gang("elastic", [("w", 1, pod(1))], minimum=1, queue="q", priority=100)
    life = Life(world, chart(PREEMPT, queues="capacity", gang=UNPROTECTED), grace=grace, replaces=False)
    life.step()
    for number in range(1, 4):
        name = f"elastic-w-{number}"
        task = Task(uid=f"uid-{name}", namespace="ns", name=name, job="ns/elastic", shape=pod(1), role="w")
        world.cluster.add_task(task)
    world.gang("preemptor", [("w", 1, pod(1))], minimum=1, queue="q", priority=50)
    for _ in range(8):
        life.step()
    assert life.evicted == ["victim-w-2"]
    assert world.cluster.tasks["uid-preemptor-w-0"].node is not None
