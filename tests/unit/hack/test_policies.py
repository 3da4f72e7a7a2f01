"""Policies as objects of the API."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from generated.scheduling.v1beta1 import POD_GROUPS
from hack.manifests import policies
from webhooks.policies import MUTATIONS, POLICIES
from webhooks.policies.policy import Mutation, Policy, Rule

POLICY = Policy(
    "p",
    POD_GROUPS,
    ("CREATE",),
    (Rule("true", " m "), Rule("false", "n", "'n' + 'o'")),
    {"v": "1"},
    {"c": "true"},
)
OUTSIDE = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["volcano-system", "kube-system"]}


def made(policy: Policy) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(policies.files([policy], [])[policies.FILE]))


def test_a_policy_comes_with_what_binds_it() -> None:
    policy, binding = made(POLICY)
    assert policy == {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "p"},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {
                "matchPolicy": "Equivalent",
                "namespaceSelector": {"matchExpressions": [OUTSIDE]},
                "resourceRules": [
                    {
                        "apiGroups": ["scheduling.volcano.sh"],
                        "apiVersions": ["v1beta1"],
                        "operations": ["CREATE"],
                        "resources": ["podgroups"],
                    }
                ],
            },
            "matchConditions": [{"name": "c", "expression": "true"}],
            "variables": [{"name": "v", "expression": "1"}],
            "validations": [
                {"expression": "true", "message": "m"},
                {"expression": "false", "message": "n", "messageExpression": "'n' + 'o'"},
            ],
        },
    }
    assert binding["metadata"] == {"name": "p-binding"}
    assert binding["spec"] == {"policyName": "p", "validationActions": ["Deny"]}


def test_a_policy_for_every_namespace_selects_none() -> None:
    everywhere = Policy("p", POD_GROUPS, ("CREATE",), (Rule("true", "m"),), every_namespace=True)
    assert "namespaceSelector" not in made(everywhere)[0]["spec"]["matchConstraints"]


def test_a_mutation_keeps_the_order_of_its_patches() -> None:
    mutation = Mutation("volcano-x-mutation-policy", POD_GROUPS, ("[]", "[ ]"))
    policy, binding = yaml.safe_load_all(policies.files([], [mutation])[policies.MUTATING_FILE])
    assert policy["apiVersion"] == "admissionregistration.k8s.io/v1beta1"
    assert [each["jsonPatch"]["expression"] for each in policy["spec"]["mutations"]] == ["[]", "[ ]"]
    assert policy["spec"]["reinvocationPolicy"] == "Never"
    assert binding["metadata"] == {"name": "volcano-x-mutation-binding"}
    assert binding["spec"] == {"policyName": "volcano-x-mutation-policy"}


@pytest.mark.parametrize("text", policies.files(POLICIES, MUTATIONS).values())
def test_what_is_shipped_can_lock_nobody_out_of_the_system(text: str) -> None:
    for document in yaml.safe_load_all(text):
        constraints = document["spec"].get("matchConstraints")
        if constraints is not None and constraints["resourceRules"][0]["resources"] != ["hypernodes"]:
            assert constraints["namespaceSelector"] == {"matchExpressions": [OUTSIDE]}
