"""
Jobs that wait in vain and are passed over, as long as nothing changes that could help them or what they were told.

A job sleeps when each of its pods was tried in vain: no node would take it, or its queue would not; and a gang also
when some would find a node, but all nodes together have no room for as many as it needs. Then its pods only wait for
their templates: whether some node takes one, how many all would take, or whether the queue does, is asked once a
template. A visit would decide nothing and say the same again; waking a job is always right, and costs a visit.

Within a cycle a queue that refuses a pod does so to the end: what the action places takes room of queues and gives none.

What a job is told while it sleeps is what the nodes say at the beginning of a cycle. Room that others are promised in
the course of one, until pods have left, doesn't count there. How far a gang would come counts as a number: like other
numbers it is told anew after half a minute, but that it would get anywhere no more is told at once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from enum import Enum
from typing import TYPE_CHECKING

from scheduler.placing.fills import Fill
from scheduler.placing.fiterrors import FitErrors, passed_over
from scheduler.placing.followed import Followed
from scheduler.placing.sleeping import is_plain, may_sleep
from scheduler.placing.waiting import Waiting
from scheduler.placing.waits import Cause, End, Errors, Group, Wait, example, is_said_of
from scheduler.state.status import Status

if TYPE_CHECKING:
    from scheduler.placing.signature import Signatures
    from scheduler.placing.template import Template
    from scheduler.placing.verdicts import Verdicts
    from scheduler.session import Session
    from scheduler.state.job import Job
    from scheduler.state.queue import Queue
    from scheduler.state.task import Task

_MANY = 1 << 40
"""More tasks than any queue takes."""


class _Stir(Enum):
    """What there is for a job that sleeps."""

    NOTHING = "nothing"
    ROOM = "room for as many pods as it needs"
    NEWS = "something else to do or to be told"


class Dormancy(Waiting[Group]):
    """The jobs that sleep, for one cluster and one loaded configuration."""

    def __init__(self) -> None:
        super().__init__()
        self._followed = Followed()
        self._signatures: Signatures | None = None
        self._extent: Hashable = None
        self._hopeful: dict[str, tuple[Group, Errors]] = {}
        """Jobs that were woken in this cycle because there is room, and what they were told before."""

    def errors(self) -> Iterator[tuple[str, Errors]]:
        """What each job that sleeps was told of its pods, by id."""
        return ((job_id, errors) for group in self._groups.values() for job_id, errors in group.jobs.items())

    def clear(self) -> None:
        """All are to be visited again."""
        super().clear()
        self._followed = Followed()
        self._hopeful = {}

    # Waking.

    def begin(self, session: Session) -> None:
        """Wake the jobs for which something changed, all of them where jobs may not sleep in this session."""
        self._hopeful = {}
        if not may_sleep(session):
            self.clear()
            return
        if session.signatures is not self._signatures:
            self.clear()
            self._signatures = session.signatures
        extent = session.cluster.sight.extent
        if extent != self._extent:
            # Pods that others begin to see are no longer like those that nobody looks at.
            self._extent = extent
            self.wake([job_id for job_id in self._group_of if not self._still_waits(session, job_id)])
        self._stir(session)

    def _still_waits(self, session: Session, job_id: str) -> bool:
        job = session.job(job_id)
        templates = {wait.template for wait in self._groups[self._group_of[job_id]].waits}
        return job is not None and all(session.template(task) in templates for task in job.pending.values())

    def _stir(self, session: Session) -> None:
        """Wake the jobs that some node could take, or that are to be told something else."""
        self._due = None
        self._followed.refresh()
        for group in list(self._groups.values()):
            found = self._stirs(session, group)
            if found is _Stir.ROOM:
                self._hopeful |= {job_id: (group, errors) for job_id, errors in group.jobs.items()}
            if found is not _Stir.NOTHING:
                self.wake(list(group.jobs))

    def doze_off(self, session: Session, job: Job) -> bool:
        """Whether a job whose turn it is sleeps on: it was woken for room that others have taken meanwhile."""
        group, errors = self._hopeful.pop(job.id, (None, {}))
        if group is None:
            return False
        key = group.key
        self._groups.setdefault(key, group)
        self._join(key, job.id, errors)
        for wait in group.waits:
            if wait.cause is not Cause.QUEUE:
                self._followed_by(wait).refresh()
        self._followed.look()
        if self._stirs(session, self._groups[key]) is _Stir.NOTHING:
            return True
        self.wake((job.id,))
        return False

    def _stirs(self, session: Session, group: Group) -> _Stir:
        queue = session.cluster.queues.get(group.queue)
        if queue is None or queue.object is None:
            return _Stir.NEWS
        room, is_kin, is_same = 0.0, True, True
        for wait in group.waits:
            task = example(session, group, wait)
            if task is None or session.holds_back(queue, task) is not (wait.cause is Cause.QUEUE):
                return _Stir.NEWS
            end = self._end(session, queue, wait, task)
            if end is None:
                return _Stir.NEWS
            room += end.room
            is_kin = is_kin and end.is_kin(wait)
            is_same = is_same and end.is_same(wait)
        if room >= group.needed:
            return _Stir.ROOM
        return _Stir.NOTHING if is_kin and (is_same or self._may_wait(group, session.now)) else _Stir.NEWS

    def _end(self, session: Session, queue: Queue, wait: Wait, task: Task) -> End | None:
        """Where a plan for pods that wait would end now; None when that isn't known ahead, or they wait for it no more."""
        if wait.cause is Cause.QUEUE:
            return End(FitErrors(base=session.queue_message(queue, task)))
        verdicts = self._followed_by(wait)
        if verdicts.any_free or verdicts.are_lost:
            return None
        if not isinstance(verdicts, Fill):
            return End(verdicts.errors)
        end, scene = session.queue_end(queue, task, _MANY), self._followed.scene
        if end is None or scene is None:
            return None
        taken, reason = end
        errors = FitErrors(base=reason) if reason and taken <= verdicts.room else verdicts.errors
        return End(errors, min(wait.count, taken, verdicts.room), verdicts.room_now, (scene.version, end))

    def _followed_by(self, wait: Wait) -> Verdicts:
        followed = self._followed
        return followed.fill(wait.template) if wait.cause is Cause.ROOM else followed.verdicts(wait.template)

    # Falling asleep.

    def settle(self, session: Session, visited: Iterable[Job], began: int, *, is_quiet: bool) -> None:
        """
        Let those sleep for which the cycle could do nothing; call when it can do no more for any.

        `began`: how many tasks plans had discarded before the visits; what these found out is told beside what visits did.
        `is_quiet`: all is as it was at the visits, since nobody got or was promised anything.
        """
        if not may_sleep(session):
            return
        tried = {task.job for task in session.discarded[:began]}
        for job in visited:
            if job.id not in self and job.id not in tried and is_plain(session, job):
                self._add(session, job, is_quiet=is_quiet)
        self._followed.keep(
            {(wait.template, wait.cause is Cause.ROOM) for group in self._groups.values() for wait in group.waits}
        )

    def _add(self, session: Session, job: Job, *, is_quiet: bool) -> None:
        """Take a job in, unless its queue and the nodes would take as many of its pods as it needs."""
        queue, errors = session.queue_of(job), session.fit_errors[job.id]
        waits: dict[Template, Wait] = {}
        for task in job.pending.values():
            template, error = session.template(task), errors.get(task.uid)
            wait = waits.get(template)
            if wait is None:
                found = self._wait(session, queue, task, template)
                if found is None:
                    return
                wait = waits[template] = found
            if task.transaction is not None:
                if wait.cause is not Cause.ROOM:
                    return  # others took its place meanwhile
                wait.placed += 1
                wait.placed_now += task.transaction.status is Status.ALLOCATED
            wait.count += 1
            if wait.told is None and error is not None and is_said_of(wait, error) and error != passed_over(task):
                wait.told = error
        needed = session.ready_deficit(job)
        if is_quiet:
            self._followed.look()
            for wait in waits.values():
                wait.then = self._end(session, queue, wait, wait.task)
        group = Group(job.queue, tuple(waits.values()), needed, session.now, {job.id: errors})
        key = group.key
        if key in self._groups or self._stirs(session, group) is _Stir.NOTHING:
            self._groups.setdefault(key, group)
            self._join(key, job.id, errors)

    def _wait(self, session: Session, queue: Queue, task: Task, template: Template) -> Wait | None:
        """What the tasks of a template wait for; None when they might be placed, for all that is known."""
        if session.holds_back(queue, task):
            return Wait(template, task, Cause.QUEUE)
        if self._followed.follow(template) is not None:
            return Wait(template, task, Cause.NODE)
        return None if self._followed.follow_fill(template) is None else Wait(template, task, Cause.ROOM)
