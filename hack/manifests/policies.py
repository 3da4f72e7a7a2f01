"""Admission policies: what the API server judges by itself where no webhook manager runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hack.manifests.roles import text
from hack.manifests.webhooks import outside_the_system

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from webhooks.policies.policy import Mutation, Policy, Rule

FOLDER = "config/webhooks/policies"
FILE = f"{FOLDER}/validating.yaml"
MUTATING_FILE = f"{FOLDER}/mutating.yaml"
_GROUP = "admissionregistration.k8s.io"


def files(policies: Iterable[Policy], mutations: Iterable[Mutation]) -> dict[str, str]:
    """Text by path of all policies and their bindings."""
    source = "webhooks/policies/"
    validating = [made for policy in policies for made in (_policy(policy), _binding(policy))]
    mutating = [made for mutation in mutations for made in (_mutation(mutation), _mutation_binding(mutation))]
    return {FILE: text(source, validating), MUTATING_FILE: text(source, mutating)}


def _object(kind: str, name: str, spec: dict[str, Any], version: str = "v1") -> dict[str, Any]:
    return {"apiVersion": f"{_GROUP}/{version}", "kind": kind, "metadata": {"name": name}, "spec": spec}


def _policy(policy: Policy) -> dict[str, Any]:
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": _constraints(policy.resource, policy.operations, everywhere=policy.every_namespace),
        **_named("matchConditions", policy.conditions),
        **_named("variables", policy.variables),
        "validations": [_validation(rule) for rule in policy.rules],
    }
    return _object("ValidatingAdmissionPolicy", policy.name, spec)


def _validation(rule: Rule) -> dict[str, str]:
    told = {"messageExpression": rule.told} if rule.told else {}
    return {"expression": rule.holds, "message": rule.message.strip(), **told}


def _binding(policy: Policy) -> dict[str, Any]:
    spec = {"policyName": policy.name, "validationActions": ["Deny"]}
    return _object("ValidatingAdmissionPolicyBinding", f"{policy.name}-binding", spec)


def _mutation(mutation: Mutation) -> dict[str, Any]:
    spec = {
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "matchConstraints": _constraints(mutation.resource, ("CREATE",)),
        **_named("variables", mutation.variables),
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": patch}} for patch in mutation.patches],
    }
    return _object("MutatingAdmissionPolicy", mutation.name, spec, "v1beta1")


def _mutation_binding(mutation: Mutation) -> dict[str, Any]:
    name = mutation.name.removesuffix("-policy") + "-binding"
    return _object("MutatingAdmissionPolicyBinding", name, {"policyName": mutation.name}, "v1beta1")


def _constraints(resource: Any, operations: Iterable[str], *, everywhere: bool = False) -> dict[str, Any]:
    rule = {
        "apiGroups": [resource.group],
        "apiVersions": [resource.version],
        "operations": list(operations),
        "resources": [resource.plural],
    }
    inside = {} if everywhere else {"namespaceSelector": {"matchExpressions": [outside_the_system()]}}
    return {"resourceRules": [rule], "matchPolicy": "Equivalent", **inside}


def _named(field: str, expressions: Mapping[str, str]) -> dict[str, Any]:
    listed = [{"name": name, "expression": expression} for name, expression in expressions.items()]
    return {field: listed} if listed else {}
