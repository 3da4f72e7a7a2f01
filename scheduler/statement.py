"""
An ordered list of operations that takes effect in the session at once, and is committed or discarded as a whole.

A discard restores the very bits that were there before when nothing else wrote in between; otherwise it takes its
operations back one by one.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from scheduler.contract.decisions import Bind, Evict
from scheduler.state import moves
from scheduler.state.status import Status
from scheduler.state.task import Task, Transaction

if TYPE_CHECKING:
    from scheduler.session import Session
    from scheduler.state.node import Node

log = logging.getLogger(__name__)


class Placement(msgspec.Struct, frozen=True):
    """Siblings put on nodes, as Allocated or Pipelined."""

    tasks: tuple[Task, ...]
    nodes: tuple[Node, ...]
    status: Status
    eviction: bool = False
    """Whether the room comes from an eviction, so that the node may be nominated."""


class Eviction(msgspec.Struct, frozen=True):
    """A running task made to leave. `before` is the status that it had."""

    task: Task
    before: Status
    reason: str
    beneficiary: str


Operation = Placement | Eviction


def operation_job(operation: Operation) -> str:
    """The job that an operation is about."""
    return operation.tasks[0].job if isinstance(operation, Placement) else operation.task.job


def placed_tasks(operation: Operation) -> tuple[Task, ...]:
    """The tasks that an operation places; none where it evicts."""
    return operation.tasks if isinstance(operation, Placement) else ()


def nodes_of(tasks: Iterable[Task]) -> list[Node]:
    """The nodes on which tasks stand."""
    return [task.node for task in tasks if task.node is not None]


class Statement:
    """
    Operations of one plan. Made by `Session.statement`, which sees to it that none is left open at the end.

    After `commit` or `discard` it is empty and can be used again.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.operations: list[Operation] = []
        self.start = self._end = len(session.journal)
        self._is_whole = True

    def __bool__(self) -> bool:
        return bool(self.operations)

    @property
    def has_evictions(self) -> bool:
        """Whether any operation evicts."""
        return any(isinstance(operation, Eviction) for operation in self.operations)

    @property
    def victims(self) -> list[Task]:
        """The tasks that are evicted."""
        return [operation.task for operation in self.operations if isinstance(operation, Eviction)]

    def _open(self) -> int:
        journal = self.session.journal
        if not self.operations:
            self.session.open_statements.add(self)
            self.start = len(journal)
            self._is_whole = True
        elif len(journal) != self._end:
            self._is_whole = False
        return len(journal)

    def _close(self, operation: Operation) -> None:
        self.operations.append(operation)
        self._end = len(self.session.journal)

    def place(
        self, tasks: Sequence[Task], nodes: Sequence[Node], status: Status, *, eviction: bool = False
    ) -> str | None:
        """
        Put pending siblings on nodes.

        Returns None, or why an allocate handler refused; then nothing has changed.
        """
        mark = self._open()
        moves.place(self.session.cluster, tasks, nodes, status, self.session.journal)
        refusal = self.session.on_allocate(tasks, nodes)
        if refusal is not None:
            self.session.on_deallocate(tasks)
            self.session.journal.rollback(mark)
            verb = "pipeline" if status is Status.PIPELINED else "allocate"
            log.info("placement refused verb=%s task=%s node=%s why=%s", verb, tasks[0].key, nodes[0].name, refusal)
            return refusal
        for task in tasks:
            task.eviction = eviction
        self._close(Placement(tuple(tasks), tuple(nodes), status, eviction))
        return None

    def evict(self, task: Task, reason: str, beneficiary: str = "") -> None:
        """Make a task leave its node, because of `reason`."""
        self._open()
        before = task.status
        moves.restatus(self.session.cluster, (task,), Status.RELEASING, self.session.journal, in_kube=False)
        self.session.on_deallocate((task,))
        self._close(Eviction(task, before, reason, beneficiary))

    def discard(self) -> None:
        """Take everything back; tasks remember where the plan would have put them."""
        for operation in reversed(self.operations):
            if isinstance(operation, Placement):
                for task, node in zip(operation.tasks, operation.nodes, strict=True):
                    task.transaction = Transaction(operation.status, node.name, eviction=operation.eviction)
                self.session.discarded += operation.tasks
        if self._is_whole and len(self.session.journal) == self._end:
            for operation in reversed(self.operations):
                self._tell_handlers(operation)
            self.session.journal.rollback(self.start)
        else:
            for operation in reversed(self.operations):
                self.session.take_back(operation)
        self._finish()

    def _finish(self) -> None:
        self.operations.clear()
        self.session.finished(self)

    def _tell_handlers(self, operation: Operation) -> None:
        # Ledgers are restored by the journal; handlers with state of their own take it back here.
        if isinstance(operation, Placement):
            self.session.on_deallocate(operation.tasks)
        else:
            self.session.on_allocate((operation.task,), nodes_of((operation.task,)))

    def commit(self) -> None:
        """Make the plan final: binds and evictions become decisions, pipelined tasks keep their place for the session."""
        session = self.session
        group = session.next_group()
        for operation in self.operations:
            if isinstance(operation, Eviction):
                job = session.cluster.jobs.get(operation.task.job)
                pod_group = job.pod_group if job is not None else None
                session.decide(Evict(operation.task, operation.reason, operation.beneficiary, group, pod_group))
                continue
            for task in operation.tasks:
                task.transaction = None
            if operation.status is Status.ALLOCATED:
                moves.restatus(session.cluster, operation.tasks, Status.BINDING, session.journal)
                placed = zip(operation.tasks, operation.nodes, strict=True)
                session.decisions += [Bind(task, node.name, group) for task, node in placed]
            else:
                session.kept.append(operation)
        self._finish()

    def keep(self) -> None:
        """Leave the plan in effect for the rest of the session, uncommitted: its room counts as taken."""
        self.session.kept += self.operations
        self._finish()

    def save(self) -> tuple[Operation, ...]:
        """The operations as they are, to be applied again after a discard."""
        return tuple(self.operations)

    def recover(self, saved: Iterable[Operation]) -> str | None:
        """
        Apply saved operations again.

        Returns None, or why one was refused; those before it stay applied and recorded.
        """
        for operation in saved:
            if isinstance(operation, Placement):
                refusal = self.place(operation.tasks, operation.nodes, operation.status, eviction=operation.eviction)
                if refusal is not None:
                    return refusal
            else:
                self.evict(operation.task, operation.reason, operation.beneficiary)
        return None

    def merge(self, other: Statement) -> None:
        """Take over another statement's operations, which follow this one's; the other is empty afterwards."""
        if not other.operations:
            return
        if not self.operations:
            self.start, self._is_whole = other.start, other._is_whole
        elif other.start != self._end:
            self._is_whole = False
        self._is_whole &= other._is_whole
        self.operations += other.operations
        self._end = other._end
        self.session.open_statements.add(self)
        other._finish()
