"""Why a job waits, in numbers."""

from __future__ import annotations

from itertools import count
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from api.names import QUEUE_ALLOCATION_GATE
from generated.core.v1 import (
    PodSchedulingGate,
)
from generated.scheduling.v1beta1 import PodGroupCondition, PodGroupStatus
from scheduler.actions import BUILT_IN as ACTIONS
from scheduler.cycle import run_cycle
from scheduler.dump import parts
from scheduler.dump.record import DecisionRecord, decisions_of
from scheduler.evicting.nominations import Nomination
from scheduler.explain.obstacles import no_class, other_scheduler
from scheduler.explain.opening import opened
from scheduler.explain.report import CauseKind
from scheduler.gates import Gates
from scheduler.placing.sampling import Sampling
from scheduler.plugin import Plugin
from scheduler.reporting.timings import Span
from scheduler.session import Session
from scheduler.state.status import Status
from tests.unit.scheduler.build import FIVE_PLUGINS, World, binds, cycle, memory_of, random_world, shape
from tests.unit.scheduler.explain.explaining import DEFAULT, explained, kinds


def test_pods_without_their_pod_group_are_told() -> None:
    world = World()
    world.node("n-1")
    world.member("a", "p", "", shape(), Status.PENDING)
    answer = explained(world, "a")
    assert kinds(answer) == [CauseKind.NO_POD_GROUP]
    assert answer.needs == ["create PodGroup ns/a"]


def test_a_gang_that_lacks_pods_says_how_many() -> None:
    world = World()
    world.node("n-1")
    world.gang("a", [("w", 2, shape())], minimum=5, phase="Inqueue")
    answer = explained(world, "a")
    assert kinds(answer)[0] == CauseKind.NOT_ENOUGH_PODS
    assert answer.causes[0].text == ("NotEnoughTasks: Not enough valid tasks for gang-scheduling, valid: 2, min: 5")
    assert answer.needs[0] == "3 more pods that can run"
    assert (answer.gang.min_member, answer.gang.missing, answer.gang.statuses) == (5, 5, {"Pending": 2})


@pytest.mark.parametrize(("own", "can_start"), [(0, False), (1, False), (2, True)])
def test_pods_that_ask_for_another_scheduler_are_the_cause_and_not_missing(own: int, can_start: bool) -> None:
    world = World()
    world.node("n-1")
    world.gang("a", [("w", own, shape())], minimum=2, phase="Inqueue")
    answer = explained(world, "a", known=other_scheduler(["default-scheduler"] * 2, ["volcano"]))
    text = "2 pods of it ask for scheduler default-scheduler; this one is volcano and leaves them alone"
    need = "schedulerName volcano in the job and in the templates of its tasks, which takes a new job"
    assert answer.can_start is can_start
    if can_start:
        assert answer.summary == f"nothing keeps it from starting: 2 of 2 waiting pods find a node; but {text}"
    else:
        assert kinds(answer) == [CauseKind.OTHER_SCHEDULER, CauseKind.NOT_ENOUGH_PODS]
        assert answer.summary == text
    assert answer.needs == [need]


def test_a_role_without_any_pod_may_wait_for_others() -> None:
    world = World()
    world.node("n-1")
    world.gang("a", [("m", 1, shape())], minimum=3, phase="Inqueue", role_minimum={"m": 1, "w": 2})
    assert explained(world, "a").needs[0] == (
        "2 more pods that can run; no pod exists of task w (2 needed): it may wait for other tasks by dependsOn"
    )


def test_pods_that_are_made_once_the_job_is_let_in_are_not_missed() -> None:
    world = World()
    world.node("n-1")
    world.gang("a", [], minimum=3, resources={"cpu": "1"})
    answer = explained(world, "a")
    assert kinds(answer) == [CauseKind.NOT_ENOUGH_PODS]
    assert answer.summary == "none of its 3 pods exists yet: they are made once it is let into its queue"
    assert answer.is_waiting
    world.cluster.jobs["ns/a"].phase = "Inqueue"
    assert explained(world, "a").summary.startswith("NotEnoughTasks: ")


@pytest.mark.parametrize(("state", "cpu", "can_start"), [("Closed", 0.0, True), ("Closed", 500.0, False)])
def test_pods_that_ask_for_nothing_need_no_queue(state: str, cpu: float, can_start: bool) -> None:
    world = World()
    world.node("n-1")
    world.queue("q", state=state)
    world.gang("a", [("w", 1, shape(cpu=cpu, memory=0.0))], queue="q", phase="Inqueue")
    assert explained(world, "a").can_start is can_start
    assert bool(binds(cycle(world, memory_of(world.cluster, DEFAULT)))) is can_start


@pytest.mark.parametrize(("missing", "cpu"), [("allocate", 500.0), ("backfill", 0.0)])
def test_an_action_that_is_not_configured_is_told(missing: str, cpu: float) -> None:
    world = World()
    world.node("n-1")
    world.gang("a", [("w", 1, shape(cpu=cpu, memory=0.0))], phase="Inqueue")
    actions = {"enqueue", "allocate", "backfill"} - {missing}
    text = DEFAULT.replace("enqueue, allocate, backfill", ", ".join(sorted(actions)))
    answer = explained(world, "a", text=text)
    assert kinds(answer) == [CauseKind.NO_ACTION]
    assert missing in answer.summary


def test_gated_pods_are_told_with_their_gates() -> None:
    world = World()
    world.node("n-1")
    world.gang("a", [("w", 2, shape(scheduling_gates=(PodSchedulingGate(name="x.io/wait"),)))], phase="Inqueue")
    answer = explained(world, "a")
    assert CauseKind.GATED in kinds(answer)
    assert answer.waiting[0].gated == 2
    assert "the gates x.io/wait taken off" in answer.needs


def test_a_gate_of_the_queue_is_told_and_stays_to_be_opened() -> None:
    world = World()
    world.node("n-1")
    gated = shape(scheduling_gates=(PodSchedulingGate(name=QUEUE_ALLOCATION_GATE),))
    world.gang("a", [("w", 1, gated)], phase="Inqueue")
    memory = memory_of(world.cluster, DEFAULT)
    memory.gates = Gates(world.cluster, is_on=True)
    answer = explained(world, "a", memory=memory)
    assert "room for them in queue default, which then opens the gate" in answer.needs
    gates = memory.gates
    with opened(world.cluster, memory, 1.0) as session:
        session.gates.granted.add("uid-a-w-0")
    assert memory.gates is gates
    assert gates.granted == set()


def test_who_comes_before_and_why() -> None:
    world = World()
    world.node("n-1", cpu=100.0)
    world.gang("old", [("w", 1, shape())])
    world.gang("mine", [("w", 1, shape())])
    world.gang("high", [("w", 1, shape())], priority=7)
    world.queue("vip", priority=3)
    world.gang("other", [("w", 1, shape())], queue="vip")
    rivals = explained(world, "mine").competition
    assert (rivals.position, rivals.waiting, rivals.jobs_before, rivals.queues_before) == (3, 3, 2, 1)
    assert [(job.name, job.why) for job in rivals.jobs] == [
        ("ns/high", "priority 7 against 0"),
        ("ns/old", "it is older"),
    ]
    assert [(queue.name, queue.why) for queue in rivals.queues] == [("vip", "priority 3 against 0")]


def test_a_job_that_holds_less_comes_first_and_shares_are_told() -> None:
    world = World()
    world.node("n-1", cpu=4000.0)
    world.gang("rich", [("w", 1, shape(cpu=3500.0))])
    world.member("rich", "r", "n-1", shape(cpu=2000.0))
    world.gang("poor", [("w", 1, shape(cpu=3500.0))])
    text = DEFAULT.replace("{name: gang}", "{name: conformance}")
    answer = explained(world, "rich", text=text)
    assert [job.why for job in answer.competition.jobs] == ["it holds less: share 0.0 against 0.5"]
    assert answer.share == 0.5


def test_promised_room_is_told_with_the_victims_that_are_left() -> None:
    world = World()
    world.node("n-1")
    world.running("victim", "n-1", shape(), Status.RELEASING)
    world.gang("a", [("w", 1, shape())], phase="Inqueue")
    memory = memory_of(world.cluster, DEFAULT)
    memory.nominations.by_task["uid-a-w-0"] = Nomination(
        "uid-a-w-0", "ns/a-w-0", "ns/a", "n-1", "preempt", {"uid-victim": "other/victim", "gone": "other/gone"}
    )
    (promise,) = explained(world, "a", memory=memory).promises
    assert (promise.pod, promise.node, promise.action) == ("ns/a-w-0", "n-1", "preempt")
    assert promise.victims == ["other/victim"]


def test_a_job_with_all_its_places_waits_for_nothing() -> None:
    world = World()
    world.node("n-1")
    world.gang("a", [("w", 1, shape())])
    cycle(world)
    answer = explained(world, "a")
    assert (answer.is_waiting, answer.causes, answer.needs) == (False, [], [])
    assert answer.summary == "none of its pods waits for a place"


def test_the_condition_that_was_written_last_is_repeated() -> None:
    world = World()
    world.gang("a", [("w", 1, shape())])
    job = world.cluster.jobs["ns/a"]
    conditions = (
        PodGroupCondition(
            type="Unschedulable", reason="R", message="late", last_transition_time="2026-01-02T00:00:00Z"
        ),
        PodGroupCondition(type="Scheduled", reason="S", last_transition_time="2026-01-01T00:00:00Z"),
    )
    assert job.pod_group is not None
    job.pod_group = msgspec.structs.replace(job.pod_group, status=PodGroupStatus(conditions=conditions))
    assert explained(world, "a").condition == "Unschedulable: R: late"


class Slow(Plugin):
    """Declares nothing, and takes its time."""

    name = "slow"

    def on_session_open(self, session: Session) -> None:
        session.add_predicate(self.name, lambda _task, _node: "node(s) are not liked")


def test_the_slow_plugin_is_named_and_what_declares_nothing() -> None:
    text = DEFAULT.replace("{name: gang}", "{name: gang}, {name: slow}")
    world = World()
    world.node("n-1")
    world.gang("a", [("w", 1, shape())])
    spans = [
        Span("cycle", "", "", 0.5),
        Span("action", "allocate", "", 0.2),
        Span("plugin", "drf", "OnSessionOpen", 0.1),
    ]
    ticks = count()
    answer = explained(
        world, "a", text=text, plugins={"slow": Slow}, spans=spans, stopwatch=lambda: next(ticks) * 0.001
    )
    assert answer.times.undeclared == ["slow/slow"]
    assert answer.times.slowest == "plugin drf: OnSessionOpen took 100.0 ms"
    assert (answer.times.cycle_milliseconds, answer.times.actions[0].milliseconds) == (500.0, 200.0)
    assert {(took.plugin, took.milliseconds) for took in answer.times.asked} >= {("slow", 1.0), ("predicates", 1.0)}
    assert answer.waiting[0].nodes is not None
    assert answer.waiting[0].nodes.filters[-1].reasons == {"node(s) are not liked": 1}


class Asking(Plugin):
    """Does not say that jobs may sleep, is asked before each pod and picks its node."""

    name = "asking"

    def on_session_open(self, session: Session) -> None:
        session.add_pre_predicate(self.name, lambda _: None)
        session.add_best_node(self.name, lambda _task, _nodes: None)


class Patient(Plugin):
    """Lets jobs sleep, and has nothing to say."""

    name = "patient"
    lets_jobs_sleep = True

    def on_session_open(self, session: Session) -> None:
        session.add_job_order(self.name, key=lambda job: job.created)


def test_the_plugins_that_keep_jobs_from_sleeping_are_named_with_why() -> None:
    text = DEFAULT.replace("{name: gang}", "{name: gang}, {name: slow}, {name: asking}, {name: patient}")
    world = World()
    world.node("n-1")
    world.gang("a", [("w", 1, shape(cpu=9000.0))])
    plugins = {"slow": Slow, "asking": Asking, "patient": Patient}
    told = [(each.plugin, each.why) for each in explained(world, "a", text=text, plugins=plugins).times.awake]
    assert told == [
        ("slow", "its class does not say lets_jobs_sleep"),
        ("asking", "its class does not say lets_jobs_sleep"),
        ("asking", "it is asked before each pod"),
        ("slow", "slow declares nothing of what it reads"),
        ("asking", "it picks the node of each pod"),
    ]
    assert explained(world, "a").times.awake == []


@pytest.mark.parametrize(
    ("pods", "exists", "is_told"), [(0, False, True), (1, False, True), (2, False, False), (1, True, False)]
)
def test_a_priority_class_that_does_not_exist_is_why_pods_are_missing(pods: int, exists: bool, is_told: bool) -> None:
    world = World()
    world.node("n-1")
    world.gang("a", [("w", pods, shape())], minimum=2, phase="Inqueue")
    job = world.cluster.jobs["ns/a"]
    assert job.pod_group is not None
    spec = msgspec.structs.replace(job.pod_group.spec, priority_class_name="high")
    job.pod_group = msgspec.structs.replace(job.pod_group, spec=spec)
    known = no_class(job, lambda _: exists)
    answer = explained(world, "a", known=known)
    assert (CauseKind.NO_PRIORITY_CLASS in kinds(answer)) is is_told
    if is_told:
        assert answer.summary == "PriorityClass high does not exist, so pods that name it can't be made"
        assert answer.needs[0] == "create PriorityClass high, or name another in priorityClassName"
        assert not answer.can_start


def test_a_job_without_a_priority_class_lacks_none() -> None:
    world = World()
    world.gang("a", [], minimum=2)
    assert no_class(world.cluster.jobs["ns/a"], lambda _: False) == []


@pytest.mark.parametrize(("written", "told"), [("Running", "Running"), ("Completed", "Completed"), ("", "Inqueue")])
def test_the_phase_is_the_one_that_the_server_shows(written: str, told: str) -> None:
    world = World()
    world.node("n-1")
    world.gang("a", [("w", 1, shape())], phase="Inqueue")
    group = world.cluster.jobs["ns/a"].pod_group
    assert group is not None
    world.cluster.jobs["ns/a"].pod_group = msgspec.structs.replace(group, status=PodGroupStatus(phase=written))
    assert explained(world, "a").phase == told


def test_fields_have_their_json_names() -> None:
    world = World()
    world.node("n-1")
    world.gang("a", [("w", 1, shape(cpu=9000.0))])
    found = msgspec.to_builtins(explained(world, "a"))
    assert {"canStart", "isWaiting", "summary", "causes", "needs", "gang", "queue", "waiting", "times"} <= found.keys()
    assert found["waiting"][0]["nodes"]["insufficient"] == [{"resource": "cpu", "nodes": 1, "alone": 1}]


def test_what_changed_since_the_last_cycle_is_still_news_for_the_next() -> None:
    world = World()
    world.node("n-1")
    world.gang("a", [("w", 1, shape())])
    explained(world, "a")
    assert world.cluster.changed_jobs == {"ns/a"}


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.1]), st.booleans())
@example(seed=3391, odd=0.0, has_run=True)
def test_explaining_leaves_nothing_behind(seed: int, odd: float, has_run: bool) -> None:
    world = random_world(seed, odd)
    memory = memory_of(world.cluster, DEFAULT)
    memory.sampling = Sampling(50, 2, cursor=seed % 7) if seed % 3 == 0 else None
    if has_run:
        run_cycle(world.cluster, memory, ACTIONS, uid="s", now=1.0)
        world.gang("late", [("w", 2, shape(cpu=500.0))])
    with opened(world.cluster, memory, 2.0):
        pass  # accounts are settled at the first opening
    before = msgspec.json.encode(parts.take(world.cluster, memory))
    version, cursor = world.cluster.version, memory.sampling.cursor if memory.sampling else 0
    for job in sorted(world.cluster.jobs):
        explained(world, job.removeprefix("ns/"), memory=memory)
    assert msgspec.json.encode(parts.take(world.cluster, memory)) == before
    assert (world.cluster.version, memory.sampling.cursor if memory.sampling else 0) == (version, cursor)
    again = parts.put(msgspec.convert(parts.take(world.cluster, memory), type=dict[str, list[Any]])).cluster
    other = memory_of(again, DEFAULT)
    other.sampling = memory.sampling and Sampling(50, 2, cursor=cursor)
    decided = [
        renumbered(decisions_of(run_cycle(cluster, held, ACTIONS, uid="t", now=3.0)))
        for cluster, held in ((world.cluster, memory), (again, other))
    ]
    assert decided[0] == decided[1]


def renumbered(decisions: list[DecisionRecord]) -> list[DecisionRecord]:
    """With groups counted anew: a job that sleeps uses up no number, one that is visited in vain does."""
    numbers = {group: place for place, group in enumerate(sorted({decision.group for decision in decisions}))}
    return [msgspec.structs.replace(decision, group=numbers[decision.group]) for decision in decisions]


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([DEFAULT, FIVE_PLUGINS]))
def test_a_lone_job_can_start_just_when_the_next_cycle_starts_it(seed: int, text: str) -> None:
    world = random_world(seed)
    for job_id in sorted(world.cluster.jobs)[1:]:
        for uid in list(world.cluster.jobs[job_id].tasks):
            world.cluster.remove_task(uid)
        world.cluster.jobs[job_id].pod_group = None
        world.cluster.remove_job(job_id)
    memory = memory_of(world.cluster, text)
    (job_id,) = world.cluster.jobs
    answer = explained(world, job_id.removeprefix("ns/"), memory=memory)
    result = run_cycle(world.cluster, memory, ACTIONS, uid="s", now=1.0)
    assert answer.can_start == bool(binds(result)), answer.summary
    if not answer.can_start:
        assert answer.causes
        assert answer.needs
