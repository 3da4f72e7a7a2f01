"""
The rules by which a job changes its phase, once its pods are counted.

Each is a function of the facts; None means that the phase stays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from api import names
from api.jobs import task_min_available, total_replicas
from controllers.job.counts import SUCCEEDED, Counts
from controllers.job.requests import SYNC, Request
from generated.batch.v1alpha1 import JobPhase, JobSpec
from generated.bus.v1alpha1 import Event

Reason = names.JobStateReason

_REASONS: Final = {
    Event.COMMAND_ISSUED: Reason.COMMAND,
    Event.POD_FAILED: Reason.POD_FAILED,
    Event.POD_EVICTED: Reason.POD_EVICTED,
    Event.POD_PENDING: Reason.POD_PENDING,
    Event.TASK_COMPLETED: Reason.TASK_COMPLETED,
    Event.TASK_FAILED: Reason.TASK_FAILED,
}


class Facts(msgspec.Struct, frozen=True):
    """What a rule may look at."""

    spec: JobSpec
    counts: Counts
    min_available: int
    """As the status holds it."""
    retry_count: int
    is_admitted: bool = True
    """Whether the scheduler let the pod group in."""
    request: Request = SYNC
    """What led here."""
    is_resumed: bool = False
    """Whether it restarts because its user resumed it."""

    @property
    def max_retry(self) -> int:
        given = self.spec.max_retry
        return names.DEFAULT_MAX_RETRY if given is None else given


class Change(msgspec.Struct, frozen=True):
    """A new phase and why. An empty reason keeps the reason and the message that the status has."""

    phase: str
    reason: str = ""
    message: str = ""
    is_retry: bool = False
    """Whether it uses one of the job's restarts."""


Rule = Callable[[Facts], Change | None]


def go_on(_: Facts) -> Change | None:
    """Nothing changes."""
    return None


def move(phase: str) -> Rule:
    """To this phase, at once."""

    def moved(facts: Facts) -> Change:
        return Change(phase, _reason(facts.request), facts.request.describe())

    return moved


def restart(facts: Facts) -> Change:
    """One restart more."""
    message = f"{facts.request.describe()}, restart {facts.retry_count + 1} of {facts.max_retry}"
    return Change(JobPhase.RESTARTING, _reason(facts.request), message, is_retry=True)


def run(facts: Facts) -> Change | None:
    """Running once enough pods run, or have run; kept pods of an earlier run count only after admission."""
    counts = facts.counts
    needed = facts.spec.min_available
    started = counts.running + counts.succeeded + counts.failed
    if needed > started or (needed > 0 and not facts.is_admitted):
        return None
    return Change(JobPhase.RUNNING, Reason.MIN_AVAILABLE_MET, f"{started} pods started, {needed} are needed")


def finished_or_pending(facts: Facts) -> Change | None:
    """Rule R: whether a running job is over, and how, or lacks pods."""
    total = total_replicas(facts.spec)
    if total == 0 or not facts.is_admitted:
        return None
    counts, wanted = facts.counts, facts.spec.min_success
    if wanted is not None and counts.succeeded >= wanted:
        return Change(JobPhase.COMPLETED, Reason.MIN_SUCCESS_REACHED, f"{counts.succeeded} of {wanted} pods succeeded")
    if counts.succeeded + counts.failed == total:
        return _finish(facts, total)
    if counts.pending > total - facts.spec.min_available:
        message = f"{counts.pending} of {total} pods are pending, {facts.spec.min_available} must run"
        return Change(JobPhase.PENDING, Reason.MIN_AVAILABLE_NOT_MET, message)
    return None


def exhausted_or_pending(facts: Facts) -> Change | None:
    """Rule X: a restarting job fails when it has no retry left, and waits for pods when enough old ones are gone."""
    failed = exhausted(facts)
    if failed is not None:
        return failed
    if total_replicas(facts.spec) - facts.counts.terminating >= facts.min_available:
        return Change(JobPhase.PENDING)
    return None


def exhausted(facts: Facts) -> Change | None:
    """Failed when every restart is used, which no user's wish to go on is held against."""
    if facts.is_resumed or facts.retry_count < facts.max_retry:
        return None
    return Change(JobPhase.FAILED, Reason.MAX_RETRY_REACHED, f"{facts.retry_count} of {facts.max_retry} retries used")


def done(phase: str) -> Rule:
    """To this phase once no pod is left that could still run."""

    def finished(facts: Facts) -> Change | None:
        counts = facts.counts
        return None if counts.terminating or counts.pending or counts.running else Change(phase)

    return finished


def _finish(facts: Facts, total: int) -> Change:
    """Every pod ended."""
    counts, spec = facts.counts, facts.spec
    summary = f"{counts.succeeded} of {total} pods succeeded, {counts.failed} failed"
    short = _short_task(facts)
    if short:
        return Change(JobPhase.FAILED, Reason.MIN_AVAILABLE_NOT_MET, f"{summary}; too few in task {short}")
    if spec.min_success is not None:
        message = f"{summary}, {spec.min_success} must succeed"
        return Change(JobPhase.FAILED, Reason.MIN_SUCCESS_NOT_REACHED, message)
    if counts.succeeded >= spec.min_available:
        return Change(JobPhase.COMPLETED, Reason.TASK_COMPLETED, summary)
    return Change(JobPhase.FAILED, Reason.MIN_AVAILABLE_NOT_MET, f"{summary}, {spec.min_available} must succeed")


def _short_task(facts: Facts) -> str:
    """A task that fell short of its own minimum, which counts when the tasks' minimums are what the job asks for."""
    tasks = facts.spec.tasks
    needed = sum(task.replicas if task.min_available is None else task.min_available for task in tasks)
    if facts.spec.min_available < needed:
        return ""
    for task in tasks:
        if task.min_available is None or task.name not in facts.counts.by_task:
            continue
        if facts.counts.in_task(task.name, SUCCEEDED) < task_min_available(task):
            return task.name
    return ""


def _reason(request: Request) -> str:
    return _REASONS.get(request.event, request.event)
