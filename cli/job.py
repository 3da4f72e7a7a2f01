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
    _order(context, job, ABORT, is_void=is_void)
    until(context, JOBS, job, "suspended", holds=lambda now: phase(now) == ABORTED, phase=phase, final=FINISHED)


def resume(context: Context) -> None:
    """Order the controller to take an aborted job up again."""
    job = _target(context, "resume")
    is_void = bool(phase(job)) and phase(job) not in _STOPPED
    if is_void:
        context.hint(f"hint: job {job['metadata']['name']} is {phase(job)}, only an aborted job can be resumed")
    _order(context, job, RESUME, is_void=is_void)
    until(context, JOBS, job, "resumed", holds=lambda now: phase(now) not in (*_STOPPED, "Restarting"), phase=phase)


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
    context.print(f"{verb} job {name} successfully")
    if job is not None:
        context.out.flush()
        until_gone(context, JOBS, job)


def _target(context: Context, verb: str) -> Object:
    context.require_configuration()
    name = _name(context, verb)
    output.output_format(context)  # a wrong one is told before anything happens
    return get_object(context, JOBS, name, context.namespace)


def _order(context: Context, job: Object, action: str, *, is_void: bool) -> None:
    """Send the order, and say what it did: a void one did nothing, so that the hint is all there is to say."""
    order(context, JOBS, job, action, context.namespace)
    done = "suspended" if action == ABORT else "resumed"
    output.confirm(context, JOBS, job, done, is_void=is_void)


def _name(context: Context, verb: str) -> str:
    name = context.flags.text("name")
    if not name:
        raise CommandError(f"job name is mandatory to {verb} a particular job")
    return name
