"""What is put into a control plane, with a recorder in place of the API server."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from cluster import contents
from cluster.nodes import NodePool
from cluster.rest import Api


class Recorder(Api):
    """Remembers requests and gives prepared answers."""

    def __init__(self, answers: dict[str, Any] | None = None) -> None:
        self.calls: list[tuple[str, str, Any]] = []
        self.answers = answers or {}

    def request(self, method: str, path: str, body: Any = None, **_: Any) -> Any:
        self.calls.append((method, path, body))
        return self.answers.get(path, {})

    def each(self, work: Callable[[Any], object], items: Iterable[Any]) -> None:
        for item in items:
            work(item)


def node(name: str, *, ready: str = "True", taints: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "spec": {"taints": [{"key": key} for key in taints]} if taints else {},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    }


def test_nodes_are_created_after_those_that_are_there() -> None:
    api = Recorder({"/api/v1/nodes": {"items": [node("node-4")]}})
    assert contents.create_nodes(api, [NodePool(2)], "v1.36.1") == ["node-5", "node-6"]
    created = [(method, path, body["metadata"]["name"]) for method, path, body in api.calls[1:]]
    assert created == [("POST", "/api/v1/nodes", "node-5"), ("POST", "/api/v1/nodes", "node-6")]


@pytest.mark.parametrize(
    ("names", "is_usable"),
    [
        ([], True),
        (["good"], True),
        (["good", "tainted"], True),
        (["good", "new"], False),
        (["unready"], False),
        (["silent"], False),
        (["missing"], False),
    ],
)
def test_nodes_are_usable_when_ready_and_no_longer_new(names: list[str], is_usable: bool) -> None:
    silent = {"metadata": {"name": "silent"}, "spec": {}, "status": {}}
    nodes = [
        node("good"),
        node("tainted", taints=("my/taint",)),
        node("new", taints=("node.kubernetes.io/not-ready",)),
        node("unready", ready="False"),
        silent,
    ]
    assert contents.are_usable(Recorder({"/api/v1/nodes": {"items": nodes}}), names) is is_usable


def test_nodes_and_leases_are_deleted() -> None:
    api = Recorder()
    contents.delete_nodes(api, ["a", "b"])
    contents.delete_leases(api)
    assert [call[:2] for call in api.calls] == [
        ("DELETE", "/api/v1/nodes/a"),
        ("DELETE", "/api/v1/nodes/b"),
        ("DELETE", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"),
    ]


CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.example.com"
CRD = {
    "metadata": {"name": "things.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"plural": "things"},
        "versions": [
            {"name": "v1", "served": True},
            {"name": "v1alpha1", "served": False},
            {"name": "v2", "served": True},
        ],
    },
}


def established(status: str) -> dict[str, Any]:
    return {CRDS: {"status": {"conditions": [{"type": "Established", "status": status}]}}}


def test_a_definition_is_applied_under_its_name() -> None:
    api = Recorder()
    contents.apply_crd(api, CRD)
    assert api.calls == [("PATCH", CRDS, CRD)]


@pytest.mark.parametrize("answers", [{}, established("False")], ids=["new", "not yet"])
def test_a_definition_that_is_not_established_is_not_served(answers: dict[str, Any]) -> None:
    assert not contents.is_served(Recorder(answers), CRD)


def test_a_served_definition_answers_in_every_served_version() -> None:
    api = Recorder(established("True"))
    assert contents.is_served(api, CRD)
    assert [path for _, path, _ in api.calls] == [CRDS, "/apis/example.com/v1/things", "/apis/example.com/v2/things"]


CONFIGURATION = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingWebhookConfiguration",
    "metadata": {"name": "jobs"},
    "webhooks": [
        {
            "name": "one.example.com",
            "clientConfig": {"service": {"name": "s", "namespace": "n", "path": "/jobs/validate"}, "caBundle": "b2xk"},
            "sideEffects": "None",
        },
        {"name": "two.example.com", "clientConfig": {"service": {"name": "s", "namespace": "n"}}},
    ],
}


@pytest.mark.parametrize("url", ["https://127.0.0.1:8443", "https://127.0.0.1:8443/"])
def test_webhooks_are_pointed_at_a_server_beside_the_cluster(url: str) -> None:
    pointed = contents.pointed_at(CONFIGURATION, url, b"PEM")
    bundle = base64.b64encode(b"PEM").decode()
    assert [webhook["clientConfig"] for webhook in pointed["webhooks"]] == [
        {"url": "https://127.0.0.1:8443/jobs/validate", "caBundle": bundle},
        {"url": "https://127.0.0.1:8443", "caBundle": bundle},
    ]
    assert pointed["webhooks"][0]["sideEffects"] == "None"
    assert "service" in CONFIGURATION["webhooks"][0]["clientConfig"]  # type: ignore[index]


def test_webhooks_and_their_services_may_be_left_out() -> None:
    bare = {"kind": "MutatingWebhookConfiguration", "metadata": {"name": "bare"}}
    assert contents.pointed_at(bare, "https://x", b"")["webhooks"] == []
    webhook = {"name": "w", "clientConfig": {"service": None}}
    pointed = contents.pointed_at({**bare, "webhooks": [webhook]}, "https://x", b"")
    assert pointed["webhooks"][0]["clientConfig"]["url"] == "https://x"


@pytest.mark.parametrize("kind", ["Mutating", "Validating"])
def test_webhook_configurations_go_to_their_kind(kind: str) -> None:
    api = Recorder()
    configuration = {**CONFIGURATION, "kind": f"{kind}WebhookConfiguration"}
    contents.apply_webhooks(api, [configuration], "https://127.0.0.1:1", b"PEM")
    ((method, path, _),) = api.calls
    assert method == "PATCH"
    assert path == f"/apis/admissionregistration.k8s.io/v1/{kind.lower()}webhookconfigurations/jobs"
