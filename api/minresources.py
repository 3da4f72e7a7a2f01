"""
What the smallest set of pods with which a job may start asks for, as its PodGroup says it to quotas and queues.

Important tasks count first: by the value of their priority class, ties in the order of the spec.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from api.jobs import task_min_available, total_min_available
from api.quota import template_usage
from api.resources import Amounts, scale, total_of
from generated.batch.v1alpha1 import JobSpec, TaskSpec


def min_resources(spec: JobSpec, priorities: Mapping[str, int]) -> Amounts:
    """Resources of the job's first `minAvailable` pods. Raises QuantityError."""
    return total_of(
        scale(template_usage(task.template.spec), pods) for task, pods in _first_pods(spec, priorities) if pods
    )


def _first_pods(spec: JobSpec, priorities: Mapping[str, int]) -> Iterable[tuple[TaskSpec, int]]:
    """How many pods of which task count."""
    tasks = sorted(spec.tasks, key=lambda task: -priorities.get(task.template.spec.priority_class_name, 0))
    if spec.min_available < total_min_available(spec):
        return _taken(((task, task.replicas) for task in tasks), spec.min_available)
    least = [(task, min(task_min_available(task), task.replicas)) for task in tasks]
    rest = [(task, task.replicas - count) for task, count in least]
    return _taken([*least, *rest], spec.min_available)


def _taken(offers: Iterable[tuple[TaskSpec, int]], wanted: int) -> list[tuple[TaskSpec, int]]:
    """Take from the offers in order until so many pods are together."""
    taken: list[tuple[TaskSpec, int]] = []
    for task, offered in offers:
        count = min(offered, wanted)
        wanted -= count
        taken.append((task, count))
    return taken
