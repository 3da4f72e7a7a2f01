"""
The state as the Go scheduler writes it, for people and the tools that read its dumps (scheduler.md 18.1).

Names and nesting are that scheduler's; nothing is read back from here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from scheduler.contract.view import View
from scheduler.state.dimensions import CPU, MEMORY, PODS, Floats

if TYPE_CHECKING:
    from scheduler.state.cluster import Cluster
    from scheduler.state.job import Job
    from scheduler.state.task import Task


def lines(cluster: Cluster) -> list[Any]:
    """Nodes by name, HyperNodes by tier, names of tiers, nodes by HyperNode, HyperNodes by name, jobs by id."""
    objects = cluster.hypernodes.objects
    tiers: dict[str, list[str]] = {}
    for name, obj in sorted(objects.items()):
        tiers.setdefault(str(obj.spec.tier), []).append(name)
    tasks = _tasks(cluster)
    return [
        _nodes(cluster, tasks),
        dict(sorted(tiers.items(), key=lambda item: int(item[0]))),
        sorted({obj.spec.tier_name for obj in objects.values() if obj.spec.tier_name}),
        {name: sorted(cluster.hypernodes.selected.get(name, ())) for name in sorted(objects)},
        {name: {"Name": name, "Tier": obj.spec.tier} for name, obj in sorted(objects.items())},
        {job_id: _job(cluster, job, tasks) for job_id, job in sorted(cluster.jobs.items())},
    ]


def _nodes(cluster: Cluster, tasks: Mapping[str, Any]) -> dict[str, Any]:
    view = View.all(cluster)
    columns = {
        "Allocatable": view.allocatable,
        "Idle": view.idle,
        "Used": view.used,
        "Releasing": view.releasing,
        "Pipelined": view.pipelined,
    }
    return {
        node.name: {
            "Name": node.name,
            **{name: amount(cluster, column[:, row]) for name, column in columns.items()},
            "Tasks": {task.key: tasks[task.uid] for task in node.tasks.values()},
        }
        for row, node in enumerate(cluster.nodes)
    }


def amount(cluster: Cluster, row: Floats) -> dict[str, Any]:
    """A `(dims,)` row as the Go scheduler's resource."""
    names = cluster.dimensions.names
    scalars = {names[column]: float(row[column]) for column in range(3, len(names)) if row[column]}
    return {
        "MilliCPU": float(row[CPU]),
        "Memory": float(row[MEMORY]),
        "ScalarResources": {"pods": float(row[PODS]), **scalars},
        "MaxTaskNum": int(row[PODS]),
    }


def _tasks(cluster: Cluster) -> dict[str, Any]:
    """Every task by uid; what pods of one shape ask for is worked out once."""
    requests: dict[int, Any] = {}
    for task in cluster.tasks.values():
        if id(task.request) not in requests:
            requests[id(task.request)] = amount(cluster, task.request.row(cluster.dimensions))
    return {uid: _task(task, requests[id(task.request)]) for uid, task in cluster.tasks.items()}


def _task(task: Task, request: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "UID": task.uid,
        "Job": task.job,
        "Name": task.name,
        "Namespace": task.namespace,
        "TaskRole": task.role,
        "Resreq": request,
        "NodeName": task.node.name if task.node is not None else "",
        "Status": task.status.label,
        "Priority": task.priority,
        "Preemptable": task.preemptable,
        "BestEffort": task.is_best_effort,
    }


def _job(cluster: Cluster, job: Job, tasks: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "UID": job.id,
        "PgUID": job.uid,
        "Name": job.name,
        "Namespace": job.namespace,
        "Queue": job.queue,
        "Priority": job.priority,
        "MinAvailable": job.min_available,
        "TaskMinAvailable": dict(job.role_minimum),
        "Allocated": amount(cluster, job.allocated),
        "Tasks": {uid: tasks[uid] for uid in job.tasks},
        "Phase": job.phase,
    }


def text(cluster: Cluster) -> Iterator[str]:
    """The same as lines of a log, shorter."""
    view = View.all(cluster)
    for row, node in enumerate(cluster.nodes):
        yield (
            f"node={node.name} tasks={len(node.tasks)} idle=<{_words(cluster, view.idle[:, row])}> "
            f"used=<{_words(cluster, view.used[:, row])}> releasing=<{_words(cluster, view.releasing[:, row])}>"
        )
    for job_id, job in sorted(cluster.jobs.items()):
        counts = ",".join(f"{task.name}={task.status.label}" for task in job.tasks.values())
        yield f"job={job_id} queue={job.queue} phase={job.phase} minAvailable={job.min_available} tasks={counts or '-'}"
    for name, obj in sorted(cluster.hypernodes.objects.items()):
        members = ",".join(sorted(cluster.hypernodes.selected.get(name, ())))
        yield f"hypernode={name} tier={obj.spec.tier} nodes={members or '-'}"


def _words(cluster: Cluster, row: Floats) -> str:
    names = cluster.dimensions.names
    scalars = sorted((names[column], row[column]) for column in range(PODS, len(names)) if row[column])
    return ", ".join(f"{name} {value:.2f}" for name, value in [("cpu", row[CPU]), ("memory", row[MEMORY]), *scalars])
