"""backfill: places the pods that ask for nothing, wherever a filter lets them (scheduler.md 11.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scheduler.fiterrors import everywhere
from scheduler.placement import choose

if TYPE_CHECKING:
    from scheduler.session import Session
    from scheduler.state.job import Job
    from scheduler.state.task import Task


def backfill(session: Session) -> None:
    """Queue by queue and job by job; a job's plan is committed once the job is ready."""
    for job in _jobs(session):
        if session.expired():
            return
        statement = session.statement()
        for task in session.sorted_tasks([task for task in job.pending.values() if _is_ours(task)]):
            reason = session.pre_predicate(task)
            if reason is not None:
                session.set_fit_error(task, everywhere(reason, len(session.nodes)))
                continue
            template = session.template(task)
            choice = choose(template, (task,), loose=session.loose)
            if not choice.rows:
                session.set_fit_error(task, session.examine(template, task))
                continue
            statement.place((task,), [session.nodes[choice.rows[0]]], choice.status)
        if session.job_ready(job):
            statement.commit()
        else:
            statement.keep()


def _is_ours(task: Task) -> bool:
    return task.is_best_effort and not task.is_gated


def _jobs(session: Session) -> list[Job]:
    jobs = [
        job
        for job in session.open_jobs()
        if job.pending_for_free and not session.is_pending(job) and session.job_valid(job) is None
    ]
    queues = session.queue_ranking().sorted({job.queue: session.queue_of(job) for job in jobs}.values())
    place = {queue.name: number for number, queue in enumerate(queues)}
    ranked = session.job_ranking().sorted(jobs)
    return sorted(ranked, key=lambda job: place[job.queue])
