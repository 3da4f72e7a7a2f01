"""
Field selectors such as `spec.nodeName=n1,status.phase!=Running`, and how they match an object of ours.

The API server knows only a few fields of each kind; which ones is its business. Here any field matches that the model
has, so that fakes and readers of caches give the same answers as the server does for the fields that it knows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec

from runtime.selector import InvalidSelector

_TERM = re.compile(r"((?:[^\\=,!]|\\.)*)(==|!=|=)((?:[^\\=,]|\\[\\=,])*)", re.DOTALL)
_COMMA = re.compile(r"(?:[^\\,]|\\.|\\\Z)+", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_SPECIAL = re.compile(r"[\\,=]")


@dataclass(frozen=True, slots=True)
class FieldRequirement:
    """One field that must have, or must not have, a value. An absent field has the empty value."""

    field: str
    value: str
    is_equal: bool = True

    def __str__(self) -> str:
        return f"{self.field}{'=' if self.is_equal else '!='}{escape(self.value)}"


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """All requirements must hold; `str()` is the text to send to the server."""

    requirements: tuple[FieldRequirement, ...] = ()

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))

    def matches(self, obj: Any) -> bool:
        """Whether an object is selected. Raises ValueError for a field that its model doesn't have."""
        return all((field_text(obj, each.field) == each.value) == each.is_equal for each in self.requirements)


def parse_fields(text: str) -> FieldSelector | InvalidSelector:
    r"""Read the text form. A backslash stands before a comma, `=` or backslash that belongs to a value."""
    found: list[FieldRequirement] = []
    for term in _COMMA.findall(text):
        match = _TERM.fullmatch(term)
        if match is None or not match[1].strip():
            return InvalidSelector(f"field selector {text!r}: {term!r} is not field=value or field!=value")
        found.append(FieldRequirement(match[1].strip(), _ESCAPED.sub(r"\1", match[3]), match[2] != "!="))
    return FieldSelector(tuple(found))


def escape(value: str) -> str:
    """A value as it stands in a field selector."""
    return _SPECIAL.sub(r"\\\g<0>", value)


def field_text(obj: Any, path: str) -> str:
    """
    The text of a field named in JSON, as the server compares it: `spec.nodeName`.

    Absent is empty, true and false are words. Raises ValueError for a field that the model doesn't have.
    """
    value = obj
    for step in path.split("."):
        if value is None or value is msgspec.UNSET:
            return ""
        kind: Any = type(value)  # mypy takes a type for unhashable
        name = _names(kind).get(step)
        if name is None:
            raise ValueError(f"{type(obj).__name__} has no field {path!r}: {type(value).__name__} has no {step!r}")
        value = getattr(value, name)
    if value is None or value is msgspec.UNSET:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


@lru_cache(maxsize=512)
def _names(kind: Any) -> dict[str, str]:
    """Attribute names of a struct by their JSON names; empty for anything else."""
    if not issubclass(kind, msgspec.Struct):
        return {}
    return {info.encode_name: info.name for info in msgspec.structs.fields(kind)}
