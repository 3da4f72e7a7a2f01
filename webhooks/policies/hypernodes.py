"""HyperNodes (webhooks.md 10). A pattern that means nothing makes its rule fail, with the reason in the message."""

from __future__ import annotations

from typing import Final

from generated.topology.v1alpha1 import HYPER_NODES
from webhooks.hypernodes import BAD_PATTERN, MEMBERS, NO_MEMBER
from webhooks.policies.policy import CHANGED, NOTHING, Policy, Rule, given

_PATTERN: Final = given("m.selector.regexMatch.pattern", NOTHING)
POLICY: Final[Policy] = Policy(
    "hypernode-validation-policy",
    HYPER_NODES,
    ("CREATE", "UPDATE"),
    (
        Rule("size(variables.members) > 0", f"{MEMBERS}: Invalid value: []: {NO_MEMBER}"),
        Rule(f"variables.members.all(m, ''.matches({_PATTERN}) in [true, false])", BAD_PATTERN.rstrip(": ")),
    ),
    {"members": given("object.spec.members", "[]")},
    CHANGED,
    every_namespace=True,
)
