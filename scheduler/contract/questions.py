"""
What actions and plugins may ask a session: the answers of the plugins in use, joined as scheduler.md 7 says.

Tiers are asked in order, and within one the plugins in order; a plugin whose switch is off is not asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scheduler.contract.points import Point, Points
from scheduler.fairness.ordering import (
    Order,
    Ranking,
    always,
    by_key,
    compare_tasks,
    job_age,
    numbered_task_key,
    queue_age,
    sub_job_age,
)

if TYPE_CHECKING:
    from scheduler.contract.contexts import EvictionContext, Purpose, Simulation
    from scheduler.contract.domains import Gradients
    from scheduler.state.dimensions import Floats
    from scheduler.state.job import Job
    from scheduler.state.node import Node
    from scheduler.state.queue import Queue
    from scheduler.state.subjob import SubJob
    from scheduler.state.task import Task


class Questions:
    """The asking half of a session."""

    points: Points

    # Orders.

    def job_ranking(self) -> Ranking[Job]:
        """Which job first: plugins, then age."""
        return Ranking(self.points.all(Point.JOB_ORDER), by_key(job_age, always))

    def queue_ranking(self) -> Ranking[Queue]:
        """Which queue first: plugins, then age."""
        return Ranking(self.points.all(Point.QUEUE_ORDER), by_key(queue_age, always))

    def task_ranking(self, tasks: Sequence[Task]) -> Ranking[Task]:
        """Which of some tasks first: plugins, then the number in the name, then age."""
        numbered = all(task.ordinal >= 0 for task in tasks)
        fallback = Order(compare_tasks, numbered_task_key if numbered else None)
        return Ranking(self.points.all(Point.TASK_ORDER), fallback)

    def sorted_tasks(self, tasks: Sequence[Task]) -> list[Task]:
        """Tasks of a job, first one first."""
        return self.task_ranking(tasks).sorted(tasks)

    # Questions.

    def job_valid(self, job: Job) -> Any:
        """The first plugin's verdict against a job, None when it may be scheduled."""
        for valid in self.points.all(Point.JOB_VALID):
            verdict = valid(job)
            if verdict is not None:
                return verdict
        return None

    def job_ready(self, job: Job) -> bool:
        """Whether all plugins hold the job for whole; yes when none is asked."""
        return all(ready(job) for ready, _ in self.points.all(Point.JOB_READY))

    def ready_deficit(self, job: Job) -> int:
        """At least so many placements (1 or more) come before the job can be ready."""
        deficits = (deficit(job) if deficit else 1 for _, deficit in self.points.all(Point.JOB_READY))
        return max(1, max(deficits, default=1))

    def job_pipelined(self, job: Job) -> bool:
        """Whether the job would be whole once releasing resources are free."""
        return self.points.vote(Point.JOB_PIPELINED, job)

    def job_enqueueable(self, job: Job) -> bool:
        """Whether the job may enter its queue."""
        return self.points.vote(Point.JOB_ENQUEUEABLE, job)

    def job_enqueued(self, job: Job) -> None:
        """Tell all plugins that the job entered its queue."""
        for enqueued in self.points.all(Point.JOB_ENQUEUED):
            enqueued(job)

    def gate_opened(self, task: Task) -> None:
        """Tell all plugins that a pod's scheduling gate is to be removed."""
        for opened in self.points.all(Point.GATE_OPENED):
            opened(task)

    def job_starving(self, job: Job) -> bool:
        """Whether the job lacks what it needs, by the first tier that has an opinion; no when none has."""
        for tier in self.points.tiers(Point.JOB_STARVING):
            return all(starving(job) for starving in tier)
        return False

    def overused(self, queue: Queue) -> bool:
        """Whether a plugin holds the queue for over its share."""
        return any(overused(queue) for overused in self.points.all(Point.OVERUSED))

    def allocatable(self, queue: Queue, task: Task) -> bool:
        """Whether all plugins let the queue take this task."""
        return all(allocatable(queue, task) for allocatable in self.points.all(Point.ALLOCATABLE))

    def holds_back(self, queue: Queue, task: Task) -> bool:
        """Whether the queue is what keeps this task from any node: it is over its share, or may not take the task."""
        return self.overused(queue) or not self.allocatable(queue, task)

    def queue_message(self, queue: Queue, task: Task) -> str:
        """Why the queue holds this task back, by the first plugin that refuses it."""
        asked = zip(self.points.all(Point.ALLOCATABLE), self.points.all(Point.ALLOCATABLE_REASON), strict=True)
        reasons: list[str] = [reason(queue, task) for allocatable, reason in asked if not allocatable(queue, task)]
        if reasons:
            return reasons[0]
        is_full = self.overused(queue)
        return f"queue {queue.name} " + (
            "holds all that it deserves already" if is_full else "has no room for the task"
        )

    def queue_room(self, queue: Queue, task: Task, most: int, *, in_turns: bool) -> int:
        """
        How many of `most` tasks like this one the queue takes in a row, after it was asked for the first: 1 at least.

        `in_turns`: each comes in a turn of its own, before which the queue must not be overused.
        """
        if most <= 1:
            return 1
        for point in (Point.ALLOCATABLE_ROOM, Point.OVERUSED_ROOM)[: 1 + in_turns]:
            for room in self.points.all(point):
                most = max(1, min(most, room(queue, task, most)))
        return most

    def queue_end(self, queue: Queue, task: Task, most: int) -> tuple[int, str] | None:
        """
        How many of `most` tasks like this one the queue would take at most, and what it would say to the next one.

        The text is empty when it takes all; None when a plugin doesn't say so much ahead. Only for a task that it takes.
        """
        least, text = most, ""
        rooms, reasons = self.points.all(Point.ALLOCATABLE_ROOM), self.points.all(Point.ALLOCATABLE_REASON_AFTER)
        for room, reason in zip(rooms, reasons, strict=True):
            number = room(queue, task, most)
            if number < 0:
                return None
            if number < least:
                least, text = number, reason(queue, task, number)
                if not text:
                    return None
        return least, text

    def queue_stretch(self, queue: Queue, requests: Floats) -> int:
        """How many of these requests, `(n, dims)` in their order, the queue takes in turns of their own; 0 when unknown."""
        most = len(requests)
        for point in (Point.ALLOCATABLE_STRETCH, Point.OVERUSED_STRETCH):
            for stretch in self.points.all(point):
                most = max(0, min(most, stretch(queue, requests)))
        return most

    def pre_predicate(self, task: Task) -> str | None:
        """Why a task can go nowhere, before any node is looked at; None when nothing is against it."""
        for check in self.points.all(Point.PRE_PREDICATE):
            refusal: str | None = check(task)
            if refusal is not None:
                return refusal
        return None

    # Sub-jobs, hypernodes, clusters.

    def sub_job_ranking(self) -> Ranking[SubJob]:
        """Which sub-job of a job first: plugins, then the index that its labels gave it, then uid."""
        return Ranking(self.points.all(Point.SUB_JOB_ORDER), by_key(sub_job_age, always))

    def cluster_ranking(self) -> Ranking[str]:
        """Which cluster first: plugins, then name."""
        return Ranking(self.points.all(Point.CLUSTER_ORDER), by_key(str, always))

    def sub_job_ready(self, job: Job, sub_job: SubJob) -> bool:
        """Whether all plugins hold a sub-job for whole; a job without sub-groups is asked as a job."""
        if not _has_sub_groups(job):
            return self.job_ready(job)
        return all(ready(sub_job) for ready in self.points.all(Point.SUB_JOB_READY))

    def sub_job_pipelined(self, job: Job, sub_job: SubJob) -> bool:
        """Whether a sub-job would be whole once releasing resources are free; see `sub_job_ready`."""
        if not _has_sub_groups(job):
            return self.job_pipelined(job)
        return self.points.vote(Point.SUB_JOB_PIPELINED, sub_job)

    def hyper_node_scores(self, sub_job: SubJob, candidates: Mapping[str, Sequence[Node]]) -> dict[str, float]:
        """The summed ratings of the candidates; a name that is none of them is ignored."""
        scores = dict.fromkeys(candidates, 0.0)
        for rate in self.points.all(Point.HYPER_NODE_ORDER):
            for name, score in rate(sub_job, candidates).items():
                if name in scores:
                    scores[name] += score
        return scores

    def rates_hyper_nodes_alone(self, sub_job: Any) -> bool:
        """Whether `hyper_node_scores` gives each candidate the same whatever the others are."""
        return all(alone(sub_job) for alone in self.points.all(Point.HYPER_NODE_ORDER_ALONE))

    def gradients_for_job(self, job: Job, hyper_node: Any, purpose: Purpose) -> Gradients:
        """Where a job may go below a hypernode: the first plugin's answer, else the hypernode itself."""
        for gradients in self.points.all(Point.HYPER_NODE_GRADIENT_FOR_JOB):
            found: Gradients = gradients(job, hyper_node, purpose)
            return found
        return ((hyper_node,),)

    def gradients_for_sub_job(self, sub_job: SubJob, hyper_node: Any, purpose: Purpose) -> Gradients:
        """Where a sub-job may go below a hypernode: the first plugin's answer, else the hypernode itself."""
        for gradients in self.points.all(Point.HYPER_NODE_GRADIENT_FOR_SUB_JOB):
            found: Gradients = gradients(sub_job, hyper_node, purpose)
            return found
        return ((hyper_node,),)

    def target_job(self, jobs: Sequence[Job]) -> Job | None:
        """The job that nodes are kept for, by the first plugin that picks one, even when it picks none."""
        for pick in self.points.all(Point.TARGET_JOB):
            picked: Job | None = pick(jobs)
            return picked
        return None

    def reserve_nodes(self) -> None:
        """Have all plugins keep nodes for the target job."""
        for reserve in self.points.all(Point.RESERVED_NODES):
            reserve()

    # Evictions.

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> list[Task]:
        """Which candidates of the preemptor's queue may be evicted for it, in their order."""
        return self._victims(Point.PREEMPTABLE, preemptor, candidates)

    def reclaimable(self, reclaimer: Task, candidates: Sequence[Task]) -> list[Task]:
        """Which candidates of other queues may be evicted for it, in their order."""
        return self._victims(Point.RECLAIMABLE, reclaimer, candidates)

    def unified_evictable(self, context: EvictionContext, candidates: Sequence[Task]) -> list[Task]:
        """Which candidates a gang action may evict, in their order."""
        return self._victims(Point.UNIFIED_EVICTABLE, context, candidates)

    def _victims(self, point: Point, beneficiary: object, candidates: Sequence[Task]) -> list[Task]:
        """
        The candidates that a tier agrees on, by the first tier that agrees on any (scheduler.md 7.1).

        Once a plugin voted the tier's set only shrinks, and an empty one stays empty (scheduler.md 20.2).
        """
        for tier in self.points.tiers(point):
            allowed: set[str] | None = None
            for function in tier:
                answer = function(beneficiary, candidates)
                if answer is None:
                    continue
                named = {task.uid for task in answer}
                allowed = named if allowed is None else allowed & named
                if not allowed:
                    break
            if allowed:
                return [task for task in candidates if task.uid in allowed]
        return []

    def preemptable_jobs(self, preemptor: Task, jobs: Iterable[Job]) -> set[str]:
        """Ids of the jobs of which `preemptable` may name a task at all, by what the plugins declare."""
        return self._victim_jobs(Point.PREEMPTABLE, Point.PREEMPTABLE_JOBS, preemptor, jobs)

    def reclaimable_jobs(self, reclaimer: Task, jobs: Iterable[Job]) -> set[str]:
        """The same for `reclaimable`."""
        return self._victim_jobs(Point.RECLAIMABLE, Point.RECLAIMABLE_JOBS, reclaimer, jobs)

    def _victim_jobs(self, point: Point, declared: Point, beneficiary: Task, jobs: Iterable[Job]) -> set[str]:
        bounds = {bound.plugin: bound for bound in self.points.all(declared)}
        tiers = [
            [bounds[function.plugin] for function in tier if function.plugin in bounds]
            for tier in self.points.tiers(point)
        ]
        return {job.id for job in jobs if any(all(bound(beneficiary, job) for bound in tier) for tier in tiers)}

    def preemptive(self, queue: Queue, task: Task) -> bool:
        """Whether all plugins let the queue take back room for a task."""
        return all(preemptive(queue, task) for preemptive in self.points.all(Point.PREEMPTIVE))

    def victim_tasks(self, tasks: Sequence[Task]) -> list[Task]:
        """Which running tasks should move: all that the plugins of the first tier that names any name."""
        for tier in self.points.tiers(Point.VICTIM_TASKS):
            named = {task.uid for functions in tier for function in functions for task in function(tasks)}
            if named:
                return [task for task in tasks if task.uid in named]
        return []

    def compare_victim_queues(self, left: Queue, right: Queue, preemptor: Queue) -> int:
        """Negative when the left queue's tasks go first: plugins, else the queue that comes last gives first."""
        for compare in self.points.all(Point.VICTIM_QUEUE_ORDER):
            answer: int = compare(left, right, preemptor)
            if answer:
                return answer
        return self.queue_ranking().compare(right, left)

    # Trials.

    def simulate_remove_task(self, trial: Simulation, task: Task, node: Node) -> str | None:
        """Tell the plugins of a task taken off a node in a trial; the first that fails says why."""
        return _first(self.points.all(Point.SIMULATE_REMOVE_TASK), trial, task, node)

    def simulate_add_task(self, trial: Simulation, task: Task, node: Node) -> str | None:
        """Tell the plugins of a task put back on a node in a trial; the first that fails says why."""
        return _first(self.points.all(Point.SIMULATE_ADD_TASK), trial, task, node)

    def simulate_predicate(self, trial: Simulation, node: Node) -> str | None:
        """The first plugin's reason against the trial's task on a node, None when nothing is against it."""
        return _first(self.points.all(Point.SIMULATE_PREDICATE), trial, node)

    def simulate_allocatable(self, trial: Simulation, queue: Queue) -> bool:
        """Whether all plugins would let the queue take the trial's task."""
        return all(allocatable(trial, queue) for allocatable in self.points.all(Point.SIMULATE_ALLOCATABLE))


def _first(functions: Sequence[Any], *arguments: object) -> str | None:
    for function in functions:
        refusal: str | None = function(*arguments)
        if refusal is not None:
            return refusal
    return None


def _has_sub_groups(job: Job) -> bool:
    return job.pod_group is not None and bool(job.pod_group.spec.sub_group_policy)
