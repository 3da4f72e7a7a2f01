"""
What a job asks for, judged without a look at anything else (webhooks.md 4.3, steps 1-9 and 14).

The parts of a message bring their own separators, so that they can be put together as they are (compat: ADM-1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from api import jobs, names
from api.names import JobPlugin
from generated.batch.v1alpha1 import JobSpec
from webhooks import wellformed
from webhooks.jobs import deadlock, graph, plugins, policies, tasks, topology, volumes
from webhooks.jobs.templates import TemplateJudge

NO_TASKS = "No task specified in job spec"
NO_MASTER = "The specified mpi master task was not found"


def fatal_problem(spec: JobSpec) -> str:
    """What keeps everything else from being judged; empty when nothing does."""
    if not spec.tasks:
        return NO_TASKS
    return "" if plugins.has_mpi_master(spec) else NO_MASTER


def problems(name: str, spec: JobSpec, judge: TemplateJudge) -> Iterator[str]:
    """Parts of the message for a job of this name, empty ones among them."""
    yield topology.network_problem(spec.network_topology)
    yield from tasks.problems(name, spec, judge)
    yield _name_problem(name, spec)
    if jobs.total_replicas(spec) < spec.min_available:
        yield " job 'minAvailable' should not be greater than total replicas in tasks;"
    if spec.policies:
        yield policies.problems(spec.policies, "spec.policies")
    if estimate := policies.duration_problem(spec.running_estimate, "spec.runningEstimate"):
        yield f" {estimate};"
    for plugin in plugins.unknown(spec):
        yield f" unable to find job plugin: {plugin};"
    if spec.volumes:
        yield volumes.problem(spec.volumes)


def _name_problem(name: str, spec: JobSpec) -> str:
    """What is wrong with the name, and with those that plugins make of it."""
    faults: tuple[str, ...] = wellformed.qualified_name(name)
    if not faults and JobPlugin.SVC in spec.plugins:
        faults = wellformed.label_1035(names.svc_name(name))
    if not faults and JobPlugin.RAY in spec.plugins:
        faults = _of_child("service", names.ray_head_service_name(name), wellformed.label_1035)
    if not faults and JobPlugin.SSH in spec.plugins:
        faults = _of_child("volume", names.ssh_secret_name(name), wellformed.label)
    return f"create job with name {name} validate failed [{' '.join(faults)}]" if faults else ""


def _of_child(kind: str, name: str, judge: Callable[[str], tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(f"{kind} {name}: {fault}" for fault in judge(name))


def dependency_problem(spec: JobSpec) -> str:
    """Whether tasks wait for each other for ever."""
    return graph.problem(spec.tasks)


def warnings(spec: JobSpec) -> tuple[str, ...]:
    """What is no reason to refuse a job that has no other problem, but will surprise its author."""
    return (*plugins.warnings(spec), *deadlock.warnings(spec))
