"""The parts of the state: nodes, queues, jobs and tasks as records that can be written down, and back (see the package)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from generated.core.v1 import Node as NodeObject
from generated.core.v1 import Pod, PodSpec
from generated.scheduling.v1beta1 import PodGroup
from generated.scheduling.v1beta1 import Queue as QueueObject
from scheduler.dump import plain
from scheduler.dump.places import PLACES
from scheduler.dump.seam import Part, Reading, Writing, put_nothing
from scheduler.dump.surroundings import SURROUNDINGS
from scheduler.state.cluster import Cluster
from scheduler.state.dimensions import Request
from scheduler.state.status import Status
from scheduler.state.task import Shape, Task

if TYPE_CHECKING:
    from scheduler.memory import Memory


class Columns(msgspec.Struct, frozen=True):
    """The numbers of nodes: `(dims, nodes)` and `(blocks, nodes)`, in the rank order of nodes."""

    allocatable: list[list[float]]
    dynamic: list[list[float]]


class NodeRecord(msgspec.Struct, frozen=True):
    """A node, or the placeholder of one. `tasks` are keys, in order."""

    name: str
    object: NodeObject | None
    allocatable: dict[str, float]
    tasks: list[str]
    slots: dict[str, Any]


class QueueRecord(msgspec.Struct, frozen=True):
    """A queue, or the name of one that doesn't exist. `jobs` are ids, in order."""

    name: str
    object: QueueObject | None
    jobs: list[str]
    slots: dict[str, Any]


class JobRecord(msgspec.Struct, frozen=True):
    """A job. `tasks` and `pending` are uids, in order."""

    id: str
    pod_group: PodGroup | None
    queue: str
    role_minimum: dict[str, int]
    tasks: list[str]
    pending: list[str]
    slots: dict[str, Any]


class ShapeRecord(msgspec.Struct, frozen=True):
    """What pods of one template have in common."""

    spec: PodSpec
    amounts: dict[str, float]
    nonzero: tuple[float, float]


class TaskRecord(msgspec.Struct, frozen=True):
    """A task. The pod's spec is that of its shape but for `own`, or stands in `pod` when it is another one."""

    shape: int
    node: str
    pod: Pod | None
    own: dict[str, str] | None
    slots: dict[str, Any]


_OWN = ("node_name", "hostname", "subdomain")
"""Fields of a pod's spec that differ between pods of one shape."""


def _take_dimensions(writing: Writing) -> list[str]:
    return list(writing.cluster.dimensions.names)


def _put_dimensions(reading: Reading, names: Iterable[str]) -> None:
    reading.cluster.learn(dict.fromkeys(names, 0.0))


def _take_shapes(writing: Writing) -> list[ShapeRecord]:
    shapes = {id(task.shape): task.shape for task in writing.cluster.tasks.values()}
    writing.shapes = {identity: number for number, identity in enumerate(shapes)}
    return [ShapeRecord(shape.spec, dict(shape.request.amounts), shape.request.nonzero) for shape in shapes.values()]


def _put_shapes(reading: Reading, records: Iterable[ShapeRecord]) -> None:
    reading.shapes = [Shape(record.spec, Request(record.amounts, record.nonzero)) for record in records]


def _take_nodes(writing: Writing) -> list[NodeRecord]:
    return [
        NodeRecord(node.name, node.object, dict(node.allocatable), list(node.tasks), plain.take(node, ("name", "row")))
        for node in writing.cluster.node_by_name.values()
    ]


def _put_nodes(reading: Reading, records: Iterable[NodeRecord]) -> None:
    for record in records:
        if record.object is not None:
            reading.cluster.set_node(record.object, record.allocatable)
    reading.cluster.settle()


def _take_queues(writing: Writing) -> list[QueueRecord]:
    return [
        QueueRecord(queue.name, queue.object, list(queue.jobs), plain.take(queue, ("name",)))
        for queue in writing.cluster.queues.values()
    ]


def _put_queues(reading: Reading, records: Iterable[QueueRecord]) -> None:
    for record in records:
        reading.cluster.queue(record.name).object = record.object


def _take_jobs(writing: Writing) -> list[JobRecord]:
    return [
        JobRecord(
            job.id,
            job.pod_group,
            job.queue,
            dict(job.role_minimum),
            list(job.tasks),
            list(job.pending),
            plain.take(job, ("id", "namespace", "name", "queue")),
        )
        for job in writing.cluster.jobs.values()
    ]


def _put_jobs(reading: Reading, records: Iterable[JobRecord]) -> None:
    for record in records:
        job = reading.cluster.job(record.id)
        job.pod_group, job.role_minimum = record.pod_group, record.role_minimum
        plain.put(job, {name: value for name, value in record.slots.items() if not isinstance(value, list)})
        reading.cluster.set_job_queue(job, record.queue)


def _take_tasks(writing: Writing) -> list[TaskRecord]:
    return [_task_record(task, writing.shapes[id(task.shape)]) for task in writing.cluster.tasks.values()]


def _task_record(task: Task, shape: int) -> TaskRecord:
    pod, own = task.pod, None
    if pod is not None:
        fields = {name: getattr(pod.spec, name) for name in _OWN}
        if msgspec.structs.replace(task.shape.spec, **fields) == pod.spec:
            pod, own = msgspec.structs.replace(pod, spec=PodSpec()), fields
    node = task.node.name if task.node is not None else ""
    return TaskRecord(shape, node, pod, own, {**plain.take(task), "status": int(task.status)})


def _put_tasks(reading: Reading, records: Iterable[TaskRecord]) -> None:
    for record in records:
        shape, pod, slots = reading.shapes[record.shape], record.pod, record.slots
        if pod is not None and record.own is not None:
            pod = msgspec.structs.replace(pod, spec=msgspec.structs.replace(shape.spec, **record.own))
        task = Task(
            uid=slots["uid"],
            namespace=slots["namespace"],
            name=slots["name"],
            job=slots["job"],
            shape=shape,
            role=slots["role"],
            status=Status(slots["status"]),
            pod=pod,
        )
        plain.put(task, {name: value for name, value in slots.items() if name not in {"status", "in_kube"}})
        reading.cluster.add_task(task, record.node)
        task.in_kube = slots["in_kube"]


def _finish_nodes(reading: Reading, records: Iterable[NodeRecord]) -> None:
    for record in records:
        node = reading.cluster.node_by_name.get(record.name)
        if node is not None:
            node.tasks = _in_order(node.tasks, record.tasks)
            plain.put(node, record.slots)
    names = [record.name for record in records]
    # Nodes come before tasks, placeholders with their first task: back to the order of before.
    reading.cluster.node_by_name = _in_order(reading.cluster.node_by_name, names)


def _finish_queues(reading: Reading, records: Iterable[QueueRecord]) -> None:
    for record in records:
        queue = reading.cluster.queues[record.name]
        queue.jobs = _in_order(queue.jobs, record.jobs)
        plain.put(queue, record.slots)


def _finish_jobs(reading: Reading, records: Iterable[JobRecord]) -> None:
    for record in records:
        job = reading.cluster.jobs[record.id]
        job.tasks = _in_order(job.tasks, record.tasks)
        job.pending = _in_order(job.pending, record.pending)
        plain.put(job, record.slots)


def _in_order(found: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: found[name] for name in names if name in found}


def _take_changes(writing: Writing) -> list[str]:
    return sorted(writing.cluster.changed_jobs)


def _put_changes(reading: Reading, jobs: Iterable[str]) -> None:
    reading.cluster.changed_jobs = set(jobs)


def _take_columns(writing: Writing) -> list[Columns]:
    columns = writing.cluster.columns
    return [Columns(columns.allocatable.tolist(), columns.dynamic.tolist())]


def _put_columns(reading: Reading, records: Iterable[Columns]) -> None:
    for record in records:
        columns = reading.cluster.columns
        for kept, written in ((columns.allocatable, record.allocatable), (columns.dynamic, record.dynamic)):
            kept[:] = np.array(written, dtype=np.float64).reshape(kept.shape)


PARTS: tuple[Part, ...] = (
    Part("dimensions", str, _take_dimensions, _put_dimensions),
    Part("shapes", ShapeRecord, _take_shapes, _put_shapes),
    *SURROUNDINGS,
    Part("nodes", NodeRecord, _take_nodes, _put_nodes, _finish_nodes),
    Part("queues", QueueRecord, _take_queues, _put_queues, _finish_queues),
    Part("jobs", JobRecord, _take_jobs, _put_jobs, _finish_jobs),
    Part("tasks", TaskRecord, _take_tasks, _put_tasks),
    *PLACES,
    Part("changes", str, _take_changes, put_nothing, _put_changes),
    Part("columns", Columns, _take_columns, put_nothing, _put_columns),
)


def take(cluster: Cluster, memory: Memory) -> dict[str, list[Any]]:
    """All parts of a cluster and its memory between two sessions, by name."""
    cluster.settle()
    writing = Writing(cluster, memory)
    return {part.name: list(part.take(writing)) for part in PARTS}


def put(records: Mapping[str, list[Any]]) -> Reading:
    """A cluster as it was taken down, and what its memory is to be told."""
    reading = Reading()
    for part in PARTS:
        part.put(reading, records[part.name])
    for part in PARTS:
        if part.finish is not None:
            part.finish(reading, records[part.name])
    return reading
