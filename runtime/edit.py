"""
Changed copies of frozen objects.

Cached objects are shared, so nobody may change them. `edit` builds a new object in which the given places differ, and
which shares everything else with the old one:

    edit(pod, ("spec.node_name", "node-1"), (("metadata", "labels", "volcano.sh/queue-name"), "q"))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeVar

import msgspec

T = TypeVar("T")

Path = str | Sequence[str | int]
"""Attribute names with dots; a tuple where map keys or positions of a list are on the way."""


class _Removed:
    """The type of REMOVED."""

    def __repr__(self) -> str:
        return "REMOVED"


REMOVED: Final = _Removed()
"""As a value: takes the entry out of its map or list."""


class EditError(ValueError):
    """There is no such place in the object."""


def edit(obj: T, *changes: tuple[Path, Any]) -> T:
    """
    The object with each place set to its value, in order. Values are not checked against the model's types.

    A map gets a new entry where there is none. Raises EditError for a place that the object doesn't have.
    """
    for path, value in changes:
        steps = tuple(path.split(".")) if isinstance(path, str) else tuple(path)
        try:
            obj = _replaced(obj, steps, value)
        except EditError as error:
            raise EditError(f"{type(obj).__name__} has no place {_text(steps)}: {error}") from None
    return obj


def _replaced(holder: Any, steps: tuple[str | int, ...], value: Any) -> Any:
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    if isinstance(holder, msgspec.Struct):
        return _struct_with(holder, step, rest, value)
    if isinstance(holder, dict):
        return _map_with(holder, step, rest, value)
    if isinstance(holder, tuple):
        return _list_with(holder, step, rest, value)
    raise EditError(f"{type(holder).__name__} has no parts")


def _struct_with(holder: msgspec.Struct, step: str | int, rest: tuple[str | int, ...], value: Any) -> msgspec.Struct:
    if not isinstance(step, str) or step not in holder.__struct_fields__:
        raise EditError(f"{type(holder).__name__} has no field {step!r}")
    if value is REMOVED and not rest:
        raise EditError(f"a field such as {step!r} can't be removed, only set to its empty value")
    return msgspec.structs.replace(holder, **{step: _replaced(getattr(holder, step), rest, value)})


def _map_with(holder: dict[Any, Any], step: str | int, rest: tuple[str | int, ...], value: Any) -> dict[Any, Any]:
    if rest and step not in holder:
        raise EditError(f"no entry {step!r}")
    if value is REMOVED and not rest:
        return {key: kept for key, kept in holder.items() if key != step}
    return {**holder, step: _replaced(holder.get(step), rest, value)}


def _list_with(holder: tuple[Any, ...], step: str | int, rest: tuple[str | int, ...], value: Any) -> tuple[Any, ...]:
    if not isinstance(step, int) or not 0 <= step < len(holder):
        raise EditError(f"no position {step!r} in a list of {len(holder)}")
    if value is REMOVED and not rest:
        return holder[:step] + holder[step + 1 :]
    return (*holder[:step], _replaced(holder[step], rest, value), *holder[step + 1 :])


def _text(steps: tuple[str | int, ...]) -> str:
    return " / ".join(map(str, steps))
