"""Who sleeps, what wakes, and what is told meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from generated.core.v1 import Affinity, PodAffinityTerm, PodAntiAffinity
from generated.meta.v1 import LabelSelector
from scheduler.actions import BUILT_IN as ACTIONS
from scheduler.contract.effects import Effect, Filter
from scheduler.cycle import Result, run_cycle
from scheduler.evicting.nominations import Nomination
from scheduler.explain.explain import explain
from scheduler.explain.opening import opened
from scheduler.explain.shared import Shared
from scheduler.memory import Memory
from scheduler.placing.fiterrors import FitErrors
from scheduler.placing.sampling import Sampling
from scheduler.plugin import Plugin
from scheduler.plugins.priority import Priority
from scheduler.reporting.messages import PATIENCE
from scheduler.session import Session
from scheduler.state.status import Status
from scheduler.state.task import Task
from tests.unit.scheduler.build import FIVE_PLUGINS, World, binds, memory_of, shape
from tests.unit.scheduler.evictions import evicted
from tests.unit.scheduler.sociable import pod_task

LARGE = 2000.0
SHARING = FIVE_PLUGINS.replace("  - name: binpack", "  - name: proportion")


def waiting(*, pods: int = 2) -> World:
    """Nodes with one millicore too few for each pod of the job `ns/g`, together with enough for its queue."""
    world = World()
    for name in ("n", "n2", "n3"):
        world.node(name, cpu=LARGE - 1.0)
    world.gang("g", [("w", pods, shape(cpu=LARGE))])
    return world


def run(world: World, memory: Memory, now: float = 1000.0, actions: dict[str, Any] | None = None) -> Result:
    return run_cycle(world.cluster, memory, ACTIONS | (actions or {}), uid="session", now=now)


def sleepers(world: World, memory: Memory, **rest: Any) -> list[str]:
    return sorted(run(world, memory, **rest).outcome.asleep)


def asleep(world: World, text: str = FIVE_PLUGINS) -> Memory:
    """A memory in which the job sleeps."""
    memory = memory_of(world.cluster, text)
    run(world, memory)
    assert sleepers(world, memory) == ["ns/g"]
    return memory


def messages(result: Result) -> list[str]:
    return [told.message for told in result.outcome.tasks]


def test_a_job_that_no_node_can_take_is_told_once_and_passed_over_until_a_node_can_take_it() -> None:
    world = waiting()
    memory = memory_of(world.cluster)
    assert messages(run(world, memory))[0] == "0/3 nodes are unavailable: 3 Insufficient cpu."
    world.node("other", cpu=1000.0)
    result = run(world, memory, now=1001.0)
    assert (result.outcome.asleep, result.outcome.jobs, messages(result)) == (frozenset({"ns/g"}), (), [])
    world.node("new", cpu=2 * LARGE)
    assert binds(run(world, memory)) == [("g-w-0", "new"), ("g-w-1", "new")]


def _with_room(world: World) -> None:
    world.node("m", cpu=2 * LARGE)
    world.running("held", "m", shape(cpu=2 * LARGE))


def _more_pods(world: World) -> None:
    task = Task(uid="more", namespace="ns", name="more", job="ns/g", shape=shape(cpu=1.0), role="w")
    world.cluster.add_task(task)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda world: world.node("n", cpu=2 * LARGE), id="a node grows"),
        pytest.param(lambda world: world.cluster.remove_task("uid-held"), id="a pod ends"),
        pytest.param(lambda world: world.node("n", cpu=2 * LARGE, cordoned=True), id="another reason"),
        pytest.param(lambda world: world.cluster.changed_jobs.add("ns/g"), id="the job changes"),
        pytest.param(lambda world: world.cluster.remove_task("uid-g-w-0"), id="a pod of the job goes"),
        pytest.param(_more_pods, id="a pod of the job comes"),
        pytest.param(lambda world: world.queue("default", state="Closed"), id="its queue is closed"),
        pytest.param(lambda world: world.queue("default", capability={"cpu": "1"}), id="its queue is limited"),
    ],
)
def test_it_is_visited_again_when(change: Callable[[World], object]) -> None:
    world = waiting()
    _with_room(world)
    memory = asleep(world, SHARING)
    change(world)
    result = run(world, memory)
    assert result.outcome.asleep == frozenset()
    assert [told.job.id for told in result.outcome.jobs] == ["ns/g"]


@pytest.mark.parametrize("change", [
    pytest.param(lambda world: world.node("n", cpu=LARGE - 1.0, labels={"a": "b"}), id="a label that nobody asks for"),
    pytest.param(lambda world: world.gang("h", [("w", 1, shape(cpu=100.0))]), id="a job that is placed"),
    pytest.param(lambda world: world.queue("beside"), id="another queue"),
])  # fmt: skip
def test_it_sleeps_on_through(change: Callable[[World], object]) -> None:
    world = waiting()
    memory = asleep(world, SHARING)
    change(world)
    assert sleepers(world, memory) == ["ns/g"]


def test_numbers_are_told_anew_once_the_old_ones_are_30_seconds_old() -> None:
    world = waiting()
    memory = asleep(world)
    assert not memory.dormancy.is_due(1e9)
    world.node("other", cpu=1000.0)
    assert sleepers(world, memory, now=1000.0 + PATIENCE - 1.0) == ["ns/g"]
    assert not memory.dormancy.is_due(1000.0 + PATIENCE - 0.5)
    assert memory.dormancy.is_due(1000.0 + PATIENCE)
    result = run(world, memory, now=1000.0 + PATIENCE)
    assert messages(result)[0] == "0/4 nodes are unavailable: 4 Insufficient cpu."
    assert not memory.dormancy.is_due(1e9)


def test_numbers_are_told_anew_when_the_clock_was_set_back() -> None:
    world = waiting()
    memory = asleep(world)
    world.node("other", cpu=1000.0)
    assert sleepers(world, memory, now=900.0) == []


# Gangs for which there is some room.


def short(*, pods: int = 3, minimum: int | None = None) -> World:
    """Two nodes with room for one pod each of the gang `ns/g`, which needs three."""
    world = World()
    for name in ("n", "n2"):
        world.node(name, cpu=LARGE + 1.0)
    world.gang("g", [("w", pods, shape(cpu=LARGE))], minimum=minimum)
    return world


def test_a_gang_sleeps_as_long_as_there_is_not_room_for_as_many_as_it_needs() -> None:
    world = short()
    memory = memory_of(world.cluster)
    told = messages(run(world, memory))
    assert told == [
        "Pod ns/g-w-0 can possibly be assigned to n, once minAvailable is satisfied",
        "Pod ns/g-w-1 can possibly be assigned to n2, once minAvailable is satisfied",
        "0/2 nodes are unavailable: 2 Insufficient cpu.",
    ]
    assert sleepers(world, memory) == ["ns/g"]
    world.node("small", cpu=LARGE - 1.0)
    assert sleepers(world, memory) == ["ns/g"]
    world.node("third", cpu=LARGE)
    assert len(binds(run(world, memory))) == 3


def test_how_far_it_would_come_is_told_anew_after_30_seconds() -> None:
    world = short()
    memory = asleep(world)
    world.cluster.remove_node("n2")
    assert sleepers(world, memory, now=1000.0 + PATIENCE - 1.0) == ["ns/g"]
    assert memory.dormancy.is_due(1000.0 + PATIENCE)
    told = messages(run(world, memory, now=1000.0 + PATIENCE))
    assert [text.partition(" can ")[1] for text in told] == [" can ", "", ""]
    assert sleepers(world, memory, now=1001.0 + PATIENCE) == ["ns/g"]
    assert not memory.dormancy.is_due(1e9)


def test_another_reason_is_told_at_once() -> None:
    world = short()
    memory = asleep(world)
    world.node("n", cpu=LARGE + 1.0, cordoned=True)
    result = run(world, memory, now=1001.0)
    assert result.outcome.asleep == frozenset()
    assert "1 node(s) were unschedulable" in messages(result)[1]


@pytest.mark.parametrize(("roles", "minimum", "is_asleep"), [
    pytest.param([("w", 3, 1), ("x", 3, 1)], 6, True, id="two roles that both have too little"),
    pytest.param([("w", 3, 1), ("x", 4, 0.01)], 4, False, id="the other role is enough"),
    pytest.param([("w", 3, 1), ("x", 4, 0.01)], 7, True, id="the other role is not"),
    pytest.param([("w", 3, 2), ("x", 1, 0.01)], 2, True, id="one role has no room at all"),
    pytest.param([("w", 3, 1)], 1, False, id="more than its minimum is asked for"),
])  # fmt: skip
def test_it_sleeps_if_the_room_of_all_roles_together_is_too_little(
    roles: list[tuple[str, int, float]], minimum: int, *, is_asleep: bool
) -> None:
    world = short()
    world.gang("h", [(role, count, shape(cpu=share * LARGE)) for role, count, share in roles], minimum=minimum)
    memory = memory_of(world.cluster)
    run(world, memory)
    assert ("ns/h" in sleepers(world, memory)) is is_asleep


@pytest.mark.parametrize("divider", ["proportion", "capacity"])
def test_it_sleeps_where_its_queue_ends_the_plan_until_that_takes_more(divider: str) -> None:
    world = short()
    world.node("n", cpu=4 * LARGE)
    world.queue("default", capability={"cpu": "5"})
    memory = memory_of(world.cluster, SHARING.replace("proportion", divider))
    reason = "(asked 2000.00, taken 4000.00 of 5000.00)"
    assert reason in messages(run(world, memory))[2]
    assert sleepers(world, memory) == ["ns/g"]
    world.queue("default", capability={"cpu": "5500m"})
    assert sleepers(world, memory) == ["ns/g"]
    result = run(world, memory, now=1000.0 + PATIENCE)
    assert "(asked 2000.00, taken 4000.00 of 5500.00)" in messages(result)[2]
    world.queue("default", capability={"cpu": "6"})
    assert len(binds(run(world, memory, now=1001.0 + PATIENCE))) == 3


def test_that_the_queue_ends_the_plan_instead_of_the_nodes_is_told_at_once() -> None:
    world = short()
    world.node("none", cpu=3 * LARGE, cordoned=True)
    memory = asleep(world, SHARING)
    world.queue("default", capability={"cpu": "3"})
    result = run(world, memory)
    assert result.outcome.asleep == frozenset()
    assert "proportion: queue default" in messages(result)[1]


class Sparing(Plugin):
    """Lets a queue have one pod after the other, but doesn't say how many."""

    name = "sparing"
    lets_jobs_sleep = True

    def on_session_open(self, session: Session) -> None:
        session.add_allocatable(self.name, lambda queue, task: not task.name.endswith("-2"))


def test_it_stays_awake_where_a_plugin_does_not_say_how_many_the_queue_takes() -> None:
    world = short()
    world.node("n", cpu=4 * LARGE)
    memory = memory_of(
        world.cluster, FIVE_PLUGINS.replace("  - name: binpack", "  - name: sparing"), plugins={"sparing": Sparing}
    )
    run(world, memory)
    assert sleepers(world, memory) == []


class Throwing(Plugin):
    """Knows what its queue takes, but not how many."""

    name = "throwing"
    lets_jobs_sleep = True
    limit = 2

    def on_session_open(self, session: Session) -> None:
        def takes(queue: Any, task: Task) -> bool:
            return (
                session.queue_of(session.cluster.jobs[task.job]).name == queue.name
                and self.placed(session) < self.limit
            )

        session.add_allocatable(
            self.name, takes, room=lambda *_: 1 // 0, reason=lambda *_: "no more", reason_after=lambda *_: "no more"
        )

    def placed(self, session: Session) -> int:
        return sum(task.status is Status.ALLOCATED for task in session.cluster.tasks.values())


def test_it_stays_awake_where_a_plugin_fails_to_say_how_many_the_queue_takes() -> None:
    world = short()
    world.node("n", cpu=4 * LARGE)
    text = FIVE_PLUGINS.replace("  - name: binpack", "  - name: throwing")
    memory = memory_of(world.cluster, text, plugins={"throwing": Throwing})
    run(world, memory)
    assert sleepers(world, memory) == []


def test_those_for_whom_too_little_is_left_are_not_visited() -> None:
    world = short()
    for number in range(3):
        world.gang(f"h{number}", [("w", 3, shape(cpu=LARGE))])
    memory = memory_of(world.cluster)
    run(world, memory)
    assert len(sleepers(world, memory)) == 4
    world.node("third", cpu=2 * LARGE)
    result = run(world, memory, now=1001.0)
    assert {name.rpartition("-w-")[0] for name, _ in binds(result)} == {"g"}
    assert result.outcome.asleep == {"ns/h0", "ns/h1", "ns/h2"}
    assert [told.job.id for told in result.outcome.jobs] == ["ns/g"]


def test_it_is_visited_though_its_queue_refuses_another_kind_of_its_pods() -> None:
    world = short()
    world.node("n", cpu=LARGE + 1.0, scalars={"nvidia.com/gpu": 1000.0})
    world.queue("default", capability={"cpu": "100", "nvidia.com/gpu": "1"})
    roles = [("a", 3, shape(cpu=LARGE)), ("b", 1, shape(cpu=1.0, scalars={"nvidia.com/gpu": 2000.0}))]
    world.gang("h", roles, minimum=3)
    memory = memory_of(world.cluster, SHARING)
    run(world, memory)
    assert "ns/h" in sleepers(world, memory)
    world.cluster.remove_task("uid-g-w-0")
    world.node("third", cpu=LARGE)
    assert {name for name, _ in binds(run(world, memory, now=1001.0))} == {"h-a-0", "h-a-1", "h-a-2"}
    assert not memory.failures


def test_where_nothing_changes_it_is_told_no_more() -> None:
    world = World()
    for name, cpu, gpu in (("n0", 500.0, 0.0), ("n1", 2000.0, 1000.0), ("n2", 2000.0, 0.0)):
        world.node(name, cpu=cpu, scalars={"nvidia.com/gpu": gpu} if gpu else {})
    world.gang("g", [("a", 1, shape()), ("b", 2, shape(cpu=1500.0, scalars={"nvidia.com/gpu": 2000.0}))], minimum=3)
    memory = memory_of(world.cluster)
    run(world, memory)
    assert sleepers(world, memory, now=1001.0) == ["ns/g"]
    assert not memory.dormancy.is_due(1e9)


@pytest.mark.parametrize("change", [
    pytest.param(lambda world: world.node("n", cpu=1600.0), id="the second role would get no node"),
    pytest.param(lambda world: world.node("n", cpu=1700.0, labels={"a": "b"}), id="scores may differ"),
])  # fmt: skip
def test_whatever_changes_of_nodes_it_is_told_anew_after_30_seconds(change: Callable[[World], object]) -> None:
    world = World()
    world.node("n", cpu=1700.0)
    world.gang("g", [("a", 1, shape(cpu=1000.0)), ("b", 3, shape(cpu=700.0))], minimum=4)
    memory = asleep(world)
    change(world)
    assert sleepers(world, memory, now=1001.0) == ["ns/g"]
    assert run(world, memory, now=1000.0 + PATIENCE).outcome.asleep == frozenset()


def test_what_an_evicting_action_tries_for_it_is_told() -> None:
    world = short()
    memory = asleep(world)

    def trying(session: Session) -> None:
        task = world.cluster.tasks["uid-g-w-0"]
        statement = session.statement()
        statement.place([task], [session.nodes[0]], Status.PIPELINED)
        statement.discard()

    result = run(world, memory, actions={"backfill": trying})
    assert result.outcome.asleep == frozenset()
    assert "resource is released" in messages(result)[0]


def _nominated(world: World, memory: Memory) -> None:
    del memory
    world.cluster.tasks["uid-g-w-0"].nominated = "n"


def _sampling(world: World, memory: Memory) -> None:
    del world
    memory.sampling = Sampling(50, 1)


def _promise(world: World, memory: Memory) -> None:
    world.gang("h", [("w", 1, shape(cpu=100.0)), ("x", 1, shape(cpu=LARGE))])
    memory.nominations.by_task["uid-h-w-0"] = Nomination(
        "uid-h-w-0", "ns/h-w-0", "ns/h", "n", "preempt", {}, since=1000.0
    )


@pytest.mark.parametrize("condition", [_nominated, _sampling, _promise])
def test_nobody_falls_asleep_where_a_visit_depends_on_more(condition: Callable[[World, Memory], None]) -> None:
    world = waiting()
    memory = memory_of(world.cluster)
    condition(world, memory)
    run(world, memory)
    assert "ns/g" not in memory.dormancy


class Asking(Plugin):
    """Says of a job what it likes."""

    name = "asking"

    def on_session_open(self, session: Session) -> None:
        session.add_job_order(self.name, key=lambda job: job.created)


class Patient(Asking):
    name = "asking"
    lets_jobs_sleep = True


class Heir(Priority):
    """Another plugin than the one whose word it would inherit."""

    name = "asking"


@pytest.mark.parametrize(("plugin", "is_asleep"), [(Asking, False), (Patient, True), (Heir, False)])
def test_each_plugin_has_to_say_for_itself_that_jobs_may_sleep(plugin: type[Plugin], is_asleep: bool) -> None:
    world = waiting()
    text = FIVE_PLUGINS.replace("- name: binpack", "- name: asking")
    memory = memory_of(world.cluster, text, {"asking": plugin})
    run(world, memory)
    assert sleepers(world, memory) == (["ns/g"] if is_asleep else [])


class Failing(Plugin):
    """Its filter throws at first, and then lets pass."""

    name = "failing"
    outlives_session = True
    lets_jobs_sleep = True
    is_broken = True

    def on_session_open(self, session: Session) -> None:
        def judge(task: Task, view: Any) -> Any:
            if Failing.is_broken:
                raise RuntimeError("broken")
            return view.rows * 0

        session.add_filter(
            Filter(name="f", plugin=self.name, refusals=(), evaluate=judge, reads=(), effect=Effect.STATIC)
        )


def test_what_a_filter_that_threw_would_say_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    world.node("n", cpu=LARGE)
    world.gang("g", [("w", 1, shape(cpu=LARGE))])
    text = FIVE_PLUGINS.replace("- name: binpack", "- name: failing")
    memory = memory_of(world.cluster, text, {"failing": Failing})
    assert binds(run(world, memory)) == []
    monkeypatch.setattr(Failing, "is_broken", False)
    assert binds(run(world, memory)) == [("g-w-0", "n")]


def test_one_that_sleeps_still_evicts_and_is_then_told_so() -> None:
    world = waiting(pods=1)
    world.node("n", cpu=LARGE)
    world.gang("low", [], minimum=0, phase="Running", priority=100)
    world.member("low", "victim", "n", shape(cpu=LARGE))
    world.cluster.jobs["ns/g"].priority = 100
    text = FIVE_PLUGINS.replace("backfill", "preempt, backfill")
    memory = asleep(world, text)
    world.cluster.jobs["ns/low"].priority = 0
    world.cluster.changed_jobs.add("ns/low")
    result = run(world, memory)
    assert evicted(result) == ["victim"]
    assert ("g-w-0", "n") in [(told.task.name, told.nominated) for told in result.outcome.tasks]
    assert "ns/g" not in memory.dormancy


def test_what_another_action_finds_out_about_one_that_sleeps_is_told_and_wakes_it() -> None:
    world = waiting()
    memory = asleep(world)
    known = dict(memory.dormancy.errors())["ns/g"]

    def odd(session: Session) -> None:
        session.set_fit_error(session.cluster.tasks["uid-g-w-1"], FitErrors(base="something else"))

    result = run(world, memory, actions={"backfill": odd})
    assert "something else" in messages(result)
    assert result.outcome.asleep == frozenset()
    assert known.keys() == {"uid-g-w-0"}
    assert "ns/g" not in memory.dormancy


def test_a_question_is_answered_as_ever_and_wakes_nobody() -> None:
    world = waiting()
    memory = asleep(world)
    with opened(world.cluster, memory, 1000.0) as session:
        asked = explain(Shared(session), world.cluster.jobs["ns/g"], (), lambda: 0.0)
    with opened(world.cluster, memory_of(world.cluster), 1000.0) as session:
        assert asked == explain(Shared(session), world.cluster.jobs["ns/g"], (), lambda: 0.0)
    assert sleepers(world, memory) == ["ns/g"]


@pytest.mark.parametrize(("sought", "is_asleep"), [("green", True), ("red", False)])
def test_it_is_visited_again_when_others_begin_to_avoid_its_pods(sought: str, is_asleep: bool) -> None:
    world = waiting(pods=0)
    large = shape(cpu=LARGE)
    world.cluster.jobs["ns/g"].min_available = 1
    world.cluster.add_task(pod_task("g-w-0", "ns", {"app": "red"}, large, job="ns/g", role="w"))
    # Whether anybody looks at labels at all is settled before.
    world.cluster.add_task(
        pod_task("one", "ns", {}, shape(affinity=avoiding("blue")), job="", status=Status.RUNNING), "n"
    )
    memory = asleep(world)
    world.cluster.add_task(
        pod_task("two", "ns", {}, shape(affinity=avoiding(sought)), job="", status=Status.RUNNING), "n2"
    )
    assert sleepers(world, memory) == (["ns/g"] if is_asleep else [])


def avoiding(app: str) -> Affinity:
    term = PodAffinityTerm(label_selector=LabelSelector(match_labels={"app": app}), topology_key="zone")
    return Affinity(pod_anti_affinity=PodAntiAffinity(required_during_scheduling_ignored_during_execution=(term,)))


def test_only_so_many_templates_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scheduler.placing.followed._MIN_FOLLOWED", 1)
    monkeypatch.setattr("scheduler.placing.followed._FOLLOWED_CELLS", 1)
    world = waiting()
    world.gang("h", [("w", 1, shape(cpu=2 * LARGE))])
    memory = memory_of(world.cluster)
    run(world, memory)
    assert sleepers(world, memory) == ["ns/g"]


def behind_queue(*, capability: dict[str, str], pods: int = 2) -> World:
    """Nodes with room for all pods of the job `ns/g`, whose queue may not have even one of them."""
    world = World()
    world.node("n", cpu=10 * LARGE)
    world.queue("default", capability=capability)
    world.gang("g", [("w", pods, shape(cpu=LARGE))])
    return world


def test_a_job_that_its_queue_refuses_sleeps_until_the_queue_takes_it() -> None:
    world = behind_queue(capability={"cpu": "1"})
    memory = memory_of(world.cluster, SHARING)
    reason = "proportion: queue default has used up its deserved part: insufficient cpu (asked 2000.00, taken 0.00 of"
    assert messages(run(world, memory)) == [f"{reason} 1000.00)"] * 2
    result = run(world, memory, now=1001.0)
    assert (result.outcome.asleep, messages(result)) == (frozenset({"ns/g"}), [])
    world.node("another", cpu=LARGE)
    assert sleepers(world, memory, now=1002.0) == ["ns/g"], "what nodes say doesn't matter"
    world.queue("default", capability={"cpu": "3"})
    assert sleepers(world, memory, now=1003.0) == [], "the queue takes one of two"
    world.queue("default", capability={"cpu": "4"})
    assert binds(run(world, memory, now=1004.0)) == [("g-w-0", "n"), ("g-w-1", "n")]


def test_a_queue_that_has_less_to_give_says_so_30_seconds_later() -> None:
    world = behind_queue(capability={"cpu": "1500m"})
    memory = memory_of(world.cluster, SHARING)
    run(world, memory)
    world.queue("default", capability={"cpu": "1"})
    assert sleepers(world, memory, now=1001.0) == ["ns/g"]
    assert memory.dormancy.is_due(1000.0 + PATIENCE)
    assert "taken 0.00 of 1000.00" in messages(run(world, memory, now=1000.0 + PATIENCE))[0]


def test_a_queue_that_refuses_for_another_reason_says_so_at_once() -> None:
    world = behind_queue(capability={"cpu": "1"})
    memory = memory_of(world.cluster, SHARING)
    run(world, memory)
    world.queue("default", capability={"cpu": "1"}, state="Closed")
    assert messages(run(world, memory, now=1001.0))[0] == "proportion: queue default is not open"


def test_jobs_of_a_queue_over_its_share_are_told_so_once_and_passed_over() -> None:
    world = World()
    for name in ("n", "n2"):
        world.node(name, cpu=LARGE)
    world.queue("default", capability={"cpu": "2", "memory": "1Gi", "pods": "1"})
    world.gang("held", [], minimum=0, phase="Running")
    world.member("held", "held", "n", shape(cpu=LARGE))
    world.gang("g", [("w", 1, shape(cpu=100.0))])
    memory = memory_of(world.cluster, SHARING)
    (told,) = messages(run(world, memory))
    assert told.startswith("proportion: queue default has used up its deserved part: insufficient cpu")
    assert sleepers(world, memory, now=1001.0) == ["ns/g"]
    world.cluster.remove_task("uid-held")
    assert binds(run(world, memory, now=1002.0)) == [("g-w-0", "n")]
