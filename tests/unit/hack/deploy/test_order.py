from __future__ import annotations

import random

import pytest

from hack.deploy import order
from hack.deploy.kubectl import Object


def made(kind: str, name: str = "n", namespace: str = "", version: str = "v1") -> Object:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": version, "kind": kind, "metadata": metadata}


KINDS = (
    "Namespace", "CustomResourceDefinition", "ServiceAccount", "ClusterRole", "Role", "ClusterRoleBinding",
    "RoleBinding", "Certificate", "ConfigMap", "Deployment", "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
def test_every_order_becomes_the_same_safe_one(seed: int) -> None:
    objects = [made(kind) for kind in KINDS]
    random.Random(seed).shuffle(objects)
    assert [found["kind"] for found in order.sort(objects)] == list(KINDS)


def test_a_stage_holds_what_needs_nothing_of_its_own_stage_but_what_comes_first_in_it() -> None:
    found = order.stages(made(kind) for kind in reversed(KINDS))
    assert [[one["kind"] for one in stage] for stage in found] == [
        ["Namespace", "CustomResourceDefinition"],
        ["ServiceAccount", "ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding"],
        ["Certificate", "ConfigMap"],
        ["Deployment"],
        ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"],
    ]


@pytest.mark.parametrize(
    ("found", "label"),
    [
        (made("Deployment", "a", "b", "apps/v1"), "Deployment b/a"),
        (made("Namespace", "a"), "Namespace a"),
    ],
)
def test_objects_are_named_as_people_name_them(found: Object, label: str) -> None:
    assert order.label(found) == label


def test_equal_names_of_other_groups_kinds_and_namespaces_are_other_objects() -> None:
    keys = {
        order.key(found)
        for found in (
            made("Job"), made("Job", version="batch/v1"), made("Job", namespace="x"), made("Role"),
            made("Job", version="batch/v2"),
        )
    }  # fmt: skip
    assert len(keys) == 4  # versions of one group show the same object
