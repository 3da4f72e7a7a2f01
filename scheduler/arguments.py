"""
Typed access to the arguments of a plugin or action (scheduler.md 2.6).

A value of the wrong type is warned of and the default taken; it never stops anything.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, TypeVar

log = logging.getLogger(__name__)

T = TypeVar("T")

_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})


class Arguments(Mapping[str, Any]):
    """The arguments of one listing. Remembers which keys were asked for, so that the others can be warned of."""

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        self._values = dict(values or {})
        self.asked: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        self.asked.add(key)
        return self._values[key]

    def __iter__(self) -> Any:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def unasked(self) -> list[str]:
        """Keys that nothing read: misspelt, or of another plugin."""
        return sorted(set(self._values) - self.asked)

    def int(self, key: str, default: int) -> int:
        """A YAML integer; a quoted one or a float doesn't count."""
        value = self.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        return self._default(key, value, default, "int")

    def float(self, key: str, default: float) -> float:
        """A YAML float or integer."""
        value = self.get(key)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return value
        return self._default(key, value, default, "float64")

    def bool(self, key: str, default: bool) -> bool:  # a getter's default reads fine
        """A YAML boolean, or one of the texts that Go reads as one."""
        value = self.get(key)
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value in _TRUE | _FALSE:
            return value in _TRUE
        return self._default(key, value, default, "bool")

    def text(self, key: str, default: str) -> str:
        """A YAML text."""
        value = self.get(key)
        if isinstance(value, str):
            return value
        return self._default(key, value, default, "string")

    def _default(self, key: str, value: Any, default: T, kind: str) -> T:
        if value is not None:
            log.warning("Could not parse argument: %s for key %s to %s", value, key, kind)
        return default
