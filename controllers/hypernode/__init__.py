"""The HyperNode controller: discovers the network's topology, and counts nodes (controllers.md 11)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from api import names
from controllers.blueprint import Blueprint, Context
from controllers.hypernode.reconcile import HyperNodeReconciler
from controllers.hypernode.requests import OnConfigMap, OnHyperNode, OnNode, Work
from generated.core.v1 import CONFIG_MAPS, NODES
from generated.topology.v1alpha1 import HYPER_NODES
from runtime.controller import Controller
from runtime.objects import Key
from runtime.rbac import READ, Rule

NAME: Final = "hyperNode-controller"
WORKERS: Final = 3

RULES: Final = (
    Rule(HYPER_NODES.group, (HYPER_NODES.plural,), (*READ, "create", "patch", "delete")),
    Rule(HYPER_NODES.group, (f"{HYPER_NODES.plural}/status",), ("patch",)),
    Rule("", (NODES.plural,), READ),
)
HOME_RULES: Final = (
    Rule("", (CONFIG_MAPS.plural,), READ),
    Rule("", ("secrets",), ("get",)),
)
"""Not everywhere: whoever may edit the config map would choose which Secret is read, and where to it is sent."""


def config_place(environment: Mapping[str, str] = os.environ) -> Key:
    """The config map of this installation."""
    namespace = environment.get(names.ControllerEnv.NAMESPACE) or names.DEFAULT_NAMESPACE
    release = environment.get(names.ControllerEnv.RELEASE) or names.DEFAULT_RELEASE
    return Key(namespace, names.controller_config_map(release))


def build(context: Context) -> Controller[Work]:
    """The controller on the process's informers."""
    place = config_place()
    configs = context.informers.of(CONFIG_MAPS, namespace=place.namespace, field_selector=f"metadata.name={place.name}")
    hypernodes = context.informers.of(HYPER_NODES)
    nodes = context.informers.of(NODES)

    def ask(work: Work) -> None:
        controller.queue.add(work)

    reconciler = HyperNodeReconciler(
        context.clients,
        place,
        configs=configs.lister,
        hypernodes=hypernodes.lister,
        nodes=nodes.lister,
        events=context.events,
        ask=ask,
    )
    controller: Controller[Work] = Controller(
        NAME, reconciler.reconcile, watches=(), reads=[configs, hypernodes, nodes], workers=WORKERS
    )
    configs.add_handler(OnConfigMap(controller.queue))
    hypernodes.add_handler(OnHyperNode(controller.queue))
    nodes.add_handler(OnNode(controller.queue, lambda: reconciler.watched))
    return controller


BLUEPRINT: Final = Blueprint(NAME, build, RULES, HOME_RULES)
