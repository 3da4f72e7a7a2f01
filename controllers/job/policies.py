"""What a job's policies make of what happened (controllers.md 3.4). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from api.jobs import INTERNAL_EVENTS, find_task
from controllers.job.requests import Request
from generated.batch.v1alpha1 import Job, LifecyclePolicy, TaskSpec
from generated.bus.v1alpha1 import Action, Event
from runtime import duration


class Decision(NamedTuple):
    """An action, at once or after so many seconds."""

    action: str
    delay: float = 0.0


_SYNC = Decision(Action.SYNC_JOB)


def decide(job: Job, request: Request) -> Decision:
    """The first policy that matches, of the task before those of the job; a plain look at the job without one."""
    if request.action:
        return Decision(request.action)
    if not request.event or request.event in INTERNAL_EVENTS:
        return _SYNC
    if request.job_uid and request.job_uid != job.metadata.uid:
        return _SYNC
    if request.version is not None and request.version < job.status.version:
        return _SYNC
    for policy in _policies(job, request.target.task):
        if _matches(policy, request) and (delay := _delay(policy)) is not None:
            return Decision(policy.action, delay)
    return _SYNC


def reacts_to(job: Job, task: str, event: str) -> bool:
    """Whether any policy for a task names an event, or all of them."""
    return any({event, Event.ANY} & _events(policy) for policy in _policies(job, task))


def asks_for_exit_codes(job: Job, task: str) -> bool:
    """Whether any policy for a task looks at exit codes."""
    return any(policy.exit_code is not None for policy in _policies(job, task))


def _policies(job: Job, task: str) -> Iterable[LifecyclePolicy]:
    found: TaskSpec | None = find_task(job.spec, task) if task else None
    return (*(found.policies if found is not None else ()), *job.spec.policies)


def _matches(policy: LifecyclePolicy, request: Request) -> bool:
    if policy.exit_code is not None and policy.exit_code == request.exit_code:
        return True
    if not {request.event, Event.ANY} & _events(policy):
        return False
    return request.event != Event.POD_PENDING or bool(policy.timeout)


def unreadable_timeouts(job: Job) -> Iterator[str]:
    """Sentences about policies that are passed over: to act at once could end a job for a slip of the pen."""
    places = [("spec", job.spec.policies)]
    places += [(f"spec.tasks[{number}]", task.policies) for number, task in enumerate(job.spec.tasks)]
    for place, policies in places:
        for number, policy in enumerate(policies):
            if _delay(policy) is None:
                text = f"{place}.policies[{number}].timeout: {policy.timeout!r} is no duration such as 5m"
                yield f"{text}: the policy is passed over"


def _events(policy: LifecyclePolicy) -> set[str]:
    return {*policy.events, policy.event} - {""}


def _delay(policy: LifecyclePolicy) -> float | None:
    """Seconds; None for a timeout that nobody can read."""
    try:
        return duration.parse_seconds(policy.timeout or "0")
    except duration.DurationError:
        return None
