from __future__ import annotations

from typing import Any

import pytest

from hack.deploy import ownership


def entry(manager: str, fields: dict[str, Any], operation: str = "Update", **more: Any) -> dict[str, Any]:
    return {
        "manager": manager, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields,
    } | more  # fmt: skip


def test_what_installers_set_becomes_one_field_set_of_ours() -> None:
    found = ownership.merged([
        entry("helm", {"f:spec": {"f:a": {}, "f:b": {"f:c": {}}}}),
        entry("kubectl-client-side-apply", {"f:spec": {"f:b": {"f:d": {}}}, "f:metadata": {}}),
        entry("stromboli-deploy", {"f:spec": {"f:e": {}}}, "Apply"),
        entry("vc-webhook-manager", {"f:spec": {"f:x": {}}}),
    ])  # fmt: skip
    assert found == [
        entry(
            "stromboli-deploy",
            {"f:spec": {"f:a": {}, "f:b": {"f:c": {}, "f:d": {}}, "f:e": {}}, "f:metadata": {}},
            "Apply",
        ),
        entry("vc-webhook-manager", {"f:spec": {"f:x": {}}}),
    ]


@pytest.mark.parametrize("manager", ["helm", "Helm", "kubectl", "kubectl-edit", "argocd-controller"])
def test_installers_are_known_by_name(manager: str) -> None:
    assert len(ownership.merged([entry(manager, {"f:a": {}})])) == 1


@pytest.mark.parametrize(
    "kept",
    [
        entry("kube-controller-manager", {"f:status": {}}, subresource="status"),
        entry("kubectl", {"f:status": {}}, subresource="status"),
        entry("horizontal-pod-autoscaler", {"f:spec": {"f:replicas": {}}}),
        entry("helmsman", {"f:a": {}}),
    ],
)
def test_what_processes_write_stays_theirs(kept: dict[str, Any]) -> None:
    assert kept in ownership.merged([entry("helm", {"f:a": {}}), kept])


def test_releases_of_helm_are_told_once_each() -> None:
    def owned(name: str, release: str = "") -> dict[str, Any]:
        notes = {"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": "batch"} if release else {}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "annotations": notes}}

    found = list(ownership.helm_releases([owned("a", "one"), owned("b", "one"), owned("c"), owned("d", "two")]))
    assert [finding.message.partition(":")[0] for finding in found] == [
        "2 objects belong to the helm release batch/one, among them ConfigMap a",
        "1 objects belong to the helm release batch/two, among them ConfigMap d",
    ]


class Refusing:
    """kubectl that refuses as it does for conflicts of one object, or of several fields."""

    def __init__(self, texts: dict[str, str]) -> None:
        self._texts = texts

    def attempt(self, *arguments: str, objects: list[dict[str, Any]]) -> str:
        assert "--dry-run=server" in arguments
        return "\n".join(filter(None, (self._texts.get(found["metadata"]["name"], "") for found in objects)))


ONE = 'error: Apply failed with 1 conflict: conflict with "kubectl" using apps/v1: .spec.replicas\nPlease review the fields'
TWO = """error: Apply failed with 2 conflicts: conflicts with "helm" using apps/v1:
- .spec.replicas
- .spec.template.spec.containers[name="c"].args
Please review the fields above--they currently have other managers. Here
"""


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (ONE, "ConfigMap a: kubectl set .spec.replicas otherwise"),
        (TWO, 'ConfigMap a: helm set .spec.replicas, .spec.template.spec.containers[name="c"].args otherwise'),
    ],
)
def test_a_conflict_names_the_object_who_set_it_and_the_fields(said: str, text: str) -> None:
    objects = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}} for name in "abc"]
    kubectl: Any = Refusing({"a": said, "c": ONE})
    [finding] = ownership.conflicts(kubectl, objects, objects[:2])  # the third isn't there yet
    assert finding.message.startswith(text)
