"""
The scheduler's whole picture of the cluster, as the facts from the API server make it.

Every total (node columns, counts of a job, what a queue holds) is kept in step here and in `moves`, so that a cycle
never sums over pods. Amounts are whole numbers in practice, so adding and taking away between sessions is exact; a
node or job that becomes empty is set to zero all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from scheduler.state.account import empty, present
from scheduler.state.claims import Claims
from scheduler.state.columns import NodeColumns
from scheduler.state.dimensions import Coefficients, Dimensions, Floats, Mask, Rows
from scheduler.state.facets import Facet, Facets
from scheduler.state.hypernode import HyperNodes
from scheduler.state.job import Job
from scheduler.state.node import Node
from scheduler.state.queue import Queue
from scheduler.state.sight import Sight
from scheduler.state.status import OFF_NODE, Status
from scheduler.state.touched import Touched
from scheduler.state.workloads import Workloads

if TYPE_CHECKING:
    from generated.core.v1 import Node as NodeObject
    from generated.core.v1 import Pod
    from scheduler.state.task import Task

_HOLDS: dict[Status, tuple[int, int, int]] = dict.fromkeys(Status, (1, 0, 0))
_HOLDS[Status.RELEASING] = (1, 1, 0)
_HOLDS[Status.PIPELINED] = (0, 0, 1)
_HOLDS.update(dict.fromkeys(OFF_NODE, (0, 0, 0)))


def coefficients(status: Status, *, in_kube: bool) -> Coefficients:
    """How a task of that status counts on its node (scheduler.md 4.7)."""
    return (*_HOLDS[status], int(in_kube))


class Cluster:
    """
    Nodes, jobs and queues.

    `nodes` holds the real nodes by rank of name, so `nodes[row]` is the node of a column. `touched` tells readers
    with caches which columns changed since they looked. `version` counts what came from outside a session, and
    `changed_jobs` names the jobs that it concerned; whoever opens a session empties it.
    """

    def __init__(self) -> None:
        self.dimensions = Dimensions()
        self.columns = NodeColumns(self.dimensions, 0)
        self.nodes: list[Node] = []
        self.node_by_name: dict[str, Node] = {}
        self.jobs: dict[str, Job] = {}
        self.queues: dict[str, Queue] = {}
        self.tasks: dict[str, Task] = {}
        self.claims = Claims()
        self.workloads = Workloads()
        self.sight = Sight(self.tasks, self.workloads)
        self.touched = Touched()
        self.changed_jobs: set[str] = set()
        self.version = 0
        self._renumber = False
        self._facets = Facets()
        self.hypernodes = HyperNodes()
        self.preferred: Mask | None = None
        """`(nodes,)`: nodes that are tried before all others; None where none are."""

    # Nodes.

    def set_node(self, obj: NodeObject, allocatable: Mapping[str, float]) -> Node:
        """Take in a node, or its new state. `allocatable` is in the units of `dimensions`."""
        self.version += 1
        node = self.node_by_name.get(obj.metadata.name)
        if node is None:
            node = self.node_by_name[obj.metadata.name] = Node(obj.metadata.name)
        if node.object is None:
            self._renumber = True
        if node.object is None or node.labels != obj.metadata.labels:
            self.hypernodes.see_node(node.name)
        node.object, node.allocatable = obj, allocatable
        self.learn(allocatable)
        if node.row >= 0:
            self._offer(node)
            self.touched.changed.extend((node.row,))
        return node

    def remove_node(self, name: str) -> None:
        """Forget a node. Tasks on it stay on a placeholder, until their own events come."""
        node = self.node_by_name.get(name)
        if node is None or node.object is None:
            return
        self.version += 1
        self._renumber = True
        self.hypernodes.see_node(name)
        node.object, node.allocatable = None, {}
        self._drop_empty_placeholder(node)

    def _drop_empty_placeholder(self, node: Node) -> None:
        if node.object is None and not node.tasks:
            self.node_by_name.pop(node.name, None)

    def settle(self) -> None:
        """Bring the numbering of columns up to date after nodes came or went. Call before a session."""
        self.sight.settle()
        if not self._renumber:
            return
        self._renumber = False
        real = sorted((node for node in self.node_by_name.values() if node.object is not None), key=lambda n: n.name)
        order = np.fromiter((node.row for node in real), dtype=np.intp, count=len(real))
        for node in self.nodes:
            node.row = -1
        self.columns = self.columns.take(order)
        for row, node in enumerate(real):
            node.row = row
        self.nodes = real
        for row in np.flatnonzero(order < 0).tolist():
            self._offer(real[row])
            self._recount(real[row])
        self.touched.renumbered()
        self.sight.renumbered()

    def _offer(self, node: Node) -> None:
        column = self.columns.allocatable[:, node.row]
        column[:] = 0.0
        for name, amount in node.allocatable.items():
            column[self.dimensions.column(name)] = amount

    def _recount(self, node: Node) -> None:
        if not node.tasks:
            return
        column = np.zeros(len(self.columns.dynamic))
        for task in node.tasks.values():
            column += task.request.effect(self.dimensions, coefficients(task.status, in_kube=task.in_kube))
        self.columns.dynamic[:, node.row] = column

    def learn(self, amounts: Mapping[str, float]) -> None:
        """Number the names, and widen every row that is kept when some are new. Not during a session."""
        for name in amounts:
            self.dimensions.column(name)
        width = len(self.dimensions)
        if self.columns.width == width:
            return
        self.columns.widen()
        for job in self.jobs.values():
            job.widen(width)
        for queue in self.queues.values():
            queue.widen(width)

    # Jobs and queues.

    def job(self, job_id: str) -> Job:
        """The job of that id, made when it is new: its pods may come before its PodGroup."""
        job = self.jobs.get(job_id)
        if job is None:
            job = self.jobs[job_id] = Job(job_id)
            job.account = empty(self.columns.width)
        return job

    def queue(self, name: str) -> Queue:
        """The queue of that name, made when it is new: jobs may name it before it exists."""
        queue = self.queues.get(name)
        if queue is None:
            queue = self.queues[name] = Queue(name)
            queue.account = empty(self.columns.width)
        return queue

    def set_job_queue(self, job: Job, name: str) -> None:
        """Move a job to a queue, with what it holds; an empty name takes it out of any queue."""
        self.version += 1
        self.changed_jobs.add(job.id)
        if job.queue == name:
            return
        if job.queue:
            old = self.queue(job.queue)
            del old.jobs[job.id]
            old.account = old.account - job.account
        job.queue = name
        if name:
            new = self.queue(name)
            new.jobs[job.id] = job
            new.account = new.account + job.account

    def remove_job(self, job_id: str) -> None:
        """Forget a job that has neither PodGroup nor tasks; one that has is kept. That it is gone is a change, too."""
        job = self.jobs.get(job_id)
        if job is None or job.tasks or job.pod_group is not None:
            return
        self.set_job_queue(job, "")
        del self.jobs[job_id]

    # Tasks.

    def add_task(self, task: Task, node_name: str = "") -> None:
        """Take in a pod under its present status, on its node if it has one."""
        self.version += 1
        self.learn(task.request.amounts)
        self.sight.learn(task.shape)
        self.tasks[task.uid] = task
        if task.job:
            job = self.job(task.job)
            self.changed_jobs.add(job.id)
            job.tasks[task.uid] = task
            _regroup(job)
            job.enter(task, task.status, 1)
            self.book(job, present(task, task.request.row(self.dimensions)))
        if node_name and task.status not in OFF_NODE:
            self._stand(task, node_name)

    def _stand(self, task: Task, node_name: str) -> None:
        node = self.node_by_name.get(node_name)
        if node is None:
            node = self.node_by_name[node_name] = Node(node_name)
        task.node, task.in_kube = node, True
        node.tasks[task.key] = task
        self.sight.shift((task,), (node,), 1, live=task.status is not Status.RELEASING)
        if node.row >= 0:
            effect = task.request.effect(self.dimensions, coefficients(task.status, in_kube=True))
            self.columns.dynamic[:, node.row] += effect
            self.touched.moved.extend((node.row,))

    def confirm(self, task: Task, pod: Pod) -> None:
        """The server shows a bind of ours: nobody moves, and no total but the counts of the job changes."""
        self.version += 1
        job = self.jobs.get(task.job)
        if job is not None and task.uid in job.tasks:
            self.changed_jobs.add(job.id)
            job.enter(task, task.status, -1)
            job.enter(task, Status.BOUND, 1)
        task.status, task.pod = Status.BOUND, pod

    def remove_task(self, uid: str) -> Task | None:
        """Forget a pod; gives it back, None when it was not known."""
        task = self.tasks.pop(uid, None)
        if task is None:
            return None
        self.version += 1
        job = self.jobs.get(task.job)
        if job is not None and job.tasks.pop(uid, None) is not None:
            self.changed_jobs.add(job.id)
            _regroup(job)
            job.enter(task, task.status, -1)
            self.book(job, -present(task, task.request.row(self.dimensions)))
        self.leave(task)
        return task

    def leave(self, task: Task) -> None:
        """Take a task off its node, by arithmetic."""
        node, task.node = task.node, None
        if node is None or node.tasks.get(task.key) is not task:
            return
        del node.tasks[task.key]
        if task.in_kube:
            self.sight.shift((task,), (node,), -1, live=task.status is not Status.RELEASING)
        if node.row >= 0:
            effect = task.request.effect(self.dimensions, coefficients(task.status, in_kube=task.in_kube))
            self.columns.dynamic[:, node.row] -= effect
            if not node.tasks:
                self.columns.dynamic[:, node.row] = 0.0
            self.touched.moved.extend((node.row,))
        self._drop_empty_placeholder(node)

    def book(self, job: Job, change: Floats) -> None:
        """Add a change to the account of a job, and to that of its queue."""
        job.account = job.account + change
        if job.queue:
            queue = self.queues[job.queue]
            queue.account = queue.account + change

    # Properties of nodes.

    def label(self, key: str) -> Facet:
        """The values of a label over the nodes."""
        return self._facets.label(key, self.nodes, self.touched.changed)

    def facet(self, name: str, read: Callable[[Node], Hashable]) -> Facet:
        """A property over the nodes; `name` is its identity, so give each `read` a name of its own."""
        return self._facets.get(name, read, self.nodes, self.touched.changed)

    def domain_mates(self, key: str, rows: Rows) -> Rows:
        """The columns that share a value of a label with any of `rows`; a node without it stands for itself."""
        facet = self.label(key)
        has_it = np.array([value is not None for value in facet.values], dtype=np.bool_)
        mine = facet.numbers[rows]
        wanted = np.zeros(len(facet.values), dtype=np.bool_)
        wanted[mine] = True
        mates = np.flatnonzero((wanted & has_it)[facet.numbers])
        return np.union1d(mates, rows)


def _regroup(job: Job) -> None:
    if job.grouping is not None:
        job.grouping.is_stale = True
