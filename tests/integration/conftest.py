"""
The real control plane for integration tests: one for each test process, a namespace for each test.

It ends with the test process, however that ends. Objects without a namespace need unique names, since tests share it.
"""

from __future__ import annotations

import contextlib
import re
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster import ControlPlane, NodePool
from cluster.processes import wait_until
from runtime.errors import NotFound

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test of this folder carries the marker `integration`, so that `-m "not integration"` leaves them out."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.integration)


@pytest.fixture(scope="session")
def report(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Print a line past pytest's capturing: a first run may build binaries for minutes."""
    capture = request.config.pluginmanager.getplugin("capturemanager")

    def say(line: str) -> None:
        with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext():
            print(f"  cluster: {line}", flush=True)  # noqa: T201  # the user waits for this

    return say


@pytest.fixture(scope="session")
def control_plane(
    tmp_path_factory: pytest.TempPathFactory, worker_id: str, report: Callable[[str], None]
) -> Iterator[ControlPlane]:
    """A control plane with our CRDs and no nodes; add some with `kwok_nodes`."""
    directory = tmp_path_factory.mktemp("cluster")
    with ControlPlane(f"test-{worker_id}", directory=directory, report=report) as plane:
        crds = sorted((ROOT / "config" / "crd" / "bases").glob("*.yaml"))
        plane.apply_crds(document for path in crds for document in yaml.safe_load_all(path.read_text()) if document)
        yield plane


@pytest.fixture(scope="session")
def kubeconfig(control_plane: ControlPlane) -> Path:
    """Path of the administrator's kubeconfig."""
    return control_plane.kubeconfig


@pytest.fixture
def namespace(control_plane: ControlPlane, request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of a fresh namespace in which pods can be created; deleted after the test."""
    words = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).strip("-")[:40].strip("-")
    name = f"{words}-{secrets.token_hex(3)}"
    api = control_plane.api
    api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    assert wait_until(lambda: _exists(control_plane, f"/api/v1/namespaces/{name}/serviceaccounts/default"), 90)
    yield name
    api.delete(f"/api/v1/namespaces/{name}")


@pytest.fixture
def kwok_nodes(control_plane: ControlPlane) -> Iterator[Callable[..., list[str]]]:
    """
    Make simulated nodes: `kwok_nodes(3, resources={"cpu": "4"}, racks=2)` gives their names once they are ready.

    Arguments are those of `cluster.NodePool`; names are unique. The nodes are deleted after the test, with their pods.
    """
    made: list[str] = []

    def make(count: int = 1, **pool: Any) -> list[str]:
        pool.setdefault("prefix", f"n{secrets.token_hex(3)}")
        names = control_plane.add_nodes(NodePool(count, **pool))
        made.extend(names)
        return names

    yield make
    _remove_pods(control_plane, set(made))
    control_plane.remove_nodes(made)


def _remove_pods(plane: ControlPlane, nodes: set[str]) -> None:
    """Without their node, pods would stay for a minute, and so would their namespace."""

    def remove(pod: dict[str, Any]) -> None:
        place = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"
        with contextlib.suppress(NotFound):
            plane.api.delete(place, gracePeriodSeconds="0")

    plane.api.each(remove, [pod for pod in plane.api.items("/api/v1/pods") if pod["spec"].get("nodeName") in nodes])


def _exists(plane: ControlPlane, path: str) -> bool:
    try:
        plane.api.get(path)
    except NotFound:
        return False
    return True
