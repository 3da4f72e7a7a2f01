"""The tasks of a job: numbers, names, policies and pods of each (webhooks.md 4.3, step 4)."""

from __future__ import annotations

from collections.abc import Iterator

from api import names
from generated.batch.v1alpha1 import JobSpec, TaskSpec
from webhooks import wellformed
from webhooks.jobs import policies, topology
from webhooks.jobs.templates import TemplateJudge


def problems(job: str, spec: JobSpec, judge: TemplateJudge) -> Iterator[str]:
    """What is wrong with each task in order."""
    seen: set[str] = set()
    for index, task in enumerate(spec.tasks):
        if task.min_available is not None and task.min_available > task.replicas:
            yield f" 'minAvailable' is greater than 'replicas' in task: {task.name}, job: {job};"
        if task.name in seen:
            yield f" duplicated task name {task.name};"
        seen.add(task.name)
        if task.policies:
            yield policies.problems(task.policies, "spec.tasks.policies")
        yield from _pod_problems(job, task, index, judge)
        yield topology.partition_problem(task, job)


def _pod_problems(job: str, task: TaskSpec, index: int, judge: TemplateJudge) -> Iterator[str]:
    pod = names.pod_name(job, task.name, max(task.replicas - 1, 0))
    if faults := wellformed.qualified_name(pod) or wellformed.subdomain(pod):
        yield f"create pod with name {pod} validate failed [{' '.join(faults)}];"
    if template := template_problem(task, index, judge):
        yield template
    else:
        yield topology.numa_problem(task, index)


def template_problem(task: TaskSpec, index: int, judge: TemplateJudge) -> str:
    """What is wrong with the template of a task, which is judged under the task's name."""
    mistakes = [f"metadata.name: {_invalid_name(task.name, fault)}" for fault in wellformed.subdomain(task.name)]
    mistakes += map(str, judge.causes(task.template))
    return f"spec.task[{index}]." + "".join(f"{mistake}. " for mistake in mistakes) if mistakes else ""


def _invalid_name(name: str, fault: str) -> str:
    return f'Invalid value: "{name}": {fault}' if name else "Required value: name or generateName is required"
