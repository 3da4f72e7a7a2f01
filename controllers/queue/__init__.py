"""The queue controller: states of queues, their hierarchy, Commands on them (controllers.md 6)."""

from __future__ import annotations

from typing import Any, Final

from controllers.blueprint import Blueprint, Context
from controllers.queue.population import Population
from controllers.queue.reconcile import QueueReconciler
from controllers.queue.requests import OnCommand, OnPodGroup, OnQueue, Request, Work
from generated.bus.v1alpha1 import COMMANDS
from generated.listers.scheduling_v1beta1 import QueueLister
from generated.scheduling.v1beta1 import POD_GROUPS, QUEUES
from runtime.controller import Controller
from runtime.informer import Informer
from runtime.rbac import READ, Rule

NAME: Final = "queue-controller"
COMMAND_GATE: Final = "QueueCommandSync"

RULES: Final = (
    Rule(QUEUES.group, ("queues",), (*READ, "patch")),
    Rule(QUEUES.group, ("queues/status",), ("patch",)),
    Rule(POD_GROUPS.group, ("podgroups",), READ),
    Rule(COMMANDS.group, ("commands",), (*READ, "delete")),
)


def build(context: Context) -> Controller[Work]:
    """The controller on the process's informers."""
    queues = context.informers.of(QUEUES, indexers=QueueLister.INDEXERS)
    groups = context.informers.of(POD_GROUPS, indexers=Population.INDEXERS)
    needed: list[Informer[Any]] = [queues, groups]

    def ask(request: Request) -> None:
        controller.queue.add(request)

    lister = QueueLister(queues.lister)
    reconciler = QueueReconciler(context.clients, lister, Population(groups.lister), context.events, ask)
    commands = context.informers.of(COMMANDS) if context.options.gates.enabled(COMMAND_GATE) else None
    if commands is not None:
        needed.append(commands)
    controller: Controller[Work] = Controller(
        NAME,
        reconciler.reconcile,
        watches=(),
        reads=needed,
        workers=2 * context.options.workers["queue"],  # as many for Commands as for queues
        max_retries=context.options.max_requeue,
        on_give_up=reconciler.give_up,
    )
    queues.add_handler(OnQueue(controller.queue, lister, reconciler.forget))
    groups.add_handler(OnPodGroup(controller.queue))
    if commands is not None:
        commands.add_handler(OnCommand(controller.queue))
    return controller


BLUEPRINT: Final = Blueprint(NAME, build, RULES)
