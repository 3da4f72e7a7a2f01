"""Beside a newer build, whose schemas have fields that this one has never heard of."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster import ControlPlane
from cluster.processes import wait_until
from tests.integration.leftovers import BATCH, SCHEDULING, Leftovers, group_of
from tests.integration.takeover import PATIENCE, end_pods, phases, takeover

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NEW = {"type": "string"}
"""The schema of a field that this build has never heard of."""
GROWN = {
    "jobs.batch.volcano.sh": (("spec",), ("spec", "tasks", "items")),
    "podgroups.scheduling.volcano.sh": (("spec",), ("status",)),
    "queues.scheduling.volcano.sh": (("spec",), ("status",)),
}
"""Where a newer build's schema has a field more."""


@pytest.fixture
def start(kubeconfig: Path, namespace: str, tmp_path: Path) -> Iterator[Callable[[], None]]:
    with takeover(kubeconfig, namespace, tmp_path) as begin:
        yield begin


@pytest.fixture
def newer(control_plane: ControlPlane) -> Iterator[None]:
    """Kinds as a newer build installs them; afterwards as they were."""
    before = {name: control_plane.api.get(f"{DEFINITIONS}/{name}") for name in GROWN}
    for name, places in GROWN.items():
        definition = copy.deepcopy(before[name])
        for place in places:
            schema: Any = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
            for step in place:
                schema = schema["items"] if step == "items" else schema["properties"][step]
            schema["properties"]["brandNew"] = NEW
        control_plane.api.merge(f"{DEFINITIONS}/{name}", {"spec": definition["spec"]})
    yield
    for name, definition in before.items():
        patch = [{"op": "replace", "path": "/spec/versions", "value": definition["spec"]["versions"]}]
        control_plane.api.request("PATCH", f"{DEFINITIONS}/{name}", patch, content_type="application/json-patch+json")


def test_fields_of_a_newer_build_survive_whatever_this_one_writes(
    control_plane: ControlPlane, newer: None, namespace: str, start: Callable[[], None],
    kwok_nodes: Callable[..., list[str]],
) -> None:  # fmt: skip
    left = Leftovers(control_plane, namespace, namespace, kwok_nodes(1), f"{namespace}-team")
    queue = f"/apis/{SCHEDULING}/queues/{left.queue}"
    new, task = {"brandNew": "kept"}, left.job_spec("1")["tasks"][0] | {"brandNew": "kept"}
    spec = left.job_spec("1", brandNew="kept") | {"tasks": [task]}

    def is_served() -> bool:
        body = {"apiVersion": BATCH, "kind": "Job", "metadata": {"name": "try"}, "spec": spec}
        tried = control_plane.api.request("POST", left.path(BATCH, "jobs"), body, query={"dryRun": "All"})
        return "brandNew" in tried["spec"] and "brandNew" in tried["spec"]["tasks"][0]

    assert wait_until(is_served, PATIENCE)
    control_plane.api.create(f"/apis/{SCHEDULING}/queues", {
        "apiVersion": SCHEDULING, "kind": "Queue", "metadata": {"name": left.queue}, "spec": {"weight": 1, **new},
    })  # fmt: skip
    control_plane.api.merge(f"{queue}/status", {"status": new})
    job = left.create("jobs", {"apiVersion": BATCH, "kind": "Job", "metadata": {"name": "new"}, "spec": spec})
    group = f"{left.path(SCHEDULING, 'podgroups')}/{group_of(job)}"
    left.add_group(job, "Pending", "1")
    control_plane.api.merge(group, {"spec": new, "status": new})
    start()
    try:
        assert wait_until(lambda: phases(control_plane, left)["new"] == "Running", PATIENCE)
        control_plane.api.merge(f"{left.path(BATCH, 'jobs')}/new", {"spec": {"minAvailable": 1}})
        assert wait_until(lambda: control_plane.api.get(group)["spec"]["minMember"] == 1, PATIENCE)
        assert wait_until(lambda: control_plane.api.get(group)["status"].get("running") == 2, PATIENCE)
        found = control_plane.api.get(group)
        assert (found["spec"]["brandNew"], found["status"]["brandNew"]) == ("kept", "kept")
        end_pods(control_plane, left, "new")
        assert wait_until(lambda: phases(control_plane, left)["new"] == "Completed", PATIENCE)
        stored = control_plane.api.get(f"{left.path(BATCH, 'jobs')}/new")["spec"]
        assert (stored["brandNew"], stored["tasks"][0]["brandNew"]) == ("kept", "kept")
        assert wait_until(lambda: control_plane.api.get(queue)["status"].get("state") == "Open", PATIENCE)
        found = control_plane.api.get(queue)
        assert (found["spec"]["brandNew"], found["status"]["brandNew"]) == ("kept", "kept")
        assert found["spec"]["parent"] == "root"
    finally:
        control_plane.api.delete(queue)
