"""The sharding controller: which scheduler uses which nodes (controllers.md 12). Off unless it is named."""

from __future__ import annotations

from typing import Any, Final

from controllers.blueprint import Blueprint, Context
from controllers.sharding.reconcile import ShardingReconciler
from controllers.sharding.requests import OnConfigMap, OnNode, OnPod, OnShard, Sync, Work
from controllers.sharding.settings import from_flags
from controllers.sharding.shards import Shards
from controllers.sharding.usage import Usage
from controllers.stored import POD_DECODER
from generated.core.v1 import CONFIG_MAPS, NODES, PODS, ConfigMap
from generated.listers.core_v1 import PodLister
from generated.shard.v1alpha1 import NODE_SHARDS
from runtime.controller import Controller
from runtime.informer import Informer
from runtime.lister import Lister
from runtime.objects import Key
from runtime.rbac import READ, Rule

NAME: Final = "sharding-controller"
RETRIES: Final = 3

RULES: Final = (
    Rule(NODE_SHARDS.group, (NODE_SHARDS.plural,), (*READ, "create", "patch", "delete")),
    Rule(NODE_SHARDS.group, (f"{NODE_SHARDS.plural}/status",), ("patch",)),
    Rule("", (NODES.plural, PODS.plural), READ),
)
HOME_RULES: Final = (Rule("", (CONFIG_MAPS.plural,), READ),)
"""For a `--sharding-configmap-namespace` of one's own a Role there must say the same."""


def build(context: Context) -> Controller[Work]:
    """The controller on the process's informers."""
    informers, flags = context.informers, context.options.sharding
    nodes, shards = informers.of(NODES), informers.of(NODE_SHARDS)
    pods = informers.of(PODS, indexers=PodLister.INDEXERS, decoder=POD_DECODER)
    needed: list[Informer[Any]] = [nodes, pods, shards]
    place = Key(flags.namespace, flags.config_map) if flags.config_map else None
    maps: Lister[ConfigMap] = Lister()
    configs = None
    if place is not None:
        configs = informers.of(CONFIG_MAPS, namespace=place.namespace, field_selector=f"metadata.name={place.name}")
        maps = configs.lister
        needed.append(configs)
    usage = Usage(nodes.lister, PodLister(pods.lister))
    writer = Shards(context.clients, shards.lister, context.clock)

    def ask(work: Work) -> None:
        controller.queue.add_after(work, reconciler.rest if isinstance(work, Sync) else 0)

    reconciler = ShardingReconciler(
        from_flags(flags),
        place,
        configs=maps,
        nodes=nodes.lister,
        usage=usage,
        shards=writer,
        events=context.events,
        ask=ask,
        clock=context.clock,
    )

    def wake(work: Work) -> None:
        if reconciler.settings.follows_nodes:
            controller.queue.add_after(work, reconciler.rest)

    async def give_up(work: Work, _error: Exception) -> None:
        if isinstance(work, Sync):  # the periods go on
            controller.queue.add_after(work, reconciler.settings.period)

    controller: Controller[Work] = Controller(
        NAME,
        reconciler.reconcile,
        watches=(),
        reads=needed,
        workers=1,  # shards and nodes are looked at one after the other
        max_retries=RETRIES,
        on_give_up=give_up,
    )
    if configs is not None:
        configs.add_handler(OnConfigMap(controller.queue))
    shards.add_handler(OnShard(controller.queue, writer.forget))
    nodes.add_handler(OnNode(usage, wake))
    pods.add_handler(OnPod(usage, wake))
    controller.queue.add(Sync())
    return controller


BLUEPRINT: Final = Blueprint(NAME, build, RULES, HOME_RULES)
