"""The tasks of a job: numbers, names, policies and pods of each (webhooks.md 4.3, step 4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from api import jobs, names
from generated.batch.v1alpha1 import JobSpec, TaskSpec
from webhooks import wellformed
from webhooks.jobs import policies, topology
from webhooks.jobs.templates import TemplateJudge


def problems(job: str, spec: JobSpec, judge: TemplateJudge) -> Iterator[str]:
    """What is wrong with each task in order."""
    if judge.knows_right(spec.tasks):  # as they were in another job, under whose name alone their pods go
        yield from filter(None, (_name_problem(job, task.name, task.replicas) for task in spec.tasks))
        return
    is_right = True
    for problem in filter(None, _problems(job, spec.tasks, judge)):
        is_right = False
        yield problem
    if is_right:
        judge.note_right(spec.tasks)


def _problems(job: str, tasks: Sequence[TaskSpec], judge: TemplateJudge) -> Iterator[str]:
    seen: set[str] = set()
    for index, task in enumerate(tasks):
        if task.min_available is not None and task.min_available > task.replicas:
            yield f" 'minAvailable' is greater than 'replicas' in task: {task.name}, job: {job};"
        if task.name in seen:
            yield f" duplicated task name {task.name};"
        seen.add(task.name)
        if task.policies:
            yield policies.problems(task.policies, "spec.tasks.policies")
        yield _name_problem(job, task.name, task.replicas)
        if template := template_problem(task, index, judge):
            yield template
        elif task.topology_policy:
            yield topology.numa_problem(task, index)
        if task.partition_policy is not None:
            yield topology.partition_problem(task, job)


def growth_problem(job: str, old: Sequence[TaskSpec], new: Sequence[TaskSpec]) -> str:
    """
    Which task of this job has become so large that its last pod can't be made; empty when none has.

    A task whose pods had bad names already isn't judged: other numbers don't make it worse.
    """
    for index, (before, after) in enumerate(zip(old, new, strict=False)):
        if after.replicas <= before.replicas:
            continue
        name = jobs.task_name(after, index)
        problem = _name_problem(job, name, after.replicas)
        if problem and not _name_problem(job, name, before.replicas):
            return problem
    return ""


def _name_problem(job: str, task: str, replicas: int) -> str:
    """What is wrong with the name of a task's last pod, which is the longest."""
    pod = names.pod_name(job, task, max(replicas - 1, 0))
    if wellformed.is_label(pod):
        return ""
    faults = wellformed.qualified_name(pod) or wellformed.subdomain(pod)
    return f"create pod with name {pod} validate failed [{' '.join(faults)}];" if faults else ""


def template_problem(task: TaskSpec, index: int, judge: TemplateJudge) -> str:
    """What is wrong with the template of a task, which is judged under the task's name."""
    faults, causes = wellformed.subdomain(task.name), judge.causes(task.template)
    if not faults and not causes:
        return ""
    mistakes = [f"metadata.name: {_invalid_name(task.name, fault)}" for fault in faults]
    mistakes += map(str, causes)
    return f"spec.task[{index}]." + "".join(f"{mistake}. " for mistake in mistakes)


def _invalid_name(name: str, fault: str) -> str:
    return f'Invalid value: "{name}": {fault}' if name else "Required value: name or generateName is required"
