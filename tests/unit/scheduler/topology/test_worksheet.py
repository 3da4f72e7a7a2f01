"""What of a job is still to be placed, and in which order its sub-jobs come."""

from __future__ import annotations

from scheduler.session import Session
from scheduler.state.status import Status
from scheduler.topology.worksheet import Worksheet, job_sheet
from tests.unit.scheduler.build import World, memory_of, shape
from tests.unit.scheduler.hypernodes import CONFIGURATION, divide, labelled, policy

ONE = shape(1000.0)


def session(made: World) -> Session:
    memory = memory_of(made.cluster, CONFIGURATION)
    opened = Session(made.cluster, memory.configuration, memory, uid="s", now=0.0)
    opened.open()
    return opened


def test_required_sub_jobs_come_first_then_by_index() -> None:
    made = World()
    made.node("n0")
    made.gang("j", [], minimum=1)
    job = made.cluster.jobs["ns/j"]
    divide(job, policy("late", "late", size=1, least=2), policy("free", "free"))
    for label, value in (("late", "9"), ("late", "3"), ("free", "1"), ("late", "5")):
        labelled(made, "j", f"j-{label}-{value}", ONE, {label: value})
    sheet = job_sheet(session(made), job)
    order = []
    while sheet:
        order.append(sheet.pop().uid.removeprefix("ns/j/"))
    assert order == ["late-3", "late-5", "free-1", "late-9"]


def test_whole_sub_jobs_count_and_only_the_missing_ones_are_required() -> None:
    made = World()
    made.node("n0")
    made.gang("j", [], minimum=1)
    job = made.cluster.jobs["ns/j"]
    divide(job, policy("p", "block", size=1, least=2))
    labelled(made, "j", "standing", ONE, node="n0", block="1")
    labelled(made, "j", "more", ONE, block="1")
    labelled(made, "j", "second", ONE, block="2")
    labelled(made, "j", "third", ONE, block="3")
    sheet = job_sheet(session(made), job)
    sheets = [sheet.pop() for _ in range(3)]
    assert {each.uid[-1]: each.is_required for each in sheets} == {"2": True, "1": False, "3": False}


def test_gated_pods_and_those_that_ask_for_nothing_are_left_out() -> None:
    made = World()
    made.gang("j", [("w", 1, shape(0.0, 0.0))])
    assert not job_sheet(session(made), made.cluster.jobs["ns/j"])


def test_a_copy_is_worked_on_apart() -> None:
    made = World()
    made.gang("j", [("w", 3, ONE)])
    tasks = list(made.cluster.jobs["ns/j"].tasks.values())
    sheet = Worksheet(made.cluster.jobs["ns/j"], tasks)
    copy = sheet.copy()
    copy.skip(2)
    assert (len(sheet), len(copy)) == (3, 1)
    sheet.take(copy)
    assert list(sheet.rest()) == tasks[2:]


def test_a_run_ends_where_role_template_or_nomination_differ() -> None:
    made = World()
    made.node("n0")
    made.gang("j", [("a", 3, ONE), ("b", 2, ONE), ("c", 2, shape(500.0))])
    opened = session(made)
    tasks = list(made.cluster.jobs["ns/j"].tasks.values())
    sheet = Worksheet(made.cluster.jobs["ns/j"], tasks)
    runs = []
    while sheet:
        run = sheet.run(opened, 10)
        runs.append(len(run))
        sheet.skip(len(run))
    assert runs == [3, 2, 2]
    tasks[1].nominated = "n0"
    assert len(Worksheet(made.cluster.jobs["ns/j"], tasks).run(opened, 10)) == 1
    assert len(Worksheet(made.cluster.jobs["ns/j"], tasks[3:]).run(opened, 1)) == 1
    assert all(task.status is Status.PENDING for task in tasks)
