"""The state of a simulation: from manifests alone, or from a dump to which manifests are added."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec.structs import replace

from api import names
from api.jobs import FINISHED_PHASES
from api.owners import controller_of
from generated.batch.v1alpha1 import Job
from generated.core.v1 import Pod
from generated.meta.v1 import ObjectMeta
from generated.scheduling.v1 import PriorityClass
from generated.scheduling.v1beta1 import PodGroup, PodGroupSpec, Queue, QueueSpec
from scheduler.cache.facts import Facts
from scheduler.cache.foreign import ForeignPods
from scheduler.dump.parts import put
from scheduler.dump.replay import carry
from scheduler.explain.obstacles import DEFAULT
from scheduler.memory import Memory
from scheduler.simulate.dependent import Dependent
from scheduler.simulate.manifests import Entry, InputError
from scheduler.simulate.objects import Classes, checked, children, own_group, prioritised
from scheduler.state.cluster import Cluster
from scheduler.state.queue import ROOT

if TYPE_CHECKING:
    from scheduler.dump.files import Dump
    from scheduler.dump.record import CycleRecord
    from scheduler.dump.seam import Reading
    from scheduler.plugin import Plugin
    from scheduler.settings.conf import Configuration
    from scheduler.state.job import Job as JobState

_ORDER = (
    "PriorityClass", "Namespace", "Queue", "HyperNode", "Node", "Service", "ReplicationController", "ReplicaSet",
    "StatefulSet", "PersistentVolumeClaim", "PodGroup", "Pod", "Job",
)  # fmt: skip
"""Kinds that others refer to come first; jobs last, which may have their pods already."""


@dataclass(slots=True)
class World:
    """The state, and what is known of it beside. `warnings` tell what was left out or guessed."""

    facts: Facts
    scheduler_names: frozenset[str]
    now: float = 0.0
    reading: Reading | None = None
    recorded: CycleRecord | None = None
    """The cycle of the dump that the state comes from."""
    classes: Classes = field(default_factory=Classes)
    dependents: dict[str, Dependent] = field(default_factory=dict)
    """By id of a job: its pods that aren't made before other tasks of it run."""
    warnings: list[str] = field(default_factory=list)
    left_out: set[str] = field(default_factory=set)
    """Ids of jobs that have a PodGroup and are another scheduler's."""
    foreign: ForeignPods = field(init=False)
    _uids: dict[str, str] = field(default_factory=dict)
    """By key of a pod; filled when the first one is taken in."""

    def __post_init__(self) -> None:
        self.foreign = ForeignPods(sorted(self.scheduler_names))

    @property
    def cluster(self) -> Cluster:
        return self.facts.cluster

    def memory(self, configuration: Configuration, builders: dict[str, type[Plugin]]) -> Memory:
        """What outlives sessions, with what the dump remembers."""
        memory = Memory(self.cluster, configuration, builders)
        if self.reading is not None:
            self.reading.remember(memory)
        if self.recorded is not None:
            carry(self.recorded, memory)
        return memory

    # Objects.

    def add(self, entries: Iterable[Entry]) -> list[str]:
        """Take in objects, over those of the same name; gives the ids of the jobs that they make. Raises InputError."""
        jobs: list[str] = []
        for entry in sorted(entries, key=lambda entry: (_ORDER.index(entry.kind), entry.number)):
            obj = checked(entry)
            if entry.kind == "PriorityClass":
                self.classes.add(obj)
            if entry.kind == "Job":
                jobs += self._job(entry, obj)
            elif entry.kind == "Pod":
                jobs += self._pod(entry, obj)
            else:
                self.facts.apply((entry.kind, None, obj))
                if entry.kind == "PodGroup":
                    jobs.append(entry.key)
        self.cluster.settle()
        return list(dict.fromkeys(jobs))

    def ask(self, entries: Sequence[Entry]) -> list[str]:
        """Take in what the question is about. Raises InputError, also for a job that would be left out."""
        for entry in entries:
            whose = checked(entry).spec.scheduler_name if entry.kind == "Job" else ""
            if whose and whose not in self.scheduler_names:
                raise entry.error("spec.schedulerName", f"{whose} is not simulated, see --scheduler-name")
        return self.add(entries)

    def _job(self, entry: Entry, job: Job) -> list[str]:
        """A job's PodGroup and pods. Those that are there already stay, as far as the manifest is the job of then."""
        if job.status.state.phase in FINISHED_PHASES:
            return []
        if job.spec.scheduler_name not in self.scheduler_names:
            self._leave_out(entry, job.spec.scheduler_name)
            group = self._group_of(job)
            self.left_out.update([f"{job.metadata.namespace}/{group.metadata.name}"] if group is not None else ())
            return []
        self._expect_class(entry, "spec.priorityClassName", job.spec.priority_class_name)
        former = self._group_of(job)
        is_another = former is not None and owner_uid(former) != job.metadata.uid
        if former is not None and is_another:
            job = replace(job, metadata=replace(job.metadata, uid=owner_uid(former)))
        group, pods = children(entry, job, self.classes)
        job_id = f"{group.metadata.namespace}/{group.metadata.name}"
        if former is None or is_another:
            if former is not None:
                group = replace(group, metadata=replace(group.metadata, uid=former.metadata.uid))
            self.facts.apply(("PodGroup", None, group))
        wanted = {f"{pod.metadata.namespace}/{pod.metadata.name}": pod for pod in pods}
        known = {task.key: task for task in self.cluster.job(job_id).tasks.values()}
        for key, task in known.items():
            if is_another and (task.node is None or key not in wanted):
                self.facts.apply(("Pod", task.pod, None))
        dependent = self.dependents[job_id] = Dependent(job)
        for key, pod in wanted.items():
            is_there = key in known and known[key].uid in self.cluster.tasks
            if not is_there and not dependent.hold(pod):
                self.put_pod(pod)
        self.make_due()
        return [job_id]

    def make_due(self) -> None:
        """Make the pods whose tasks need to wait for others no longer."""
        for job_id, dependent in self.dependents.items():
            job = self.cluster.jobs.get(job_id)
            for pod in dependent.due(job.tasks.values()) if job is not None else ():
                self.put_pod(pod)

    def _group_of(self, job: Job) -> PodGroup | None:
        """The PodGroup that a job of this name has already."""
        for known in self.cluster.jobs.values():
            group = known.pod_group
            if group is None or known.namespace != job.metadata.namespace:
                continue
            owner = controller_of(group.metadata)
            if owner is not None and (owner.kind, owner.name) == ("Job", job.metadata.name):
                return group
        return None

    def _pod(self, entry: Entry, pod: Pod) -> list[str]:
        self._expect_class(entry, "spec.priorityClassName", pod.spec.priority_class_name)
        pod = prioritised(pod, self.classes)
        is_ours = pod.spec.scheduler_name in self.scheduler_names
        if not is_ours and not pod.spec.node_name:
            self.foreign.on_add(pod, initial=True)
            self._leave_out(entry, pod.spec.scheduler_name or DEFAULT)
            return []
        if is_ours and not pod.metadata.annotations.get(names.GROUP_NAME_ANNOTATION):
            pod, group = own_group(pod)
            if f"{pod.metadata.namespace}/{group.metadata.name}" not in self.cluster.jobs:
                self.facts.apply(("PodGroup", None, group))
        self.put_pod(pod)
        name = pod.metadata.annotations.get(names.GROUP_NAME_ANNOTATION, "")
        return [f"{pod.metadata.namespace}/{name}"] if is_ours and name else []

    def _leave_out(self, entry: Entry, scheduler: str) -> None:
        self.warnings.append(f"{entry.file}: {entry.kind} {entry.key}: left out, its scheduler is {scheduler}")

    def _expect_class(self, entry: Entry, place: str, name: str) -> None:
        if name and name not in self.classes.values:
            self.warnings.append(
                f"{entry.file}: {entry.kind} {entry.key}: {place}: no PriorityClass {name} is given, 0 counts"
            )

    def expect_hypernodes(self) -> None:
        """Warn of jobs that ask for nearness in the network where nothing tells of the network."""
        asking = [] if len(self.cluster.hypernodes) else filter(_asks_for_nearness, self.cluster.jobs.values())
        self.warnings += [
            f"{job.id}: it asks for a network topology and no HyperNodes are given, so any node will do for it"
            for job in asking
        ]

    def put_pod(self, pod: Pod) -> None:
        """Take in a pod, in place of one of its name."""
        if not self._uids:
            self._uids = {task.key: uid for uid, task in self.cluster.tasks.items()}
        key = f"{pod.metadata.namespace}/{pod.metadata.name}"
        self.foreign.on_add(pod, initial=True)
        old = self.cluster.tasks.get(self._uids.get(key, ""))
        self.facts.apply(("Pod", old.pod if old is not None else None, pod))
        self._uids[key] = pod.metadata.uid


def _asks_for_nearness(job: JobState) -> bool:
    """Whether it, or a sub-group of it, names a network topology."""
    spec = job.pod_group.spec if job.pod_group is not None else PodGroupSpec()
    return spec.network_topology is not None or any(policy.network_topology for policy in spec.sub_group_policy)


def owner_uid(group: PodGroup) -> str:
    """UID of the job that has a PodGroup."""
    owner = controller_of(group.metadata)
    return owner.uid if owner is not None else ""


def from_manifests(scheduler_names: Sequence[str], default_queue: str) -> World:
    """An empty cluster with the queues that the scheduler makes."""
    facts = Facts(Cluster(), scheduler_names=scheduler_names, default_queue=default_queue)
    world = World(facts, frozenset(scheduler_names))
    _ensure_queues(world, default_queue)
    return world


def from_dump(dump: Dump, scheduler_names: Sequence[str], default_queue: str, path: str) -> World:
    """The cluster of a dump, as its cycle began. Raises InputError."""
    try:
        reading = put(dump.parts)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"{path}: the state of the dump contradicts itself: {type(error).__name__}: {error}"
        ) from error
    facts = Facts(reading.cluster, scheduler_names=scheduler_names, default_queue=default_queue)
    world = World(facts, frozenset(scheduler_names), now=dump.cycle.now, reading=reading, recorded=dump.cycle)
    # Classes are not in dumps: what the jobs of then had tells their values.
    for job in list(reading.cluster.jobs.values()):
        named = job.pod_group.spec.priority_class_name if job.pod_group is not None else ""
        if named and named not in world.classes.values:
            found = PriorityClass(metadata=ObjectMeta(name=named), value=job.priority)
            world.classes.add(found)
            facts.apply(("PriorityClass", None, found))
    _ensure_queues(world, default_queue)
    return world


def _ensure_queues(world: World, default_queue: str) -> None:
    for name in (ROOT, default_queue):
        queue = world.cluster.queues.get(name)
        if queue is None or queue.object is None:
            made = Queue(
                metadata=ObjectMeta(name=name, uid=f"queue-{name}"), spec=QueueSpec(weight=1, reclaimable=name != ROOT)
            )
            world.facts.apply(("Queue", None, made))
