"""
Names in Python for names in schemas.

The wire name is the truth; every other form is derived here and nowhere else, so that a field has the same
name in models, builders and index functions.
"""

from __future__ import annotations

import keyword
import re

_WORDS = re.compile(
    r"[A-Z]+[0-9]*s(?![a-z])"  # a plural acronym: pod|CIDRs
    r"|[A-Z]{2,}[0-9]*(?=[A-Z][a-z]|[^A-Za-z0-9]|$)"  # an acronym before a word or at an end: HTTP|Get, host|IP
    r"|[A-Z]?[a-z0-9]+"
    r"|[A-Z]+"
)
_BUILT_IN_TYPES = frozenset({"bool", "dict", "float", "int", "object", "str", "tuple"})
"""Names that annotations of a class body use: a field of that name would hide them."""
_WORD_FOR_SYMBOL = {"*": "ANY", "": "EMPTY"}


def words(name: str) -> list[str]:
    """`podCIDRs` -> `pod`, `CIDRs`."""
    return _WORDS.findall(name)


def snake(name: str) -> str:
    """`podCIDRs` -> `pod_cidrs`, `HTTPGetAction` -> `http_get_action`, `best-effort` -> `best_effort`."""
    return "_".join(words(name)).lower()


def field(name: str) -> str:
    """Python attribute for a property: snake case, with an underscore behind keywords and the types' names."""
    attribute = snake(name)
    if not attribute or attribute[0].isdigit():
        attribute = f"field_{attribute}".rstrip("_")
    return f"{attribute}_" if keyword.iskeyword(attribute) or attribute in _BUILT_IN_TYPES else attribute


def camel(attribute: str) -> str:
    """What msgspec's `rename="camel"` makes of an attribute: `pod_ips` -> `podIps`, `from_` -> `from`."""
    head, *rest = attribute.strip("_").split("_")
    return head + "".join(part.title() for part in rest)


def constant(value: str) -> str:
    """Name of an enum value's constant: `PodFailed` -> `POD_FAILED`, `single-numa-node` -> `SINGLE_NUMA_NODE`."""
    name = snake(value).upper() or _WORD_FOR_SYMBOL.get(value, "")
    if not name:
        name = "VALUE_" + "_".join(f"{ord(character):X}" for character in value)
    return f"VALUE_{name}" if name[0].isdigit() else name


def pascal(name: str) -> str:
    """`volumeClaim` -> `VolumeClaim`: the part that a property adds to the name of a nested class."""
    return name[:1].upper() + name[1:]


def plural(kind: str, plural_name: str) -> str:
    """
    The plural with the kind's own capitals: (`PodGroup`, `podgroups`) -> `PodGroups`.

    (`NetworkPolicy`, `networkpolicies`) -> `NetworkPolicies`; where the plural is another word, it is capitalised.
    """
    stem = 0
    while stem < min(len(kind), len(plural_name)) and kind[stem].lower() == plural_name[stem]:
        stem += 1
    return kind[:stem] + plural_name[stem:] if stem else plural_name.capitalize()


def resource_constant(kind: str, plural_name: str) -> str:
    """Name of a kind's descriptor: (`HyperNode`, `hypernodes`) -> `HYPER_NODES`."""
    return snake(plural(kind, plural_name)).upper()
