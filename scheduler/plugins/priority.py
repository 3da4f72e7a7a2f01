"""priority: higher priority first, for jobs and for the tasks of one job (plugins.md 3)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from scheduler.contract.arguments import Declared
from scheduler.contract.contexts import Kind
from scheduler.fairness.ordering import always
from scheduler.plugin import Plugin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scheduler.contract.contexts import EvictionContext
    from scheduler.session import Session
    from scheduler.state.job import Job
    from scheduler.state.subjob import SubJob
    from scheduler.state.task import Task


class Priority(Plugin):
    """Orders, and which jobs starve."""

    name = "priority"
    outlives_session = True
    lets_jobs_sleep = True
    declares: ClassVar[Declared] = {}

    def on_session_open(self, session: Session) -> None:
        """Register the orders as keys."""
        session.add_task_order(self.name, key=_task_key)
        session.add_job_order(self.name, key=_job_key, steady=always)
        session.add_sub_job_order(self.name, key=_sub_job_key)
        session.add_job_starving(self.name, _is_starving)
        session.add_preemptable(self.name, partial(_lower, session), jobs=partial(_may_lose, session))
        session.add_unified_evictable(self.name, partial(_lower_jobs, session))


def _task_key(task: Task) -> int:
    return -task.priority


def _job_key(job: Job) -> int:
    return -job.priority


def _sub_job_key(sub_job: SubJob) -> int:
    return -sub_job.priority


def _is_starving(job: Job) -> bool:
    return job.ready_count + job.waiting_count < len(job.tasks)


def _lower(session: Session, preemptor: Task, candidates: Sequence[Task]) -> list[Task]:
    """Tasks of jobs with a lower priority; within the preemptor's own job, tasks with a lower one."""
    own = session.job(preemptor.job)
    if own is None:
        return []
    return [
        task
        for task in candidates
        if (job := session.job(task.job)) is not None
        and (task.priority < preemptor.priority if job is own else job.priority < own.priority)
    ]


def _may_lose(session: Session, preemptor: Task, job: Job) -> bool:
    """Whether any task of a job may be named by `_lower`."""
    own = session.job(preemptor.job)
    return own is not None and (job is own or job.priority < own.priority)


def _lower_jobs(session: Session, context: EvictionContext, candidates: Sequence[Task]) -> Sequence[Task]:
    """For a gang of the same queue tasks of jobs with a lower priority; between queues priority doesn't count."""
    if context.kind is Kind.GANG_RECLAIM:
        return candidates
    return [
        task
        for task in candidates
        if (job := session.job(task.job)) is not None and job.priority < context.job.priority
    ]
