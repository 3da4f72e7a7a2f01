"""The oracle with proportion and drf: shares by plain sums over pods, parts in exact fractions (plugins.md 5 and 6)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from scheduler.state.cluster import Cluster
from scheduler.state.status import Status
from tests.unit.scheduler.slow import Slow, SlowJob, SlowTask

CLAIMING = (Status.ALLOCATED, Status.BINDING, Status.BOUND, Status.RUNNING, Status.PIPELINED)
WANTING = (Status.ALLOCATED, Status.BINDING, Status.BOUND, Status.RUNNING, Status.PENDING)


class SlowShares(Slow):
    """Queues have `weights`, and `guarantees` and `capabilities` of cpu in millicores."""

    def __init__(
        self, cluster: Cluster, weights: dict[str, int], guarantees: dict[str, int], capabilities: dict[str, int]
    ) -> None:
        super().__init__(cluster)
        self.names = list(cluster.dimensions.names)
        self.total = {name: sum(node.alloc.get(name, 0.0) for node in self.nodes) for name in self.names}
        self.deserved = {
            name: self.divide(name, weights, guarantees, capabilities) if name == "cpu" else self.divide(name, weights)
            for name in self.names
        }

    def summed(self, queue: str, name: str, statuses: tuple[Status, ...]) -> float:
        return sum(
            task.amounts.get(name, 0.0)
            for job in self.jobs.values()
            if job.queue == queue
            for task in job.tasks
            if task.status in statuses
        )

    def divide(
        self,
        name: str,
        weights: dict[str, int],
        guarantees: dict[str, int] | None = None,
        capabilities: dict[str, int] | None = None,
    ) -> dict[str, float]:
        guaranteed, total = guarantees or {}, Fraction(self.total[name])
        queues = sorted({job.queue for job in self.jobs.values()})
        idle = sum(amount for queue, amount in guaranteed.items() if queue not in queues)
        available = max(total - idle, Fraction(0))
        reach = max(total - sum(guaranteed.values()), Fraction(0))
        most, part = {}, {}
        weight = sum(weights[queue] for queue in queues)
        for queue in queues:
            least = Fraction(guaranteed.get(queue, 0))
            limit = min(reach + least, Fraction((capabilities or {}).get(queue, 10**18)))
            most[queue] = max(min(limit, Fraction(self.summed(queue, name, WANTING))), least)
            part[queue] = max(min(available * weights[queue] / weight, most[queue]), least) if weight else Fraction(0)
        left = available - sum(part.values())
        while weight and left > 0:
            open_queues = [queue for queue in queues if weights[queue] and part[queue] < most[queue]]
            if not open_queues:
                break
            step = min((most[queue] - part[queue]) / weights[queue] for queue in open_queues)
            step = min(step, left / sum(weights[queue] for queue in open_queues))
            for queue in open_queues:
                part[queue] += step * weights[queue]
                left -= step * weights[queue]
        return {queue: float(Fraction(round(amount * 1024), 1024)) for queue, amount in part.items()}

    def queue_key(self, name: str) -> Any:
        shares = [
            self.summed(name, resource, CLAIMING) / part[name]
            for resource, part in self.deserved.items()
            if part.get(name, 0.0) >= 0.1
        ]
        return (max([0.0, *shares]), name)

    def overused(self, name: str) -> bool:
        return all(
            part.get(name, 0.0) - self.summed(name, resource, CLAIMING) < 0.1
            for resource, part in self.deserved.items()
        )

    def may_take(self, name: str, task: SlowTask) -> bool:
        return all(
            amount <= 0.0
            or resource == "pods"
            or self.summed(name, resource, CLAIMING) + amount <= self.deserved[resource].get(name, 0.0)
            for resource, amount in task.amounts.items()
        )

    def job_key(self, job: SlowJob) -> tuple[Any, ...]:
        shares = [
            sum(task.amounts.get(name, 0.0) for task in job.tasks if task.status in CLAIMING) / self.total[name]
            for name in self.names
            if self.total[name] >= 0.1
        ]
        return (-job.priority, job.ready(), not job.is_broken(), max([0.0, *shares]), job.created, job.uid)
