"""
Places jobs that take turns in one go: first whose turn it is, then where each task goes, then the books.

With fair shares between jobs nearly every placement gives the turn to another one. Going through the visits one by
one would cost a hundred times the placement itself. The decisions are those of the visits, each a commit of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from scheduler.contract.decisions import Bind
from scheduler.placing.mixedrun import MixedRun, States
from scheduler.placing.turns import Part, QueueTurns, is_whole, merged
from scheduler.state import moves
from scheduler.state.status import Status

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scheduler.fairness.ordering import RankedQueue
    from scheduler.session import Session
    from scheduler.state.job import Job
    from scheduler.state.queue import Queue
    from scheduler.state.task import Task
    from scheduler.topology.worksheet import Worksheet

Waiting = Callable[[str], "RankedQueue[Job] | None"]

_FIRST, _MOST = 256, 8192
"""Turns planned at once: at first, and where all went well so far. In between the time is looked at."""
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
        sequence = merged(turns)
        chosen: list[int] = []
        if len(sequence) >= _WORTHWHILE:
            chosen = MixedRun(self.states).place([part.template for part in sequence])
        self._learn(len(chosen))
        if not chosen:
            return False
        self._book(sequence[: len(chosen)], chosen)
        for each in turns:
            waiting = waiting_of(each.queue.name)
            assert waiting is not None
            waiting.refill(job for job in waiting.items() if self.worksheets.get(job.id))
        queues.refill(queues.items())
        return True

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

    def _learn(self, placed: int) -> None:
        """Planning for little isn't worth its time: then the next visits are left alone, more each time."""
        self._pause = min(_MAX_REST, 2 * self._pause or 1) if placed < _WORTHWHILE else 0
        self._rest = self._pause
        self._size = min(_MOST, max(_FIRST, 4 * placed))

    def _turns(self, queues: RankedQueue[Queue], waiting_of: Waiting) -> Sequence[QueueTurns]:
        cluster = self.session.cluster
        if not is_whole(cluster.columns.dynamic):
            return ()
        several = list(queues.items())
        limit = max(_LEAST, self._size // len(several))
        found: list[QueueTurns] = []
        for queue in several:
            waiting = waiting_of(queue.name)
            if waiting is not None and not waiting:
                continue
            if waiting is None or not is_whole(queue.account):
                return ()
            found.append(QueueTurns(self.session, queue, waiting, self._sheet_of, self._may_go, limit=limit))
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

    def _book(self, sequence: Sequence[Part], rows: Sequence[int]) -> None:
        """Enter the placements as if each had been committed in its turn."""
        session, nodes = self.session, self.session.nodes
        for part, row in zip(sequence, rows, strict=True):
            task = part.tasks[len(part.rows)]
            part.rows.append(row)
            session.decide(Bind(task, nodes[row].name, session.next_group()))
        for part in dict.fromkeys(sequence):
            tasks = part.tasks[: len(part.rows)]
            moves.place(session.cluster, tasks, [nodes[row] for row in part.rows], Status.ALLOCATED, session.journal)
            moves.restatus(session.cluster, tasks, Status.BINDING, session.journal)
            for task in tasks:
                task.eviction, task.transaction = False, None
            self.worksheets[part.job.id].skip(len(tasks))
        session.settle_journal()
