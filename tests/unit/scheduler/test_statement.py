"""Statements: what is discarded leaves no trace, what is saved comes back, what is left gives its room back."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.contract.decisions import Bind, Evict
from scheduler.session import Session
from scheduler.state.status import Status
from scheduler.state.task import Task
from scheduler.statement import Statement
from tests.unit.scheduler.build import World, memory_of, random_world, shape


def opened(world: World) -> Session:
    session = Session(world.cluster, (memory := memory_of(world.cluster)).configuration, memory, uid="s", now=0.0)
    session.open()
    return session


def picture(session: Session) -> Any:
    """Everything that a statement may change, to the bit."""
    cluster = session.cluster
    return (
        cluster.columns.dynamic.tobytes(),
        {
            job.id: (
                tuple(job.counts),
                {role: tuple(counts) for role, counts in job.role_counts.items()},
                {role: count for role, count in job.best_effort_pending.items() if count},
                set(job.pending),
                job.account.tobytes(),
            )
            for job in cluster.jobs.values()
        },
        {queue.name: queue.account.tobytes() for queue in cluster.queues.values()},
        {task.uid: (task.status, task.node and task.node.name, task.in_kube) for task in cluster.tasks.values()},
        {node.name: set(node.tasks) for node in cluster.nodes},
    )


def operate(session: Session, statement: Statement, rng: random.Random, steps: int) -> None:
    """Place and evict at random, siblings at once where there are some."""
    tasks = list(session.cluster.tasks.values())
    for _ in range(steps):
        task = rng.choice(tasks)
        node = rng.choice(session.nodes)
        if task.status is Status.PENDING:
            siblings = [other for other in tasks if is_sibling(other, task)][: rng.randint(1, 4)]
            nodes = [rng.choice(session.nodes) for _ in siblings]
            statement.place(siblings, nodes, rng.choice([Status.ALLOCATED, Status.PIPELINED]))
        elif task.status in {Status.RUNNING, Status.BOUND} and node is not None:
            statement.evict(task, "test")


def is_sibling(task: Task, first: Task) -> bool:
    return task.job == first.job and task.role == first.role and task.request is first.request and (
        task.status is Status.PENDING
    )  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 12))
def test_any_operations_and_a_discard_leave_the_state_as_it_was_to_the_bit(seed: int, steps: int) -> None:
    session = opened(random_world(seed, odd=0.1))  # sums of tenths are not exact
    before = picture(session)
    statement = session.statement()
    operate(session, statement, random.Random(seed), steps)
    statement.discard()
    assert picture(session) == before


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 12))
def test_what_was_saved_and_discarded_comes_back_the_same(seed: int, steps: int) -> None:
    session = opened(random_world(seed))
    statement = session.statement()
    operate(session, statement, random.Random(seed), steps)
    first = picture(session)
    saved = statement.save()
    statement.discard()
    assert statement.recover(saved) is None
    assert picture(session) == first


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 10))
def test_an_older_statement_discarded_after_a_younger_takes_back_its_own_part_only(seed: int, steps: int) -> None:
    session = opened(random_world(seed))
    rng = random.Random(seed)
    older, younger = session.statement(), session.statement()
    operate(session, older, rng, steps)
    middle = {task.uid for operation in older.save() for task in getattr(operation, "tasks", ())}
    operate(session, younger, rng, steps)
    mine = {task.uid for operation in younger.save() for task in getattr(operation, "tasks", ())}
    older.discard()
    tasks = session.cluster.tasks
    assert all(tasks[uid].status is Status.PENDING for uid in middle)
    assert all(tasks[uid].status in {Status.ALLOCATED, Status.PIPELINED} for uid in mine)
    assert_consistent(session)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 12))
def test_at_close_everything_uncommitted_gives_its_room_back(seed: int, steps: int) -> None:
    session = opened(random_world(seed))
    before = picture(session)
    rng = random.Random(seed)
    statements = [session.statement() for _ in range(3)]
    for statement in rng.choices(statements, k=4):
        operate(session, statement, rng, steps)
    statements[0].keep()
    session.close()
    assert picture(session) == before


def assert_consistent(session: Session) -> None:
    """Totals equal what the tasks say."""
    cluster = session.cluster
    for node in cluster.nodes:
        used = sum(
            task.request.amounts.get("cpu", 0.0)
            for task in node.tasks.values()
            if task.status not in {Status.PIPELINED, Status.PENDING}
        )
        assert cluster.columns.used[0, node.row] == pytest.approx(used)
    for job in cluster.jobs.values():
        for status in Status:
            assert job.counts[status] == sum(task.status is status for task in job.tasks.values())


def two_pods() -> tuple[Session, list[Task]]:
    world = World()
    world.node("n1")
    world.gang("g", [("w", 2, shape())])
    session = opened(world)
    return session, list(world.cluster.jobs["ns/g"].tasks.values())


def test_a_commit_turns_allocations_into_binds_of_one_group() -> None:
    session, tasks = two_pods()
    statement = session.statement()
    statement.place(tasks, [session.nodes[0]] * 2, Status.ALLOCATED)
    statement.commit()
    assert [(d.task.name, d.node, d.group) for d in session.decisions if isinstance(d, Bind)] == [
        ("g-w-0", "n1", 1),
        ("g-w-1", "n1", 1),
    ]
    assert {task.status for task in tasks} == {Status.BINDING}
    session.close()
    assert {task.status for task in tasks} == {Status.BINDING}


def test_a_commit_of_an_eviction_names_reason_and_beneficiary() -> None:
    world = World()
    world.node("n1")
    world.running("old", "n1", shape())
    session = opened(world)
    task = world.cluster.tasks["uid-old"]
    statement = session.statement()
    statement.evict(task, "preempt", "ns/g")
    assert task.status is Status.RELEASING
    assert world.cluster.columns.requested[0, 0] == 0
    assert world.cluster.columns.used[0, 0] == 1000
    statement.commit()
    assert session.decisions == [Evict(task, "preempt", "ns/g", group=1)]


def test_a_refusing_handler_undoes_the_placement_and_all_handlers_hear_of_it() -> None:
    session, tasks = two_pods()
    heard: list[str] = []
    session.add_event_handler(
        "a",
        allocate=lambda task, node: heard.append(f"+{task.name}"),
        deallocate=lambda task: heard.append(f"-{task.name}"),
    )
    session.add_event_handler("b", allocate=lambda task, node: f"no room for {task.name}")
    before = picture(session)
    assert session.statement().place(tasks[:1], [session.nodes[0]], Status.ALLOCATED) == "no room for g-w-0"
    assert picture(session) == before
    assert heard == ["+g-w-0", "-g-w-0"]


def test_ledgers_are_taken_back_with_the_statement() -> None:
    session, tasks = two_pods()
    ledger = session.ledger()
    ledger["share"] = 0.1

    def add(task: Task, node: object) -> None:
        ledger["share"] = ledger["share"] + 0.2

    session.add_event_handler("a", allocate=add)
    statement = session.statement()
    statement.place(tasks[:1], [session.nodes[0]], Status.ALLOCATED)
    assert ledger["share"] == 0.1 + 0.2
    statement.discard()
    assert ledger["share"] == 0.1


def test_a_discarded_plan_is_remembered_until_the_session_closes() -> None:
    session, tasks = two_pods()
    statement = session.statement()
    statement.place(tasks[:1], [session.nodes[0]], Status.ALLOCATED)
    statement.discard()
    assert tasks[0].transaction is not None
    assert tasks[0].transaction.node == "n1"
    session.close()
    assert tasks[0].transaction is None


def test_evict_pipeline_and_discard_leave_a_memory_that_keeps_the_flag() -> None:
    world = World()
    world.node("n1")
    world.running("old", "n1", shape(cpu=4000.0), Status.BOUND)
    world.gang("g", [("w", 1, shape(cpu=4000.0))])
    session = opened(world)
    old, task = world.cluster.tasks["uid-old"], world.cluster.tasks["uid-g-w-0"]
    before = picture(session)
    statement = session.statement()
    statement.evict(old, "preempt", "ns/g")
    statement.place((task,), (session.nodes[0],), Status.PIPELINED, eviction=True)
    assert (statement.has_evictions, statement.victims, task.eviction) == (True, [old], True)
    saved = statement.save()
    statement.discard()
    assert picture(session) == before
    assert old.status is Status.BOUND
    assert task.transaction is not None
    assert (task.transaction.status, task.transaction.node, task.transaction.eviction) == (Status.PIPELINED, "n1", True)
    assert statement.recover(saved) is None
    assert (task.status, task.eviction, old.status) == (Status.PIPELINED, True, Status.RELEASING)


def test_merged_statements_are_taken_back_together() -> None:
    session, tasks = two_pods()
    before = picture(session)
    first, second = session.statement(), session.statement()
    first.place(tasks[:1], [session.nodes[0]], Status.ALLOCATED)
    second.place(tasks[1:], [session.nodes[0]], Status.PIPELINED, eviction=True)
    first.merge(second)
    assert (len(first.operations), second.operations) == (2, [])
    first.discard()
    assert picture(session) == before
    assert not first
    assert not second


def test_a_session_can_not_give_a_task_a_status_that_only_the_server_gives() -> None:
    from scheduler.state import moves  # noqa: PLC0415  # the inside of statements

    session, tasks = two_pods()
    with pytest.raises(ValueError, match="ns/g-w-0: a session never moves a task to Succeeded"):
        moves.restatus(session.cluster, tasks[:1], Status.SUCCEEDED, session.journal)
