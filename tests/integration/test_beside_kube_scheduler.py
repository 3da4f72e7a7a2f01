"""
Two schedulers on the same nodes: ours and a real kube-scheduler, each with its own pods.

Both may take the same room in the moment before they hear of each other. Once they have, nothing of ours goes onto a
node that holds too much.
"""

from __future__ import annotations

import random
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster import ControlPlane
from cluster.binaries import Binaries
from cluster.processes import wait_until
from cluster.versions import DEFAULT_KUBERNETES
from tests.integration.schedulers import PODS, Gangs, Scheduler

NODES, CPUS = 6, 8
WAVES = 5


@pytest.fixture
def scheduler(kubeconfig: Path, namespace: str, tmp_path: Path) -> Iterator[Scheduler]:
    made = Scheduler(kubeconfig, namespace, tmp_path)
    yield made
    made.kill()


@pytest.fixture(scope="module")
def kube_scheduler(
    kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory, report: Callable[[str], None]
) -> Iterator[Path]:
    """Runs while the tests of this file do; gives its log."""
    program = Binaries(DEFAULT_KUBERNETES, report).find("kube-scheduler")
    path = tmp_path_factory.mktemp("kube-scheduler") / "log"
    with path.open("wb") as log:
        process = subprocess.Popen(
            [str(program), f"--kubeconfig={kubeconfig}", "--leader-elect=false", "--secure-port=0"],
            stdout=log, stderr=log,
        )  # fmt: skip
    yield path
    process.kill()
    process.wait()


class Nodes:
    """The nodes of a test and what both schedulers put there."""

    def __init__(self, plane: ControlPlane, namespace: str, names: list[str]) -> None:
        self._api = plane.api
        self._pods = PODS.format(namespace)
        self.names = names

    def create_for_other(self, name: str, cpu: int) -> None:
        """A pod for the kube-scheduler."""
        names = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": self.names}]}
        self._api.create(self._pods, {
            "metadata": {"name": name},
            "spec": {
                "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [names],
                }}},
                "containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": str(cpu)}}}],
            },
        })  # fmt: skip

    def pods(self) -> list[dict[str, Any]]:
        return list(self._api.items(self._pods))

    def used(self) -> Counter[str]:
        """By node the cpus that its pods ask for."""
        return Counter({
            node: sum(cpus(pod) for pod in self.pods() if pod["spec"].get("nodeName") == node) for node in self.names
        })  # fmt: skip

    def is_settled(self) -> bool:
        """Whether each pod is bound, or was refused by its scheduler."""
        return all(
            pod["spec"].get("nodeName")
            or any(held["type"] == "PodScheduled" for held in pod["status"].get("conditions", []))
            for pod in self.pods()
        )

    def places(self, prefix: str) -> dict[str, str]:
        """By bound pod its node."""
        return {
            pod["metadata"]["name"]: pod["spec"]["nodeName"]
            for pod in self.pods()
            if pod["metadata"]["name"].startswith(prefix) and pod["spec"].get("nodeName")
        }

    def delete_bound(self, prefix: str, count: int) -> None:
        """Delete the first so many bound pods of a name's beginning."""
        for name in sorted(self.places(prefix))[:count]:
            self._api.delete(f"{self._pods}/{name}", gracePeriodSeconds="0")


def cpus(pod: dict[str, Any]) -> int:
    return sum(int(container["resources"]["requests"]["cpu"]) for container in pod["spec"]["containers"])


@pytest.fixture
def nodes(control_plane: ControlPlane, namespace: str, kwok_nodes: Callable[..., list[str]]) -> Nodes:
    return Nodes(control_plane, namespace, kwok_nodes(NODES, resources={"cpu": str(CPUS), "memory": "64Gi"}))


@pytest.fixture
def gangs(control_plane: ControlPlane, namespace: str, nodes: Nodes) -> Gangs:
    return Gangs(control_plane, namespace, nodes.names)


@pytest.mark.usefixtures("scheduler", "kube_scheduler")
def test_room_that_the_other_took_is_not_given_again_and_is_taken_when_it_is_left(gangs: Gangs, nodes: Nodes) -> None:
    for ordinal in range(NODES):
        nodes.create_for_other(f"other-{ordinal}", CPUS - 1)
    assert wait_until(lambda: len(nodes.places("other")) == NODES, 60)
    gangs.create("whole", 2, "4")
    assert wait_until(lambda: "Insufficient cpu" in gangs.message("whole"), 60)
    assert gangs.bound("whole") == 0
    nodes.delete_bound("other", 2)
    assert wait_until(lambda: gangs.phase("whole") == "Running", 60)
    assert max(nodes.used().values()) <= CPUS


@pytest.mark.usefixtures("scheduler", "kube_scheduler")
def test_after_a_race_nothing_more_goes_onto_a_node_that_holds_too_much(gangs: Gangs, nodes: Nodes) -> None:
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    ever_full: set[str] = set()
    for wave in range(WAVES):
        for ordinal in range(6):
            gangs.create(f"ours-{wave}-{ordinal}", 1, str(rng.randint(1, 4)))
            nodes.create_for_other(f"other-{wave}-{ordinal}", rng.randint(1, 4))
        assert wait_until(nodes.is_settled, 60), f"seed {seed}: {nodes.pods()}"
        full = {node for node, used in nodes.used().items() if used >= CPUS}
        ever_full |= full
        # Pods are told of in the order of their changes: who knows of this one knows all of the above.
        gangs.create(f"ours-{wave}-probe", 1, "1")
        assert wait_until(nodes.is_settled, 60)
        late = nodes.places(f"ours-{wave}-probe")
        assert not full & set(late.values()), f"seed {seed}: {late} beside {nodes.used()}"
        nodes.delete_bound("ours", 2)
        nodes.delete_bound("other", 2)
    assert ever_full, f"seed {seed}: the load never filled a node"
