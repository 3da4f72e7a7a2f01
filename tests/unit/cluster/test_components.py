"""Command lines of the servers."""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster.components import (
    Ports,
    api_server_argv,
    controller_manager_argv,
    etcd_argv,
    kwok_argv,
    kwok_environment,
)
from cluster.options import Options
from cluster.state import Layout

LAYOUT = Layout(Path("/state"))
PORTS = Ports(etcd=2379, api=6443)
BINARY = Path("/bin/server")


def flags(argv: list[str]) -> dict[str, str]:
    assert argv[0] == "/bin/server"
    pairs = [flag.removeprefix("--").partition("=") for flag in argv[1:]]
    assert len({name for name, _, _ in pairs}) == len(pairs), "a flag stands twice"
    return {name: value for name, _, value in pairs}


def api_server(**options: object) -> dict[str, str]:
    return flags(api_server_argv(BINARY, LAYOUT, PORTS, Options(**options)))  # type: ignore[arg-type]


def controller_manager(**options: object) -> dict[str, str]:
    return flags(controller_manager_argv(BINARY, LAYOUT, Options(**options)))  # type: ignore[arg-type]


def test_nothing_listens_beyond_loopback() -> None:
    etcd = flags(etcd_argv(BINARY, LAYOUT, PORTS))
    assert etcd["listen-client-urls"] == etcd["advertise-client-urls"] == "http://127.0.0.1:2379"
    assert etcd["listen-peer-urls"] == "http://127.0.0.1:0"
    assert api_server()["bind-address"] == "127.0.0.1"
    assert controller_manager()["secure-port"] == "0"
    assert not [flag for flag in kwok_argv(BINARY, LAYOUT, Options()) if "server-address" in flag or "port" in flag]


def test_the_api_server_finds_etcd_and_its_certificates() -> None:
    found = api_server()
    assert found["etcd-servers"] == "http://127.0.0.1:2379"
    assert found["secure-port"] == "6443"
    assert found["client-ca-file"] == "/state/pki/ca.crt"
    assert found["tls-cert-file"] == "/state/pki/apiserver.crt"
    assert found["service-account-key-file"] == found["service-account-signing-key-file"]
    assert controller_manager()["service-account-private-key-file"] == found["service-account-key-file"]


def test_access_is_as_in_a_real_cluster() -> None:
    assert api_server()["authorization-mode"] == "RBAC"
    assert controller_manager()["use-service-account-credentials"] == "true"
    assert "disable-admission-plugins" not in api_server()


def test_without_heartbeats_nodes_cost_nothing_and_stay_ready() -> None:
    assert api_server(heartbeats=False)["disable-admission-plugins"] == "TaintNodesByCondition"
    assert controller_manager(heartbeats=False)["node-monitor-grace-period"] == "87600h"
    assert "node-monitor-grace-period" not in controller_manager()
    lease = "node-lease-duration-seconds"
    assert flags(kwok_argv(BINARY, LAYOUT, Options(heartbeats=False)))[lease] == "0"
    assert flags(kwok_argv(BINARY, LAYOUT, Options()))[lease] == "40"


def test_webhooks_can_be_left_out() -> None:
    plugins = "MutatingAdmissionWebhook,ValidatingAdmissionWebhook"
    assert api_server(webhooks=False)["disable-admission-plugins"] == plugins
    both = api_server(webhooks=False, heartbeats=False)["disable-admission-plugins"]
    assert both == f"TaintNodesByCondition,{plugins}"


def test_feature_gates_reach_both_servers() -> None:
    gates = {"Beta": True, "Alpha": False}
    for found in (api_server(feature_gates=gates), controller_manager(feature_gates=gates)):
        assert found["feature-gates"] == "Alpha=false,Beta=true"
    assert "feature-gates" not in api_server()


def test_further_api_versions_can_be_served() -> None:
    found = api_server(runtime_config=("a/v1=true", "b/v1beta1=true"))
    assert found["runtime-config"] == "a/v1=true,b/v1beta1=true"


@pytest.mark.parametrize("dashes", ["-", "--"])
def test_a_flag_of_the_users_own_replaces_ours(dashes: str) -> None:
    argv = api_server_argv(
        BINARY, LAYOUT, PORTS, Options(apiserver_args=(f"{dashes}authorization-mode=AlwaysAllow", "--v=4"))
    )
    assert argv[-2:] == [f"{dashes}authorization-mode=AlwaysAllow", "--v=4"]
    assert not [flag for flag in argv if "RBAC" in flag]
    found = controller_manager(heartbeats=False, controller_manager_args=("--node-monitor-grace-period=4s",))
    assert found["node-monitor-grace-period"] == "4s"


def test_kwok_manages_marked_nodes_and_reads_no_settings_of_the_user() -> None:
    found = flags(kwok_argv(BINARY, LAYOUT, Options()))
    assert found["manage-nodes-with-annotation-selector"] == "kwok.x-k8s.io/node=fake"
    assert found["config"] == "/state/kwok/kwok.yaml"
    assert kwok_environment(LAYOUT) == {"KWOK_WORKDIR": "/state/kwok"}
