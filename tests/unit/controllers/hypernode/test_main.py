"""The process that runs the HyperNode controller alone."""

from __future__ import annotations

import pytest

from controllers import hypernode
from controllers.hypernode import __main__ as process
from controllers.hypernode.options import parser, problems
from runtime.objects import Key
from runtime.options import client_options, election_options, serving_options


def test_flags_have_the_defaults_of_the_documentation() -> None:
    flags = parser().parse([])
    client, serving, election = client_options(flags), serving_options(flags), election_options(flags)
    assert (client.qps, client.burst) == (50, 100)
    assert (serving.healthz_address, serving.enable_healthz) == (":11251", False)
    assert (serving.listen_address, serving.enable_metrics) == (":8081", False)
    assert (election.name, election.namespace, election.is_enabled) == (
        "vc-hypernode-controller-manager",
        "volcano-system",
        True,
    )
    assert problems(flags) == []


BOTH = ["--enable-healthz", "--enable-metrics"]
SAME = "healthz-address and listen-address must be different when both endpoints are enabled"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--kube-api-qps=0"], ["kube-api-qps must be greater than 0"]),
        (["--kube-api-burst=-1"], ["kube-api-burst must be greater than 0"]),
        ([*BOTH, "--listen-address=:11251"], [SAME]),
        ([*BOTH, "--listen-address=127.0.0.1:11251"], [SAME]),
        ([*BOTH, "--healthz-address=127.0.0.1:1", "--listen-address=127.0.0.2:1"], []),
        (["--enable-healthz", "--listen-address=:11251"], []),
        (["--leader-elect-resource-name="], ["resourceName is required"]),
    ],
)
def test_settings_that_contradict_each_other_are_told(words: list[str], expected: list[str]) -> None:
    assert problems(parser().parse(words)) == expected


def test_they_end_the_process_before_it_begins(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        process.main(["--kube-api-qps=0"])
    assert ended.value.code == 1
    assert capsys.readouterr().err == "kube-api-qps must be greater than 0\n"


def test_a_signal_ends_it_well_and_a_lost_lease_does_not() -> None:
    ends = process.ENDINGS
    assert (ends.stopped.code, ends.stopped_without_election.code) == (0, 0)
    assert (ends.lease_lost.code, ends.lease_lost.message) == (1, "lost lease")


@pytest.mark.parametrize(("main", "code"), [(lambda: (_ for _ in ()).throw(KeyboardInterrupt), 130), (lambda: 3, 3)])
def test_the_exit_code_is_mains_and_that_of_an_interrupt(
    monkeypatch: pytest.MonkeyPatch, main: object, code: int
) -> None:
    monkeypatch.setattr(process, "main", main)
    with pytest.raises(SystemExit) as ended:
        process.entry()
    assert ended.value.code == code


@pytest.mark.parametrize(
    ("environment", "place"),
    [
        ({}, Key("volcano-system", "volcano-controller-configmap")),
        ({"KUBE_POD_NAMESPACE": "", "HELM_RELEASE_NAME": ""}, Key("volcano-system", "volcano-controller-configmap")),
        ({"KUBE_POD_NAMESPACE": "ns", "HELM_RELEASE_NAME": "r"}, Key("ns", "r-controller-configmap")),
    ],
)
def test_the_config_map_is_that_of_the_installation(environment: dict[str, str], place: Key) -> None:
    assert hypernode.config_place(environment) == place
