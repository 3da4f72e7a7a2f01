"""
What a component may do, declared beside the code that does it.

`make generate` collects the rules of everything that runs in one process into its role, so a role never holds more
than the code asks for.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

READ: Final = ("get", "list", "watch")


class Rule(msgspec.Struct, frozen=True):
    """Verbs on resources of one API group. `names` limits the rule to objects of these names."""

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for field in (self.group, *self.resources, *self.verbs):
            if "*" in field:
                raise ValueError(f"rule on {self.group}/{','.join(self.resources)}: wildcards are not allowed")


def join(rules: Iterable[Rule]) -> list[Rule]:
    """The same permissions in the fewest rules: a rule a group and set of verbs, sorted."""
    verbs: dict[tuple[str, str, tuple[str, ...]], set[str]] = {}
    for rule in rules:
        for resource in rule.resources:
            verbs.setdefault((rule.group, resource, rule.names), set()).update(rule.verbs)
    resources: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for (group, resource, names), allowed in verbs.items():
        resources.setdefault((group, tuple(sorted(allowed)), names), []).append(resource)
    return sorted(
        (Rule(group, tuple(sorted(held)), allowed, names) for (group, allowed, names), held in resources.items()),
        key=lambda rule: (rule.group, rule.resources, rule.names),
    )


def document(rule: Rule) -> dict[str, Any]:
    """A rule as a role holds it."""
    body: dict[str, Any] = {
        "apiGroups": [rule.group],
        "resources": list(rule.resources),
        "verbs": list(rule.verbs),
    }
    return body | {"resourceNames": list(rule.names)} if rule.names else body
