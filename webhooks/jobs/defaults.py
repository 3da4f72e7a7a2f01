"""
What a job gets that its author left out: `/jobs/mutate`.

The patch is built on the object as it was sent, so that fields which this version doesn't know survive it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

import msgspec

from api import jobs, names
from api.names import JobPlugin
from generated.batch.v1alpha1 import Job, JobSpec, TaskSpec
from generated.webhooks.batch_v1alpha1 import JobDefaulter
from runtime.admission import ALLOWED, Mutation, Patch, WrongOperation
from runtime.edit import edit
from runtime.patches import Operation, add, replace
from runtime.rbac import Rule
from runtime.wire import AdmissionRequest
from webhooks.blueprint import Context
from webhooks.sent import sent_spec

NEED_SERVICE: Final = (JobPlugin.TENSORFLOW, JobPlugin.MPI, JobPlugin.PYTORCH, JobPlugin.RAY)


class JobDefaults(JobDefaulter):
    """Queue, scheduler, retries, the numbers of tasks, and plugins that others need."""

    WRONG_OPERATION: ClassVar[WrongOperation] = WrongOperation.EXPECT_TRAILING_SPACE
    RULES: ClassVar[tuple[Rule, ...]] = ()

    def __init__(self, context: Context) -> None:
        self._scheduler = first_scheduler(context.options.scheduler_names)

    def default_create(self, request: AdmissionRequest, obj: Job) -> Mutation[Job]:
        """The operations in the order in which clients know them."""
        spec = obj.spec
        operations: list[Operation] = []
        if not spec.queue:
            operations.append(add("/spec/queue", names.DEFAULT_QUEUE))
        if not spec.scheduler_name:
            operations.append(add("/spec/schedulerName", self._scheduler))
        if not spec.max_retry:
            operations.append(add("/spec/maxRetry", names.DEFAULT_MAX_RETRY))
        changes = [task_defaults(task, index) for index, task in enumerate(spec.tasks)]
        if any(changes):
            operations.append(replace("/spec/tasks", _patched_tasks(request, spec.tasks, changes)))
        if not spec.min_available:
            least = jobs.total_min_available(_with_tasks(spec, changes))
            operations.append(add("/spec/minAvailable", least))
        plugins = sent_spec(request).get("plugins")
        if isinstance(plugins, dict):
            wanted = {name: spec.plugins.get(name, ()) for name in plugins}  # arguments may be null
            operations.append(replace("/spec/plugins", plugin_defaults(wanted)))  # compat: ADM-4
        return Patch(tuple(operations)) if operations else ALLOWED


def first_scheduler(scheduler_names: tuple[str, ...]) -> str:
    """The scheduler of jobs that name none."""
    return next((name for name in scheduler_names if name), names.DEFAULT_SCHEDULER_NAME)


def task_defaults(task: TaskSpec, index: int) -> dict[str, Any]:
    """What the task lacks, by JSON name; `dnsPolicy` belongs to the spec of its template."""
    changes: dict[str, Any] = {}
    if not task.name:
        changes["name"] = names.default_task_name(index)
    if lacks_name_servers(task):
        changes["dnsPolicy"] = names.DNS_WITH_HOST_NETWORK
    if task.min_available is None:
        changes["minAvailable"] = jobs.task_min_available(task)
    if not task.max_retry:
        changes["maxRetry"] = names.DEFAULT_MAX_RETRY
    return changes


def plugin_defaults(plugins: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """The plugins with those that they need; what is there stays as it is."""
    complete = dict(plugins)
    if any(name in complete for name in NEED_SERVICE):
        complete.setdefault(JobPlugin.SVC, ())
    if JobPlugin.MPI in complete:
        complete.setdefault(JobPlugin.SSH, ())
    return complete


def defaulted(spec: JobSpec, scheduler: str) -> JobSpec:
    """The spec as it will be stored."""
    filled = _with_tasks(spec, [task_defaults(task, index) for index, task in enumerate(spec.tasks)])
    return msgspec.structs.replace(
        filled,
        queue=spec.queue or names.DEFAULT_QUEUE,
        scheduler_name=spec.scheduler_name or scheduler,
        max_retry=spec.max_retry or names.DEFAULT_MAX_RETRY,
        min_available=spec.min_available or jobs.total_min_available(filled),
        plugins=plugin_defaults(spec.plugins),
    )


def lacks_name_servers(task: TaskSpec) -> bool:
    """Whether its pods share their node's network and would ask its name servers, which know no Service."""
    pod = task.template.spec
    return pod.host_network and not pod.dns_policy


def understood(spec: JobSpec, beside: JobSpec) -> JobSpec:
    """
    The spec with what the controller takes absent fields for, to be compared with another version, `beside`.

    Updates aren't mutated, and `kubectl apply` sends the list of tasks as its author wrote it: what was filled in when
    the job was created is missing there. What the controller takes from the spec alone stays as it is: the scheduler,
    and plugins that others need. An absent `maxRetry` of the job is the 0 that stands beside it.
    """
    max_retry = spec.max_retry
    if max_retry is None and beside.max_retry:
        max_retry = names.DEFAULT_MAX_RETRY
    tasks = tuple(_understood_task(task, index) for index, task in enumerate(spec.tasks))
    return msgspec.structs.replace(spec, queue=jobs.queue_of(spec), max_retry=max_retry, tasks=tasks)


def _understood_task(task: TaskSpec, index: int) -> TaskSpec:
    if lacks_name_servers(task):
        task = edit(task, ("template.spec.dns_policy", names.DNS_WITH_HOST_NETWORK))
    return msgspec.structs.replace(
        task,
        name=jobs.task_name(task, index),
        min_available=jobs.task_min_available(task),
        max_retry=jobs.task_max_retry(task),
    )


def _with_tasks(spec: JobSpec, changes: list[dict[str, Any]]) -> JobSpec:
    tasks = tuple(map(_with_defaults, spec.tasks, changes))
    return msgspec.structs.replace(spec, tasks=tasks)


def _with_defaults(task: TaskSpec, changes: Mapping[str, Any]) -> TaskSpec:
    if "dnsPolicy" in changes:
        task = edit(task, ("template.spec.dns_policy", changes["dnsPolicy"]))
    return msgspec.structs.replace(
        task,
        name=changes.get("name", task.name),
        min_available=changes.get("minAvailable", task.min_available),
        max_retry=changes.get("maxRetry", task.max_retry),
    )


def _patched_tasks(request: AdmissionRequest, tasks: tuple[TaskSpec, ...], changes: list[dict[str, Any]]) -> Any:
    sent = sent_spec(request).get("tasks")
    if not isinstance(sent, list) or len(sent) != len(tasks):  # nulls between the tasks were left out
        return tuple(map(_with_defaults, tasks, changes))
    return [_patched_task(task, change) for task, change in zip(sent, changes, strict=True)]


def _patched_task(task: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    patched = {**task, **{key: value for key, value in changes.items() if key != "dnsPolicy"}}
    if "dnsPolicy" in changes:
        template = task["template"]
        spec = {**template["spec"], "dnsPolicy": changes["dnsPolicy"]}
        patched["template"] = {**template, "spec": spec}
    return patched
