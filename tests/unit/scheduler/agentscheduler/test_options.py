"""The command line and the configuration of the fast path."""

from __future__ import annotations

from argparse import Namespace

import pytest

from scheduler.agentscheduler import configuration
from scheduler.agentscheduler.__main__ import main
from scheduler.agentscheduler.options import parser, problems
from scheduler.settings.conf import ConfigError, Configuration
from scheduler.settings.options import feature_gates


def flags(*words: str) -> Namespace:
    return parser(feature_gates()).parse(words)


@pytest.mark.parametrize(
    ("name", "default"),
    [
        ("scheduler_name", "agent-scheduler"), ("scheduler_sharding_name", "agent-scheduler"),
        ("leader_elect_resource_name", "agent-scheduler"), ("scheduler_worker_count", 1),
        ("scheduler_sharding_mode", "none"), ("scheduler_conf", ""), ("resync_period", 0.0),
        ("disable_default_scheduler_config", False), ("resource_sync_timeout", 60.0), ("node_worker_threads", 20),
        ("kube_api_qps", 2000.0), ("kube_api_burst", 2000), ("listen_address", ":8080"),
        ("healthz_address", ":11251"), ("enable_healthz", False), ("enable_metrics", False), ("cache_dumper", True),
        ("cache_dump_dir", "/tmp"), ("csi_storage", True), ("node_selector", ()), ("percentage_nodes_to_find", 0),
        ("minimum_feasible_nodes", 100), ("minimum_percentage_nodes_to_find", 5), ("leader_elect", True),
    ],
)  # fmt: skip
def test_flags_have_their_defaults(name: str, default: object) -> None:
    assert getattr(flags(), name) == default


@pytest.mark.parametrize(
    "flag",
    [
        "--schedule-period=1s", "--default-queue=q", "--priority-class=true", "--plugins-dir=/p",
        "--enable-pprof=true", "--ignored-provisioners=a", "--gate-removal-worker-num=5", "--no-such-flag",
        "--scheduler-worker-count=-1",
    ],
)  # fmt: skip
def test_what_the_fast_path_does_not_have_ends_with_2(flag: str) -> None:
    with pytest.raises(SystemExit) as ended:
        flags(flag)
    assert ended.value.code == 2


def test_no_worker_at_all_ends_with_1_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert problems(flags("--scheduler-worker-count=1")) == []
    with pytest.raises(SystemExit) as ended:
        main(["--scheduler-worker-count=0", "--leader-elect=false"])
    assert ended.value.code == 1
    assert capsys.readouterr().err == "scheduler-worker-count must be greater than 0\n"


def parse(text: str) -> Configuration:
    known = configuration.catalog()
    return configuration.parse(
        text, actions=known.actions, plugins=known.plugins, action_arguments=known.action_arguments
    )


def test_the_default_asks_two_plugins_about_nodes_and_nothing_else() -> None:
    found = parse(configuration.DEFAULT)
    assert found.actions == ("allocate",)
    assert [option.name for option in found.plugins] == ["predicates", "nodeorder"]
    switches = found.plugins[0].switches
    assert {name for name, is_on in switches.items() if is_on} == {"enablePredicate", "enableNodeOrder"}


def test_a_switch_that_is_named_counts() -> None:
    (option,) = parse("actions: allocate\ntiers: [{plugins: [{name: predicates, enablePredicate: false,"
                      " enableBestNode: true}]}]").plugins  # fmt: skip
    assert (option.is_on("enablePredicate"), option.is_on("enableBestNode")) == (False, True)


def test_there_is_one_action() -> None:
    with pytest.raises(ConfigError, match="failed to find Action backfill"):
        parse("actions: allocate, backfill")


def test_what_the_scheduler_takes_for_a_conflict_is_none_here() -> None:
    text = "actions: allocate\ntiers: [{plugins: [{name: drf, enableHierarchy: true}, {name: proportion}]}]"
    assert [option.name for option in parse(text).plugins] == ["drf", "proportion"]


def test_the_number_of_candidates_is_a_known_argument() -> None:
    def warnings(value: str) -> tuple[str, ...]:
        return parse(
            f"actions: allocate\nconfigurations: [{{name: allocate, arguments: {{candidateNodeCount: {value}}}}}]"
        ).warnings

    assert warnings("5") == ()
    assert len(warnings("many")) == 1
