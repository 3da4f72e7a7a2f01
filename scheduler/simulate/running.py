"""Cycles over a simulated state, each after what the last one decided has come true."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from scheduler.contract.decisions import Bind, Evict
from scheduler.cycle import Result, run_cycle
from scheduler.dump.record import DecisionRecord, decisions_of
from scheduler.explain.explain import explain
from scheduler.explain.opening import opened
from scheduler.explain.report import Explanation
from scheduler.explain.shared import Shared

if TYPE_CHECKING:
    from scheduler.explain.obstacles import Obstacle
    from scheduler.memory import Memory
    from scheduler.reporting.timings import Span
    from scheduler.simulate.building import World
    from scheduler.state.job import Job


class JobResult(msgspec.Struct, frozen=True, rename="camel"):
    """What became of a job. `starts`: its gang is whole. `placed` pods have a node, `evicted` ones lost theirs."""

    job: str
    queue: str
    starts: bool
    pods: int
    placed: int
    min_member: int
    evicted: int


class Outcome(msgspec.Struct, frozen=True):
    """All of a simulation: decisions by cycle, jobs by id, and why the jobs wait that do."""

    cycles: list[list[DecisionRecord]]
    jobs: dict[str, JobResult]
    explanations: list[Explanation]


def run(
    world: World,
    memory: Memory,
    actions: Mapping[str, Callable[[Any], None]],
    most: int,
    stopwatch: Callable[[], float],
) -> Outcome:
    """Run at most so many cycles, fewer when one decides nothing. `stopwatch` gives seconds, for explanations."""
    cluster = world.cluster
    concerned = {job.id for job in cluster.jobs.values() if job.pending or job.pod_group is not None}
    cycles: list[list[DecisionRecord]] = []
    evicted: dict[str, int] = {}
    spans: tuple[Span, ...] = ()
    for number in range(most):
        result = run_cycle(
            cluster, memory, actions, uid=f"simulation-{number + 1}", now=world.now + number, stopwatch=stopwatch
        )
        spans = result.spans
        if not result.decisions:
            break
        cycles.append(decisions_of(result))
        for decision in result.decisions:
            if isinstance(decision, Evict):
                evicted[decision.task.job] = evicted.get(decision.task.job, 0) + 1
        _come_true(world, result)
        world.make_due()
    jobs = {
        job_id: _job_result(cluster.jobs[job_id], evicted.get(job_id, 0))
        for job_id in sorted(concerned)
        if job_id in cluster.jobs
    }
    return Outcome(cycles, jobs, _explanations(world, memory, jobs, spans, stopwatch))


def _come_true(world: World, result: Result) -> None:
    """Bound pods run, evicted ones are gone, opened ones have no gate any more."""
    for decision in result.decisions:
        pod = decision.task.pod
        if pod is None:
            continue
        if isinstance(decision, Bind):
            status = replace(pod.status, phase="Running", nominated_node_name="")
            running = replace(pod, spec=replace(pod.spec, node_name=decision.node), status=status)
            world.facts.apply(("Pod", pod, running))
        elif isinstance(decision, Evict):
            world.facts.apply(("Pod", pod, None))
        else:
            world.facts.apply(("Pod", pod, replace(pod, spec=replace(pod.spec, scheduling_gates=()))))


def _job_result(job: Job, evicted: int) -> JobResult:
    placed = sum(task.node is not None for task in job.tasks.values())
    return JobResult(
        job=job.id,
        queue=job.queue,
        starts=bool(job.tasks) and job.pod_group is not None and job.is_ready() and job.roles_ready(),
        pods=len(job.tasks),
        placed=placed,
        min_member=job.min_available,
        evicted=evicted,
    )


def _explanations(
    world: World, memory: Memory, jobs: Collection[str], spans: tuple[Span, ...], stopwatch: Callable[[], float]
) -> list[Explanation]:
    cluster = world.cluster
    known = {job_id: _known(world, cluster.jobs[job_id]) for job_id in jobs}
    waiting = [
        cluster.jobs[job_id]
        for job_id in jobs
        if cluster.jobs[job_id].pending or not cluster.jobs[job_id].tasks or known[job_id]
    ]
    if not waiting:
        return []
    with opened(cluster, memory, world.now) as session:
        shared = Shared(session)
        return [explain(shared, job, spans, stopwatch, known[job.id]) for job in waiting]


def _known(world: World, job: Job) -> list[Obstacle]:
    """What is known of a job beside the state: pods of tasks that wait for others, and pods for other schedulers."""
    dependent = world.dependents.get(job.id)
    return [*(dependent.obstacles(job) if dependent is not None else ()), *world.foreign.known(job)]
