"""The queue reconciler on filled listers and a recording client."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.queue.population import Population
from controllers.queue.reconcile import QueueError, QueueReconciler
from controllers.queue.requests import CASCADE, Order, Request
from generated.fakes.fakes import Fakes
from generated.meta.v1 import ObjectMeta
from generated.scheduling.v1beta1 import PodGroup, PodGroupSpec, PodGroupStatus, Queue, QueueSpec, QueueStatus
from runtime.errors import Conflict, NotFound, ServerError
from runtime.lister import Lister
from runtime.metrics import REGISTRY
from runtime.model import Model
from tests.unit.controllers.fakes import Events, status

MARK = "volcano.sh/closed-by-parent"


def queue(name: str, state: str = "Open", parent: str = "root", mark: str = "") -> Queue:
    annotations = {MARK: mark} if mark else {}
    meta = ObjectMeta(name=name, uid=f"uid-{name}", resource_version="7", annotations=annotations)
    return Queue(metadata=meta, spec=QueueSpec(parent=parent), status=QueueStatus(state=state))


def group(name: str, of: str, phase: str = "Pending") -> PodGroup:
    return PodGroup(
        metadata=ObjectMeta(name=name, namespace="ns"), spec=PodGroupSpec(queue=of), status=PodGroupStatus(phase=phase)
    )


class World:
    def __init__(self, *objects: Model) -> None:
        self.fakes = Fakes(*objects)
        self.events = Events()
        self.asked: list[Request] = []
        listers = self.fakes.scheduling_v1beta1
        population = Population(Lister.filled(listers.pod_groups, Population.INDEXERS))
        self.reconciler = QueueReconciler(
            self.fakes.clients, listers.queues, population, self.events, self.asked.append
        )

    async def do(self, name: str, action: str = "SyncQueue", event: str = "OutOfSync") -> list[str]:
        await self.reconciler.reconcile(Request(name, action, event))
        return [_short(write) for write in self.fakes.writes]


def _short(write: Any) -> str:
    if write.subresource == "status":
        return f"{write.name} state={write.body['status']['state']}"
    if "spec" in write.body:
        return f"{write.name} parent={write.body['spec']['parent']}"
    return f"{write.name} mark={write.body['metadata']['annotations'][MARK]}"


@pytest.mark.parametrize(
    ("objects", "action", "event", "writes", "asked"),
    [
        ([queue("root", "", "")], "SyncQueue", "", ["root state=Open"], []),
        ([queue("q", "")], "SyncQueue", "", ["q state=Open"], []),
        ([queue("q", "", "")], "SyncQueue", "", ["q parent=root", "q state=Open"], []),
        ([queue("q")], "SyncQueue", "", [], []),
        ([queue("q", "Closing")], "SyncQueue", "", ["q state=Closed"], []),
        ([queue("q", "Closing"), group("g", "q")], "SyncQueue", "", [], []),
        ([queue("q", "Closed"), group("g", "q")], "SyncQueue", "", ["q state=Closing"], []),
        ([queue("q", "Closed"), group("g", "other")], "SyncQueue", "", [], []),
        ([queue("q", "Unknown")], "SyncQueue", "", [], []),
        ([queue("q")], "CloseQueue", "CommandIssued", ["q state=Closed"], []),
        ([queue("q"), group("g", "q", "Completed")], "CloseQueue", "CommandIssued", ["q state=Closing"], []),
        ([queue("root", parent="")], "CloseQueue", "CommandIssued", [], []),
        ([queue("q", "Closed")], "OpenQueue", "CommandIssued", ["q state=Open", "q mark=false"], []),
        ([queue("q", "Closed", mark="false")], "OpenQueue", "CommandIssued", ["q state=Open"], []),
        # the state of the parent
        (
            [queue("q", parent="p"), queue("p", "Closing")],
            "SyncQueue",
            "",
            ["q mark=true"],
            [Request("q", "CloseQueue", CASCADE)],
        ),
        ([queue("q", "Closed", "p"), queue("p", "Closed")], "SyncQueue", "", [], []),
        ([queue("q", "Closed", "p", "true"), queue("p")], "SyncQueue", "", [], [Request("q", "OpenQueue", CASCADE)]),
        ([queue("q", "Closed", "p", "false"), queue("p")], "SyncQueue", "", [], []),
        ([queue("q", "Closed", "root", "true")], "SyncQueue", "", [], [Request("q", "OpenQueue", CASCADE)]),
        ([queue("q", parent="p", mark="true"), queue("p", "Closed")], "CloseQueue", CASCADE, ["q state=Closed"], []),
        ([queue("q", parent="p", mark="true"), queue("p")], "CloseQueue", CASCADE, [], []),
        # whoever closes a queue himself opens it himself, whatever its parent does
        ([queue("q", mark="true")], "CloseQueue", "CommandIssued", ["q mark=false", "q state=Closed"], []),
        ([queue("q", parent="p", mark="true"), queue("p")], "SyncQueue", "", ["q mark=false"], []),
    ],
)
async def test_a_request_writes_what_is_needed(
    objects: list[Model], action: str, event: str, writes: list[str], asked: list[Request]
) -> None:
    world = World(*objects)
    name = objects[0].metadata.name  # type: ignore[attr-defined]  # every object here has metadata
    assert (await world.do(name, action, event), world.asked) == (writes, asked)


async def test_the_state_is_applied_by_its_own_field_manager_and_nothing_else_is() -> None:
    world = World(queue("q", ""))
    await world.do("q")
    (write,) = world.fakes.writes
    assert (write.verb, write.field_manager, write.is_forced) == ("apply", "queue-controller", True)
    assert write.body["status"] == {"state": "Open"}
    assert "spec" not in write.body


async def test_a_write_is_not_repeated_while_the_cache_lags() -> None:
    world = World(queue("q", ""))
    meta = ObjectMeta(name="q", uid="uid-q", resource_version="8")
    world.fakes.log.answer(Queue(metadata=meta, spec=QueueSpec(parent="root"), status=QueueStatus(state="Open")))
    assert await world.do("q") == ["q state=Open"]
    assert await world.do("q") == ["q state=Open"]


async def test_a_queue_is_not_opened_below_a_closed_one() -> None:
    world = World(queue("q", "Closed", "p"), queue("p", "Closing"))
    words = "Failed to open queue q because its parent queue p is closing or closed. Open the parent queue first."
    with pytest.raises(QueueError, match=words):
        await world.do("q", "OpenQueue", "CommandIssued")
    assert world.fakes.writes == []
    assert world.events.seen == [("Warning", "q", "OpenQueue", words)]


async def test_a_cascade_that_the_parent_overtook_is_not_told_to_users() -> None:
    world = World(queue("q", "Closed", "p", "true"), queue("p", "Closing"))
    with pytest.raises(QueueError):
        await world.do("q", "OpenQueue", CASCADE)
    assert world.events.seen == []


async def test_a_missing_parent_is_an_error_but_a_missing_root_is_not() -> None:
    assert await World(queue("q")).do("q") == []
    with pytest.raises(QueueError, match="parent queue p of queue q is not found"):
        await World(queue("q", parent="p")).do("q")


async def test_users_see_how_opening_and_closing_went() -> None:
    world = World(queue("q"))
    await world.do("q", "CloseQueue")
    assert world.events.seen == [("Normal", "q", "CloseQueue", "Close queue succeed")]
    world = World(queue("q", "Closed"))
    await world.do("q", "OpenQueue")
    assert world.events.seen == [("Normal", "q", "OpenQueue", "Open queue succeed")]


@pytest.mark.parametrize(
    ("state", "action", "message"),
    [
        ("Open", "CloseQueue", "Close queue failed for refused: InternalError"),
        ("Closed", "OpenQueue", "Update queue status from Closed to Open failed for refused: InternalError"),
    ],
)
async def test_a_failed_write_is_told_and_raised(state: str, action: str, message: str) -> None:
    world = World(queue("q", state))
    world.fakes.log.fail(ServerError(status(500, "InternalError")))
    with pytest.raises(ServerError):
        await world.do("q", action)
    assert world.events.seen == [("Warning", "q", action, message)]


async def test_giving_up_names_action_and_event() -> None:
    world = World(queue("q"))
    await world.reconciler.give_up(Request("q", "OpenQueue", "CommandIssued"), QueueError("no"))
    text = "OpenQueue queue failed for sync queue q failed for no, event is CommandIssued, action is OpenQueue"
    assert world.events.seen == [("Warning", "q", "OpenQueue", text)]


async def test_nothing_is_told_of_a_queue_that_is_gone() -> None:
    world = World()
    await world.reconciler.give_up(Request("q"), QueueError("no"))
    await world.reconciler.give_up(Order("ns", "c", "u", "q", "OpenQueue"), QueueError("no"))
    assert (await world.do("q"), world.events.seen) == ([], [])


async def test_a_command_is_deleted_before_it_is_carried_out() -> None:
    world = World(queue("q"))
    await world.reconciler.reconcile(Order("ns", "c", "uid-c", "q", "CloseQueue"))
    (write,) = world.fakes.writes
    assert (str(write), write.body["preconditions"]["uid"]) == ("delete commands.bus.volcano.sh ns/c", "uid-c")
    assert world.asked == [Request("q", "CloseQueue", "CommandIssued")]


@pytest.mark.parametrize("error", [NotFound(status(404, "NotFound")), Conflict(status(409, "Conflict"))])
async def test_a_command_that_somebody_took_is_not_carried_out(error: Exception) -> None:
    world = World(queue("q"))
    world.fakes.log.fail(error)
    await world.reconciler.reconcile(Order("ns", "c", "uid-c", "q", "CloseQueue"))
    assert world.asked == []


async def test_gauges_count_groups_by_phase_until_the_queue_is_gone() -> None:
    phases = ["Pending", "Pending", "Inqueue", "Running", "Strange"]
    world = World(queue("counted"), *(group(f"g{i}", "counted", phase) for i, phase in enumerate(phases)))
    await world.do("counted")

    def gauge(phase: str) -> float | None:
        return REGISTRY.get_sample_value(f"volcano_queue_pod_group_{phase}_count", {"queue_name": "counted"})

    shown = {phase: gauge(phase) for phase in ("pending", "inqueue", "running", "unknown", "completed")}
    assert shown == {"pending": 2, "inqueue": 1, "running": 1, "unknown": 0, "completed": 0}
