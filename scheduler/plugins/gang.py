"""gang: a job is placed as a whole, by its minimum and by the minimums of its roles (plugins.md 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scheduler.plugin import Plugin
from scheduler.registration import PERMIT, REJECT

if TYPE_CHECKING:
    from scheduler.session import Session
    from scheduler.state.job import Job


@dataclass(frozen=True, slots=True)
class Invalid:
    """Why a job may not be scheduled at all."""

    reason: str
    message: str


class Gang(Plugin):
    """Validity, readiness and order of gangs."""

    name = "gang"
    outlives_session = True

    def on_session_open(self, session: Session) -> None:
        """Register the questions that a gang answers."""
        session.add_job_valid(self.name, validate)
        # A job that is whole stays so, whatever more of it is placed.
        session.add_job_order(self.name, key=is_ready, steady=is_ready)
        session.add_job_ready(self.name, is_ready, deficit=_deficit)
        session.add_job_pipelined(self.name, _vote_pipelined)
        session.add_job_starving(self.name, _is_starving)


def validate(job: Job) -> Invalid | None:
    """Whether a job has enough pods to become whole."""
    if not job.roles_valid():
        return Invalid("NotEnoughPodsOfTask", "Not enough valid pods of each task for gang-scheduling")
    if job.valid_count < job.min_available:
        return Invalid(
            "NotEnoughTasks",
            f"Not enough valid tasks for gang-scheduling, valid: {job.valid_count}, min: {job.min_available}",
        )
    return None


def is_ready(job: Job) -> bool:
    """Whether every minimum stands."""
    return job.is_ready() and job.roles_ready()


def _deficit(job: Job) -> int:
    return job.ready_deficit()


def _vote_pipelined(job: Job) -> int:
    return PERMIT if job.is_pipelined() and job.roles_pipelined() else REJECT


def _is_starving(job: Job) -> bool:
    return job.is_starving()
