from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Any

import pytest

from scheduler.budget import Budget
from scheduler.cache.facts import Facts
from scheduler.cycle import Result
from scheduler.dump.files import read
from scheduler.dump.replay import replay
from scheduler.loop import Scheduler
from scheduler.plugin import Plugin
from scheduler.reporting.messages import PATIENCE
from scheduler.session import Session
from scheduler.settings import conf
from scheduler.settings.loading import Catalog, built_in
from scheduler.settings.reload import Loaded
from tests.unit.scheduler.build import FIVE_PLUGINS, World, shape
from tests.unit.scheduler.cache.test_facts import facts, group, node, pod


def loaded(text: str = FIVE_PLUGINS, actions: dict[str, Any] | None = None) -> Loaded:
    catalog = Catalog({}, actions or {}).over(built_in())
    return Loaded(conf.parse(text, actions=catalog.actions, plugins=catalog.plugins), catalog, text)


def made(found: Facts, results: list[Result], **rest: Any) -> Scheduler:
    return Scheduler(found, loaded(actions=rest.pop("actions", None)), results.append, period=0.01, **rest)


def test_a_change_starts_a_cycle_and_without_one_there_is_none() -> None:
    results: list[Result] = []
    scheduler = made(facts(), results)
    scheduler.push(("PodGroup", None, group(minMember=1)))
    scheduler.push(("Pod", None, pod()))
    scheduler.drain()
    assert scheduler.cycle() is not None
    assert [(decision.task.name, getattr(decision, "node", "")) for decision in results[0].decisions] == [
        ("g-w-0", "n1")
    ]
    scheduler.drain()
    assert scheduler.cycle() is None
    assert scheduler.cycles == 1


def test_our_own_decisions_are_no_change_but_a_failed_bind_is() -> None:
    results: list[Result] = []
    scheduler = made(facts(), results)
    for change in (("PodGroup", None, group(minMember=1)), ("Pod", None, pod())):
        scheduler.push(change)
    scheduler.drain()
    scheduler.cycle()
    assert scheduler.cycle() is None
    scheduler.unbound("uid-g-w-0")
    scheduler.drain()
    assert scheduler.cycle() is not None
    assert [decision.task.name for decision in results[1].decisions] == ["g-w-0"]


def test_a_spent_budget_leaves_the_rest_to_the_next_cycle(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    world.node("n1")
    for name in ("a", "b"):
        world.gang(name, [("w", 1, shape())])
    # The first cycle's time is over at its second question.
    over_at = [2]
    results: list[Result] = []
    keeper = Facts(world.cluster, scheduler_names=("volcano",), default_queue="default")
    monkeypatch.setattr(Budget, "of_seconds", lambda *_: Budget.replayed(over_at.pop() if over_at else None))
    scheduler = made(keeper, results)
    scheduler.cycle()
    scheduler.cycle()
    assert [len(result.decisions) for result in results] == [1, 1]
    assert [result.last_job for result in results] == ["ns/a", ""]


def test_an_action_that_throws_stops_neither_the_others_nor_the_next_cycle() -> None:
    def broken(session: Session) -> None:
        raise RuntimeError(f"no luck with {session.uid}")

    results: list[Result] = []
    scheduler = made(facts(), results, actions={"enqueue": broken})
    scheduler.push(("PodGroup", None, group(minMember=1, phase="Inqueue")))
    scheduler.push(("Pod", None, pod()))
    scheduler.drain()
    scheduler.cycle()
    assert len(results[0].decisions) == 1
    assert scheduler.memory.failures["enqueue", "action"] == 1


def test_the_thread_waits_for_the_first_lists_and_ends_when_told() -> None:
    results: list[Result] = []
    scheduler = made(facts(), results)
    stop, ready, ran = threading.Event(), threading.Event(), threading.Event()
    scheduler._hand_on = lambda result: ran.set()
    thread = threading.Thread(target=scheduler.run, args=(stop, ready))
    scheduler.push(("Node", None, node("n2")))
    thread.start()
    assert not ran.wait(0.05)
    ready.set()
    assert ran.wait(10)
    stop.set()
    thread.join(10)
    assert not thread.is_alive()


class Rests(threading.Event):
    """Notes how long somebody would wait."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.seconds.append(round(timeout, 6))
        return self.is_set()


@pytest.mark.parametrize(
    ("cost", "rest"),
    [
        pytest.param(0.0002, 0.0038, id="19 times as long as the cycle took"),
        pytest.param(0.00005, 0.002, id="but as long as a burst takes"),
        pytest.param(1.0, 0.01, id="and no longer than a period"),
    ],
)
def test_while_changes_pour_in_cycles_take_a_small_part_of_the_time(cost: float, rest: float) -> None:
    clock = [0.0]
    stop, ready = threading.Event(), threading.Event()
    ready.set()

    def take_time(_: Session) -> None:
        clock[0] += cost

    def on_result(_: Result) -> None:
        scheduler.push(("Node", None, node(f"n{scheduler.cycles}")))
        if scheduler.cycles == 2:
            stop.set()

    scheduler = made(facts(), [], actions={"enqueue": take_time}, stopwatch=lambda: clock[0])
    scheduler._hand_on = on_result
    rests = scheduler._hurry = Rests()
    scheduler.push(("Node", None, node("n")))
    scheduler.run(stop, ready)
    assert rests.seconds == [rest, rest]


def test_once_halted_the_thread_ends_soon_however_long_a_period_is() -> None:
    scheduler = Scheduler(facts(), loaded(), lambda _: None, period=3600.0)
    stop, ready = threading.Event(), threading.Event()
    ready.set()
    thread = threading.Thread(target=scheduler.run, args=(stop, ready))
    thread.start()
    assert scheduler.halt(10)
    stop.set()
    thread.join(10)
    assert not thread.is_alive()


def test_who_asks_for_a_dump_does_not_wait_for_the_rest() -> None:
    scheduler = made(facts(), [], keep=lambda _: None)
    rests = scheduler._hurry = Rests()
    scheduler.dump()
    assert rests.is_set()


class Running:
    """A scheduler on a thread of its own."""

    def __init__(self, **rest: Any) -> None:
        self.ran = threading.Event()
        self.stop, self.ready = threading.Event(), threading.Event()
        self.scheduler = made(facts(), [], **rest)
        self.scheduler._hand_on = lambda _: self.ran.set()
        self.thread = threading.Thread(target=self.scheduler.run, args=(self.stop, self.ready))
        self.thread.start()

    def drained_change(self) -> None:
        """Push a change, and wait until it was taken in."""
        seen = threading.Event()
        self.scheduler.facts.unbound = lambda uid: seen.set()  # type: ignore[method-assign]  # told of the drain
        self.scheduler.push(("Node", None, node("n2")))
        self.scheduler.unbound("x")
        assert seen.wait(10)

    def end(self) -> None:
        self.stop.set()
        self.thread.join(10)
        assert not self.thread.is_alive()


def test_a_standby_follows_changes_but_runs_no_cycle() -> None:
    running = Running()
    try:
        running.drained_change()
        assert "n2" in running.scheduler.facts.cluster.node_by_name
        assert running.scheduler.cycles == 0
    finally:
        running.end()


def test_after_a_halt_no_cycle_starts() -> None:
    running = Running()
    try:
        running.ready.set()
        assert running.ran.wait(10)
        assert running.scheduler.halt(10)
        before = running.scheduler.cycles
        running.drained_change()
        running.drained_change()
        assert running.scheduler.cycles == before
    finally:
        running.end()


def test_a_halt_waits_for_the_cycle_under_way_but_not_for_ever() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow(session: Session) -> None:
        del session
        begun.set()
        assert go_on.wait(10)

    running = Running(actions={"enqueue": slow})
    try:
        running.ready.set()
        assert begun.wait(10)
        assert not running.scheduler.halt(0.01)
        go_on.set()
        assert running.scheduler.halt(10)
        assert running.ran.is_set()
    finally:
        go_on.set()
        running.end()


def test_a_new_configuration_counts_from_the_next_cycle_on() -> None:
    results: list[Result] = []
    scheduler = made(facts(), results)
    scheduler.cycle()
    scheduler.push(("PodGroup", None, group(minMember=1)))
    scheduler.push(("Pod", None, pod()))
    scheduler.configure(loaded("actions: enqueue"))
    scheduler.drain()
    scheduler.cycle()
    assert results[-1].decisions == ()
    scheduler.configure(loaded())
    scheduler.drain()
    assert scheduler.cycle() is not None, "a configuration is a change by itself"
    assert len(results[-1].decisions) == 1


def test_a_wanted_dump_holds_the_cycle_that_follows_though_nothing_changed(tmp_path: Path) -> None:
    results: list[Result] = []
    contents: list[bytes] = []
    scheduler = made(facts(), results, keep=contents.append, clock=lambda: 55.0)
    scheduler.push(("PodGroup", None, group(minMember=1)))
    scheduler.push(("Pod", None, pod()))
    scheduler.drain()
    scheduler.dump()
    scheduler.cycle()
    scheduler.dump()
    assert scheduler.cycle() is not None
    assert scheduler.cycle() is None
    dumps = []
    for content in contents:
        (tmp_path / "d").write_bytes(content)
        dumps.append(read(tmp_path / "d"))
    assert [[str(decision) for decision in dump.cycle.decisions] for dump in dumps] == [["bind ns/g-w-0 to n1"], []]
    assert dumps[0].cycle.now == 55.0
    again = replay(dumps[0], built_in())
    assert [decision.task.name for decision in again.decisions] == ["g-w-0"]


def asleep(results: list[Result], **rest: Any) -> Scheduler:
    """A scheduler that passes a job over, since no node can ever take its pod."""
    scheduler = made(facts(), results, **rest)
    scheduler.push(("PodGroup", None, group(minMember=1)))
    scheduler.push(("Node", None, node("n2", cpu="500m")))
    scheduler.push(("Pod", None, pod(spec={"nodeSelector": {"disk": "none"}})))
    scheduler.drain()
    scheduler.cycle()
    scheduler.push(("Node", None, node("n3")))
    scheduler.drain()
    scheduler.cycle()
    assert results[-1].outcome.asleep == {"ns/g"}
    return scheduler


def test_numbers_told_to_a_job_that_sleeps_are_put_right_in_time_though_nothing_changes() -> None:
    results: list[Result] = []
    now = [100.0]
    scheduler = asleep(results, clock=lambda: now[0])
    now[0] += PATIENCE - 1.0
    assert scheduler.cycle() is None
    now[0] += 1.0
    assert scheduler.cycle() is not None
    assert [told.message.partition(":")[0] for told in results[-1].outcome.tasks] == ["0/3 nodes are unavailable"]
    now[0] += 10 * PATIENCE
    assert scheduler.cycle() is None


def test_jobs_that_sleep_are_visited_again_under_another_configuration() -> None:
    results: list[Result] = []
    scheduler = asleep(results)
    scheduler.configure(loaded(FIVE_PLUGINS.replace("  - name: predicates\n", "")))
    scheduler.drain()
    scheduler.cycle()
    assert [decision.task.name for decision in results[-1].decisions] == ["g-w-0"]


def test_a_dump_that_fails_stops_no_cycle(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr("scheduler.dump.parts.take", broken)
    contents: list[bytes] = []
    scheduler = made(facts(), [], keep=contents.append)
    scheduler.dump()
    assert scheduler.cycle() is not None
    assert contents == []
    assert "dump could not be taken" in caplog.text


def test_the_state_can_be_shown_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    scheduler = made(facts(), [])
    scheduler.push(("PodGroup", None, group(minMember=1)))
    scheduler.push(("Pod", None, pod()))
    scheduler.drain()
    with caplog.at_level(logging.INFO):
        scheduler.show()
        scheduler.cycle()
    lines = [record.getMessage() for record in caplog.records if record.getMessage().startswith("dump ")]
    assert lines[0].startswith("dump node=n1 tasks=0 idle=<cpu 4000.00, memory 8589934592.00")
    assert lines[1] == "dump job=ns/g queue=default phase= minAvailable=1 tasks=g-w-0=Pending"
    assert lines[-1].startswith("dump memory peak=")


def test_room_promised_after_evictions_outlives_a_reload_and_keeps_the_cycles_going() -> None:
    results: list[Result] = []
    scheduler = made(facts(), results)
    scheduler.push(("Pod", None, pod()))
    scheduler.drain()
    scheduler.cycle()
    assert scheduler.cycle() is None
    cluster = scheduler.facts.cluster
    waiting = cluster.tasks["uid-g-w-0"]
    waiting.node = cluster.node_by_name["n1"]
    scheduler.memory.nominations.grant((waiting,), "preempt", ())
    waiting.node = None
    assert scheduler.cycle() is not None
    scheduler.configure(loaded())
    scheduler.drain()
    assert len(scheduler.memory.nominations) == 1
    cluster.remove_task(waiting.uid)
    result = scheduler.cycle()
    assert result is not None
    assert [lapse.why for lapse in result.outcome.lapses] == ["the pod is gone"]
    assert scheduler.cycle() is None


def test_the_first_cycle_and_no_other_says_how_long_it_and_the_state_took(caplog: pytest.LogCaptureFixture) -> None:
    scheduler = made(facts(), [])
    with caplog.at_level(logging.INFO):
        for name in ("g-w-0", "g-w-1"):
            scheduler.push(("Pod", None, pod(name)))
            scheduler.drain()
            assert scheduler.cycle() is not None
    lines = [record.getMessage() for record in caplog.records if "first cycle" in record.getMessage()]
    assert len(lines) == 1
    assert lines[0].startswith("first cycle built=0.00 took=0.")
    assert lines[0].endswith("nodes=1 jobs=1 pods=1")


class Patient(Plugin):
    """Lets jobs into their queues from a time on, and doesn't say that jobs may sleep."""

    name = "patient"
    since = 1005.0

    def on_session_open(self, session: Session) -> None:
        session.add_job_enqueueable(self.name, lambda _: 1 if session.now >= self.since else -1)


def timed(results: list[Result], now: list[float], period: float = 1.0, more: str = "") -> Scheduler:
    text = FIVE_PLUGINS + more
    catalog = Catalog({"patient": Patient}, {}).over(built_in())
    configuration = Loaded(conf.parse(text, actions=catalog.actions, plugins=catalog.plugins), catalog, text)
    return Scheduler(facts(), configuration, results.append, period=period, clock=lambda: now[0])


def test_a_plugin_that_may_answer_by_the_time_is_asked_once_a_period_as_long_as_a_job_waits() -> None:
    results: list[Result] = []
    now = [1000.0]
    scheduler = timed(results, now, more="  - name: patient\n")
    scheduler.push(("PodGroup", None, group(minMember=1, minResources={"cpu": "1"})))
    scheduler.push(("Pod", None, pod()))
    ran: list[float] = []
    for _ in range(20):
        scheduler.drain()
        if scheduler.cycle() is not None:
            ran.append(now[0])
        now[0] += 0.5
    assert ran == [1000.0, 1001.0, 1002.0, 1003.0, 1004.0, 1005.0]
    assert [decision.task.name for result in results for decision in result.decisions] == ["g-w-0"]


def test_the_built_in_plugins_rest_while_nothing_changes_however_long_a_job_waits() -> None:
    results: list[Result] = []
    now = [1000.0]
    scheduler = timed(results, now)
    scheduler.push(("PodGroup", None, group(minMember=1)))
    scheduler.push(("Pod", None, pod(spec={"nodeSelector": {"disk": "none"}})))
    scheduler.drain()
    assert scheduler.cycle() is not None
    for _ in range(10):
        now[0] += 1.0
        assert scheduler.cycle() is None


def test_a_clock_that_is_set_back_stops_no_cycles() -> None:
    results: list[Result] = []
    now = [1000.0]
    scheduler = timed(results, now, more="  - name: patient\n")
    scheduler.push(("PodGroup", None, group(minMember=1, minResources={"cpu": "1"})))
    scheduler.drain()
    scheduler.cycle()
    now[0] = 500.0
    assert scheduler.cycle() is not None


def test_a_round_of_cycles_goes_through_all_jobs_and_then_rests_if_nothing_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()
    world.node("n1")
    for number in range(5):
        world.gang(f"a{number}", [("w", 2, shape(30000.0))], priority=1)
    world.gang("b", [("w", 1, shape())])
    monkeypatch.setattr(Budget, "of_seconds", lambda *_: Budget.replayed(2))
    results: list[Result] = []
    keeper = Facts(world.cluster, scheduler_names=("volcano",), default_queue="default")
    scheduler = made(keeper, results)
    for _ in range(40):
        scheduler.cycle()
    assert [decision.task.name for result in results for decision in result.decisions] == ["b-w-0"]
    assert scheduler.cycle() is None
    # What changes while a round lasts is looked at after it.
    world.gang("c", [("w", 1, shape())])
    for _ in range(40):
        scheduler.cycle()
    assert [decision.task.name for result in results for decision in result.decisions] == ["b-w-0", "c-w-0"]
