"""
Jobs that wait in vain and are passed over, as long as nothing changes that could help them or what they were told.

A job sleeps when each of its pods was tried in vain: no node would take it, or its queue would not. Then its pods only
wait for their templates: whether some node takes one, or the queue does, is asked once a template. A visit would decide
nothing and say the same again; waking a job is always right, and costs a visit.

Within a cycle a queue that refuses a pod does so to the end: what the action places takes room of queues and gives none.

What a job is told while it sleeps is what the nodes say at the beginning of a cycle. Room that others are promised in
the course of one, until pods have left, doesn't count there.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from scheduler.contract.points import Point
from scheduler.gates import asks_for_admission
from scheduler.placing.fiterrors import FitErrors
from scheduler.placing.verdicts import Verdicts
from scheduler.placing.waiting import Waiting
from scheduler.state.status import Status

if TYPE_CHECKING:
    from scheduler.placing.signature import Signatures
    from scheduler.placing.template import Template
    from scheduler.session import Session
    from scheduler.state.job import Job
    from scheduler.state.queue import Queue
    from scheduler.state.task import Task

_MIN_FOLLOWED, _FOLLOWED_CELLS = 64, 2_560_000
"""How many templates are followed: at least, and in numbers a node times templates (8 bytes each)."""

Errors = dict[str, FitErrors]
"""Why pods of a job found no node, by uid."""


class _Wait(msgspec.Struct):
    template: Template
    task: Task
    """One that waits for it: what the queue says of it, it says of all."""
    told: FitErrors | None
    """None when no pod of this template was tried."""
    behind_queue: bool
    """Whether the queue is what it waits for; what nodes say doesn't matter then."""


class _Group(msgspec.Struct):
    """Jobs of one queue that wait for the same templates and were told the same."""

    queue: str
    waits: tuple[_Wait, ...]
    since: float
    """When they were told so, in unix seconds."""
    jobs: dict[str, Errors] = msgspec.field(default_factory=dict)


class Dormancy(Waiting[_Group]):
    """The jobs that sleep, for one cluster and one loaded configuration."""

    def __init__(self) -> None:
        super().__init__()
        self._verdicts: dict[Template, Verdicts] = {}
        self._signatures: Signatures | None = None
        self._extent: Hashable = None

    def errors(self) -> Iterator[tuple[str, Errors]]:
        """What each job that sleeps was told of its pods, by id."""
        return ((job_id, errors) for group in self._groups.values() for job_id, errors in group.jobs.items())

    def clear(self) -> None:
        """All are to be visited again."""
        super().clear()
        self._verdicts = {}

    # Waking.

    def begin(self, session: Session) -> None:
        """Wake the jobs for which something changed, all of them where jobs may not sleep in this session."""
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
        for verdicts in self._verdicts.values():
            verdicts.refresh()
        self.wake([job_id for group in self._groups.values() if self._stirs(session, group) for job_id in group.jobs])

    def _stirs(self, session: Session, group: _Group) -> bool:
        queue = session.cluster.queues.get(group.queue)
        if queue is None or queue.object is None:
            return True
        is_news = False
        for wait in group.waits:
            task = _example(session, group, wait)
            if task is None or session.holds_back(queue, task) is not wait.behind_queue:
                return True
            errors = self._present(session, queue, wait, task)
            if errors is None:
                return True
            if wait.told is not None and wait.told != errors:
                if not wait.told.is_kin(errors):
                    return True
                is_news = True
        return is_news and not self._may_wait(group, session.now)

    def _present(self, session: Session, queue: Queue, wait: _Wait, task: Task) -> FitErrors | None:
        """What would be told now of a pod that waits; None when some node could take it."""
        if wait.behind_queue:
            return FitErrors(base=session.queue_message(queue, task))
        verdicts = self._verdicts[wait.template]
        return None if verdicts.any_free or verdicts.are_lost else verdicts.errors

    # Falling asleep.

    def settle(self, session: Session, visited: Iterable[Job]) -> None:
        """Let those sleep for which the cycle could do nothing; call when it can do no more for any."""
        if not may_sleep(session):
            return
        for job in visited:
            if job.id not in self and _is_plain(session, job):
                self._add(session, job)
        used = {wait.template for group in self._groups.values() for wait in group.waits}
        for template in self._verdicts.keys() - used:
            del self._verdicts[template]

    def _add(self, session: Session, job: Job) -> None:
        """Take a job in, unless its queue and some node would take a pod of it."""
        queue, errors = session.queue_of(job), session.fit_errors[job.id]
        waits: dict[Template, _Wait] = {}
        for task in job.pending.values():
            template, error = session.template(task), errors.get(task.uid)
            known = waits.get(template)
            if known is None:
                behind_queue = session.holds_back(queue, task)
                if not behind_queue and not self._is_hopeless(session, template):
                    return
                known = waits[template] = _Wait(template, task, None, behind_queue)
            # Of one that its queue let pass, what has a base is not what nodes said.
            if known.told is None and error is not None and (known.behind_queue or not error.base):
                known.told = error
        key = (job.queue, tuple((wait.template, str(wait.told)) for wait in waits.values()))
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = _Group(job.queue, tuple(waits.values()), session.now)
        group.since = min(group.since, session.now)
        self._join(key, job.id, errors)

    def _is_hopeless(self, session: Session, template: Template) -> bool:
        verdicts = self._verdicts.get(template)
        if verdicts is None:
            most = max(_MIN_FOLLOWED, _FOLLOWED_CELLS // max(1, len(session.nodes)))
            if len(self._verdicts) >= most or not Verdicts.can_follow(template):
                return False
            template.refresh()
            if (template.passes & template.fits_future).any():
                # The usual case of a gang for which there is some room, but not enough: not worth following.
                return False
            verdicts = self._verdicts[template] = Verdicts(template)
        verdicts.refresh()
        return not verdicts.any_free and not verdicts.are_lost


def _example(session: Session, group: _Group, wait: _Wait) -> Task | None:
    """A task of the group that waits for a template now."""
    if wait.task.job not in group.jobs or session.cluster.tasks.get(wait.task.uid) is not wait.task:
        job = session.job(next(iter(group.jobs)))
        waiting = job.pending.values() if job is not None else ()
        found = next((task for task in waiting if session.template(task) is wait.template), None)
        if found is None:
            return None
        wait.task = found
    return wait.task


def may_sleep(session: Session) -> bool:
    """
    Whether jobs may sleep at all.

    Not where a function must be asked for each single task, where a plugin may answer differently without a change,
    where each search for nodes begins where the last one ended, or while room is promised to some jobs and held back
    from others.
    """
    return (
        session.loose is None
        and not session.asks_each_task
        and session.memory.sampling is None
        and not len(session.nominations)
        and not restless(session)
    )


def keepers(session: Session) -> list[tuple[str, str]]:
    """The plugins that keep every job from sleeping, each with why, for those who ask what makes cycles long."""
    found = [(name, "its class does not say lets_jobs_sleep") for name in restless(session)]
    found += [(name, "it is asked before each pod") for name, _ in session.points.named(Point.PRE_PREDICATE)]
    if session.loose is not None:
        functions = {(each.plugin, each.name) for each in session.loose.filters}
        functions |= {(each.plugin, each.name) for each in session.loose.scores}
        found += [(plugin, f"{name} declares nothing of what it reads") for plugin, name in sorted(functions)]
        found += [(name, "it picks the node of each pod") for name, _ in session.points.named(Point.BEST_NODE)]
    return found


def restless(session: Session) -> list[str]:
    """The plugins because of which every waiting job is visited in every cycle: those whose class doesn't say otherwise."""
    return [plugin.name for plugin in session.plugins if not vars(type(plugin)).get("lets_jobs_sleep", False)]


def _is_plain(session: Session, job: Job) -> bool:
    """Whether nothing but nodes without room keeps a job's pods back, and it holds nothing and plans nothing."""
    counts = job.counts
    return (
        job.id in session.fit_errors
        and bool(job.pending)
        and job.id not in session.job_messages
        and job.grouping is None
        and not counts[Status.PIPELINED]
        and not counts[Status.ALLOCATED]
        and not job.pending_for_free
        and not job.claimed.any()
        and all(_is_plain_task(session, task) for task in job.pending.values())
    )


def _is_plain_task(session: Session, task: Task) -> bool:
    names_a_node = task.nominated or (task.pod is not None and task.pod.status.nominated_node_name)
    is_let_in = session.gates.is_on and asks_for_admission(task)
    return not (task.is_gated or is_let_in or task.shape.claims or names_a_node or task.transaction is not None)
