"""JobFlows: targets that are there, and no step that waits for itself (webhooks.md 9)."""

from __future__ import annotations

from typing import Final

from generated.flow.v1alpha1 import JOB_FLOWS
from webhooks.jobflows import NO_DAG, UNDEFINED
from webhooks.policies.policy import CHANGED, Policy, Rule, given, literal

_TARGETS: Final = given("f.dependsOn.targets", "[]")
_UNKNOWN: Final = "!(target in variables.names)"
POLICY: Final[Policy] = Policy(
    "jobflow-validation-policy",
    JOB_FLOWS,
    ("CREATE", "UPDATE"),
    (
        Rule(
            f"!variables.flows.exists(f, {_TARGETS}.exists(target, {_UNKNOWN}))",
            UNDEFINED.rstrip(": "),
            f"{literal(UNDEFINED)} + variables.flows.filter(f, {_TARGETS}.exists(target, {_UNKNOWN}))"
            f".map(f, {_TARGETS}.filter(target, {_UNKNOWN})[0])[0]",
        ),
        Rule(f"!variables.flows.exists(f, f.name in {_TARGETS})", f"{NO_DAG}: a flow depends on itself"),
    ),
    {"flows": given("object.spec.flows", "[]"), "names": "variables.flows.map(f, f.name)"},
    CHANGED,
)
