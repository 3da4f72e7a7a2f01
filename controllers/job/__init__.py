"""The job controller: from a Job to its PodGroup and pods, and from their fate to its status (controllers.md 3)."""

from __future__ import annotations

from typing import Any, Final

from controllers.blueprint import Blueprint, Context
from controllers.job import upkeep
from controllers.job.executor import Executor
from controllers.job.first import FirstStatuses
from controllers.job.reader import POD_INDEXERS, Listers, Reader
from controllers.job.recent import Recent
from controllers.job.reconcile import JobReconciler, Parts, Work
from controllers.job.requests import Request
from controllers.job.tallies import Tallies
from controllers.job.watches import PATIENT, OnCommand, OnJob, OnPod, OnPodGroup, OnWaitedFor
from controllers.stored import DECODER, POD_DECODER
from generated.batch.v1alpha1 import JOBS, Job
from generated.bus.v1alpha1 import COMMANDS
from generated.core.v1 import PERSISTENT_VOLUME_CLAIMS, PODS, PersistentVolumeClaim
from generated.listers.batch_v1alpha1 import JobLister
from generated.listers.core_v1 import PersistentVolumeClaimLister, PodLister
from generated.listers.scheduling_v1 import PriorityClassLister
from generated.listers.scheduling_v1beta1 import PodGroupLister, QueueLister
from generated.scheduling.v1 import PRIORITY_CLASSES
from generated.scheduling.v1beta1 import POD_GROUPS, QUEUES, Queue
from runtime.controller import Controller
from runtime.informer import Informer
from runtime.objects import Key
from runtime.rbac import READ, Rule

NAME: Final = "job-controller"
COMMAND_GATE: Final = "QueueCommandSync"
PRIORITY_GATE: Final = "PriorityClass"
JOB_GATE: Final = "VolcanoJobSupport"

RULES: Final = (
    *upkeep.RULES,
    Rule(JOBS.group, ("jobs",), (*READ, "patch")),
    Rule(JOBS.group, ("jobs/status",), ("update",)),
    Rule(JOBS.group, ("jobs/finalizers",), ("update",)),
    Rule("", ("pods",), (*READ, "create", "patch", "delete")),
    Rule("", ("persistentvolumeclaims",), (*READ, "create")),
    Rule(POD_GROUPS.group, ("podgroups",), (*READ, "create", "patch", "delete")),
    Rule(QUEUES.group, ("queues",), READ),
    Rule(COMMANDS.group, ("commands",), (*READ, "delete")),
    Rule(PRIORITY_CLASSES.group, ("priorityclasses",), READ),
)
"""`jobs/finalizers`: children block the deletion of their job, which some clusters let only its owner's writer say."""


def build(context: Context) -> Controller[Work]:
    """The controller on the process's informers."""
    informers, gates = context.informers, context.options.gates
    jobs = informers.of(JOBS, indexers=JobLister.INDEXERS, decoder=DECODER) if gates.enabled(JOB_GATE) else None
    pods = informers.of(PODS, indexers=POD_INDEXERS, decoder=POD_DECODER)
    groups = informers.of(POD_GROUPS, indexers=PodGroupLister.INDEXERS)
    queues = informers.of(QUEUES, indexers=QueueLister.INDEXERS)
    claims = informers.of(PERSISTENT_VOLUME_CLAIMS)
    needed: list[Informer[Any]] = [pods, groups, queues, claims, *([jobs] if jobs is not None else [])]
    priorities = commands = None
    if gates.enabled(PRIORITY_GATE):
        priorities = informers.of(PRIORITY_CLASSES)
        needed.append(priorities)
    if gates.enabled(COMMAND_GATE):
        commands = informers.of(COMMANDS)
        needed.append(commands)
    listers = Listers(
        jobs=JobLister(jobs.lister) if jobs is not None else JobLister.filled(),
        pods=PodLister(pods.lister),
        groups=PodGroupLister(groups.lister),
        queues=QueueLister(queues.lister),
        claims=PersistentVolumeClaimLister(claims.lister),
        priorities=PriorityClassLister(priorities.lister) if priorities is not None else None,
    )

    def wake(work: Work, is_urgent: bool = True) -> None:  # noqa: FBT001, FBT002  # as those who call it say it
        controller.queue.add(work, is_urgent=is_urgent)

    reader = Reader(listers, Recent(context.clock), FirstStatuses(wake))

    reconciler = JobReconciler(
        Parts(
            context.clients,
            reader,
            Executor(context.clients, context.events, reader, Tallies(wake)),
            context.events,
            context.clock,
            context.options.max_requeue,
        ),
        wake,
    )
    controller: Controller[Work] = Controller(
        NAME, reconciler.reconcile, watches=(), reads=needed, workers=context.options.workers[""] * JOBS_A_WORKER
    )

    def note(key: Key, request: Request, delay: float) -> None:
        reconciler.inbox.add(key, request)
        if delay > 0:
            controller.queue.add_after(key, delay)
        else:
            controller.queue.add(key, is_urgent=delay != PATIENT)

    def waiting_jobs(obj: Queue | PersistentVolumeClaim) -> list[Job]:
        if isinstance(obj, Queue):
            return listers.jobs.by_queue(obj.metadata.name)
        return listers.jobs.list(obj.metadata.namespace)

    if jobs is not None:
        jobs.add_handler(OnJob(note, reconciler.forget, reader))
    pods.add_handler(OnPod(note, reader))
    groups.add_handler(OnPodGroup(note, reader))
    queues.add_handler(OnWaitedFor(note, waiting_jobs))
    claims.add_handler(OnWaitedFor(note, waiting_jobs))
    if commands is not None:
        commands.add_handler(OnCommand(wake))
    return controller


JOBS_A_WORKER: Final = 8
"""Jobs that one of the flag's workers has in hand at once: they wait for answers, so a slow one holds up none."""

BLUEPRINT: Final = Blueprint(NAME, build, RULES)
