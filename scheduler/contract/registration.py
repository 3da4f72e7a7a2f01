"""
What a plugin may register when a session opens: the contract, one method a kind of function.

What concerns evictions stands in `evictions`, what concerns sub-jobs and hypernodes in `domains`.

Every function is guarded: when it throws, the answer given for it is the one that does least harm (design 3).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scheduler.contract.domains import REJECT, DomainRegistration
from scheduler.contract.effects import Filter, PerNode, Refusal, Score
from scheduler.contract.evictions import EvictionRegistration
from scheduler.contract.handlers import Allocate, Deallocate, each, one_by_one
from scheduler.contract.loose import BestNode
from scheduler.contract.pernode import PerNodeBatch, PerNodeScore
from scheduler.contract.points import Point
from scheduler.contract.registering import Ahead, Compare, Key, Steady
from scheduler.placing.signature import check_declared
from scheduler.state.dimensions import Floats
from scheduler.state.node import Node

if TYPE_CHECKING:
    from scheduler.state.job import Job
    from scheduler.state.queue import Queue
    from scheduler.state.task import Task

Vote = Callable[["Job"], int]
Room = Callable[["Queue", "Task", int], int]
Stretch = Callable[["Queue", Floats], int]

PERMIT, ABSTAIN = 1, 0
_UNKNOWN_ROOM = -1
"""Of a queue for which the function that knows it throws: less than any answer, and taken for 1 by who asks step by step."""

__all__ = ("ABSTAIN", "PERMIT", "REJECT", "Registration")


class Registration(EvictionRegistration, DomainRegistration):
    """The registering half of a session. `plugin` is always the registering plugin's name."""

    def __init__(self) -> None:
        self.filters: dict[str, list[Filter]] = {}
        self.scores: dict[str, list[Score]] = {}

    # Orders.

    def add_job_order(
        self,
        plugin: str,
        compare: Compare | None = None,
        *,
        key: Key | None = None,
        steady: Steady | None = None,
        ahead: Ahead | None = None,
    ) -> None:
        """
        Which of two jobs first.

        A key (smaller first) that depends on the job alone is much faster; `steady` and `ahead` are explained at `Order`.
        """
        self._add_order(Point.JOB_ORDER, plugin, compare, key, steady, ahead=ahead)

    def add_queue_order(
        self,
        plugin: str,
        compare: Compare | None = None,
        *,
        key: Key | None = None,
        steady: Steady | None = None,
        ahead: Ahead | None = None,
        is_entangled: bool = False,
    ) -> None:
        """
        Which of two queues first; as `add_job_order`.

        `is_entangled`: what one queue gets may change the order of others, as in a tree; only with `compare`.
        """
        self._add_order(Point.QUEUE_ORDER, plugin, compare, key, steady, ahead=ahead, is_entangled=is_entangled)

    def add_task_order(self, plugin: str, compare: Compare | None = None, *, key: Key | None = None) -> None:
        """Which of two tasks of a job first."""
        self._add_order(Point.TASK_ORDER, plugin, compare, key)

    # Jobs and queues.

    def add_job_valid(self, plugin: str, function: Callable[[Job], Any]) -> None:
        """Whether a job may be scheduled: None, or a verdict against it."""
        self._add(Point.JOB_VALID, plugin, function, None)

    def add_job_ready(
        self, plugin: str, function: Callable[[Job], bool], *, deficit: Callable[[Job], int] | None = None
    ) -> None:
        """
        Whether a job is whole.

        `deficit(job)` says how many placements are needed at least before the answer can become yes: as many are
        then placed without asking in between.
        """
        ready = self._guard(function, False, plugin, "job_ready")
        lower = self._guard(deficit, 1, plugin, "job_ready_deficit") if deficit is not None else None
        self.points.register(Point.JOB_READY, plugin, (ready, lower))

    def add_job_pipelined(self, plugin: str, function: Vote) -> None:
        """Vote on whether a job would be whole once releasing resources are free."""
        self._add(Point.JOB_PIPELINED, plugin, function, REJECT)

    def add_job_starving(self, plugin: str, function: Callable[[Job], bool]) -> None:
        """Whether a job lacks what it needs."""
        self._add(Point.JOB_STARVING, plugin, function, False)

    def add_job_enqueueable(self, plugin: str, function: Vote) -> None:
        """Vote on letting a job into its queue."""
        self._add(Point.JOB_ENQUEUEABLE, plugin, function, REJECT)

    def add_job_enqueued(self, plugin: str, function: Callable[[Job], None]) -> None:
        """Be told of each job let in."""
        self._add(Point.JOB_ENQUEUED, plugin, function, None)

    def add_gate_opened(self, plugin: str, function: Callable[[Task], None]) -> None:
        """Be told of each pod that a queue lets in by having its scheduling gate removed."""
        self._add(Point.GATE_OPENED, plugin, function, None)

    def add_overused(
        self,
        plugin: str,
        function: Callable[[Queue], bool],
        *,
        room: Room | None = None,
        stretch: Stretch | None = None,
    ) -> None:
        """
        Whether a queue holds more than its share.

        `room(queue, task, most)` says how many of `most` tasks like this one can be placed in a row before the answer
        would become yes, one at least. Without it the queue is asked after each. `stretch(queue, requests)` says the same
        of unlike tasks: how many of these requests, `(n, dims) float64`, can be placed in their order.
        """
        self._add(Point.OVERUSED, plugin, function, False)
        self._add(Point.OVERUSED_ROOM, plugin, room or _one_at_a_time, 1)
        self._add(Point.OVERUSED_STRETCH, plugin, stretch or _none_ahead, 0)

    def add_allocatable(
        self,
        plugin: str,
        function: Callable[[Queue, Task], bool],
        *,
        room: Room | None = None,
        stretch: Stretch | None = None,
        reason: Callable[[Queue, Task], str] | None = None,
        reason_after: Callable[[Queue, Task, int], str] | None = None,
    ) -> None:
        """
        Whether a queue may take a task.

        `room(queue, task, most)` says how many of `most` tasks like this one it may take in a row; without it the queue
        is asked before each. `stretch` is explained at `add_overused`. `reason(queue, task)` tells the user why it may not.
        `reason_after(queue, task, count)` is what it would be once the queue took `count` tasks like this one: gangs that
        get no further for this reason are not tried in each cycle. Then `room` must be all that the queue would take.
        """
        self._add(Point.ALLOCATABLE, plugin, function, False)
        self._add(Point.ALLOCATABLE_ROOM, plugin, room or _one_at_a_time, _UNKNOWN_ROOM)
        self._add(Point.ALLOCATABLE_STRETCH, plugin, stretch or _none_ahead, 0)
        told = reason or (lambda queue, _: f"{plugin}: queue {queue.name} has no room for the task")
        self._add(Point.ALLOCATABLE_REASON, plugin, told, f"plugin {plugin} failed in telling why")
        self._add(Point.ALLOCATABLE_REASON_AFTER, plugin, reason_after or _unknown, "")

    # Nodes.

    def add_pre_predicate(self, plugin: str, function: Callable[[Task], str | None]) -> None:
        """Look at a task before any node: why it can go nowhere, or None."""
        self._add(Point.PRE_PREDICATE, plugin, function, f"plugin {plugin} failed in its pre-predicate")

    def add_filter(self, function: Filter) -> None:
        """A test of nodes with declared effects, over arrays. Raises ValueError for what can't be declared."""
        check_declared(function)
        self.filters.setdefault(function.plugin, []).append(function)

    def add_predicate(self, plugin: str, function: Callable[[Task, Node], Refusal | str | None]) -> None:
        """A test of one node for one task: None passes. Simple, and asked for every task and node."""
        per_node = PerNode(
            self._guard(function, f"plugin {plugin} failed in its predicate", plugin, "predicate", kinds=())
        )
        self.add_filter(Filter(name=plugin, plugin=plugin, refusals=per_node.refusals, evaluate=per_node))

    def add_score(self, score: Score) -> None:
        """A rating of nodes with declared effects, over arrays. Raises ValueError for what can't be declared."""
        check_declared(score)
        self.scores.setdefault(score.plugin, []).append(score)

    def add_node_order(self, plugin: str, function: Callable[[Task, Node], float]) -> None:
        """The rating of one node for one task. Simple, and asked for every task and node."""
        guarded = self._guard(function, 0.0, plugin, "node_order")
        self.add_score(Score(name=plugin, plugin=plugin, evaluate=PerNodeScore(guarded)))

    def add_batch_node_order(
        self, plugin: str, function: Callable[[Task, Sequence[Node]], Mapping[str, float]]
    ) -> None:
        """The ratings of all candidate nodes for one task, by name of node."""
        guarded = self._guard(function, {}, plugin, "batch_node_order")
        self.add_score(Score(name=f"{plugin} batch", plugin=plugin, evaluate=PerNodeBatch(guarded)))

    def add_best_node(self, plugin: str, function: BestNode) -> None:
        """Pick among the candidates, given by score; None leaves it to the scores."""
        self._add(Point.BEST_NODE, plugin, function, None, kinds=(Node, type(None)))

    # Events.

    def add_event_handler(
        self,
        plugin: str,
        *,
        allocate: Callable[[Task, Node], str | None] | None = None,
        deallocate: Callable[[Task], None] | None = None,
    ) -> None:
        """Be told of each task that takes or gives up room. `allocate` may refuse, with a reason."""
        self.handlers.add(
            plugin,
            one_by_one(allocate) if allocate is not None else None,
            each(deallocate) if deallocate is not None else None,
        )

    def add_batch_event_handler(
        self, plugin: str, *, allocate: Allocate | None = None, deallocate: Deallocate | None = None
    ) -> None:
        """The same for siblings at once: tasks of one job with the same request."""
        self.handlers.add(plugin, allocate, deallocate)


def _one_at_a_time(queue: Queue, task: Task, most: int) -> int:
    """The room of a function that doesn't say how far its answer holds."""
    del queue, task, most
    return 1


def _unknown(queue: Queue, task: Task, count: int) -> str:
    """The reason of a function that says nothing of what would be."""
    del queue, task, count
    return ""


def _none_ahead(queue: Queue, requests: Floats) -> int:
    """The stretch of a function that says nothing of unlike tasks."""
    del queue, requests
    return 0
