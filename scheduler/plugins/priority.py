"""priority: higher priority first, for jobs and for the tasks of one job (plugins.md 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scheduler.ordering import always
from scheduler.plugin import Plugin

if TYPE_CHECKING:
    from scheduler.session import Session
    from scheduler.state.job import Job
    from scheduler.state.task import Task


class Priority(Plugin):
    """Orders, and which jobs starve."""

    name = "priority"
    outlives_session = True

    def on_session_open(self, session: Session) -> None:
        """Register the orders as keys."""
        session.add_task_order(self.name, key=_task_key)
        session.add_job_order(self.name, key=_job_key, steady=always)
        session.add_job_starving(self.name, _is_starving)


def _task_key(task: Task) -> int:
    return -task.priority


def _job_key(job: Job) -> int:
    return -job.priority


def _is_starving(job: Job) -> bool:
    return job.ready_count + job.waiting_count < len(job.tasks)
