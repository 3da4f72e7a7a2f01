from __future__ import annotations

from typing import Any

import pytest

from controllers.options import Options, ShardingOptions, feature_gates, parser, read

SHARDS = ShardingOptions(scheduler_configs=("a:b:0:1:false:0:0", "c:d:0:1:false:0:0"))


def parsed(*words: str) -> Options:
    gates = feature_gates()
    return read(parser(gates).parse(words), gates)


def test_without_flags_everything_is_as_documented() -> None:
    options = parsed()
    assert options.workers == {"": 3, "cronjob": 3, "podgroup": 5, "queue": 5, "gc": 1}
    assert options == Options(gates=options.gates)
    assert (options.scheduler_names, options.max_requeue, options.inherit_owner_annotations) == (("volcano",), 15, True)
    assert options.controllers == ("*", "-sharding-controller")


@pytest.mark.parametrize(
    ("words", "field", "value"),
    [
        (["--max-requeue-num=-1"], "max_requeue", -1),
        (["--inherit-owner-annotations=false"], "inherit_owner_annotations", False),
        (["--controllers=*,-gc-controller"], "controllers", ("*", "-gc-controller")),
        (["--controllers=*", "--controllers=-gc-controller"], "controllers", ("*", "-gc-controller")),
        (["--scheduler-name=a", "--scheduler_name=b,c"], "scheduler_names", ("a", "b,c")),
        (["2>&1"], "max_requeue", 15),
        ([], "sharding", ShardingOptions()),
        (["--scheduler-configs=a:b:0:1:false:0:0,c:d:0:1:false:0:0"], "sharding", SHARDS),
        (["--shard-sync-period=5m"], "sharding", ShardingOptions(sync_period=300)),
        (["--enable-node-event-trigger=false"], "sharding", ShardingOptions(follows_nodes=False)),
        (["--sharding-configmap="], "sharding", ShardingOptions(config_map="")),
        (["--sharding-configmap-namespace=ns"], "sharding", ShardingOptions(namespace="ns")),
    ],
)
def test_flags_are_read(words: list[str], field: str, value: Any) -> None:
    assert getattr(parsed(*words), field) == value


@pytest.mark.parametrize("name", ["", "cronjob", "podgroup", "queue", "gc"])
def test_each_controller_has_its_workers_and_at_least_one(name: str) -> None:
    flag = f"--worker-threads-for-{name}" if name else "--worker-threads"
    assert parsed(flag, "7").workers == {**Options().workers, name: 7}
    assert parsed(flag, "0").workers[name] == 1


def test_defaults_of_one_process_are_not_shared_with_another() -> None:
    workers: Any = Options().workers
    workers["gc"] = 99
    assert Options().workers["gc"] == 1


@pytest.mark.parametrize(
    ("setting", "enabled"),
    [("", True), ("QueueCommandSync=false", False), ("AllAlpha=false", False), ("APIServerTracing=true", True)],
)
def test_gates_of_volcano_are_switched_and_those_of_kubernetes_accepted(setting: str, enabled: bool) -> None:
    assert parsed(f"--feature-gates={setting}").gates.enabled("QueueCommandSync") is enabled


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("--worker-threads=-1", "worker-threads"),
        ("--feature-gates=Nope=true", "unrecognized feature gate: Nope"),
        ("--max-requeue-num=many", "max-requeue-num"),
        ("--nope", "unknown flag: --nope"),
    ],
)
def test_a_line_that_can_not_be_read_ends_the_process(
    word: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parsed(word)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_flags_that_manifests_pass_are_known() -> None:
    words = [
        "--logtostderr",
        "--enable-healthz=true",
        "--enable-metrics=true",
        "--leader-elect=false",
        "--kube-api-qps=50",
        "--kube-api-burst=100",
        "--worker-threads=3",
        "--worker-threads-for-gc=5",
        "--lock-object-namespace=n",
        "-v=4",
    ]
    assert parsed(*words).workers["gc"] == 5
