"""The PodGroup controller: pods of other workloads that ask for our scheduler get a group (controllers.md 5)."""

from __future__ import annotations

from typing import Any, Final

from controllers.blueprint import Blueprint, Context
from controllers.podgroup.reader import INDEXERS, Reader
from controllers.podgroup.reconcile import PodGroupReconciler
from controllers.podgroup.requests import OnPod, OnPodGroup, OnWorkload, Work
from controllers.stored import POD_DECODER
from generated.apps.v1 import DAEMON_SETS, REPLICA_SETS, STATEFUL_SETS
from generated.batch.v1 import JOBS as BATCH_JOBS
from generated.core.v1 import PODS
from generated.listers.scheduling_v1beta1 import PodGroupLister
from generated.scheduling.v1beta1 import POD_GROUPS
from runtime.controller import Controller
from runtime.informer import Informer
from runtime.rbac import READ, Rule

NAME: Final = "pg-controller"
WORKLOAD_GATE: Final = "WorkLoadSupport"
_WORKLOADS: Final = (REPLICA_SETS, STATEFUL_SETS, DAEMON_SETS)

RULES: Final = (
    Rule("", ("pods",), (*READ, "patch")),
    Rule("", ("pods/finalizers",), ("update",)),
    Rule(REPLICA_SETS.group, tuple(f"{owner.plural}/finalizers" for owner in _WORKLOADS), ("update",)),
    Rule(BATCH_JOBS.group, (f"{BATCH_JOBS.plural}/finalizers",), ("update",)),
    Rule(POD_GROUPS.group, ("podgroups",), (*READ, "create", "patch", "delete")),
    Rule(REPLICA_SETS.group, (REPLICA_SETS.plural, STATEFUL_SETS.plural), READ),
    Rule(DAEMON_SETS.group, (DAEMON_SETS.plural,), ("get",)),
    Rule(BATCH_JOBS.group, (BATCH_JOBS.plural,), ("get",)),
)
"""
`finalizers`: a group blocks the deletion of its owner, a bare pod or what the pod belongs to, which some clusters let only
that owner's writer say. Owners of other kinds it goes with without blocking.
"""


def build(context: Context) -> Controller[Work]:
    """The controller on the process's informers."""
    informers = context.informers
    pods = informers.of(PODS, indexers=INDEXERS, decoder=POD_DECODER)
    groups = informers.of(POD_GROUPS, indexers=PodGroupLister.INDEXERS)
    workloads: list[Informer[Any]] = []
    if context.options.gates.enabled(WORKLOAD_GATE):
        workloads = [informers.of(REPLICA_SETS), informers.of(STATEFUL_SETS)]
    reader = Reader(
        pods=pods.lister,
        groups=PodGroupLister(groups.lister),
        workloads={informer.resource.kind: informer.lister for informer in workloads},
        schedulers=frozenset(context.options.scheduler_names),
    )
    reconciler = PodGroupReconciler(
        context.clients, reader, inherits=context.options.inherit_owner_annotations, clock=context.clock
    )
    controller: Controller[Work] = Controller(
        NAME,
        reconciler.reconcile,
        watches=(),
        reads=[pods, groups, *workloads],
        workers=context.options.workers["podgroup"],
    )
    pods.add_handler(OnPod(controller.queue, reader))
    groups.add_handler(OnPodGroup(controller.queue, reader))
    for informer in workloads:
        informer.add_handler(OnWorkload(controller.queue, informer.resource.kind))
    return controller


BLUEPRINT: Final = Blueprint(NAME, build, RULES)
