"""How the answers of several plugins are joined, point by point, and what counts for a plugin that throws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from scheduler.contract.contexts import EvictionContext, Kind, Purpose, Simulation
from scheduler.contract.points import Point
from scheduler.contract.registration import ABSTAIN, PERMIT, REJECT
from scheduler.plugin import Plugin
from scheduler.session import Session
from scheduler.settings.conf import SWITCHES
from scheduler.state.task import Task
from tests.unit.scheduler.build import World, memory_of, shape


class Silent(Plugin):
    """Registers nothing: the tests do, in its name."""

    def on_session_open(self, session: Session) -> None:
        pass


PLUGINS = {name: type(name, (Silent,), {"name": name}) for name in "abcq"}
TIERS = """
actions: "allocate"
tiers:
- plugins: [{name: a}, {name: b}, {name: c}]
- plugins: [{name: q}]
"""


def session_of(text: str = TIERS) -> tuple[Session, list[Task]]:
    world = World()
    world.node("n1")
    world.gang("g", [("w", 4, shape())])
    memory = memory_of(world.cluster, text, PLUGINS)
    session = Session(world.cluster, memory.configuration, memory, uid="s", now=0.0)
    session.open()
    return session, list(world.cluster.jobs["ns/g"].tasks.values())


def naming(*places: int) -> Callable[[Any, Sequence[Task]], list[Task]]:
    return lambda _, candidates: [candidates[place] for place in places]


def abstaining(_: Any, __: Sequence[Task]) -> None:
    return None


def voting(vote: int) -> Callable[[Any], int]:
    return lambda _: vote


def throwing(*_: Any) -> Any:
    raise RuntimeError("broken")


REGISTRARS = ("add_preemptable", "add_reclaimable", "add_unified_evictable")


def asked(session: Session, registrar: str, tasks: list[Task]) -> list[int]:
    """The places of the victims."""
    if registrar == "add_unified_evictable":
        job = session.cluster.jobs["ns/g"]
        found = session.unified_evictable(EvictionContext(Kind.GANG_PREEMPT, job), tasks)
    elif registrar == "add_preemptable":
        found = session.preemptable(tasks[0], tasks)
    else:
        found = session.reclaimable(tasks[0], tasks)
    return [tasks.index(task) for task in found]


@pytest.mark.parametrize("registrar", REGISTRARS)
@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ({}, []),
        ({"a": naming(1), "b": naming(1, 2), "c": naming(0, 1)}, [1]),
        ({"a": naming(2, 1), "b": naming(1, 2)}, [1, 2]),  # in the order of the candidates
        ({"a": naming(1), "b": naming(2), "c": naming(3), "q": naming(0)}, [0]),  # empty stays empty
        ({"a": naming(1), "b": naming(2), "c": naming(3)}, []),
        ({"a": naming(1), "b": naming(1), "c": naming(), "q": naming(0)}, [0]),
        ({"a": naming(1), "b": naming(1), "c": abstaining}, [1]),
        ({"a": abstaining, "q": naming(3)}, [3]),
        ({"a": naming(1), "q": naming(3)}, [1]),
        ({"a": naming(1, 2), "b": throwing, "q": naming(3)}, [3]),  # one that throws names nobody
        ({"a": throwing}, []),
    ],
)
def test_victims_are_those_that_the_first_tier_with_any_agrees_on(
    registrar: str, answers: dict[str, Any], expected: list[int]
) -> None:
    session, tasks = session_of()
    for plugin, answer in answers.items():
        getattr(session, registrar)(plugin, answer)
    assert asked(session, registrar, tasks) == expected


@pytest.mark.parametrize(
    ("votes", "expected"),
    [
        ({}, True),
        ({"a": PERMIT, "b": REJECT}, False),
        ({"a": PERMIT, "q": REJECT}, True),
        ({"a": ABSTAIN, "q": REJECT}, False),
        ({"a": ABSTAIN, "b": PERMIT}, True),
        ({"a": ABSTAIN, "q": ABSTAIN}, True),
    ],
)
def test_votes_end_at_the_first_rejection_or_the_first_tier_that_permits(votes: dict[str, int], expected: bool) -> None:
    session, _ = session_of()
    job = session.cluster.jobs["ns/g"]
    for plugin, vote in votes.items():
        session.add_job_pipelined(plugin, voting(vote))
        session.add_job_enqueueable(plugin, voting(vote))
    assert session.job_pipelined(job) is expected
    assert session.job_enqueueable(job) is expected


def test_a_plugin_that_throws_gives_the_answer_that_does_least_harm() -> None:
    session, tasks = session_of()
    queue, job, node = session.cluster.queues["default"], session.cluster.jobs["ns/g"], session.nodes[0]
    for register in (
        session.add_job_ready, session.add_job_pipelined, session.add_job_starving, session.add_allocatable,
        session.add_preemptive, session.add_overused, session.add_sub_job_ready, session.add_sub_job_pipelined,
        session.add_simulate_add_task, session.add_simulate_remove_task, session.add_simulate_predicate,
        session.add_simulate_allocatable, session.add_victim_tasks, session.add_hyper_node_order,
        session.add_hyper_node_gradient_for_job, session.add_target_job, session.add_victim_queue_order,
    ):  # fmt: skip
        register("a", throwing)
    trial = Simulation(tasks[0])
    assert not session.job_ready(job)
    assert not session.job_pipelined(job)
    assert not session.job_starving(job)
    assert not session.allocatable(queue, tasks[0])
    assert not session.preemptive(queue, tasks[0])
    assert not session.overused(queue)
    assert session.simulate_add_task(trial, tasks[0], node) == "plugin a failed in its simulation"
    assert session.simulate_remove_task(trial, tasks[0], node) == "plugin a failed in its simulation"
    assert session.simulate_predicate(trial, node) == "plugin a failed in its simulation"
    assert not session.simulate_allocatable(trial, queue)
    assert session.victim_tasks(tasks) == []
    assert session.hyper_node_scores(None, {"h": []}) == {"h": 0.0}  # type: ignore[arg-type]  # nobody looks at it
    assert session.gradients_for_job(job, "h", Purpose.ALLOCATE) == ()
    assert session.target_job([job]) is None
    assert session.compare_victim_queues(queue, queue, queue) == 0
    assert session.memory.failures["a", "preemptive"] == 1


def test_where_nobody_answers_the_answers_are_those_of_an_empty_session() -> None:
    session, tasks = session_of()
    job, queue, node = session.cluster.jobs["ns/g"], session.cluster.queues["default"], session.nodes[0]
    trial = Simulation(tasks[0])
    assert session.job_ready(job)
    assert not session.job_starving(job)
    assert session.preemptive(queue, tasks[0])
    assert session.allocatable(queue, tasks[0])
    assert session.gradients_for_job(job, "root", Purpose.EVICT) == (("root",),)
    assert session.gradients_for_sub_job(None, "h", Purpose.EVICT) == (("h",),)  # type: ignore[arg-type]  # as above
    assert session.simulate_predicate(trial, node) is None
    assert session.simulate_add_task(trial, tasks[0], node) is None
    assert session.simulate_remove_task(trial, tasks[0], node) is None
    assert session.simulate_allocatable(trial, queue)
    assert session.victim_tasks(tasks) == []


def test_the_first_plugin_with_gradients_or_a_target_decides_alone() -> None:
    session, _ = session_of()
    job = session.cluster.jobs["ns/g"]
    session.add_hyper_node_gradient_for_job("q", lambda *_: (("late",),))
    session.add_hyper_node_gradient_for_job("b", lambda *_: ((),))
    session.add_target_job("a", lambda _: None)
    session.add_target_job("b", lambda jobs: jobs[0])
    assert session.gradients_for_job(job, "root", Purpose.ALLOCATE) == ((),)
    assert session.target_job([job]) is None


def test_ratings_of_hypernodes_are_added_and_others_names_are_dropped() -> None:
    session, _ = session_of()
    session.add_hyper_node_order("a", lambda *_: {"h1": 1.5, "elsewhere": 9.0})
    session.add_hyper_node_order("q", lambda *_: {"h1": 1.0, "h2": 4.0})
    scores = session.hyper_node_scores(None, {"h1": [], "h2": [], "h3": []})  # type: ignore[arg-type]  # as above
    assert scores == {"h1": 2.5, "h2": 4.0, "h3": 0.0}


def test_victim_tasks_are_the_union_of_the_first_tier_that_names_any() -> None:
    session, tasks = session_of()
    session.add_victim_tasks("q", lambda given: given[3:])
    assert session.victim_tasks(tasks) == tasks[3:]
    session.add_victim_tasks("b", lambda given: given[2:3])
    session.add_victim_tasks("a", lambda given: given[:1])
    session.add_victim_tasks("a", lambda given: given[1:2])
    assert session.victim_tasks(tasks) == tasks[:3]


def test_a_queue_that_comes_last_gives_first_unless_a_plugin_says_otherwise() -> None:
    session, _ = session_of()
    queues = [session.cluster.queue(name) for name in ("one", "two")]
    for age, queue in enumerate(queues):
        queue.created = float(age)
    one, two = queues
    assert session.compare_victim_queues(two, one, one) < 0
    session.add_victim_queue_order("a", lambda left, right, _: 0 if left is right else (1 if left is two else -1))
    assert session.compare_victim_queues(two, one, one) > 0


def test_what_no_task_of_a_job_can_be_named_for_is_ruled_out_by_its_tier_only() -> None:
    session, tasks = session_of()
    job = session.cluster.jobs["ns/g"]
    assert session.preemptable_jobs(tasks[0], [job]) == set()
    session.add_preemptable("a", naming(), jobs=lambda _, __: False)
    assert session.preemptable_jobs(tasks[0], [job]) == set()
    session.add_preemptable("q", naming(0))
    assert session.preemptable_jobs(tasks[0], [job]) == {"ns/g"}
    session.add_preemptable("q", naming(0), jobs=throwing)
    assert session.preemptable_jobs(tasks[0], [job]) == {"ns/g"}


def test_clusters_are_ordered_only_where_the_switch_is_on() -> None:
    session, _ = session_of()
    session.add_cluster_order("a", key=lambda name: -ord(name[0]))
    assert session.cluster_ranking().sorted(["x", "y"]) == ["x", "y"]
    session, _ = session_of(TIERS.replace("{name: a}", "{name: a, enabledClusterOrder: true}"))
    session.add_cluster_order("a", key=lambda name: -ord(name[0]))
    assert session.cluster_ranking().sorted(["x", "y"]) == ["y", "x"]


@pytest.mark.parametrize("point", list(Point))
def test_every_switch_of_a_point_is_one_of_the_configuration(point: Point) -> None:
    assert set(point.switches) <= set(SWITCHES)


@pytest.mark.parametrize(
    ("switches", "asked"),
    [
        ("", True),
        ("enablePreemptable: false", True),
        ("enabledAllocatable: false", True),
        ("enablePreemptable: false, enabledAllocatable: false", False),
    ],
)
def test_simulations_of_tasks_are_off_only_when_both_switches_are(switches: str, asked: bool) -> None:
    session, tasks = session_of(TIERS.replace("{name: a}", f"{{name: a, {switches}}}"))
    session.add_simulate_remove_task("a", lambda *_: "asked")
    answer = session.simulate_remove_task(Simulation(tasks[0]), tasks[0], session.nodes[0])
    assert (answer == "asked") is asked


def test_a_plugin_kept_out_of_preemption_is_still_asked_in_reclaim() -> None:
    session, tasks = session_of(TIERS.replace("{name: a}", "{name: a, enablePreemptable: false}"))
    session.add_preemptable("a", naming())
    session.add_reclaimable("a", naming())
    session.add_preemptable("b", naming(1))
    session.add_reclaimable("b", naming(1))
    assert session.preemptable(tasks[0], tasks) == [tasks[1]]
    assert session.reclaimable(tasks[0], tasks) == []


def test_victims_and_their_queues_have_no_switch() -> None:
    off = ", ".join(f"{switch}: false" for switch in SWITCHES)
    session, tasks = session_of(TIERS.replace("{name: a}", f"{{name: a, {off}}}"))
    session.add_unified_evictable("a", naming(2))
    assert asked(session, "add_unified_evictable", tasks) == [2]
