"""`vcctl job suspend|resume|delete` and the short commands for the same."""

from __future__ import annotations

from cli import output
from cli.context import Context
from cli.errors import CommandError
from cli.joblist import phase
from cli.kinds import JOBS, Object
from cli.requesting import get_object, order
from cli.waiting import until, until_gone

ABORT, RESUME = "AbortJob", "ResumeJob"

ABORTING, ABORTED = "Aborting", "Aborted"
FINISHED = ("Completed", "Failed", "Terminated")
_STOPPED = (ABORTING, ABORTED)


def suspend(context: Context) -> None:
    """Order the controller to abort a job."""
    job = _target(context, "suspend")
    is_void = phase(job) in (*FINISHED, *_STOPPED)
    if is_void:
        context.hint(f"hint: job {job['metadata']['name']} is {phase(job)}, there is nothing to suspend")
    order(context, JOBS, job, ABORT, context.namespace)
    now = until(context, JOBS, job, "suspended", holds=lambda now: phase(now) == ABORTED, phase=phase, final=FINISHED)
    output.confirm(context, JOBS, now, "suspended", is_void=is_void)  # a void one did nothing: the hint says it all


def resume(context: Context) -> None:
    """Order the controller to take an aborted job up again."""
    job = _target(context, "resume")
    is_void = bool(phase(job)) and phase(job) not in _STOPPED
    if is_void:
        context.hint(f"hint: job {job['metadata']['name']} is {phase(job)}, only an aborted job can be resumed")
    order(context, JOBS, job, RESUME, context.namespace)
    now = until(
        context, JOBS, job, "resumed", holds=lambda now: phase(now) not in (*_STOPPED, "Restarting"), phase=phase
    )
    output.confirm(context, JOBS, now, "resumed", is_void=is_void)


def delete(context: Context) -> None:
    """Delete a job."""
    _delete(context, "delete")


def cancel(context: Context) -> None:
    """The same as `vcancel`."""
    _delete(context, "cancel")


def _delete(context: Context, verb: str) -> None:
    context.require_configuration()
    name = _name(context, verb)
    job = get_object(context, JOBS, name, context.namespace) if context.flags.is_on("wait") else None
    context.client.delete(JOBS, name, context.namespace)
    if job is not None:
        until_gone(context, JOBS, job)
    context.print(f"{verb} job {name} successfully")


def _target(context: Context, verb: str) -> Object:
    context.require_configuration()
    name = _name(context, verb)
    output.output_format(context)  # a wrong one is told before anything happens
    return get_object(context, JOBS, name, context.namespace)


def _name(context: Context, verb: str) -> str:
    name = context.flags.text("name")
    if not name:
        raise CommandError(f"job name is mandatory to {verb} a particular job")
    return name
