"""
The turns of jobs that alternate, known before any of them is placed.

Which job comes next depends on what jobs and queues hold, not on the nodes that it goes to. So where every order in use
can say its keys ahead, the sequence of tasks follows from the requests alone, as long as each finds a node.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scheduler.fairness.ordering import RankedQueue, Ranking
    from scheduler.placing.template import Template
    from scheduler.session import Session
    from scheduler.state.dimensions import Floats
    from scheduler.state.job import Job
    from scheduler.state.queue import Queue
    from scheduler.state.task import Task
    from scheduler.topology.worksheet import Worksheet

_LEAST_PART = 8
"""Tasks of a job that are looked at together, at least."""


class Part:
    """Identical tasks of a job that follow each other. `keys[i]` is the job's rank once `i` of them are placed."""

    __slots__ = ("job", "keys", "planned", "request", "rows", "tasks", "template")

    def __init__(self, job: Job, tasks: Sequence[Task], template: Template, request: Floats) -> None:
        self.job = job
        self.tasks = tasks
        self.template = template
        self.request = request
        self.keys: list[Any] = []
        self.planned = 0
        """How many of the tasks have their turn in the plan."""
        self.rows: list[int] = []
        """The nodes of the first tasks, as they are found."""


class _Line:
    """What one job has to place, part by part."""

    def __init__(self, sheet: Worksheet, ranking: Ranking[Job]) -> None:
        self.sheet = sheet
        self.ranking = ranking
        self.held = sheet.job.claimed
        self.part: Part | None = None

    def next(self, session: Session, length: int, may_go: Callable[[Task], bool]) -> Part | None:
        """The part that follows, None where the next task must be looked at by itself."""
        task = self.sheet.peek(1)[0]
        if task.nominated or task.is_gated or not may_go(task):
            return None
        template = session.template(task)
        request = task.request.row(session.cluster.dimensions)
        if not template.is_near or not is_whole(request):
            return None
        part = Part(self.sheet.job, self.sheet.run(session, length), template, request)
        held = self.held + np.arange(len(part.tasks) + 1)[:, None] * request
        keys = self.ranking.keys_ahead(part.job, held)
        if keys is None:
            return None
        part.keys, self.held, self.part = keys, held[-1], part
        self.sheet.skip(len(part.tasks))
        return part


class QueueTurns:
    """The turns of one queue's jobs in their order, at most `limit`. `sheet_of` gives a copy of what a job may place."""

    def __init__(
        self,
        session: Session,
        queue: Queue,
        jobs: RankedQueue[Job],
        sheet_of: Callable[[Job], Worksheet | None],
        may_go: Callable[[Task], bool],
        *,
        limit: int,
    ) -> None:
        self.queue = queue
        self.sequence: list[Part] = []
        self.is_over = False
        """Whether no job has anything left after these turns."""
        self._plan(session, jobs, sheet_of, may_go, limit)
        self.keys = self._cut(session)
        """The queue's rank after each number of turns; None when it can't be told."""

    def _plan(
        self,
        session: Session,
        jobs: RankedQueue[Job],
        sheet_of: Callable[[Job], Worksheet | None],
        may_go: Callable[[Task], bool],
        limit: int,
    ) -> None:
        # The end of a key tells jobs apart, so it serves as their name, and the bare keys as a heap.
        ranking, entries = jobs.ranking, jobs.entries()
        if not ranking.is_keyed:
            return
        heap = [key for key, _, _ in entries]
        job_of = {key[-1]: job for key, _, job in entries}
        if len(job_of) < len(heap):
            return
        lines: dict[Any, _Line] = {}
        length = max(_LEAST_PART, 2 * limit // max(1, len(heap)))
        while heap and len(self.sequence) < limit:
            name = heap[0][-1]
            line = lines.get(name)
            if line is None:
                sheet = sheet_of(job_of[name])
                if sheet is None:
                    return
                line = lines[name] = _Line(sheet, ranking)
            part = line.part
            if part is None or part.planned == len(part.tasks):
                part = line.next(session, length, may_go)
                if part is None:
                    return
            self.sequence.append(part)
            part.planned += 1
            if part.planned == len(part.tasks) and not line.sheet:
                heapq.heappop(heap)
            else:
                heapq.heapreplace(heap, part.keys[part.planned])
        self.is_over = not heap

    def _cut(self, session: Session) -> list[Any] | None:
        """Leave out the turns that the queue has no room for."""
        requests = np.array([part.request for part in self.sequence]).reshape(-1, len(self.queue.claimed))
        taken = session.queue_stretch(self.queue, requests)
        if taken < len(self.sequence):
            self.is_over = False
            del self.sequence[taken:]
        held = np.vstack([self.queue.claimed, self.queue.claimed + np.cumsum(requests[:taken], axis=0)])
        return session.queue_ranking().keys_ahead(self.queue, held)


def merged(turns: Sequence[QueueTurns]) -> list[Part]:
    """The turns of several queues in the order in which they come, as far as that is known."""
    if len(turns) == 1:
        return turns[0].sequence
    sequence: list[Part] = []
    heap = [(each.keys[0], number, 0) for number, each in enumerate(turns) if each.keys is not None]
    if len(heap) < len(turns):
        return sequence
    heapq.heapify(heap)
    while heap:
        _, number, turn = heap[0]
        each = turns[number]
        if turn < len(each.sequence):
            assert each.keys is not None
            sequence.append(each.sequence[turn])
            heapq.heapreplace(heap, (each.keys[turn + 1], number, turn + 1))
        elif each.is_over:
            heapq.heappop(heap)
        else:
            break
    return sequence


def is_whole(amounts: Floats) -> bool:
    """Whether all are whole numbers: sums of these are exact in whatever order."""
    return bool((amounts == np.rint(amounts)).all())
