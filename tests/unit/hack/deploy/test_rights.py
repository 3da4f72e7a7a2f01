from __future__ import annotations

import json

import pytest

from hack.deploy import rights
from hack.deploy.findings import Check
from hack.deploy.kubectl import Object
from tests.unit.hack.deploy.fakes import Recorder, made

OBJECTS = [
    made("Namespace", "home"),
    made("ClusterRole", "a", version="rbac.authorization.k8s.io/v1"),
    made("ClusterRole", "b", version="rbac.authorization.k8s.io/v1"),
    made("Deployment", "a", "home", version="apps/v1"),
    made("ConfigMap", "a", "home"),
]
ASKED = [
    {"verb": verb, "group": group, "resource": resource, "namespace": namespace}
    for verb in ("create", "patch")
    for group, resource, namespace in (
        ("", "namespaces", ""),
        ("apps", "deployments", "home"),
        ("rbac.authorization.k8s.io", "clusterroles", ""),
    )
]


def answers(*refused: str) -> str:
    """What kubectl prints of the reviews; `refused` are verbs with their resource. Empty fields are left out."""
    lines = []
    for attributes in ASKED:
        allowed = f"{attributes['verb']} {attributes['resource']}" not in refused
        said = {field: value for field, value in attributes.items() if value}
        lines.append(f"{json.dumps(allowed)} {json.dumps(said)}\n")
    return "".join(lines)


def test_each_kind_is_asked_for_once_a_namespace_and_verb() -> None:
    assert [review["spec"]["resourceAttributes"] for review in rights.reviews(OBJECTS)] == ASKED
    kinds = {(review["apiVersion"], review["kind"]) for review in rights.reviews(OBJECTS)}
    assert kinds == {("authorization.k8s.io/v1", "SelfSubjectAccessReview")}


@pytest.mark.parametrize(
    ("refused", "said"),
    [
        (["patch deployments"], "patch deployments in home"),
        (
            ["create namespaces", "patch namespaces", "create clusterroles", "patch clusterroles"],
            "create or patch clusterroles, namespaces",
        ),
        (
            ["create namespaces", "create clusterroles", "patch clusterroles", "create deployments"],
            "create deployments in home, namespaces; create or patch clusterroles",
        ),
    ],
)
def test_what_is_not_allowed_is_one_line(refused: list[str], said: str) -> None:
    cluster = Recorder()
    cluster.answers["create"] = answers(*refused)
    [finding] = rights.missing(cluster, OBJECTS)
    assert (finding.check, finding.is_blocking) == (Check.RIGHTS, True)
    assert finding.message == (
        f"the user of context here may not {said}: these are things for an administrator of the cluster: use another "
        "CONTEXT, or ask for the rights"
    )
    assert cluster.sent == [["SelfSubjectAccessReview"] * len(ASKED)]


@pytest.mark.parametrize("objects", [OBJECTS, [made("ConfigMap", "a", "home")], []])
def test_who_may_do_everything_hears_nothing(objects: list[Object]) -> None:
    cluster = Recorder()
    cluster.answers["create"] = answers()
    assert list(rights.missing(cluster, objects)) == []
