"""
The servers' command lines: pure functions of paths, ports and options.

Tuned for a control plane that lives minutes on one machine: data need not survive a power cut, nobody elects a leader,
and nothing listens beyond loopback.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from cluster.annotations import MANAGED_NODE, MANAGED_NODE_VALUE
from cluster.options import Options
from cluster.pki import Files
from cluster.state import Layout

HOST: Final = "127.0.0.1"
ETCD: Final = "etcd"
API_SERVER: Final = "kube-apiserver"
CONTROLLER_MANAGER: Final = "kube-controller-manager"
KWOK: Final = "kwok"
ALL: Final = (ETCD, API_SERVER, CONTROLLER_MANAGER, KWOK)

_LEASE_SECONDS: Final = 40
_FOREVER: Final = "87600h"
_WEBHOOK_PLUGINS: Final = ("MutatingAdmissionWebhook", "ValidatingAdmissionWebhook")


class Ports(msgspec.Struct, frozen=True):
    """Loopback ports."""

    etcd: int
    api: int


def etcd_argv(binary: Path, layout: Layout, ports: Ports) -> list[str]:
    """A single member; a crash of the machine may lose its data, a crash of the process may not."""
    client = f"http://{HOST}:{ports.etcd}"
    return [
        str(binary),
        f"--data-dir={layout.etcd_data}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls=http://{HOST}:0",
        "--unsafe-no-fsync",
        "--quota-backend-bytes=8589934592",
        "--log-level=warn",
    ]


def api_server_argv(binary: Path, layout: Layout, ports: Ports, options: Options) -> list[str]:
    """The API server, with RBAC as in a real cluster; the administrator is a member of system:masters."""
    files = Files(layout.pki)
    disabled = [] if options.heartbeats else ["TaintNodesByCondition"]
    disabled += [] if options.webhooks else _WEBHOOK_PLUGINS
    flags = {
        "etcd-servers": f"http://{HOST}:{ports.etcd}",
        "bind-address": HOST,
        "secure-port": str(ports.api),
        "endpoint-reconciler-type": "none",
        "tls-cert-file": str(files.serving),
        "tls-private-key-file": str(files.serving_key),
        "client-ca-file": str(files.ca),
        "authorization-mode": "RBAC",
        "service-account-issuer": "https://kubernetes.default.svc.cluster.local",
        "service-account-key-file": str(files.service_account_key),
        "service-account-signing-key-file": str(files.service_account_key),
        "service-cluster-ip-range": "10.0.0.0/16",
        "allow-privileged": "true",
        # Priority and fairness keeps its levels; these only lift its total for load tests on one machine.
        "max-requests-inflight": "2000",
        "max-mutating-requests-inflight": "1000",
    }
    if disabled:
        flags["disable-admission-plugins"] = ",".join(disabled)
    if options.runtime_config:
        flags["runtime-config"] = ",".join(options.runtime_config)
    return _argv(binary, flags, options.feature_gates, options.apiserver_args)


def controller_manager_argv(binary: Path, layout: Layout, options: Options) -> list[str]:
    """All controllers, each under its own service account as in a real cluster, so that RBAC is real."""
    files = Files(layout.pki)
    flags = {
        "kubeconfig": str(files.controller_manager_kubeconfig),
        "secure-port": "0",
        "leader-elect": "false",
        "use-service-account-credentials": "true",
        "service-account-private-key-file": str(files.service_account_key),
        "root-ca-file": str(files.ca),
        "cluster-signing-cert-file": str(files.ca),
        "cluster-signing-key-file": str(files.ca_key),
        "kube-api-qps": "1000",
        "kube-api-burst": "2000",
    }
    if not options.heartbeats:
        flags["node-monitor-grace-period"] = _FOREVER
    return _argv(binary, flags, options.feature_gates, options.controller_manager_args)


def kwok_argv(binary: Path, layout: Layout, options: Options) -> list[str]:
    """The kubelets' stand-in for every node that carries our annotation; it serves no port."""
    return [
        str(binary),
        f"--config={layout.kwok_config}",
        f"--kubeconfig={Files(layout.pki).kwok_kubeconfig}",
        f"--manage-nodes-with-annotation-selector={MANAGED_NODE}={MANAGED_NODE_VALUE}",
        f"--node-lease-duration-seconds={_LEASE_SECONDS if options.heartbeats else 0}",
        "--cidr=10.64.0.0/10",
        # A line a change helps to follow a few pods, and fills the disk with a hundred thousand.
        f"--v={'INFO' if options.heartbeats else 'WARN'}",
    ]


def kwok_environment(layout: Layout) -> dict[str, str]:
    """Keeps kwok from the settings of a user who also has kwok installed."""
    return {"KWOK_WORKDIR": str(layout.kwok_config.parent)}


def _argv(binary: Path, flags: Mapping[str, str], gates: Mapping[str, bool], extra: Iterable[str]) -> list[str]:
    merged = dict(flags)
    if gates:
        merged["feature-gates"] = ",".join(f"{gate}={str(on).lower()}" for gate, on in sorted(gates.items()))
    further = list(extra)
    replaced = {flag.lstrip("-").partition("=")[0] for flag in further}
    kept = [f"--{name}={value}" for name, value in merged.items() if name not in replaced]
    return [str(binary), *kept, *further]
