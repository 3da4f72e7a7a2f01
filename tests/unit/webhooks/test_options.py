from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from webhooks.options import Options, Service, feature_gates, file_problems, parser, problems, read, service, serving

REACHED = "--webhook-service-name=s"


def parsed(*words: str) -> Namespace:
    return parser(feature_gates(), "/jobs/validate").parse(words)


def test_without_flags_everything_is_as_documented() -> None:
    flags = parsed()
    assert flags.enabled_admission == "/jobs/validate"
    assert service(flags) == Service(port=8443, drain_seconds=30.0, manages_bundle=True)
    options = read(flags, feature_gates())
    assert options == Options(gates=options.gates)
    assert (options.scheduler_names, options.max_queue_depth) == (("volcano",), 5)
    assert (options.protects_root_queue, options.checks_allocated_pods) == (True, False)
    assert (flags.kube_api_qps, flags.kube_api_burst) == (50.0, 100)


@pytest.mark.parametrize(
    ("word", "field", "value"),
    [
        ("--scheduler-name=a,b", "scheduler_names", ("a,b",)),
        ("--admission-conf=/x", "admission_conf", "/x"),
        ("--enable-queue-allocated-pods-check", "checks_allocated_pods", True),
        ("--max-queue-depth=9", "max_queue_depth", 9),
        ("--enable-root-queue-protection=false", "protects_root_queue", False),
        ("--enable-job-template-update", "allows_template_updates", True),
        ("--enable-queue-podgroups-check", "checks_pod_groups", True),
        ("--enable-podgroup-leaf-queue-check", "requires_leaf_queues", True),
        ("--enable-jobflow-update-check", "fixes_started_flows", True),
    ],
)
def test_what_handlers_read(word: str, field: str, value: Any) -> None:
    assert getattr(read(parsed(word), feature_gates()), field) == value


@pytest.mark.parametrize(
    ("word", "field", "value"),
    [
        ("--listen-address=10.0.0.1", "host", "10.0.0.1"),
        ("--port=443", "port", 443),
        ("--graceful-shutdown-time=1m", "drain_seconds", 60.0),
        ("--webhook-namespace=n", "namespace", "n"),
        ("--webhook-service-name=s", "name", "s"),
        ("--tls-cert-file=c", "cert", "c"),
        ("--tls-private-key-file=k", "key", "k"),
        ("--ca-cert-file=a", "ca", "a"),
        ("--tls-secret-name=t", "secret", "t"),
        ("--client-ca-file=a", "client_ca", "a"),
        ("--require-client-cert", "requires_client_cert", True),
        ("--manage-webhook-ca-bundle=false", "manages_bundle", False),
    ],
)
def test_how_to_serve(word: str, field: str, value: Any) -> None:
    assert getattr(service(parsed(word)), field) == value


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ([REACHED], []),
        (["--webhook-url=https://x"], []),
        (["--webhook-namespace=n"], []),
        ([], ["failed to start webhooks as both 'url' and 'namespace/name' of webhook are empty"]),
        ([REACHED, "--port=0"], ["Configured port is invalid: the port should be in the range of 1 and 65535"]),
        ([REACHED, "--port=65536"], ["Configured port is invalid: the port should be in the range of 1 and 65535"]),
        ([REACHED, "--port=65535"], []),
        ([REACHED, "--webhook-namespace=n", "--tls-secret-name=t"], []),
        (
            [REACHED, "--tls-secret-name=t"],
            [
                "tls-secret-name needs webhook-namespace and webhook-service-name: the certificate is made for them",
            ],
        ),
        (
            [REACHED, "--webhook-namespace=n", "--tls-secret-name=t", "--tls-cert-file=c"],
            ["tls-secret-name and tls-cert-file exclude each other: choose where the certificate comes from"],
        ),
        (
            [REACHED, "--require-client-cert"],
            ["require-client-cert needs client-ca-file: there is no CA to verify client certificates by"],
        ),
        ([REACHED, "--require-client-cert", "--client-ca-file=a"], []),
    ],
)
def test_what_contradicts_itself_is_told(words: list[str], found: list[str]) -> None:
    assert problems(parsed(*words)) == found


def test_files_that_can_not_be_read_are_told_by_their_flag(tmp_path: Path) -> None:
    (tmp_path / "good").write_text("x")
    missing = str(tmp_path / "missing")
    where = Service(cert=str(tmp_path / "good"), key=missing, ca=str(tmp_path), client_ca="")
    assert file_problems(where) == [
        f"--tls-private-key-file: unable to read {missing}: No such file or directory",
        f"--ca-cert-file: unable to read {tmp_path}: Is a directory",
    ]


def test_metrics_are_served_beside_the_health() -> None:
    off = serving(parsed())
    assert (off.enable_healthz, off.enable_metrics) == (False, False)
    on = serving(parsed("--enable-healthz", "--healthz-address=:1"))
    assert (on.healthz_address, on.listen_address, on.enable_healthz, on.enable_metrics) == (":1", ":1", True, True)


def test_gates_follow_the_flag() -> None:
    gates = feature_gates()
    words = ("--feature-gates=SchedulingGatesQueueAdmission=true,PodLevelResources=false,APIServerTracing=true",)
    read(parser(gates, "").parse(words), gates)
    assert gates.enabled("SchedulingGatesQueueAdmission")
    assert not gates.enabled("PodLevelResources")


def test_the_command_line_of_the_chart_is_accepted() -> None:
    words = [
        "--enabled-admission=/jobs/mutate",
        "--tls-cert-file=/admission.local.config/certificates/tls.crt",
        "--tls-private-key-file=/admission.local.config/certificates/tls.key",
        "--ca-cert-file=/admission.local.config/certificates/ca.crt",
        "--admission-conf=/admission.local.config/configmap/volcano-admission.conf",
        "--webhook-namespace=volcano-system",
        "--webhook-service-name=volcano-admission-service",
        "--enable-healthz=true",
        "--logtostderr",
        "--port=8443",
        "-v=4",
        "2>&1",
    ]
    assert problems(parsed(*words)) == []
