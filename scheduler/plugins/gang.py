"""gang: a job is placed as a whole, by its minimum and by the minimums of its roles (plugins.md 2)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

import msgspec

from scheduler.contract.arguments import Declared
from scheduler.contract.registration import PERMIT, REJECT
from scheduler.plugin import Plugin
from scheduler.state.status import Status
from scheduler.state.subjob import SubJob, sub_groups_pipelined, sub_groups_ready, sub_groups_valid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scheduler.contract.contexts import EvictionContext
    from scheduler.session import Session
    from scheduler.state.job import Job
    from scheduler.state.task import Task


class Invalid(msgspec.Struct, frozen=True):
    """Why a job may not be scheduled at all."""

    reason: str
    message: str


class Gang(Plugin):
    """Validity, readiness and order of gangs."""

    name = "gang"
    outlives_session = True
    lets_jobs_sleep = True
    declares: ClassVar[Declared] = {}

    def on_session_open(self, session: Session) -> None:
        """Register the questions that a gang answers."""
        session.add_job_valid(self.name, validate)
        # A job that is whole stays so, whatever more of it is placed.
        session.add_job_order(self.name, key=_rank, steady=is_ready)
        session.add_job_ready(self.name, is_ready, deficit=_deficit)
        session.add_job_pipelined(self.name, _vote_pipelined)
        session.add_job_starving(self.name, _is_starving)
        session.add_sub_job_order(self.name, key=SubJob.is_ready)
        session.add_sub_job_ready(self.name, SubJob.is_ready)
        session.add_sub_job_pipelined(self.name, _vote_sub_job_pipelined)
        session.add_preemptable(self.name, partial(_surplus, session), jobs=_has_surplus)
        session.add_reclaimable(self.name, partial(_surplus, session), jobs=_has_surplus)
        session.add_unified_evictable(self.name, _anybody)


def validate(job: Job) -> Invalid | None:
    """Whether a job has enough pods to become whole."""
    if not job.roles_valid():
        return Invalid("NotEnoughPodsOfTask", "Not enough valid pods of each task for gang-scheduling")
    if not sub_groups_valid(job):
        return Invalid("NotEnoughPodsOfTask", "Not enough valid subGroups of each task for gang-scheduling")
    if job.valid_count < job.min_available:
        return Invalid(
            "NotEnoughTasks",
            f"Not enough valid tasks for gang-scheduling, valid: {job.valid_count}, min: {job.min_available}",
        )
    return None


def is_ready(job: Job) -> bool:
    """Whether every minimum stands."""
    return job.is_ready() and job.roles_ready() and sub_groups_ready(job)


def _rank(job: Job) -> tuple[bool, bool]:
    """Gangs that are not whole come first; of these such as have lost pods, since what is left of them runs for nothing."""
    whole = is_ready(job)
    return whole, whole or not (job.counts[Status.RUNNING] or job.counts[Status.BOUND])


def _deficit(job: Job) -> int:
    return job.ready_deficit()


def _vote_pipelined(job: Job) -> int:
    return PERMIT if job.is_pipelined() and job.roles_pipelined() and sub_groups_pipelined(job) else REJECT


def _vote_sub_job_pipelined(sub_job: SubJob) -> int:
    return PERMIT if sub_job.is_pipelined() else REJECT


def _is_starving(job: Job) -> bool:
    return job.is_starving()


def _surplus(session: Session, _: Task, candidates: Sequence[Task]) -> list[Task]:
    """Tasks that their gangs can do without: what stands beyond each minimum, in the order given."""
    standing: dict[str, int] = {}
    victims: list[Task] = []
    for task in candidates:
        job = session.job(task.job)
        if job is None:
            continue
        count = standing.get(job.id, job.ready_count)
        if count > job.min_available:
            standing[job.id] = count - 1
            victims.append(task)
    return victims


def _has_surplus(_: Task, job: Job) -> bool:
    """Whether any task of a job may be named by `_surplus`: evictions only take from what it has."""
    return job.ready_count > job.min_available


def _anybody(_: EvictionContext, candidates: Sequence[Task]) -> Sequence[Task]:
    # The gang actions choose whole bundles, so that no gang is broken without being meant.
    return candidates
