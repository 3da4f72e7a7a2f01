"""PodGroups without a look at their queue (webhooks.md 7.2)."""

from __future__ import annotations

from typing import Final

from generated.scheduling.v1beta1 import POD_GROUPS
from webhooks.podgroups.validation import SENTENCE
from webhooks.policies.policy import NOTHING, Policy, Rule, given


def _twice(of: str) -> str:
    """Whether both ways of naming a tier are used."""
    return (
        f"({given(f'{of}.networkTopology.highestTierName', NOTHING)} != ''"
        f" && {given(f'{of}.networkTopology.highestTierAllowed', 'null')} != null)"
    )


_POLICIES: Final = given("object.spec.subGroupPolicy", "[]")
POLICY: Final[Policy] = Policy(
    "podgroup-validation-policy",
    POD_GROUPS,
    ("CREATE",),
    (
        Rule(f"!has(object.spec) || !{_twice('object.spec')}", SENTENCE),
        Rule(
            f"!{_POLICIES}.exists(p, {_twice('p')})",
            f"in subGroupPolicy: {SENTENCE}",
            f'"in subGroupPolicy \'" + {_POLICIES}.filter(p, {_twice("p")})[0].name + "\': {SENTENCE}"',
        ),
    ),
)
