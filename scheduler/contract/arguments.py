"""
Typed access to the arguments of a plugin or action, and what a plugin declares about them (scheduler.md 2.6).

A value of the wrong type is warned of and the default taken; it never stops anything. What is declared is checked when
the configuration is loaded, so that a reader of the log sees it once and with its path.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from enum import Enum
from typing import Any, TypeVar

from scheduler.settings.nearest import hint

log = logging.getLogger(__name__)

T = TypeVar("T")

_LARGEST = 2**53
"""Whole numbers beyond it are no longer exact in the arithmetic of scores; nor is what is no number at all."""
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})


class Type(Enum):
    """What an argument may be; the value is the word in warnings."""

    INT = "int"
    FLOAT = "float64"
    BOOL = "bool"
    TEXT = "string"
    ANY = ""
    WITHOUT_EFFECT = "without effect"
    """Known, so that a configuration keeps it, but what it is about isn't done: whoever sets it is told so."""

    def accepts(self, value: object) -> bool:
        """Whether a value can be read as this; null is as if absent."""
        if value is None or self in {Type.ANY, Type.WITHOUT_EFFECT}:
            return True
        if self is Type.BOOL:
            return isinstance(value, bool) or (isinstance(value, str) and value in _TRUE | _FALSE)
        if self is Type.TEXT:
            return isinstance(value, str)
        kinds = (int,) if self is Type.INT else (int, float)
        return isinstance(value, kinds) and not isinstance(value, bool) and abs(value) <= _LARGEST


Declared = Mapping[str, Type]
"""The arguments that a plugin or action knows. A key that ends in `*` stands for all that begin so."""


def refusal(value: object, key: str, kind: Type) -> str:
    """What a reader of the log hears of a value of the wrong type."""
    return f"Could not parse argument: {value} for key {key} to {kind.value}"


def checked(path: str, values: Mapping[str, Any], declared: Declared) -> tuple[dict[str, Any], list[str]]:
    """The arguments that can be read, and a warning for each of the others, with its path."""
    kept: dict[str, Any] = {}
    warnings: list[str] = []
    for key, value in values.items():
        kind = _declared_type(key, declared)
        if kind is None:
            meant = hint(key, [name for name in declared if not name.endswith("*")])
            warnings.append(f"{path}.{key}: unknown argument has no effect{meant}")
        elif kind is Type.WITHOUT_EFFECT:
            warnings.append(f"{path}.{key}: has no effect, what it is about isn't done")
        elif kind.accepts(value):
            kept[key] = value
        else:
            warnings.append(f"{path}.{key}: {refusal(value, key, kind)}, the default counts")
    return kept, warnings


def _declared_type(key: str, declared: Declared) -> Type | None:
    if key in declared:
        return declared[key]
    families = (kind for name, kind in declared.items() if name.endswith("*") and key.startswith(name[:-1]))
    return next(families, None)


class Arguments(Mapping[str, Any]):
    """The arguments of one listing."""

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        self._values = dict(values or {})

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Any:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def int(self, key: str, default: int) -> int:
        """A YAML integer; a quoted one or a float doesn't count."""
        value: int = self._read(key, default, Type.INT)
        return value

    def float(self, key: str, default: float) -> float:
        """A YAML float or integer."""
        value: float = self._read(key, default, Type.FLOAT)
        return value

    def bool(self, key: str, default: bool) -> bool:  # a getter's default reads fine
        """A YAML boolean, or one of the texts that Go reads as one."""
        value = self._read(key, default, Type.BOOL)
        return value in _TRUE if isinstance(value, str) else bool(value)

    def text(self, key: str, default: str) -> str:
        """A YAML text."""
        value: str = self._read(key, default, Type.TEXT)
        return value

    def _read(self, key: str, default: T, kind: Type) -> Any | T:
        value = self._values.get(key)
        if value is None:
            return default
        if kind.accepts(value):
            return value
        log.warning("%s", refusal(value, key, kind))
        return default
