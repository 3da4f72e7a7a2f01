"""What a policy is, and the few turns of CEL that all of them need. `hack.manifests` makes objects of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from runtime.resource import Resource

NOTHING: Final = "''"
"""The empty text in CEL."""


class Rule(NamedTuple):
    """What must hold, in CEL, and what the user reads when it doesn't."""

    holds: str
    message: str
    told: str = ""
    """A CEL expression of the message, for one with values; `message` stands in when it fails."""


class Policy(msgspec.Struct, frozen=True):
    """A ValidatingAdmissionPolicy."""

    name: str
    resource: Resource[Any]
    operations: tuple[str, ...]
    rules: tuple[Rule, ...]
    variables: Mapping[str, str] = msgspec.field(default_factory=dict)
    """CEL by name, used as `variables.<name>`; in the order in which they need each other."""
    conditions: Mapping[str, str] = msgspec.field(default_factory=dict)
    """What must hold for the policy to be asked at all, in CEL by name."""
    every_namespace: bool = False
    """Whether it judges the namespaces of the system, too."""


class Mutation(msgspec.Struct, frozen=True):
    """A MutatingAdmissionPolicy for new objects. `patches` are CEL lists of JSONPatch operations, applied in order."""

    name: str
    resource: Resource[Any]
    patches: tuple[str, ...]
    variables: Mapping[str, str] = msgspec.field(default_factory=dict)


def literal(value: Any) -> str:
    """A text, number or list as CEL writes it, which is how JSON does."""
    return json.dumps(value if isinstance(value, str | int) else list(value), ensure_ascii=False)


def given(path: str, otherwise: str) -> str:
    """
    The value at `a.b.c`, or `otherwise` where it or anything on the way is absent or null.

    All of it is `dyn`: the API server knows the types of fields, and by them none is ever null. Raises ValueError for
    a path without a field.
    """
    root, *fields = path.split(".")
    if not fields:
        raise ValueError(f"{path} names no field of anything")
    steps = [".".join((root, *fields[: index + 1])) for index in range(len(fields))]
    tests = [f"has({step}) && dyn({step}) != null" for step in steps]
    return f"({' && '.join(tests)} ? dyn({path}) : dyn({otherwise}))"


def every(tests: Iterable[str]) -> str:
    """All of these."""
    return " && ".join(f"({test})" for test in tests)


def on(operation: str, test: str) -> str:
    """A test for one operation; others pass."""
    return f"request.operation != {literal(operation)} || ({test})"


CHANGED = {
    "changed": (
        "request.operation != 'UPDATE' || (!has(object.metadata.deletionTimestamp) && "
        f"{given('object.spec', '{}')} != {given('oldObject.spec', '{}')})"
    )
}
"""The condition that leaves alone what says nothing new, or is on its way out."""
