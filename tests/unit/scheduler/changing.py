"""Clusters that change between cycles: nodes, pods, jobs, queues and priorities, by a seed, and what cycles did to them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

from scheduler.contract.decisions import Bind, Evict
from scheduler.cycle import Result
from scheduler.placing.template import Template
from scheduler.session import Session
from scheduler.state.status import Status
from scheduler.state.task import Shape, Task
from tests.unit.scheduler.build import GIB, World, memory_of, require, shape
from tests.unit.scheduler.sociable import random_labels, sociable_gang, sociable_shape

_STAYING = (Status.RUNNING, Status.BINDING)
_OFFERS = (2000.0, 4000.0, 8000.0)


def shapes(rng: random.Random, *, sociable: bool) -> list[Shape]:
    """Some that fit somewhere, some that fit nowhere as long as no larger node or no label comes."""
    found = [shape(rng.choice([500.0, 1000.0, 2000.0]), rng.choice([1, 3]) * GIB) for _ in range(3)]
    found += [shape(cpu, memory * GIB) for cpu, memory in ((9000.0, 1), (1000.0, 20), (9000.0, 40))]
    found.append(shape(500.0, GIB, affinity=require("disk", rng.choice(["ssd", "tape"]))))
    found.append(shape(500.0, GIB, {"nvidia.com/gpu": 1000.0}))
    if sociable:
        found += [sociable_shape(rng) for _ in range(2)]
    return found


def world(seed: int, *, sociable: bool = False) -> World:
    """A cluster to begin with."""
    rng = random.Random(seed)
    made = World()
    made.shapes = shapes(rng, sociable=sociable)
    made.queue("default")
    made.queue("other", weight=rng.choice([1, 3]))
    for number in range(rng.randint(1, 5)):
        offer_node(made, rng, f"n{number}")
    for _ in range(rng.randint(2, 6)):
        submit(made, rng)
    return made


def templates(made: World) -> set[Template]:
    """Those of all its pods."""
    memory = memory_of(made.cluster)
    session = Session(made.cluster, memory.configuration, memory, uid="s", now=1.0)
    session.open()
    return {session.template(task) for task in made.cluster.tasks.values()}


def change(made: World, rng: random.Random) -> None:
    """One thing changes."""
    kinds: list[Callable[[World, random.Random], None]] = [
        _node, _node, _no_node, _end, _end, submit, submit, _withdraw, _edit, _one_pod_more, _queue, _raise,
    ]  # fmt: skip
    rng.choice(kinds)(made, rng)


def touch(made: World) -> None:
    """News of a node that are none."""
    for node in list(made.cluster.node_by_name.values()):
        if node.object is not None:
            made.cluster.set_node(node.object, node.allocatable)
            return


def offer_node(made: World, rng: random.Random, name: str) -> None:
    made.node(
        name, labels={"disk": rng.choice(["ssd", "hdd"])} if rng.random() < 0.8 else {}, cpu=rng.choice(_OFFERS),
        memory=rng.choice([4, 8, 16]) * GIB, pods=float(rng.choice([3, 110])), cordoned=rng.random() < 0.1,
        scalars={"nvidia.com/gpu": 2000.0} if rng.random() < 0.1 else {},
    )  # fmt: skip


def _node(made: World, rng: random.Random) -> None:
    offer_node(made, rng, f"n{rng.randrange(8)}")


def _no_node(made: World, rng: random.Random) -> None:
    if len(made.cluster.nodes) > 1:
        made.cluster.remove_node(rng.choice(made.cluster.nodes).name)


def _end(made: World, rng: random.Random) -> None:
    running = [task for task in made.cluster.tasks.values() if task.status in _STAYING]
    if running:
        made.cluster.remove_task(rng.choice(running).uid)


def submit(made: World, rng: random.Random) -> None:
    """Another gang."""
    name = f"j{made.cluster.version}"
    roles = [
        (role, rng.randint(1, 3), rng.choice(made.shapes)) for role in rng.sample(["a", "b"], rng.choice([1, 1, 2]))
    ]
    total = sum(count for _, count, _ in roles)
    minimum, queue, priority = rng.choice([total, 1]), rng.choice(["default", "other"]), rng.choice([0, 0, 100])
    resources = {"cpu": "500m"} if rng.random() < 0.2 else None
    if made.cluster.sight.is_active or any(each.looks for _, _, each in roles):
        sociable_gang(made, name, roles, random_labels(rng), minimum=minimum, queue=queue, priority=priority)
        return
    made.gang(name, roles, minimum=minimum, queue=queue, priority=priority, resources=resources)


def _jobs(made: World) -> list[str]:
    return [job.id for job in made.cluster.jobs.values() if job.pod_group is not None]


def _withdraw(made: World, rng: random.Random) -> None:
    known = _jobs(made)
    if known:
        job = made.cluster.jobs[rng.choice(known)]
        for uid in list(job.tasks):
            made.cluster.remove_task(uid)
        job.pod_group = None
        made.cluster.set_job_queue(job, "")
        made.cluster.remove_job(job.id)


def _edit(made: World, rng: random.Random) -> None:
    known = _jobs(made)
    if known:
        job = made.cluster.jobs[rng.choice(known)]
        job.min_available = rng.randint(1, len(job.tasks) + 1)
        made.cluster.set_job_queue(job, rng.choice(["default", "other"]))


def _one_pod_more(made: World, rng: random.Random) -> None:
    known = _jobs(made)
    if known:
        job = made.cluster.jobs[rng.choice(known)]
        pod = f"{job.name}-more-{made.cluster.version}"
        made.cluster.add_task(
            Task(uid=f"uid-{pod}", namespace="ns", name=pod, job=job.id, shape=rng.choice(made.shapes[:6]), role="m")
        )


def _queue(made: World, rng: random.Random) -> None:
    limits = rng.choice([{}, {"capability": {"cpu": str(rng.randint(1, 12))}}])
    made.queue(
        rng.choice(["default", "other"]),
        state=rng.choice(["Open", "Open", "Closed"]),
        weight=rng.randint(1, 4),
        **limits,
    )
    made.cluster.version += 1


def _raise(made: World, rng: random.Random) -> None:
    known = _jobs(made)
    if known:
        job = made.cluster.jobs[rng.choice(known)]
        job.priority = rng.choice([0, 50, 200])
        made.cluster.changed_jobs.add(job.id)


def carry_out(made: World, result: Result) -> None:
    """What was decided comes true: pods run where they were bound, and are gone where they were evicted."""
    for decision in result.decisions:
        if isinstance(decision, Bind):
            _restart(made, decision.task, decision.node)
        elif isinstance(decision, Evict):
            made.cluster.remove_task(decision.task.uid)


def _restart(made: World, task: Task, node: str) -> None:
    made.cluster.remove_task(task.uid)
    again = Task(
        uid=task.uid, namespace=task.namespace, name=task.name, job=task.job, shape=task.shape, role=task.role,
        priority=task.priority, status=Status.RUNNING, pod=task.pod,
    )  # fmt: skip
    made.cluster.add_task(again, node)


def decisions(result: Result) -> list[tuple[str, ...]]:
    """All of them, to compare. Which extra pods of a whole job are committed together depends on who waits beside it."""
    return [(type(each).__name__, each.task.key, getattr(each, "node", "")) for each in result.decisions]


def told(results: Iterable[Result]) -> dict[str, str]:
    """The last word on each job and pod."""
    words: dict[str, str] = {}
    for result in results:
        for job in result.outcome.jobs:
            condition = job.condition
            said = (condition.type, condition.reason, condition.message) if condition else ()
            words[job.job.id] = (
                f"{job.phase} {job.running} {job.succeeded} {job.failed} {said} {job.event} {job.refusal}"
            )
        for task in result.outcome.tasks:
            words[task.task.uid] = f"{task.reason} {task.message} {task.nominated}"
    return words
