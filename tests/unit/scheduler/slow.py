"""
The oracle: the five plugins and the three actions, one task at a time, everything computed anew, in plain Python.

Shares nothing with the kernel but the objects that describe the world. Written from scheduler.md 7, 11, 13 and
plugins.md 2, 3, 16-19.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from scheduler.state.cluster import Cluster
from scheduler.state.status import Status
from tests.unit.scheduler import slowpods


class Extra(Protocol):
    """A further plugin, in the oracle's form."""

    def passes(self, task: SlowTask, node: SlowNode, slow: Slow) -> bool: ...
    def plain(self, task: SlowTask, node: SlowNode, slow: Slow) -> float: ...
    def normalised(self, candidates: list[SlowNode], slow: Slow) -> list[float]: ...


@dataclass
class SlowTask:
    name: str
    uid: str
    role: str
    priority: int
    created: float
    ordinal: int
    amounts: dict[str, float]
    nonzero: tuple[float, float]
    spec: Any
    status: Status
    namespace: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    node: SlowNode | None = None

    @property
    def best_effort(self) -> bool:
        return all(amount < 0.1 for name, amount in self.amounts.items() if name != "pods")


@dataclass
class SlowNode:
    name: str
    alloc: dict[str, float]
    object: Any
    tasks: list[SlowTask] = field(default_factory=list)

    def total(self, name: str, *statuses: Status) -> float:
        return sum(task.amounts.get(name, 0.0) for task in self.tasks if task.status in statuses)

    def used(self, name: str) -> float:
        return self.total(name, *(set(Status) - {Status.PIPELINED}))

    def idle(self, name: str) -> float:
        return self.alloc.get(name, 0.0) - self.used(name)

    def future(self, name: str) -> float:
        return self.idle(name) + self.total(name, Status.RELEASING) - self.total(name, Status.PIPELINED)

    def requested(self, name: str) -> float:
        return self.total(name, *Status)


@dataclass
class SlowJob:
    id: str
    queue: str
    priority: int
    created: float
    uid: str
    minimum: int
    roles: dict[str, int]
    pending_phase: bool
    tasks: list[SlowTask] = field(default_factory=list)

    def number(self, *statuses: Status) -> int:
        return sum(task.status in statuses for task in self.tasks)

    @property
    def ready_number(self) -> int:
        return self.number(Status.BOUND, Status.BINDING, Status.RUNNING, Status.ALLOCATED, Status.SUCCEEDED)

    @property
    def free(self) -> int:
        return sum(task.status is Status.PENDING and task.best_effort for task in self.tasks)

    def ready(self) -> bool:
        return self.ready_number + self.free >= self.minimum

    def is_broken(self) -> bool:
        """Whether some of it runs, for nothing."""
        return not self.ready() and self.number(Status.RUNNING) + self.number(Status.BOUND) > 0

    def pipelined(self) -> bool:
        return self.ready_number + self.free + self.number(Status.PIPELINED) >= self.minimum


class Slow:
    """A copy of a cluster's facts, and the decisions of one cycle over it."""

    def __init__(self, cluster: Cluster, extra: Extra | None = None) -> None:
        self.extra = extra
        self.namespaces = {name: dict(labels) for name, labels in cluster.sight.namespaces.items()}
        self.nodes = [
            SlowNode(node.name, dict(node.allocatable), node.object)
            for node in sorted(cluster.node_by_name.values(), key=lambda node: node.name)
            if node.object is not None
        ]
        by_name = {node.name: node for node in self.nodes}
        self.jobs: dict[str, SlowJob] = {}
        for job in cluster.jobs.values():
            self.jobs[job.id] = SlowJob(
                job.id,
                job.queue,
                job.priority,
                job.created,
                job.uid,
                job.min_available,
                dict(job.role_minimum),
                job.phase in ("", "Pending"),
            )
        for task in cluster.tasks.values():
            slow = SlowTask(
                task.name, task.uid, task.role, task.priority, task.created, task.ordinal,
                dict(task.request.amounts), task.request.nonzero, task.shape.spec, task.status, task.namespace,
                dict(task.pod.metadata.labels) if task.pod else {},
            )  # fmt: skip
            if task.node is not None and task.node.name in by_name:
                slow.node = by_name[task.node.name]
                slow.node.tasks.append(slow)
            if task.job:
                self.jobs[task.job].tasks.append(slow)
        self.binds: list[tuple[str, str]] = []

    # Actions.

    def cycle(self) -> list[tuple[str, str]]:
        for job in self.jobs.values():
            job.pending_phase = False
        self.allocate()
        self.backfill()
        return self.binds

    def job_key(self, job: SlowJob) -> tuple[Any, ...]:
        return (-job.priority, job.ready(), not job.is_broken(), job.created, job.uid)

    def queue_key(self, name: str) -> Any:
        # The queues of these tests are of one age, so their uid ranks them.
        return name

    def overused(self, name: str) -> bool:
        del name
        return False

    def may_take(self, name: str, task: SlowTask) -> bool:
        del name, task
        return True

    def allocate(self) -> None:
        sheets: dict[str, list[SlowTask]] = {}
        for job in self.jobs.values():
            valid = job.number(*(set(Status) - {Status.RELEASING, Status.FAILED, Status.UNKNOWN}))
            tasks = [task for task in job.tasks if task.status is Status.PENDING and not task.best_effort]
            if valid >= job.minimum and tasks:
                sheets[job.id] = sorted(tasks, key=lambda task: (-task.priority, task.ordinal, task.created, task.uid))
        waiting = {name: [job for job in sheets if self.jobs[job].queue == name] for name in ("default", "other")}
        queues = [name for name in ("default", "other") if waiting[name]]
        failed: dict[str, set[str]] = {}
        while queues:
            queue = min(queues, key=self.queue_key)
            if self.overused(queue) or not waiting[queue]:
                queues.remove(queue)
                continue
            job_id = min(waiting[queue], key=lambda job: self.job_key(self.jobs[job]))
            waiting[queue].remove(job_id)
            if self.visit(self.jobs[job_id], sheets[job_id], failed.setdefault(job_id, set())) and sheets[job_id]:
                waiting[queue].append(job_id)

    def visit(self, job: SlowJob, sheet: list[SlowTask], failed: set[str]) -> bool:
        plan: list[SlowTask] = []
        while sheet:
            task = sheet.pop(0)
            if not self.may_take(job.queue, task) or task.role in failed:
                continue
            if not self.place(task):
                failed.add(task.role)
                if not self.may_continue(job, failed):
                    break
                continue
            plan.append(task)
            if job.ready():
                break
        if job.ready():
            self.bind(plan)
            return True
        if not job.pipelined():
            for task in plan:
                self.remove(task)
        return False

    def bind(self, plan: list[SlowTask]) -> None:
        for task in plan:
            if task.status is Status.ALLOCATED:
                task.status = Status.BINDING
                self.binds.append((task.name, task.node.name if task.node else ""))

    @staticmethod
    def may_continue(job: SlowJob, failed: set[str]) -> bool:
        del failed
        return job.minimum < len(job.tasks)

    def backfill(self) -> None:
        jobs = sorted(self.jobs.values(), key=self.job_key)
        order = [job for name in sorted(("default", "other"), key=self.queue_key) for job in jobs if job.queue == name]
        for job in order:
            valid = job.number(*(set(Status) - {Status.RELEASING, Status.FAILED, Status.UNKNOWN}))
            if valid < job.minimum:
                continue
            tasks = [task for task in job.tasks if task.status is Status.PENDING and task.best_effort]
            plan = [
                task
                for task in sorted(tasks, key=lambda task: (-task.priority, task.ordinal, task.created, task.uid))
                if self.place(task)
            ]
            if plan and job.ready():
                self.bind(plan)

    # One task.

    def place(self, task: SlowTask) -> bool:
        passing = [node for node in self.nodes if self.fits(task, node.future) and self.passes(task, node)]
        for status, amount in ((Status.ALLOCATED, "idle"), (Status.PIPELINED, "future")):
            candidates = [node for node in passing if self.fits(task, getattr(node, amount))]
            if candidates:
                node = self.best(task, candidates)
                task.status, task.node = status, node
                node.tasks.append(task)
                return True
        return False

    @staticmethod
    def remove(task: SlowTask) -> None:
        assert task.node is not None
        task.node.tasks.remove(task)
        task.status, task.node = Status.PENDING, None

    @staticmethod
    def fits(task: SlowTask, available: Callable[[str], float]) -> bool:
        return all(amount < 0.1 or amount - available(name) < 0.1 for name, amount in task.amounts.items())

    def passes(self, task: SlowTask, node: SlowNode) -> bool:
        spec = node.object.spec
        if node.alloc.get("pods", 0.0) <= node.requested("pods"):
            return False
        if spec.unschedulable:
            return False
        if not self.node_selected(task, node) or not self.taints_tolerated(task, node):
            return False
        if not slowpods.passes(task, node, self):
            return False
        return self.extra is None or self.extra.passes(task, node, self)

    def node_selected(self, task: SlowTask, node: SlowNode) -> bool:
        labels = node.object.metadata.labels
        if any(labels.get(key) != value for key, value in task.spec.node_selector.items()):
            return False
        affinity = task.spec.affinity.node_affinity if task.spec.affinity else None
        required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
        return not required or any(self.selects(term, labels) for term in required.node_selector_terms)

    def taints_tolerated(self, task: SlowTask, node: SlowNode) -> bool:
        taints = node.object.spec.taints
        return all(taint.effect != "NoSchedule" or self.tolerated(taint, task) for taint in taints)

    @staticmethod
    def selects(term: Any, labels: dict[str, str]) -> bool:
        return all(labels.get(want.key) in want.values for want in term.match_expressions)

    @staticmethod
    def tolerated(taint: Any, task: SlowTask) -> bool:
        return any(toleration.key == taint.key for toleration in task.spec.tolerations)

    def best(self, task: SlowTask, candidates: list[SlowNode]) -> SlowNode:
        liking = [self.affinity(task, node) for node in candidates]
        disliking = [self.untolerated(task, node) for node in candidates]
        best, best_score = candidates[0], -math.inf
        further = self.extra.normalised(candidates, self) if self.extra else [0.0] * len(candidates)
        near = slowpods.affinity_scores(task, candidates, self)
        even = slowpods.spread_scores(task, candidates, self)
        rows = zip(candidates, liking, disliking, further, near, even, strict=True)
        for node, like, dislike, more, closeness, evenness in rows:
            score = self.least(task, node) + self.balanced(task, node) + more
            score += self.binpack(task, node, without_releasing=not self.fits(task, node.idle))
            if self.extra is not None:
                score += self.extra.plain(task, node, self)
            if max(liking):
                score += 2 * (100 * like // max(liking))
            score += 2 * closeness + 2 * evenness
            score += 3 * (100 - (100 * dislike // max(disliking) if max(disliking) else 0))
            if score > best_score:
                best, best_score = node, score
        return best

    def affinity(self, task: SlowTask, node: SlowNode) -> int:
        affinity = task.spec.affinity.node_affinity if task.spec.affinity else None
        terms = affinity.preferred_during_scheduling_ignored_during_execution if affinity else ()
        labels = node.object.metadata.labels
        return sum(term.weight for term in terms if self.selects(term.preference, labels))

    def untolerated(self, task: SlowTask, node: SlowNode) -> int:
        taints = node.object.spec.taints
        return sum(taint.effect == "PreferNoSchedule" and not self.tolerated(taint, task) for taint in taints)

    @staticmethod
    def least(task: SlowTask, node: SlowNode) -> int:
        parts = []
        for place, name in enumerate(("cpu", "memory")):
            alloc = int(node.alloc[name])
            want = int(sum(other.nonzero[place] for other in node.tasks) + task.nonzero[place])
            parts.append(0 if want > alloc else (alloc - want) * 100 // alloc)
        return sum(parts) // 2

    @staticmethod
    def balanced(task: SlowTask, node: SlowNode) -> int:
        names = [
            name
            for name in ("cpu", "memory", "nvidia.com/gpu")
            if node.alloc.get(name) and (name != "nvidia.com/gpu" or task.amounts.get(name))
        ]
        if not any(task.amounts.get(name) for name in ("cpu", "memory", "nvidia.com/gpu")):
            return 0

        def evenness(extra: float) -> int:
            shares = [
                min((node.requested(name) + extra * task.amounts.get(name, 0.0)) / node.alloc[name], 1.0)
                for name in names
            ]
            if len(shares) == 2:
                deviation = abs(shares[0] - shares[1]) / 2
            else:
                mean = sum(shares) / len(shares)
                deviation = math.sqrt(sum((share - mean) ** 2 for share in shares) / len(shares))
            return int((1 - deviation) * 100)

        return 50 + int((50 + evenness(1.0) - evenness(0.0)) / 2)

    @staticmethod
    def binpack(task: SlowTask, node: SlowNode, *, without_releasing: bool) -> float:
        shares, weights = 0.0, 0
        for name in ("cpu", "memory"):
            asked = task.amounts.get(name, 0.0)
            if asked < 0.1:
                continue
            weights += 1
            after = node.used(name) + asked
            if without_releasing:
                after -= node.total(name, Status.RELEASING)
            if after > node.alloc[name]:
                return 0.0
            shares += after / node.alloc[name]
        return shares / weights * 100 if weights else 0.0
