"""shuffle: evicts the running pods that plugins want moved, whoever may take their room (scheduler.md 11.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scheduler.contract.contexts import Kind
from scheduler.state.status import Status

if TYPE_CHECKING:
    from scheduler.session import Session


def shuffle(session: Session) -> None:
    """Ask the plugins about all running pods of jobs that take part, and evict those that they name."""
    jobs = session.cluster.jobs
    running = [
        task
        for job_id in sorted(jobs)
        if jobs[job_id].counts[Status.RUNNING] and session.takes_part(jobs[job_id])
        for task in session.sorted_tasks(list(jobs[job_id].tasks.values()))
        if task.status is Status.RUNNING
    ]
    if not running:
        return
    victims = session.victim_tasks(running)
    statement = session.statement()
    for task in victims:
        statement.evict(task, Kind.SHUFFLE.value)
    statement.commit()
