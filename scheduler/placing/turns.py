"""
The turns of jobs that alternate, known before any of them is placed.

Which job comes next depends on what jobs and queues hold, not on the nodes that it goes to. So where every order in use
can say its keys ahead, the sequence of tasks follows from the requests alone, as long as each finds a node.
"""

from __future__ import annotations

import heapq
from collections import Counter
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
"""Tasks of a job that are looked at together, at first."""


class Part:
    """Identical tasks of a job that follow each other. `keys[i]` is the job's rank once `i` of them are placed."""

    __slots__ = ("booked", "job", "keys", "planned", "request", "rows", "tasks", "template")

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
        self.booked = 0
        """How many of these are entered in the state."""


class _Line:
    """What one job has to place, part by part: each twice as long as the one before, since the last may be in vain."""

    def __init__(self, sheet: Worksheet, ranking: Ranking[Job]) -> None:
        self.sheet = sheet
        self.ranking = ranking
        self.held = sheet.job.claimed
        self.part: Part | None = None
        self._length = _LEAST_PART

    def next(self, session: Session, may_go: Callable[[Task], bool]) -> Part | None:
        """The part that follows, None where the next task must be looked at by itself."""
        task = self.sheet.peek(1)[0]
        if task.nominated or task.is_gated or not may_go(task):
            return None
        template = session.template(task)
        request = task.request.row(session.cluster.dimensions)
        if not template.is_near or not is_whole(request):
            return None
        part = Part(self.sheet.job, self.sheet.run(session, self._length), template, request)
        held = self.held + np.arange(len(part.tasks) + 1)[:, None] * request
        keys = self.ranking.keys_ahead(part.job, held)
        if keys is None:
            return None
        part.keys, self.held, self.part = keys, held[-1], part
        self.sheet.skip(len(part.tasks))
        self._length *= 2
        return part


class QueueTurns:
    """
    The turns of one queue's jobs in their order, planned as far as somebody wants to know them.

    `sheet_of` gives a copy of what a job may place. Until `book` is called, the state is that of the beginning.
    """

    def __init__(
        self,
        session: Session,
        queue: Queue,
        jobs: RankedQueue[Job],
        sheet_of: Callable[[Job], Worksheet | None],
        may_go: Callable[[Task], bool],
    ) -> None:
        self.queue = queue
        self.sequence: list[Part] = []
        """The turns that lie ahead."""
        self.parts: list[Part] = []
        """What is planned and not booked."""
        self._session = session
        self._ranking = jobs.ranking
        self._sheet_of = sheet_of
        self._may_go = may_go
        # The end of a key tells jobs apart, so it serves as their name, and the bare keys as a heap.
        entries = jobs.entries() if jobs.ranking.is_keyed else []
        self._heap = [key for key, _, _ in entries]
        self._job_of = {key[-1]: job for key, _, job in entries}
        self._lines: dict[Any, _Line] = {}
        self._is_stuck = not self._heap or len(self._job_of) < len(self._heap)
        self._asked: Floats = np.zeros((0, len(queue.claimed)))
        """The requests of all turns since the state was brought up to date: those taken, then those that lie ahead."""

    @property
    def is_over(self) -> bool:
        """Whether no job has anything left after these turns."""
        return not self._heap and not self._is_stuck

    def plan(self, number: int) -> None:
        """See to it that so many turns lie ahead, as far as they are known."""
        first = len(self.sequence)
        if not self._is_stuck and first < number:
            self._is_stuck = not self._extend(number)
            self._cut(first)

    def _extend(self, number: int) -> bool:
        """Whether all that was to be known is."""
        heap, lines, sequence = self._heap, self._lines, self.sequence
        while heap and len(sequence) < number:
            line = lines.get(heap[0][-1]) or self._line(heap[0][-1])
            if line is None:
                return False
            part = line.part
            if part is None or part.planned == len(part.tasks):
                part = line.next(self._session, self._may_go)
                if part is None:
                    return False
                self.parts.append(part)
            sequence.append(part)
            part.planned += 1
            if part.planned == len(part.tasks) and not line.sheet:
                heapq.heappop(heap)
            else:
                heapq.heapreplace(heap, part.keys[part.planned])
        return True

    def _line(self, name: Any) -> _Line | None:
        sheet = self._sheet_of(self._job_of[name])
        if sheet is None:
            return None
        line = self._lines[name] = _Line(sheet, self._ranking)
        return line

    def _cut(self, first: int) -> None:
        """Leave out those turns, from the first new one on, that the queue has no room for."""
        before = len(self._asked)
        self._asked = np.concatenate((self._asked, self._requests(self.sequence[first:])))
        taken = max(before, self._session.queue_stretch(self.queue, self._asked))
        if taken < len(self._asked):
            self._is_stuck = True
            del self.sequence[first + taken - before :]
            self._asked = self._asked[:taken]

    def _requests(self, sequence: Sequence[Part]) -> Floats:
        number_of = {part: number for number, part in enumerate(dict.fromkeys(sequence))}
        rows = np.array([part.request for part in number_of]).reshape(-1, self._asked.shape[1])
        requests: Floats = rows[np.fromiter(map(number_of.__getitem__, sequence), dtype=np.intp, count=len(sequence))]
        return requests

    def keys(self) -> list[Any] | None:
        """The queue's rank before each of its turns and after the last; None when it can't be told."""
        held = self.queue.claimed + np.cumsum(np.vstack((np.zeros(self._asked.shape[1]), self._asked)), axis=0)
        return self._session.queue_ranking().keys_ahead(self.queue, held[len(self._asked) - len(self.sequence) :])

    def take(self, number: int) -> None:
        """The first turns are placed."""
        del self.sequence[:number]

    def book(self) -> None:
        """What was placed is entered in the state."""
        self._asked = self._asked[len(self._asked) - len(self.sequence) :]
        self.parts = [part for part in self.parts if part.booked < len(part.tasks)]


def merged(turns: Sequence[QueueTurns]) -> list[Part]:
    """The turns of several queues in the order in which they come, as far as that is known."""
    if len(turns) == 1:
        return turns[0].sequence.copy()
    sequence: list[Part] = []
    keys = [found for each in turns if (found := each.keys()) is not None]
    if len(keys) < len(turns):
        return sequence
    heap = [(ranks[0], number, 0) for number, ranks in enumerate(keys)]
    heapq.heapify(heap)
    while heap:
        _, number, turn = heap[0]
        each = turns[number]
        if turn < len(each.sequence):
            sequence.append(each.sequence[turn])
            heapq.heapreplace(heap, (keys[number][turn + 1], number, turn + 1))
        elif each.is_over:
            heapq.heappop(heap)
        else:
            break
    return sequence


def take(turns: Sequence[QueueTurns], placed: Sequence[Part]) -> None:
    """These turns, the first of all, are placed."""
    if len(turns) == 1:
        turns[0].take(len(placed))
        return
    numbers = Counter(part.job.queue for part in placed)
    for each in turns:
        each.take(numbers[each.queue.name])


def is_whole(amounts: Floats) -> bool:
    """Whether all are whole numbers: sums of these are exact in whatever order."""
    return bool((amounts == np.rint(amounts)).all())
