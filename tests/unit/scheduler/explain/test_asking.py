"""Questions of other threads, answered between two cycles, and the HTTP that brings them."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from typing import Any

import msgspec
import pytest

from api.explanations import is_explanation
from runtime.serving import Call, Router, ServingThread
from scheduler.cache.facts import Facts
from scheduler.cycle import Result
from scheduler.evicting.nominations import Nomination
from scheduler.explain.asking import TURN_SECONDS, NoAnswer, Questions
from scheduler.explain.endpoint import PATTERN, Endpoint, standby_text
from scheduler.explain.explain import explain
from scheduler.explain.report import Cause, CauseKind, Explanation
from scheduler.loop import Scheduler
from scheduler.state.status import Status
from tests.unit.scheduler.build import World, memory_of, shape
from tests.unit.scheduler.explain.explaining import explained
from tests.unit.scheduler.test_loop import loaded

PATIENCE = 10.0


def world_of(*names: str) -> World:
    world = World()
    world.node("n1", cpu=500.0)
    for name in names:
        world.gang(name, [("w", 1, shape())])
    return world


def scheduler_of(world: World, results: list[Result] | None = None) -> Scheduler:
    facts = Facts(world.cluster, scheduler_names=("volcano",), default_queue="default")
    kept: list[Result] = results if results is not None else []
    return Scheduler(facts, loaded(), kept.append, period=60.0)


@contextmanager
def running(scheduler: Scheduler, *, is_ready: bool = True) -> Iterator[None]:
    stop, ready = threading.Event(), threading.Event()
    if is_ready:
        ready.set()
    thread = threading.Thread(target=scheduler.run, args=(stop, ready))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        scheduler.halt(PATIENCE)
        thread.join(PATIENCE)


def test_a_question_is_answered_at_once_although_no_cycle_is_due() -> None:
    results: list[Result] = []
    scheduler = scheduler_of(world_of("a"), results)
    with running(scheduler):
        answers = [scheduler.questions.ask("ns", "a", PATIENCE) for _ in range(3)]
    assert {answer.summary for answer in answers} == {
        "1 pod of role w finds no node: needs 1 cpu, and no node is that large (largest: 500m cpu)"
    }
    assert answers[0].times.actions
    assert len(results) == 1, "questions start no cycle"


def test_what_the_process_knows_beside_the_state_is_told_too() -> None:
    scheduler = scheduler_of(world_of("a"))
    cause = Cause(kind=CauseKind.NO_PRIORITY_CLASS, text="PriorityClass high does not exist")
    scheduler.questions.known = lambda job: [(cause, f"create it for {job.id}")]
    with running(scheduler):
        answer = scheduler.questions.ask("ns", "a", PATIENCE)
    assert cause in answer.causes
    assert "create it for ns/a" in answer.needs


def test_an_unknown_job_is_said_to_be_unknown() -> None:
    scheduler = scheduler_of(world_of("a"))
    with running(scheduler), pytest.raises(NoAnswer, match="podgroup ns/b is not known") as found:
        scheduler.questions.ask("ns", "b", PATIENCE)
    assert found.value.is_unknown


def test_who_does_not_lead_and_who_ends_says_so() -> None:
    scheduler = scheduler_of(world_of("a"))
    with running(scheduler, is_ready=False), pytest.raises(NoAnswer, match="runs no cycles yet"):
        scheduler.questions.ask("ns", "a", PATIENCE)
    other = scheduler_of(world_of("a"))
    with running(other):
        assert other.halt(PATIENCE)
        with pytest.raises(NoAnswer, match="is ending"):
            other.questions.ask("ns", "a", PATIENCE)


def test_nobody_waits_longer_than_asked_and_is_answered_later_in_vain() -> None:
    world = world_of("a")
    woken: list[int] = []
    questions = Questions(lambda: woken.append(1))
    with pytest.raises(NoAnswer, match=r"did not end within 0\.01 s"):
        questions.ask("ns", "a", 0.01)
    assert woken
    questions.answer(world.cluster, memory_of(world.cluster), 1.0, (), lambda: 0.0)
    assert not questions


def test_a_turn_ends_with_its_time_and_the_rest_waits_for_the_next() -> None:
    world = world_of("a", "b", "c")
    arrived = threading.Semaphore(0)
    questions = Questions(arrived.release)
    memory = memory_of(world.cluster)
    ticks = count()
    with ThreadPoolExecutor(3) as pool:
        asked = [pool.submit(questions.ask, "ns", name, PATIENCE) for name in "abc"]
        for _ in asked:
            assert arrived.acquire(timeout=PATIENCE)
        answered = []
        for _ in asked:
            questions.answer(world.cluster, memory, 1.0, (), lambda: next(ticks) * TURN_SECONDS)
            answered.append(len(questions._waiting))
        assert answered == [2, 1, 0]
        assert sorted(future.result(PATIENCE).name for future in asked) == ["a", "b", "c"]


def test_a_failing_explanation_is_an_answer_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Explanation:
        raise RuntimeError("odd")

    monkeypatch.setattr("scheduler.explain.asking.explain", broken)
    scheduler = scheduler_of(world_of("a"))
    with running(scheduler), pytest.raises(NoAnswer, match="failed in explaining it: RuntimeError: odd"):
        scheduler.questions.ask("ns", "a", PATIENCE)


def test_after_a_failure_the_others_are_answered_in_a_sound_session(monkeypatch: pytest.MonkeyPatch) -> None:
    world = world_of("a", "b")
    sessions: list[Any] = []

    def half_way(shared: Any, job: Any, *rest: Any) -> Explanation:
        sessions.append(shared.session)
        if job.name == "a":
            statement = shared.session.statement()
            statement.place(tuple(job.tasks.values()), (shared.session.nodes[0],), Status.ALLOCATED)
            raise RuntimeError("odd")
        return explain(shared, job, *rest)

    monkeypatch.setattr("scheduler.explain.asking.explain", half_way)
    scheduler = scheduler_of(world)
    with running(scheduler):
        with pytest.raises(NoAnswer):
            scheduler.questions.ask("ns", "a", PATIENCE)
        answer = scheduler.questions.ask("ns", "b", PATIENCE)
    assert answer.summary == "1 pod of role w finds no node: needs 1 cpu, and no node is that large (largest: 500m cpu)"
    assert sessions[0] is not sessions[1]
    assert world.cluster.tasks["uid-a-w-0"].node is None


def test_a_session_that_does_not_open_is_an_answer_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("odd")

    monkeypatch.setattr("scheduler.explain.asking.opened", broken)
    scheduler = scheduler_of(world_of("a"))
    with running(scheduler), pytest.raises(NoAnswer, match="failed in answering: RuntimeError: odd"):
        scheduler.questions.ask("ns", "a", PATIENCE)


def test_a_promise_that_ends_at_a_question_is_told_by_the_next_cycle() -> None:
    world = world_of("a")
    scheduler = scheduler_of(world)
    scheduler.cycle()
    scheduler.memory.nominations.by_task["gone"] = Nomination("gone", "ns/gone", "ns/x", "n1", "preempt", {})
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(scheduler.questions.ask, "ns", "a", PATIENCE)
        while not scheduler.questions:
            pass
        scheduler.explain()
        assert asked.result(PATIENCE).name == "a"
    result = scheduler.cycle()
    assert result is not None
    assert [lapse.tasks for lapse in result.outcome.lapses] == [("ns/gone",)]


# HTTP.


def call(method: str = "GET") -> Call:
    router = Router()
    router.add(PATTERN, lambda _: None)  # type: ignore[arg-type,return-value]  # only its pattern is used
    found = router.find("/explain/ns/a")
    assert found is not None
    return Call(method, "/explain/ns/a", found[1])


def unknown(*_: Any) -> Explanation:
    raise NoAnswer("podgroup ns/a is not known", is_unknown=True)


def busy(*_: Any) -> Explanation:
    raise NoAnswer("a cycle is under way")


@pytest.mark.parametrize(
    ("ask", "standby", "method", "status", "text"),
    [
        (unknown, "", "GET", 404, "podgroup ns/a is not known\n"),
        (busy, "", "GET", 503, "a cycle is under way\n"),
        (busy, standby_text("vc-1_x"), "GET", 503, "this scheduler does not lead, vc-1_x does: ask there\n"),
        (
            busy,
            standby_text(""),
            "GET",
            503,
            "this scheduler does not lead, and nobody does at the moment: ask again\n",
        ),
        (busy, "", "POST", 405, "POST is not allowed here, only GET\n"),
    ],
)
def test_what_is_no_answer_has_its_status_and_a_clear_text(
    ask: Any, standby: str, method: str, status: int, text: str
) -> None:
    reply = Endpoint(ask, lambda: standby)(call(method))
    assert (reply.status, reply.body) == (status, text)


def test_an_answer_is_json() -> None:
    answer = explained(world_of("a"), "a")
    asked: list[Any] = []

    def ask(*what: Any) -> Explanation:
        asked.append(what[:2])
        return answer

    reply = Endpoint(ask, str)(call())
    assert (reply.status, reply.content_type, asked) == (200, "application/json", [("ns", "a")])
    assert msgspec.json.decode(reply.body, type=Explanation) == answer


def fetched(port: int, path: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_over_http_from_a_running_scheduler() -> None:
    scheduler = scheduler_of(world_of("a"))
    router, serving = Router(), ServingThread()
    router.add(PATTERN, Endpoint(scheduler.questions.ask, str))
    serving.start()
    try:
        port = serving.listen("127.0.0.1:0", router)
        with running(scheduler):
            found = fetched(port, "/explain/ns/a")
            missing = fetched(port, "/explain/ns/nobody")
    finally:
        serving.stop()
    assert found[0] == 200
    assert is_explanation(msgspec.json.decode(found[1]))
    assert missing == (404, "podgroup ns/nobody is not known to this scheduler: it does not exist, or is another's\n")
