"""`vc-hypernode-controller-manager` as a process: one leads, the other waits, and a signal ends both well."""

from __future__ import annotations

import secrets
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster import ControlPlane
from cluster.processes import wait_until

ROOT = Path(__file__).resolve().parents[2]
HYPERNODES = "/apis/topology.volcano.sh/v1alpha1/hypernodes"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/{}/leases/vc-hypernode-controller-manager"


class Process:
    def __init__(self, kubeconfig: Path, namespace: str, log: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "controllers.hypernode",
                    f"--kubeconfig={kubeconfig}",
                    f"--leader-elect-resource-namespace={namespace}",
                    "--enable-healthz",
                    f"--healthz-address=127.0.0.1:{self._port}",
                    "2>&1",
                ],
                cwd=ROOT,
                stdout=output,
                stderr=output,
            )

    def answers(self, path: str) -> int:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}{path}", timeout=5) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)


@pytest.fixture
def begin(kubeconfig: Path, namespace: str, tmp_path: Path) -> Iterator[Callable[[], Process]]:
    made: list[Process] = []

    def start() -> Process:
        made.append(Process(kubeconfig, namespace, tmp_path / "log"))
        return made[-1]

    yield start
    for each in made:
        each.process.kill()
        each.process.wait()


def test_the_leader_counts_nodes_a_follower_is_ready_too_and_both_end_well(
    control_plane: ControlPlane, namespace: str, begin: Callable[[], Process]
) -> None:
    api = control_plane.api
    leader = begin()
    assert wait_until(lambda: leader.answers("/readyz") == 200, 60)

    def holder() -> str:
        lease: dict[str, Any] = api.get(LEASE.format(namespace))
        return str(lease["spec"].get("holderIdentity", ""))

    first = holder()
    follower = begin()
    assert wait_until(lambda: follower.answers("/readyz") == 200, 60)
    assert (leader.answers("/healthz"), follower.answers("/healthz"), holder()) == (200, 200, first)
    name = f"mine-{secrets.token_hex(3)}"
    member = {"type": "Node", "selector": {"exactMatch": {"name": "n1"}}}
    head = {"apiVersion": "topology.volcano.sh/v1alpha1", "kind": "HyperNode", "metadata": {"name": name}}
    api.create(HYPERNODES, {**head, "spec": {"tier": 1, "members": [member]}})

    def count() -> int:
        found: dict[str, Any] = api.get(f"{HYPERNODES}/{name}")
        return int(found.get("status", {}).get("nodeCount", 0))

    try:
        assert wait_until(lambda: count() == 1, 90)
        assert leader.end() == 0
        assert wait_until(lambda: holder() not in {"", first}, 90)
        assert wait_until(lambda: follower.answers("/readyz") == 200, 90)
        assert follower.end() == 0
    finally:
        api.delete(f"{HYPERNODES}/{name}")
