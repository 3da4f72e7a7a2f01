"""
Status, generations, managers and selectors of our kinds on a real API server: who may write what, and what it counts.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from cluster import ControlPlane
from cluster.processes import wait_until
from runtime.errors import ApiError, BadRequest, Conflict, Invalid, NotFound
from tests.integration.crd_rows import (
    DRY_RUN,
    DUPLICATE,
    META_CONDITION,
    UNCHANGED,
    collection,
    cron,
    flow,
    group,
    hypernode,
    job,
    manifest,
    queue,
    task,
)


class Stored:
    """One valid object a kind, created when it is first asked for."""

    BODIES: ClassVar[dict[str, dict[str, Any]]] = {
        "Job": task(name="a", replicas=1),
        "CronJob": cron(),
        "PodGroup": group(minMember=1),
        "Queue": queue(),
        "JobFlow": flow(),
        "HyperNode": hypernode(),
        "ColocationConfiguration": {"spec": {}},
    }

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._made: dict[str, str] = {}

    def path(self, kind: str) -> str:
        if kind not in self._made:
            name = f"schemas-{kind.lower()}"
            self._plane.api.create(collection(kind), manifest(kind, name, copy.deepcopy(self.BODIES[kind])))
            self._made[kind] = f"{collection(kind)}/{name}"
        return self._made[kind]

    def get(self, kind: str) -> dict[str, Any]:
        found: dict[str, Any] = self._plane.api.get(self.path(kind))
        return found

    def delete(self) -> None:
        for path in self._made.values():
            self._plane.api.delete(path)


@pytest.fixture(scope="module")
def stored(control_plane: ControlPlane) -> Iterator[Stored]:
    objects = Stored(control_plane)
    yield objects
    objects.delete()


@pytest.mark.parametrize(
    ("kind", "status", "words"),
    [
        ("Job", {"state": {"phase": ""}}, "status.state.phase: Unsupported value"),
        ("Job", {"state": {"phase": "Bogus"}}, "status.state.phase: Unsupported value"),
        ("Job", {"running": -1}, "status.running"),
        ("Job", {"conditions": [{}]}, "status: Required value"),
        ("Queue", {"state": ""}, "status.state: Unsupported value"),
        ("Queue", {"state": "open"}, "status.state: Unsupported value"),
        ("Queue", {"pending": -1}, "status.pending"),
        ("JobFlow", {"state": {"phase": "Succeeded"}}, "status.state.phase: Unsupported value"),
        ("ColocationConfiguration", {"conditions": [META_CONDITION, META_CONDITION]}, DUPLICATE),
        ("HyperNode", {"conditions": [{**META_CONDITION, "reason": ""}]}, "reason"),
        ("HyperNode", {"conditions": [{**META_CONDITION, "status": "Maybe"}]}, "status: Unsupported value"),
        ("HyperNode", {"nodeCount": -1}, "status.nodeCount"),
    ],
)
def test_an_invalid_status_is_refused(
    control_plane: ControlPlane, stored: Stored, kind: str, status: dict[str, Any], words: str
) -> None:
    with pytest.raises(Invalid) as refusal:
        _patch_status(control_plane, stored.path(kind), status)
    assert words in str(refusal.value)


@pytest.mark.parametrize(
    ("kind", "status", "kept"),
    [
        ("Job", {"state": {"phase": "Running", "lastTransitionTime": None}}, {"state": {"phase": "Running"}}),
        ("Job", {"conditions": [{"status": "Zed"}]}, UNCHANGED),
        ("Job", {"taskStatusCount": {"a": {"phase": {"Running": -1}}}}, UNCHANGED),
        ("Queue", {"state": "Open", "allocated": None}, {"state": "Open"}),
        ("HyperNode", {"conditions": [META_CONDITION, META_CONDITION]}, UNCHANGED),
        ("JobFlow", {"unKnowJobs": ["a"], "conditions": {"a": {"phase": "Any"}}}, UNCHANGED),
    ],
)
def test_a_valid_status_is_kept(
    control_plane: ControlPlane, stored: Stored, kind: str, status: dict[str, Any], kept: Any
) -> None:
    expected = status if kept is UNCHANGED else kept
    assert _patch_status(control_plane, stored.path(kind), status) == expected


def _patch_status(plane: ControlPlane, path: str, status: dict[str, Any]) -> Any:
    patch = {"status": status}
    merge = "application/merge-patch+json"
    return plane.api.request("PATCH", f"{path}/status", patch, content_type=merge, query=DRY_RUN)["status"]


def _put(plane: ControlPlane, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = plane.api.request("PUT", path, body)
    return answer


@pytest.mark.parametrize("kind", ["Job", "Queue", "JobFlow", "HyperNode", "ColocationConfiguration"])
def test_a_write_of_the_status_changes_nothing_else(control_plane: ControlPlane, stored: Stored, kind: str) -> None:
    before = stored.get(kind)
    changed = {**copy.deepcopy(before), "status": {}}
    changed["metadata"]["labels"] = {"by": "status"}
    changed["spec"] = {**before["spec"], "tier": 9} if kind == "HyperNode" else before["spec"]
    after = _put(control_plane, f"{stored.path(kind)}/status", changed)
    assert after["spec"] == before["spec"]
    assert after["metadata"].get("labels") == before["metadata"].get("labels")
    assert after["metadata"]["generation"] == before["metadata"]["generation"]


def test_a_write_of_the_object_leaves_the_status(control_plane: ControlPlane, stored: Stored) -> None:
    path = stored.path("Queue")
    control_plane.api.merge(f"{path}/status", {"status": {"state": "Open"}})
    after = _put(control_plane, path, {**stored.get("Queue"), "status": {"state": "Closed"}})
    assert after["status"]["state"] == "Open"
    assert control_plane.api.merge(path, {"status": {"state": "Closed"}})["status"]["state"] == "Open"


def test_the_generation_of_a_job_counts_changes_of_the_spec(control_plane: ControlPlane, stored: Stored) -> None:
    path = stored.path("Job")
    first = stored.get("Job")["metadata"]["generation"]
    labelled = control_plane.api.merge(path, {"metadata": {"labels": {"a": "b"}}})
    assert labelled["metadata"]["generation"] == first
    control_plane.api.merge(f"{path}/status", {"status": {"running": 1}})
    assert stored.get("Job")["metadata"]["generation"] == first
    assert control_plane.api.merge(path, {"spec": {"minAvailable": 1}})["metadata"]["generation"] == first + 1


def test_the_generation_of_a_pod_group_counts_its_status_too(control_plane: ControlPlane, stored: Stored) -> None:
    path = stored.path("PodGroup")
    first = stored.get("PodGroup")["metadata"]["generation"]
    assert control_plane.api.merge(path, {"metadata": {"labels": {"a": "b"}}})["metadata"]["generation"] == first
    assert control_plane.api.merge(path, {"status": {"phase": "Pending"}})["metadata"]["generation"] == first + 1


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_a_pod_group_has_no_status_subresource(control_plane: ControlPlane, stored: Stored, method: str) -> None:
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    with pytest.raises(NotFound):
        control_plane.api.request(
            method, f"{stored.path('PodGroup')}/status", stored.get("PodGroup"), content_type=kind
        )


def test_custom_resources_know_no_strategic_merge(control_plane: ControlPlane, stored: Stored) -> None:
    with pytest.raises(ApiError) as refusal:
        control_plane.api.request(
            "PATCH", stored.path("Job"), {"spec": {}}, content_type="application/strategic-merge-patch+json"
        )
    assert refusal.value.code == 415


def test_fields_of_the_spec_cannot_be_selected(control_plane: ControlPlane) -> None:
    with pytest.raises(BadRequest, match=r"field label not supported: spec\.queue"):
        control_plane.api.get(collection("Job"), fieldSelector="spec.queue=default")


def test_two_managers_of_tasks_conflict_over_the_whole_list(control_plane: ControlPlane, namespace: str) -> None:
    path = f"{collection('Job', namespace)}/shared"

    def apply(manager: str, name: str, force: str = "false") -> dict[str, Any]:
        query = {"fieldManager": manager, "force": force}
        body = manifest("Job", "shared", task(name=name))
        apply_type = "application/apply-patch+yaml"
        answer: dict[str, Any] = control_plane.api.request("PATCH", path, body, content_type=apply_type, query=query)
        return answer

    apply("first", "a")
    with pytest.raises(Conflict, match=r'conflict with "first": \.spec\.tasks'):
        apply("second", "b")
    assert [entry["name"] for entry in apply("second", "b", "true")["spec"]["tasks"]] == ["b"]


def test_a_field_that_was_invalid_before_may_stay_so(control_plane: ControlPlane, namespace: str) -> None:
    """Tightening a schema doesn't brick what is stored; the new limit is put back whatever happens."""
    crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/jobtemplates.flow.volcano.sh"
    where = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/runningEstimate/maxLength"
    path = f"{collection('JobTemplate', namespace)}/old"
    control_plane.api.create(path.rsplit("/", 1)[0], manifest("JobTemplate", "old", job(runningEstimate="too long")))
    json_patch = "application/json-patch+json"
    control_plane.api.request("PATCH", crd, [{"op": "add", "path": where, "value": 3}], content_type=json_patch)
    try:
        _until_refused(control_plane, manifest("JobTemplate", "new", job(runningEstimate="too long")))
        assert control_plane.api.merge(path, {"spec": {"minAvailable": 1}})["spec"]["minAvailable"] == 1
        with pytest.raises(Invalid):
            control_plane.api.merge(path, {"spec": {"minAvailable": -1}})
        with pytest.raises(Invalid):
            control_plane.api.merge(path, {"spec": {"runningEstimate": "still too long"}})
    finally:
        control_plane.api.request("PATCH", crd, [{"op": "remove", "path": where}], content_type=json_patch)


def _until_refused(plane: ControlPlane, body: dict[str, Any]) -> None:
    """The server serves a changed schema a moment after it took it."""

    def is_refused() -> bool:
        try:
            plane.api.request("POST", collection(body["kind"]), body, query=DRY_RUN)
        except ApiError:
            return True
        return False

    assert wait_until(is_refused, 90)
