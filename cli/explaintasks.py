"""The tasks of a job for `vcctl job explain`: their pods, why these wait, and which tasks wait for others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from api import names
from api.dependencies import Waiting, counts_them, lacking, pods_needed, remedy, told
from cli import fields
from cli.context import Context
from cli.kinds import PODS, Object
from cli.requesting import list_objects
from runtime.errors import Forbidden

_PENDING, _RUNNING, _SUCCEEDED = "Pending", "Running", "Succeeded"
_ANY = "any"
OVER = frozenset(("Completed", "Failed", "Terminated", "Completing", "Terminating", "Aborting", "Aborted"))
"""Phases of jobs for which no pods are made any more."""


def gather_tasks(context: Context, job: Object) -> list[Object]:
    """
    Each task with its pods by phase, and the messages of those that wait with how many say the same.

    A task whose missing pods wait for other tasks has these as `waitsFor`.
    """
    pods = _pods(context, job)
    by_task: dict[str, list[Object]] = {}
    for pod in pods or ():
        by_task.setdefault(fields.text(fields.annotations_of(pod), names.TASK_SPEC_KEY), []).append(pod)
    is_over = fields.text(job, "status", "state", "phase") in OVER
    waits = _waits(job, by_task) if pods is not None and not is_over else {}
    tasks: list[Object] = []
    for name, task in _named(job):
        own = by_task.get(name, [])
        shown: Object = {
            "name": name,
            "replicas": fields.number(task, "replicas"),
            "pods": dict(Counter(fields.text(pod, "status", "phase") or _PENDING for pod in own)),
            "unschedulable": dict(Counter(filter(None, map(_unscheduled, own)))),
        }
        if name in waits:
            shown["waitsFor"] = list(waits[name])
        tasks.append(shown)
    return tasks


def task_lines(tasks: list[Object], group: Object) -> Iterator[str]:
    """The tasks for people. `group` has minMember and minTaskMember, if there is a PodGroup."""
    yield "Tasks:"
    for task in tasks:
        phases = ", ".join(f"{count} {name}" for name, count in sorted(fields.mapping(task, "pods").items()))
        yield f"  {fields.text(task, 'name')}: {fields.number(task, 'replicas')} wanted, {phases or 'no pods'}"
        for message, count in sorted(fields.mapping(task, "unschedulable").items()):
            yield f"    {count} x {message}"
    pods = {fields.text(task, "name"): sum(fields.mapping(task, "pods").values()) for task in tasks}
    waiting = [
        Waiting(name, fields.number(task, "replicas") - pods[name], tuple(fields.texts(task, "waitsFor")))
        for task in tasks
        if fields.texts(task, "waitsFor") and (name := fields.text(task, "name"))
    ]
    if not waiting:
        return
    held = {each.task for each in waiting}
    # Before a job is let into its queue no pod exists; those of the other tasks can be made then.
    pods |= {name: fields.number(task, "replicas") for task in tasks if (name := fields.text(task, "name")) not in held}
    roles = {role: fields.number(group, "minTaskMember", role) for role in fields.mapping(group, "minTaskMember")}
    is_counted = counts_them(waiting, min_available=fields.number(group, "minMember"), pods=pods, role_minimum=roles)
    yield from (f"  {told(each, is_counted=is_counted)}" for each in waiting)
    yield f"    needed: {remedy(waiting, is_counted=is_counted, pods=sum(pods.values()))}"


def _named(job: Object) -> Iterator[tuple[str, Object]]:
    for index, task in enumerate(fields.items(job, "spec", "tasks")):
        yield fields.text(task, "name") or names.default_task_name(index), task


def _waits(job: Object, by_task: dict[str, list[Object]]) -> dict[str, tuple[str, ...]]:
    """The tasks that lack pods and wait for others, with these."""
    needed = {
        name: pods_needed(fields.number(task, "replicas"), fields.value(task, "minAvailable"))
        for name, task in _named(job)
    }
    ready = {name: sum(map(_is_ready, pods)) for name, pods in by_task.items()}
    found: dict[str, tuple[str, ...]] = {}
    for name, task in _named(job):
        is_any = fields.text(task, "dependsOn", "iteration") == _ANY
        reasons = lacking(fields.texts(task, "dependsOn", "name"), needed, ready, is_any=is_any)
        if reasons and len(by_task.get(name, [])) < fields.number(task, "replicas"):
            found[name] = reasons
    return found


def _is_ready(pod: Object) -> bool:
    """As the controller judges: it has succeeded, or runs and all its containers are ready."""
    phase = fields.text(pod, "status", "phase")
    containers = fields.items(pod, "status", "containerStatuses")
    return phase == _SUCCEEDED or (phase == _RUNNING and all(fields.is_true(one, "ready") for one in containers))


def _pods(context: Context, job: Object) -> list[Object] | None:
    """The job's pods; None for those who may not list them, which is said."""
    labels = f"{names.JOB_NAME_KEY}={fields.name(job)}"
    try:
        return list_objects(context, PODS, fields.namespace(job), labels=labels)[0]
    except Forbidden as error:
        context.hint(f"pods are left out: {error}")
        return None


def _unscheduled(pod: Object) -> str:
    for condition in fields.items(pod, "status", "conditions"):
        if (
            fields.text(condition, "type") == names.PodConditionType.POD_SCHEDULED
            and fields.text(condition, "status") == "False"
        ):
            return fields.text(condition, "message") or fields.text(condition, "reason")
    return ""
