"""The command line of `vc-controller-manager` (controllers.md 1.1)."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping

import msgspec

from api import names
from runtime.features import VOLCANO, FeatureGates
from runtime.flags import FlagParser
from runtime.flagtypes import BOOL, DURATION, INT, STRING, STRING_ARRAY, STRING_SLICE, UINT32
from runtime.kubegates import HONOURED, TOLERATED
from runtime.options import (
    add_client_flags,
    add_election_flags,
    add_feature_flag,
    add_lock_namespace_flag,
    add_log_flags,
    add_serving_flags,
    add_tls_flags,
)

PROGRAM = "vc-controller-manager"
_WORKERS = {"": 3, "cronjob": 3, "podgroup": 5, "queue": 5, "gc": 1}

SCHEDULER_CONFIGS = ("volcano:volcano:0.0:0.6:false:2:100", "agent-scheduler:agent:0.7:1.0:true:2:100")
"""Shards where nothing else is said: name:type:min:max:preferWarmup:minNodes:maxNodes."""


def feature_gates() -> FeatureGates:
    """The gates that controllers ask for; Kubernetes' own are accepted."""
    return FeatureGates(VOLCANO, tolerated=TOLERATED | {gate.name for gate in HONOURED})


class ShardingOptions(msgspec.Struct, frozen=True):
    """What the sharding controller reads."""

    scheduler_configs: tuple[str, ...] = SCHEDULER_CONFIGS
    sync_period: float = 60.0
    """Seconds."""
    follows_nodes: bool = True
    config_map: str = names.ConfigMap.SHARDING
    """Empty for flags only."""
    namespace: str = names.DEFAULT_NAMESPACE


class Options(msgspec.Struct, frozen=True):
    """What the controllers themselves read."""

    workers: Mapping[str, int] = msgspec.field(default_factory=lambda: dict(_WORKERS))
    """Keys at work at once: by controller, under `` for the others."""
    scheduler_names: tuple[str, ...] = ("volcano",)
    max_requeue: int = 15
    """Retries before a request is dropped; negative for no end."""
    inherit_owner_annotations: bool = True
    controllers: tuple[str, ...] = ("*", "-sharding-controller")
    gates: FeatureGates = msgspec.field(default_factory=feature_gates)
    sharding: ShardingOptions = msgspec.field(default_factory=ShardingOptions)


def parser(gates: FeatureGates) -> FlagParser:
    """All flags of the process."""
    flags = FlagParser(PROGRAM, "Runs the controllers of jobs, queues, pod groups, flows, crons and hypernodes.")
    add_client_flags(flags)
    add_tls_flags(flags)
    add_serving_flags(flags, listen_address=":8081")
    add_election_flags(flags, PROGRAM)
    add_lock_namespace_flag(flags)
    add_feature_flag(flags, gates)
    add_log_flags(flags)
    for name, count in _WORKERS.items():
        suffix = f"-for-{name}" if name else ""
        flags.flag(f"worker-threads{suffix}", UINT32, count, f"Keys that {name or 'job'} workers handle at once")
    flags.flag("scheduler-name", STRING_ARRAY, ("volcano",), "Handle pods whose schedulerName is one of these")
    flags.flag("max-requeue-num", INT, 15, "Retries before a request is dropped; negative for no end")
    flags.flag("inherit-owner-annotations", BOOL, True, "Let pod groups inherit annotations of the pods' owner")
    flags.flag("controllers", STRING_SLICE, ("*", "-sharding-controller"), "Controllers to run: *, name, +name, -name")
    _add_sharding_flags(flags)
    return flags


def _add_sharding_flags(flags: FlagParser) -> None:
    """They are known also where sharding is off."""
    known = ShardingOptions()
    text = "Deprecated: use the config map. Shards as name:type:min:max:preferWarmup:minNodes:maxNodes"
    flags.flag("scheduler-configs", STRING_SLICE, known.scheduler_configs, text)
    flags.flag("shard-sync-period", DURATION, known.sync_period, "Pause between two looks at all nodes")
    flags.flag("enable-node-event-trigger", BOOL, known.follows_nodes, "Look at nodes that change before that")
    flags.flag("sharding-configmap", STRING, known.config_map, "Config map of sharding; empty for flags only")
    flags.flag("sharding-configmap-namespace", STRING, known.namespace, "Namespace of that config map")


def read(flags: Namespace, gates: FeatureGates) -> Options:
    """The options out of parsed flags. Raises FeatureError."""
    gates.set(flags.feature_gates)
    values = vars(flags)
    return Options(
        workers={name: max(1, values[f"worker_threads{f'_for_{name}' if name else ''}"]) for name in _WORKERS},
        scheduler_names=flags.scheduler_name,
        max_requeue=flags.max_requeue_num,
        inherit_owner_annotations=flags.inherit_owner_annotations,
        controllers=flags.controllers,
        gates=gates,
        sharding=ShardingOptions(
            scheduler_configs=flags.scheduler_configs,
            sync_period=flags.shard_sync_period,
            follows_nodes=flags.enable_node_event_trigger,
            config_map=flags.sharding_configmap,
            namespace=flags.sharding_configmap_namespace,
        ),
    )
