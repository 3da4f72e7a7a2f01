from __future__ import annotations

from typing import Any

import pytest

from runtime import options
from runtime.features import VOLCANO, FeatureGates
from runtime.flags import FlagParser
from runtime.kubegates import HONOURED, TOLERATED
from runtime.lease import Terms
from runtime.options import ClientOptions, ElectionOptions, ServingOptions, TlsFiles


def scheduler() -> FlagParser:
    """The shared groups as vc-scheduler has them."""
    parser = FlagParser("vc-scheduler")
    options.add_client_flags(parser, qps=2000.0, burst=2000)
    options.add_tls_flags(parser)
    options.add_serving_flags(parser, has_pprof=True)
    options.add_election_flags(parser, "volcano")
    options.add_lock_namespace_flag(parser)
    options.add_feature_flag(parser, FeatureGates((*VOLCANO, *HONOURED), TOLERATED))
    options.add_log_flags(parser)
    return parser


def parse(*words: str) -> Any:
    return scheduler().parse(words)


def test_the_defaults_are_those_of_the_tables() -> None:
    found = parse()
    assert options.client_options(found) == ClientOptions("", "", 2000.0, 2000)
    assert options.serving_options(found) == ServingOptions(":11251", False, ":8080", False, False, TlsFiles())
    assert options.election_options(found) == ElectionOptions(
        True, Terms(15.0, 10.0, 2.0), "leases", "volcano", "volcano-system"
    )
    assert found.feature_gates == {}
    log = options.log_options(found)
    assert (log.verbosity, log.to_stderr, log.flush_period) == (0, True, 5.0)


def test_the_line_of_the_installer_is_understood() -> None:
    found = parse(
        "--logtostderr", "--enable-healthz=true", "--enable-metrics=true", "--enable-pprof=true",
        "--leader-elect=true", "--leader-elect-resource-namespace=vol", "--kube-api-qps=3000", "--kube-api-burst=4000",
        "--feature-gates=SchedulingGatesQueueAdmission=true", "-v=3", "2>&1",
    )  # fmt: skip
    serving = options.serving_options(found)
    assert (serving.enable_healthz, serving.enable_metrics, serving.enable_pprof) == (True, True, True)
    assert options.election_options(found).namespace == "vol"
    assert options.client_options(found) == ClientOptions("", "", 3000.0, 4000)
    assert found.feature_gates == {"SchedulingGatesQueueAdmission": True}
    assert options.log_options(found).verbosity == 3


@pytest.mark.parametrize(
    "words",
    [
        ["--alsologtostderr", "--log_dir=/tmp", "--log_file=x", "--log_file_max_size=1", "--one_output"],
        ["--skip_headers", "--skip_log_headers=true", "--add_dir_header", "--log_backtrace_at=a:1"],
        ["--stderrthreshold=INFO", "--vmodule=a=1,b/*=2", "--v", "4", "--legacy_stderr_threshold_behavior=false"],
    ],
)
def test_every_flag_of_klog_is_accepted(words: list[str]) -> None:
    options.log_options(parse(*words))


def test_verbosity_and_modules_reach_the_log() -> None:
    log = options.log_options(parse("--vmodule=informer=4", "-v", "2", "--log_file=/x", "--logtostderr=false"))
    assert (log.verbosity, log.modules, log.file, log.to_stderr) == (2, {"informer": 4}, "/x", False)


def test_the_deprecated_namespace_flag_wins() -> None:
    found = parse("--lock-object-namespace=old", "--leader-elect-resource-namespace=new")
    assert options.election_options(found).namespace == "old"


def test_a_component_without_the_deprecated_flag_has_the_new_one() -> None:
    parser = FlagParser("vc-hypernode-controller-manager")
    options.add_election_flags(parser, "vc-hypernode-controller-manager")
    found = options.election_options(parser.parse([]))
    assert (found.name, found.namespace) == ("vc-hypernode-controller-manager", "volcano-system")


def test_a_component_without_tls_and_profiles_has_neither() -> None:
    parser = FlagParser("vc-hypernode-controller-manager")
    options.add_serving_flags(parser, listen_address=":8081")
    found = options.serving_options(parser.parse([]))
    assert found.listen_address == ":8081"
    assert not found.tls.is_complete
    assert not found.enable_pprof


@pytest.mark.parametrize(
    ("words", "is_complete"),
    [
        (["--ca-cert-file=a", "--tls-cert-file=b", "--tls-private-key-file=c"], True),
        (["--ca-cert-file=a", "--tls-cert-file=b"], False),
        ([], False),
    ],
)
def test_tls_needs_all_three_files(words: list[str], *, is_complete: bool) -> None:
    assert options.serving_options(parse(*words)).tls.is_complete is is_complete


def test_an_unknown_gate_is_told_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parse("--feature-gates=NoSuchGate=true")
    assert caught.value.code == 2
    assert "unrecognized feature gate: NoSuchGate" in capsys.readouterr().err


def test_whole_stages_and_gates_of_kubernetes_are_known() -> None:
    words = "--feature-gates=AllAlpha=false,AllBeta=true,DynamicResourceAllocation=true,EnvFiles=true"
    assert len(parse(words).feature_gates) == 4


@pytest.mark.parametrize(
    ("found", "problems"),
    [
        (ElectionOptions(name="x"), []),
        (ElectionOptions(is_enabled=False, terms=Terms(1, 2, 3)), []),
        (ElectionOptions(name="x", terms=Terms(10, 10, 2)), ["leaseDuration must be greater than renewDeadline"]),
        (
            ElectionOptions(name="", namespace="", resource_lock=""),
            ["resourceLock is required", "resourceName is required", "resourceNamespace is required"],
        ),
    ],
)
def test_election_settings_are_checked_when_there_is_an_election(found: ElectionOptions, problems: list[str]) -> None:
    assert found.problems() == problems


@pytest.mark.parametrize(("qps", "burst", "count"), [(50.0, 100, 0), (0.0, 100, 1), (-1.0, 0, 2), (0.5, 1, 0)])
def test_rates_can_be_checked(qps: float, burst: int, count: int) -> None:
    assert len(ClientOptions(qps=qps, burst=burst).problems()) == count


@pytest.mark.parametrize(
    ("healthz", "listen", "is_problem"),
    [
        (":11251", ":8081", False),
        (":8081", ":8081", True),
        ("127.0.0.1:8081", ":8081", True),
        ("127.0.0.1:8081", "0.0.0.0:8081", True),
        ("[::]:8081", "127.0.0.1:8081", True),
        ("127.0.0.1:8081", "127.0.0.2:8081", False),
        ("127.0.0.1:8081", "127.0.0.1:8081", True),
        ("[::1]:8081", "[0:0:0:0:0:0:0:1]:8081", True),
        ("localhost:8081", "localhost:8081", True),
        ("localhost:8081", "otherhost:8081", False),
        (":0", ":0", False),
        ("broken", ":8081", False),
    ],
)
def test_two_listeners_need_two_addresses(healthz: str, listen: str, *, is_problem: bool) -> None:
    found = ServingOptions(healthz_address=healthz, listen_address=listen, enable_healthz=True, enable_metrics=True)
    assert bool(found.problems()) is is_problem
    assert not ServingOptions(healthz_address=healthz, listen_address=listen, enable_healthz=True).problems()
