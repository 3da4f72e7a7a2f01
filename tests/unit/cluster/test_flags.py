"""What the command line means."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cluster import flags
from cluster.annotations import GPU
from cluster.errors import UsageError
from cluster.nodes import NodePool, Taint
from cluster.options import Options
from cluster.versions import KUBERNETES


def options(*arguments: str) -> Options:
    return flags.options(flags.parser().parse_args(["up", *arguments]))


def pools(*arguments: str) -> list[NodePool]:
    return flags.node_pools(flags.parser().parse_args(["nodes", *arguments]))


def test_without_flags_the_defaults_hold() -> None:
    assert options() == Options()
    arguments = flags.parser().parse_args(["up"])
    assert arguments.name == "default"
    assert arguments.dir is None
    assert arguments.wait == 60
    assert not arguments.foreground
    assert flags.node_pools(arguments) == []


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--k8s", "1.34"], Options(kubernetes=KUBERNETES["1.34"])),
        (["--port", "6443"], Options(api_port=6443)),
        (["--no-heartbeats"], Options(heartbeats=False)),
        (["--no-webhooks"], Options(webhooks=False)),
        (["--feature-gate", "A=true", "--feature-gate", "B=false"], Options(feature_gates={"A": True, "B": False})),
        (["--runtime-config", "a/v1=true"], Options(runtime_config=("a/v1=true",))),
        (["--apiserver-arg=--v=4", "--apiserver-arg=--x=y"], Options(apiserver_args=("--v=4", "--x=y"))),
        (["--controller-manager-arg=--v=4"], Options(controller_manager_args=("--v=4",))),
    ],
)
def test_each_flag_of_up_reaches_the_options(arguments: list[str], expected: Options) -> None:
    assert options(*arguments) == expected


@pytest.mark.parametrize("argument", ["--v=4", "--x=--y=z", "-v=4"])
def test_flags_of_the_servers_may_be_typed_as_the_help_shows_them(argument: str) -> None:
    typed = ["up", "--apiserver-arg", argument, "--controller-manager-arg", argument, "--apiserver-arg", "--b=c"]
    found = flags.options(flags.parse(typed))
    assert (found.apiserver_args, found.controller_manager_args) == ((argument, "--b=c"), (argument,))


@pytest.mark.parametrize("more", [[], ["--quiet"], ["--dir", "a=b"]])
def test_a_flag_of_a_server_that_was_left_out_is_missed(more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        flags.parse(["up", "--apiserver-arg", *more])
    assert "argument --apiserver-arg: expected one argument" in capsys.readouterr().err


def test_what_was_typed_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["cluster", "up", "--apiserver-arg", "--v=4"])
    assert flags.parse().apiserver_arg == ["--v=4"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--feature-gate", "A"], "--feature-gate A: write KEY=VALUE"),
        (["--feature-gate", "A=yes"], "--feature-gate A=yes: write true or false"),
        (["--k8s", "1.20"], "--k8s 1.20: known are v1.34, v1.35, v1.36"),
        (["--port", "70000"], "--port 70000: a port is 1 to 65535"),
        (["--port", "-1"], "--port -1: a port is 1 to 65535"),
    ],
)
def test_values_without_sense_are_named(arguments: list[str], message: str) -> None:
    with pytest.raises(UsageError) as error:
        options(*arguments)
    assert message in str(error.value)


def test_wait_takes_seconds_or_its_default() -> None:
    parse = flags.parser().parse_args
    assert parse(["up", "--wait"]).wait == 60
    assert parse(["up", "--wait", "5.5"]).wait == 5.5


@pytest.mark.parametrize("seconds", ["nan", "inf", "-inf", "1e999", "0", "-1", "", "soon"])
def test_a_wait_that_would_never_end_or_begin_is_refused(seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        flags.parse(["up", f"--wait={seconds}"])
    assert ended.value.code == 2
    assert f"argument --wait: {seconds!r} is no number of seconds above 0" in capsys.readouterr().err


def test_flags_complete_the_pools_that_name_less() -> None:
    found = pools(
        *(
            "--nodes",
            "2",
            "--nodes",
            "3:cpu=64,name=big",
            "--cpu",
            "4",
            "--gpus",
            "8",
            "--memory",
            "1Gi",
            "--pods",
            "9",
        ),
        *("--label", "a=b", "--label", "c=", "--taint", "k=v:NoSchedule", "--racks", "4", "--zones", "2"),
    )
    common = {"cpu": "4", "memory": "1Gi", "pods": "9", GPU: "8"}
    shared = {"labels": {"a": "b", "c": ""}, "taints": (Taint("k", "v", "NoSchedule"),), "racks": 4, "zones": 2}
    assert found == [
        NodePool(2, common, **shared),  # type: ignore[arg-type]
        NodePool(3, {**common, "cpu": "64"}, "big", **shared),  # type: ignore[arg-type]
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--nodes", "many"], "--nodes 'many'"),
        (["--nodes", "20001"], "--nodes '20001': at most 20000"),
        (["--nodes", "9" * 5000], "at most 20000"),
        (["--nodes", "12000", "--nodes", "12000:name=b"], "--nodes: 24000 nodes altogether, at most 20000"),
        (["--nodes", "1", "--label", "a"], "--label a: write KEY=VALUE"),
        (["--nodes", "1", "--taint", "a"], "taint 'a'"),
        (["--nodes", "1", "--cpu", "lots"], "--cpu lots"),
        (["--nodes", "1", "--gpus", "-1"], "--gpus -1"),
        (["--nodes", "1", "--racks", "-2"], "--racks -2"),
        (["--nodes", "1", "--zones", "-2"], "--zones -2"),
    ],
)
def test_node_flags_without_sense_are_named(arguments: list[str], message: str) -> None:
    with pytest.raises(UsageError) as error:
        pools(*arguments)
    assert message in str(error.value)


def test_every_command_that_needs_one_takes_name_and_directory() -> None:
    for command in ("up", "down", "status", "env", "nodes"):
        arguments = flags.parser().parse_args([command, "--name", "x", "--dir", "/d"])
        assert (arguments.name, arguments.dir) == ("x", Path("/d"))


def test_help_names_the_annotations(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        flags.parser().parse_args(["--help"])
    text = capsys.readouterr().out
    assert "stromboli.dev/run-seconds" in text
    assert "stromboli.dev/exit-code" in text


def test_webhook_configurations_are_pointed_at_this_machine() -> None:
    arguments = flags.parser().parse_args(["webhooks", "a.yaml", "b.yaml"])
    assert (arguments.files, arguments.url) == ([Path("a.yaml"), Path("b.yaml")], "https://localhost:8443")
    assert (
        flags.parser().parse_args(["webhooks", "a.yaml", "--url", "https://localhost:1"]).url == "https://localhost:1"
    )


def test_commands_of_a_shell_are_about_the_control_plane_that_env_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STROMBOLI_CLUSTER", "mine")
    assert flags.parser().parse_args(["down"]).name == "mine"
    assert flags.parser().parse_args(["down", "--name", "other"]).name == "other"
    monkeypatch.delenv("STROMBOLI_CLUSTER")
    assert flags.parser().parse_args(["down"]).name == "default"
