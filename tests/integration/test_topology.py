"""Network topologies on the real control plane: HyperNode objects, hard limits, messages, changes and restarts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster import ControlPlane
from cluster.processes import wait_until
from tests.integration.schedulers import Gangs, Scheduler

HYPERNODES = "/apis/topology.volcano.sh/v1alpha1/hypernodes"
CONFIGURATION = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: predicates}, {name: nodeorder}, {name: network-topology-aware}]
"""
HARD_1 = {"mode": "hard", "highestTierAllowed": 1}


class Trees:
    """Makes HyperNodes and takes them away again."""

    def __init__(self, plane: ControlPlane) -> None:
        self._api = plane.api
        self.made: list[str] = []

    def create(self, name: str, tier: int, *members: dict[str, Any]) -> str:
        self._api.create(HYPERNODES, {
            "apiVersion": "topology.volcano.sh/v1alpha1", "kind": "HyperNode",
            "metadata": {"name": name}, "spec": {"tier": tier, "members": list(members)},
        })  # fmt: skip
        self.made.append(name)
        return name

    def delete(self, name: str) -> None:
        self.made.remove(name)
        self._api.delete(f"{HYPERNODES}/{name}")


def by_name(name: str) -> dict[str, Any]:
    return {"type": "Node", "selector": {"exactMatch": {"name": name}}}


def by_pattern(pattern: str) -> dict[str, Any]:
    return {"type": "Node", "selector": {"regexMatch": {"pattern": pattern}}}


def child(name: str) -> dict[str, Any]:
    return {"type": "HyperNode", "selector": {"exactMatch": {"name": name}}}


@pytest.fixture
def trees(control_plane: ControlPlane) -> Iterator[Trees]:
    made = Trees(control_plane)
    yield made
    for name in list(made.made):
        made.delete(name)


@pytest.fixture
def scheduler(kubeconfig: Path, namespace: str, tmp_path: Path) -> Iterator[Scheduler]:
    (tmp_path / "scheduler.conf").write_text(CONFIGURATION)
    made = Scheduler(kubeconfig, namespace, tmp_path)
    yield made
    made.kill()


@pytest.fixture
def nodes(kwok_nodes: Callable[..., list[str]]) -> list[str]:
    return kwok_nodes(4, resources={"cpu": "4", "memory": "8Gi"})


@pytest.fixture
def racks(trees: Trees, nodes: list[str]) -> tuple[str, str]:
    """Two racks of two nodes, one by names and one by a pattern, in one row."""
    stem = nodes[0].rsplit("-", 1)[0]
    first = trees.create(f"{stem}-rack-a", 1, by_name(nodes[0]), by_name(nodes[1]))
    second = trees.create(f"{stem}-rack-b", 1, by_pattern(f"^({nodes[2]}|{nodes[3]})$"))
    trees.create(f"{stem}-row", 2, child(first), child(second))
    return first, second


@pytest.fixture
def gangs(control_plane: ControlPlane, namespace: str, nodes: list[str]) -> Gangs:
    return Gangs(control_plane, namespace, nodes)


@pytest.mark.usefixtures("scheduler", "racks")
def test_a_hard_gang_lies_in_one_rack_and_one_that_fits_in_none_says_so(gangs: Gangs, nodes: list[str]) -> None:
    gangs.create("close", 7, "1", networkTopology=HARD_1)
    assert wait_until(lambda: gangs.phase("close") == "Running", 60)
    places = set(gangs.places("close"))
    assert places in (set(nodes[:2]), set(nodes[2:]))
    gangs.create("wide", 9, "1", networkTopology=HARD_1)
    assert wait_until(lambda: "no hypernode of tier 1 or lower has enough free resources" in gangs.message("wide"), 60)
    assert gangs.bound("wide") == 0
    gangs.create("row", 8, "1", networkTopology={"mode": "hard", "highestTierAllowed": 2})
    assert wait_until(lambda: gangs.phase("row") == "Running", 60)


@pytest.mark.usefixtures("racks")
def test_after_a_restart_a_further_pod_comes_beside_its_gang(
    gangs: Gangs, scheduler: Scheduler, nodes: list[str]
) -> None:
    gangs.create("close", 3, "1", networkTopology=HARD_1)
    assert wait_until(lambda: gangs.phase("close") == "Running", 60)
    home = set(nodes[:2]) if gangs.places("close")[0] in nodes[:2] else set(nodes[2:])
    scheduler.kill()
    gangs.grow("close", 3, 5, "1")
    scheduler.start()
    assert wait_until(lambda: gangs.bound("close") == 8, 60)
    assert set(gangs.places("close")) <= home


@pytest.mark.usefixtures("scheduler")
def test_a_tree_in_dispute_holds_back_who_needs_it_until_it_is_settled(
    gangs: Gangs, trees: Trees, racks: tuple[str, str]
) -> None:
    rival = trees.create(f"{racks[0]}-rival", 2, child(racks[0]))
    gangs.create("row", 9, "1", networkTopology={"mode": "hard", "highestTierAllowed": 2})
    assert wait_until(lambda: "the hypernode tree is not ready" in gangs.message("row"), 60)
    assert f"HyperNode {racks[0]} already has a parent" in gangs.message("row")
    gangs.create("rack", 2, "1", networkTopology=HARD_1)
    assert wait_until(lambda: gangs.phase("rack") == "Running", 60)
    trees.delete(rival)
    assert wait_until(lambda: gangs.phase("row") == "Running", 60)
