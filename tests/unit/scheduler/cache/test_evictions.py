"""Carrying out evictions: what is said, what is marked, what is deleted, and what happens when that fails."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from generated.core.v1 import PODS, Pod, PodCondition
from generated.fakes.fakes import Fakes
from runtime.errors import ConnectionFailed, Forbidden, NotFound
from runtime.wire import Status as Answer
from scheduler.cache.evictions import Evictions
from scheduler.contract.decisions import Evict
from scheduler.state.status import Status
from scheduler.state.task import Task
from tests.unit.scheduler.cache.test_facts import facts, group, pod
from tests.unit.scheduler.cache.test_writers import Said

TEXT = "Pod is evicted, because of preempt"
PREEMPTED = "volcano: preempting to accommodate a higher priority pod"


class Bench:
    """Evictions over recording clients."""

    def __init__(self) -> None:
        self.fakes = Fakes()
        self.said = Said()
        self.failed: list[str] = []
        self.evictions = Evictions(
            self.fakes.clients,
            self.said,  # type: ignore[arg-type]  # the part in use
            failed=self.failed.append,
            clock=lambda: 1000.0,
        )

    @property
    def writes(self) -> list[str]:
        return [str(write) for write in self.fakes.writes]


def running_pod() -> Pod:
    return pod("v", spec={"nodeName": "n1"}, status={"phase": "Running"})


def victim(*conditions: PodCondition) -> Task:
    made = facts()
    raw = running_pod()
    marked = msgspec.structs.replace(raw, status=msgspec.structs.replace(raw.status, conditions=conditions))
    made.apply(("Pod", None, marked))
    return made.cluster.tasks["uid-v"]


def condition(kind: str, status: str, reason: str, message: str) -> PodCondition:
    return PodCondition(type=kind, status=status, reason=reason, message=message)


async def test_a_victim_is_told_marked_and_deleted_by_its_uid() -> None:
    bench = Bench()
    await bench.evictions.evict(Evict(victim(), "preempt", "ns/h", 1, group("u")))
    assert bench.said.lines == ["PodGroup Normal Evict: preempt", f"Pod Warning Evict: {TEXT}"]
    assert bench.writes == ["patch pods/status ns/v", "delete pods ns/v"]
    marked = bench.fakes.writes[0].body
    assert marked["metadata"] == {"uid": "uid-v"}
    assert [
        (held["type"], held["status"], held["reason"], held["message"]) for held in marked["status"]["conditions"]
    ] == [
        ("Ready", "False", "Evict", TEXT),
        ("DisruptionTarget", "True", "PreemptionByScheduler", PREEMPTED),
    ]
    assert bench.fakes.writes[1].body["preconditions"]["uid"] == "uid-v"
    assert bench.failed == []


async def test_a_pod_that_was_marked_by_an_earlier_try_is_deleted_all_the_same() -> None:
    bench = Bench()
    marked = victim(
        condition("Ready", "False", "Evict", TEXT),
        condition("DisruptionTarget", "True", "PreemptionByScheduler", PREEMPTED),
    )
    await bench.evictions.evict(Evict(marked, "preempt", "ns/h"))
    assert bench.writes == ["delete pods ns/v"]


@pytest.mark.parametrize("verb", ["patch", "delete"])
@pytest.mark.parametrize(
    ("error", "failed"),
    [
        (ConnectionFailed("refused"), ["uid-v"]),
        (Forbidden(Answer(code=403, message="no")), ["uid-v"]),
        (NotFound(Answer(code=404, message="no")), []),
    ],
)
async def test_an_eviction_that_fails_is_told_back_unless_the_pod_is_gone(
    verb: str, error: Exception, failed: list[str]
) -> None:
    bench = Bench()
    bench.fakes.log.fail(error, verb, PODS)
    await bench.evictions.evict(Evict(victim(), "preempt", "ns/h"))
    assert bench.failed == failed


def test_news_of_a_victim_that_come_before_its_deletion_do_not_revive_it() -> None:
    made = facts()
    running = running_pod()
    made.apply(("Pod", None, running))
    task = made.cluster.tasks["uid-v"]
    task.status = Status.RELEASING
    made.apply(("Pod", running, running))
    assert made.cluster.tasks["uid-v"].status is Status.RELEASING


def test_a_pod_whose_eviction_failed_runs_again() -> None:
    made = facts()
    made.apply(("Pod", None, running_pod()))
    made.cluster.tasks["uid-v"].status = Status.RELEASING
    made.unbound("uid-v")
    task: Any = made.cluster.tasks["uid-v"]
    assert (task.status, task.node.name) == (Status.RUNNING, "n1")
