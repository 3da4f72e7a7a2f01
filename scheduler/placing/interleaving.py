"""
Places jobs that take turns in one go: first whose turn it is, then where each task goes, then the books.

With fair shares between jobs nearly every placement gives the turn to another one. Going through the visits one by
one would cost a hundred times the placement itself. The decisions are those of the visits, each a commit of its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING

from scheduler.contract.decisions import Bind
from scheduler.placing.mixedrun import MixedRun, States
from scheduler.placing.turns import Part, QueueTurns, is_whole, merged, take
from scheduler.state import moves
from scheduler.state.status import Status

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scheduler.fairness.ordering import RankedQueue
    from scheduler.placing.template import Template
    from scheduler.session import Session
    from scheduler.state.job import Job
    from scheduler.state.node import Node
    from scheduler.state.queue import Queue
    from scheduler.state.task import Task
    from scheduler.topology.worksheet import Worksheet

Waiting = Callable[[str], "RankedQueue[Job] | None"]

_FIRST, _MOST = 256, 8192
"""Turns looked at together: at first, and where all went well so far. In between the time is looked at."""
_LEAST = 64
"""Turns for each of several queues."""
_WORTHWHILE = 16
_MAX_REST = 64


class Interleaving:
    """
    Belongs to one run of allocate. `worksheets` are those of jobs that are placed whole or task by task anywhere.

    `has_failed(task)` says that a role is no longer tried.
    """

    def __init__(
        self, session: Session, worksheets: Mapping[str, Worksheet], has_failed: Callable[[Task], bool]
    ) -> None:
        self.session = session
        self.worksheets = worksheets
        self.has_failed = has_failed
        self.states = States(session.cluster)
        self._rest = self._pause = 0
        self._size = _FIRST
        self._is_possible = not (
            session.asks_each_task
            or session.handlers
            or session.loose is not None
            or session.memory.sampling is not None
            or len(session.nominations)
            # A mixed run knows one ranking of all nodes.
            or session.cluster.preferred is not None
        )

    def place(self, queues: RankedQueue[Queue], waiting_of: Waiting) -> bool:
        """
        Place as many tasks as have their turns now; whether there were any.

        `waiting_of(queue)` gives its waiting jobs, None where rank alone doesn't say which comes first. The queues and
        jobs are ranked anew afterwards.
        """
        if not self._is_possible or not self._is_due(queues, waiting_of):
            return False
        turns = self._turns(queues, waiting_of)
        try:
            placed = self._go(turns) if turns else 0
        finally:
            # Whatever happens, the state has to say what is decided.
            self._book(turns)
        self._pause = min(_MAX_REST, 2 * self._pause or 1) if placed < _WORTHWHILE else 0
        self._rest = self._pause
        if not placed:
            return False
        for each in turns:
            waiting = waiting_of(each.queue.name)
            assert waiting is not None
            waiting.refill(job for job in waiting.items() if self.worksheets.get(job.id))
        queues.refill(queues.items())
        return True

    def _go(self, turns: Sequence[QueueTurns]) -> int:
        """Place turn by turn, as long as turns are known and nodes are found; how many were placed."""
        run, is_new, placed = MixedRun(self.states), True, 0
        while True:
            coming = self._coming(turns)
            if len(coming) < (1 if placed else _WORTHWHILE):
                break
            chosen = run.place([part.template for part in coming])
            self._decide(coming, chosen)
            take(turns, coming[: len(chosen)])
            placed += len(chosen)
            self._size = min(_MOST, max(_FIRST, 4 * len(chosen)))
            if self.session.expired() or (is_new and len(chosen) < min(len(coming), _WORTHWHILE)):
                break
            is_new = run.is_over or run.is_large
            if is_new:
                # The next run looks at the nodes as they are.
                self._book(turns)
                run = MixedRun(self.states)
        return placed

    def _coming(self, turns: Sequence[QueueTurns]) -> Sequence[Part]:
        """The next turns, as many as are looked at together."""
        for each in turns:
            each.plan(max(_LEAST, self._size // len(turns)))
        return merged(turns)

    def _is_due(self, queues: RankedQueue[Queue], waiting_of: Waiting) -> bool:
        """Whether it looks as if jobs alternated."""
        if self._rest:
            self._rest -= 1
            return False
        waiting = waiting_of(queues.first().name)
        if not waiting or len(waiting) < 2:
            return False
        job = waiting.first()
        return self.session.job_ready(job) and not waiting.ranking.is_steady(job)

    def _turns(self, queues: RankedQueue[Queue], waiting_of: Waiting) -> Sequence[QueueTurns]:
        cluster = self.session.cluster
        if not is_whole(cluster.columns.dynamic):
            return ()
        found: list[QueueTurns] = []
        for queue in queues.items():
            waiting = waiting_of(queue.name)
            if waiting is not None and not waiting:
                continue
            if waiting is None or not is_whole(queue.account):
                return ()
            found.append(QueueTurns(self.session, queue, waiting, self._sheet_of, self._may_go))
        return found

    def _sheet_of(self, job: Job) -> Worksheet | None:
        """A copy of what a job has to place, if each of its visits places one task."""
        sheet, session = self.worksheets.get(job.id), self.session
        if not sheet or job.grouping is not None or not is_whole(job.account):
            return None
        if not session.job_ready(job) or session.ready_deficit(job) > 1:
            return None
        # What is found out about the sheet itself serves the copies of later plans, too.
        sheet.run(session, 1)
        return sheet.copy()

    def _may_go(self, task: Task) -> bool:
        return not self.has_failed(task)

    def _decide(self, sequence: Sequence[Part], rows: Sequence[int]) -> None:
        """Bind the first of these turns, each as a commit of its own."""
        session, nodes = self.session, self.session.nodes
        for part, row in zip(sequence, rows, strict=False):
            task = part.tasks[len(part.rows)]
            part.rows.append(row)
            session.decide(Bind(task, nodes[row].name, session.next_group()))

    def _book(self, turns: Sequence[QueueTurns]) -> None:
        """Enter in the state what was decided since the last time: siblings at once, since nobody looked meanwhile."""
        session, cluster = self.session, self.session.cluster
        siblings: dict[tuple[str, Template, str], tuple[list[Task], list[Node]]] = defaultdict(lambda: ([], []))
        for part in (part for each in turns for part in each.parts):
            tasks, nodes = siblings[part.job.id, part.template, part.tasks[0].role]
            tasks += part.tasks[part.booked : len(part.rows)]
            nodes += [session.nodes[row] for row in part.rows[part.booked :]]
            part.booked = len(part.rows)
        for (job, _, _), (tasks, nodes) in siblings.items():
            if tasks:
                moves.place(cluster, tasks, nodes, Status.ALLOCATED, session.journal)
                moves.restatus(cluster, tasks, Status.BINDING, session.journal)
                for task in tasks:
                    task.eviction, task.transaction = False, None
                self.worksheets[job].skip(len(tasks))
        session.settle_journal()
        for each in turns:
            each.book()
