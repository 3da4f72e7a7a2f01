from __future__ import annotations

import logging
from typing import Any

import pytest

from controllers.options import ShardingOptions
from controllers.sharding.settings import Settings, SettingsError, from_data, from_flags
from tests.unit.controllers.sharding.samples import FLAGS, document, settings


def shape(found: Settings) -> list[tuple[str, list[tuple[str, int]]]]:
    return [(each.name, [(policy.name, policy.weight) for policy in each.policies]) for each in found.schedulers]


RATE, LIMIT, WARM = ("allocation-rate", 1), ("node-limit", 1), ("warmup", 1)


def test_the_flags_have_their_default() -> None:
    assert shape(FLAGS) == [("volcano", [RATE, LIMIT]), ("agent-scheduler", [RATE, LIMIT])]
    assert (FLAGS.period, FLAGS.follows_nodes) == (60, True)


@pytest.mark.parametrize(
    ("entries", "names"),
    [
        (["a:volcano:0:1:false:0:0"], ["a"]),
        (["a:volcano:-inf:infinity:true:0:0"], ["a"]),
        (["a:volcano:-INF:Inf:true:1:5", "b:agent:0.1:0.2:0:0:5"], ["a", "b"]),
        (["a:volcano:0.6:0.1:false:0:0", "b:agent:0.1:0.2:0:0:5"], ["b"]),
        (["a:volcano:0:1:false:5:2", "b:agent:0.1:0.2:0:0:5"], ["b"]),
        (["a:volcano:0:1:false:-1:2"], []),
        # one that is malformed spoils all
        (["a:volcano:0:1:false:0:0", "b:agent:0:1:false:0"], ["volcano", "agent-scheduler"]),
        (["a:volcano:x:1:false:0:0"], ["volcano", "agent-scheduler"]),
        (["a:volcano:nan:1:false:0:0"], ["volcano", "agent-scheduler"]),
        (["a:volcano:0:1:maybe:0:0"], ["volcano", "agent-scheduler"]),
        (["a:volcano:0:1:true:1.5:0"], ["volcano", "agent-scheduler"]),
        ([""], ["volcano", "agent-scheduler"]),
    ],
)
def test_entries_of_the_flag(entries: list[str], names: list[str]) -> None:
    found = from_flags(ShardingOptions(scheduler_configs=tuple(entries)))
    assert [scheduler.name for scheduler in found.schedulers] == names


def test_a_flag_entry_prefers_no_warm_nodes_as_it_has_a_policy_already() -> None:
    found = from_flags(ShardingOptions(scheduler_configs=("a:volcano:0:1:true:0:0",)))
    assert shape(found) == [("a", [RATE])]


@pytest.mark.parametrize(("period", "seconds"), [(30, 30), (0, 120), (-1, 120)])
def test_the_period_of_the_flag(period: float, seconds: float) -> None:
    assert from_flags(ShardingOptions(sync_period=period)).period == seconds


@pytest.mark.parametrize(
    ("fields", "chain"),
    [
        ({}, [RATE]),
        ({"preferWarmupNodes": True}, [RATE, WARM]),
        ({"maxNodes": 5}, [RATE, LIMIT]),
        ({"minNodes": 2, "maxNodes": 5, "preferWarmupNodes": True}, [RATE, WARM, LIMIT]),
        ({"policies": [{"name": "warmup", "weight": 3}], "preferWarmupNodes": True}, [("warmup", 3)]),
        ({"policies": [{"name": "warmup", "weight": 0}], "maxNodes": 2}, [WARM, LIMIT]),
        ({"policies": [{"name": "node-limit", "arguments": {"maxNodes": 1}}], "maxNodes": 2}, [LIMIT]),
        ({"policies": []}, [RATE]),
        ({"type": "anything", "unknown": 1}, [RATE]),
    ],
)
def test_plain_fields_stand_for_policies(fields: dict[str, Any], chain: list[tuple[str, int]]) -> None:
    assert shape(settings({"name": "a", **fields})) == [("a", chain)]


def policy(**fields: Any) -> dict[str, Any]:
    return {"name": "a", "policies": [{"name": "warmup", **fields}]}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({}, "schedulerConfigs[1] (): name is empty"),
        ({"name": "a", "cpuUtilizationMin": 0.6, "cpuUtilizationMax": 0.5}, "0 <= cpuUtilizationMin"),
        ({"name": "a", "cpuUtilizationMin": -0.1}, "0 <= cpuUtilizationMin"),
        ({"name": "a", "cpuUtilizationMax": 1.1}, "0 <= cpuUtilizationMin"),
        ({"name": "a", "minNodes": -1, "maxNodes": 1}, "minNodes must not be negative, got -1"),
        ({"name": "a", "minNodes": 3, "maxNodes": 1}, "maxNodes must not be less than minNodes, got 1 and 3"),
        (policy(name=""), "the name of a policy is empty"),
        (policy(weight=-1), "policy warmup: weight must not be negative, got -1"),
        (policy(arguments={"maxNodes": 3}), "policy warmup: maxNodes can only be given to node-limit"),
        (policy(name="magic"), "unknown policy 'magic', expected one of allocation-rate, warmup, node-limit"),
        (
            policy(name="allocation-rate", arguments={"minCPUUtil": 0.9, "maxCPUUtil": 0.1}),
            "policy allocation-rate: 0 <=",
        ),
        (policy(name="node-limit", arguments={"minNodes": 5, "maxNodes": 1}), "policy node-limit: 0 <= minNodes"),
    ],
)
def test_one_mistake_refuses_the_document(entry: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError) as raised:
        settings({"name": "good"}, entry)
    text = str(raised.value)
    assert text.startswith(f"schedulerConfigs[1] ({entry.get('name', '')}): ")
    assert message in text


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "config key not found in ConfigMap: sharding.yaml"),
        ({"sharding.yaml": ""}, "schedulerConfigs is empty"),
        ({"sharding.yaml": "schedulerConfigs: []"}, "schedulerConfigs is empty"),
        ({"sharding.yaml": "a: ["}, "failed to parse config: "),
        ({"sharding.yaml": "a: 2026-13-45"}, "failed to parse config: "),
        ({"sharding.yaml": "[]"}, "schedulerConfigs is empty"),
        ({"sharding.yaml": "text"}, "failed to parse config: "),
        (document({"name": "a", "maxNodes": "many"}), "failed to parse config: "),
        (document({"name": "a", "policies": [{"name": "warmup", "weight": 1.5}]}), "failed to parse config: "),
    ],
)
def test_a_document_that_can_not_be_read(data: dict[str, str], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        from_data(data, FLAGS)


@pytest.mark.parametrize(
    ("fields", "period", "follows"),
    [
        ({}, 60, True),
        ({"shardSyncPeriod": "90s", "enableNodeEventTrigger": False}, 90, False),
        ({"shardSyncPeriod": "soon", "enableNodeEventTrigger": None}, 60, True),
        ({"shardSyncPeriod": "-5s"}, 60, True),
        ({"shardSyncPeriod": 5_000_000_000}, 5, True),
    ],
)
def test_what_is_not_said_stays(fields: dict[str, Any], period: float, follows: bool) -> None:
    found = settings({"name": "a"}, **fields)
    assert (found.period, found.follows_nodes) == (period, follows)


def test_an_argument_of_another_type_is_left_out_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        settings(policy(name="allocation-rate", arguments={"maxCPUUtil": "0.5"}))
    assert "argument left out policy=allocation-rate argument=maxCPUUtil value='0.5'" in caplog.text
