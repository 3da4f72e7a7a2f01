"""`vcctl job logs`: the logs of a job's pods."""

from __future__ import annotations

from api import names
from cli import fields
from cli.context import Context
from cli.errors import CommandError, Unfinished
from cli.kinds import JOBS, PODS, Object
from cli.requesting import get_object, list_objects
from runtime.errors import ApiError
from runtime.requests import Priority, Request

_NO_END = 7 * 24 * 3600.0  # seconds that a log is followed at most


def run(context: Context) -> None:
    """Print the logs of every pod, each line with the pod's name when there are several."""
    context.require_configuration()
    name = context.flags.text("name")
    if not name:
        raise CommandError("job name (specified by --name or -N) is mandatory to print the logs of a particular job")
    get_object(context, JOBS, name, context.namespace)
    pods = _pods(context, name)
    if context.flags.is_on("follow") and len(pods) > 1:
        raise CommandError(f"--follow: job {name} has {len(pods)} pods here, choose one task of one pod with --task")
    failures = 0
    for pod in pods:
        try:
            _print(context, pod, prefix=f"[{fields.name(pod)}] " if len(pods) > 1 else "")
        except ApiError as error:
            context.failures.write(f"Failed to {context.command.reversed_path}: pod {fields.name(pod)}: {error}\n")
            failures += 1
    if failures:
        raise Unfinished


def _pods(context: Context, job: str) -> list[Object]:
    labels = f"{names.JOB_NAME_KEY}={job}"
    if task := context.flags.text("task"):
        labels += f",{names.TASK_SPEC_KEY}={task}"
    listed, _ = list_objects(context, PODS, context.namespace, labels=labels)
    pods = [pod for pod in listed if fields.name(pod)]
    if not pods:
        of_task = f" of task {task}" if task else ""
        raise CommandError(f"job {job} has no pods{of_task} in namespace {context.namespace}")
    return sorted(pods, key=fields.name)


def _print(context: Context, pod: Object, prefix: str) -> None:
    follow = context.flags.is_on("follow")
    if follow:
        context.stay()
    request = Request(
        method="GET",
        path=PODS.path(context.namespace, fields.name(pod), "log"),
        query=_query(context, pod),
        priority=Priority.READ,
        repeatable=True,
        subject=f"pods {fields.name(pod)}",
        timeout=_NO_END if follow else 0.0,
    )
    with context.client.transport.stream(request) as lines:
        for line in lines:
            context.out.write(f"{prefix}{line.decode('utf-8', 'replace')}\n")  # as it is: logs may have colours
            if follow:
                context.out.flush()


def _query(context: Context, pod: Object) -> dict[str, str]:
    flags = context.flags
    first = fields.items(pod, "spec", "containers")
    query = {"container": flags.text("container") or (fields.text(first[0], "name") if first else "")}
    if flags.number("tail") >= 0:
        query["tailLines"] = str(flags.number("tail"))
    for name in ("follow", "previous"):
        if flags.is_on(name):
            query[name] = "true"
    return query
