"""How the controllers are put together."""

from __future__ import annotations

import pytest

from controllers import CONTROLLERS, colocation, cronjob, hypernode, job, podgroup, queue, sharding
from controllers.blueprint import Blueprint, Context
from controllers.options import Options, ShardingOptions, feature_gates
from generated.clients.clientset import Clientset
from runtime.informers import Informers
from runtime.recorder import Recorder
from tests.unit.controllers.fakes import Events


def built(blueprint: Blueprint, **gates: bool) -> set[str]:
    """The kinds that a controller watches."""
    found = feature_gates()
    found.set(gates)
    client = Recorder()
    context = Context(Clientset(client), Informers(client), Events(), Options(gates=found))
    controller = blueprint.build(context)
    assert controller.name == blueprint.name
    assert set(controller.informers) == set(context.informers)
    return {informer.resource.plural for informer in controller.informers}


BUILT_IN = {
    "job-controller",
    "cronjob-controller",
    "pg-controller",
    "queue-controller",
    "gc-controller",
    "jobflow-controller",
    "jobtemplate-controller",
    "hyperNode-controller",
    "sharding-controller",
    "colocation-config-controller",
}
"""Ours. A site adds its own, as docs/extending.md shows."""
QUEUE_KINDS = {"queues", "podgroups", "commands"}
GROUP_KINDS = {"pods", "podgroups", "replicasets", "statefulsets"}
HYPERNODE_KINDS = {"hypernodes", "nodes", "configmaps"}
SHARD_KINDS = {"nodeshards", "nodes", "pods", "configmaps"}
COLOCATION_KINDS = {"pods", "colocationconfigurations"}
JOB_KINDS = {"jobs", "pods", "podgroups", "queues", "persistentvolumeclaims", "priorityclasses", "commands"}


@pytest.mark.parametrize(
    ("blueprint", "gates", "kinds"),
    [
        (queue.BLUEPRINT, {}, QUEUE_KINDS),
        (queue.BLUEPRINT, {"QueueCommandSync": False}, QUEUE_KINDS - {"commands"}),
        (podgroup.BLUEPRINT, {}, GROUP_KINDS),
        (podgroup.BLUEPRINT, {"WorkLoadSupport": False}, {"pods", "podgroups"}),
        (job.BLUEPRINT, {}, JOB_KINDS),
        (job.BLUEPRINT, {"QueueCommandSync": False}, JOB_KINDS - {"commands"}),
        (job.BLUEPRINT, {"PriorityClass": False}, JOB_KINDS - {"priorityclasses"}),
        (job.BLUEPRINT, {"VolcanoJobSupport": False}, JOB_KINDS - {"jobs"}),
        (cronjob.BLUEPRINT, {}, {"cronjobs", "jobs"}),
        (cronjob.BLUEPRINT, {"CronVolcanoJobSupport": False}, {"jobs"}),
        (cronjob.BLUEPRINT, {"VolcanoJobSupport": False}, {"cronjobs"}),
        (hypernode.BLUEPRINT, {}, HYPERNODE_KINDS),
        (sharding.BLUEPRINT, {}, SHARD_KINDS),
        (colocation.BLUEPRINT, {}, COLOCATION_KINDS),
    ],
)
async def test_gates_decide_what_is_watched(blueprint: Blueprint, gates: dict[str, bool], kinds: set[str]) -> None:
    assert built(blueprint, **gates) == kinds


async def test_both_controllers_share_their_caches() -> None:
    client = Recorder()
    context = Context(Clientset(client), Informers(client), Events(), Options())
    for blueprint in (job.BLUEPRINT, queue.BLUEPRINT):
        blueprint.build(context)
    assert len(list(context.informers)) == len(JOB_KINDS)


@pytest.mark.parametrize(
    ("blueprint", "kinds"),
    [
        (queue.BLUEPRINT, QUEUE_KINDS),
        (job.BLUEPRINT, JOB_KINDS),
        (podgroup.BLUEPRINT, GROUP_KINDS),
        (cronjob.BLUEPRINT, {"cronjobs", "jobs"}),
        (hypernode.BLUEPRINT, HYPERNODE_KINDS),
        (sharding.BLUEPRINT, SHARD_KINDS),
        (colocation.BLUEPRINT, COLOCATION_KINDS),
    ],
)
def test_a_controller_may_read_what_it_watches(blueprint: Blueprint, kinds: set[str]) -> None:
    readable = {
        resource
        for rule in (*blueprint.rules, *blueprint.home_rules)
        for resource in rule.resources
        if {"list", "watch"} <= set(rule.verbs)
    }
    assert readable == kinds


def test_the_process_runs_all_controllers_that_can_be_named() -> None:
    assert {blueprint.name for blueprint in CONTROLLERS} >= BUILT_IN


async def test_all_controllers_fit_beside_each_other() -> None:
    client = Recorder()
    context = Context(Clientset(client), Informers(client), Events(), Options())
    names = {blueprint.build(context).name for blueprint in CONTROLLERS}
    assert len(names) == len(CONTROLLERS)


def built_with(options: Options) -> set[str]:
    client = Recorder()
    context = Context(Clientset(client), Informers(client), Events(), options)
    return {informer.resource.plural for informer in sharding.BLUEPRINT.build(context).informers}


async def test_sharding_by_flags_only_watches_no_config_map() -> None:
    assert built_with(Options(sharding=ShardingOptions(config_map=""))) == SHARD_KINDS - {"configmaps"}
