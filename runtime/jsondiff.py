"""
The JSON patch that turns a user's document into a handler's answer without touching what the handler can't see.

A model knows fewer fields than a document may hold (a newer server, an addition of the site), and doesn't tell zero
values that the user wrote down from those left out. So the difference is taken between two values of the model, before
and after the handler, and laid over the document itself: unknown members, explicit zeros and their order survive. Parts
that the two values share are skipped by identity: models are frozen, so a handler shares all that it didn't change.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import msgspec
from msgspec.structs import astuple

from runtime.jsonpatch import value_at
from runtime.patches import Operation, add, pointer, remove, replace

_ABSENT: Final[Any] = object()


def overlay_diff(document: Callable[[], Any], before: Any, after: Any) -> tuple[Operation, ...]:
    """
    Operations that carry out the change from `before` to `after` on the document; none when there is none.

    `before` is what a decoder made of the document: a Struct in it that is the very default of its field wasn't in
    the document, one that is merely equal was. `document` gives the decoded JSON, and is called only when a list
    changes its order or loses elements. Such a list is replaced, each element with the unknown members of its origin,
    told by its `name`; a list whose elements keep their places is changed element by element, or appended to.
    """
    operations: list[Operation] = []
    _compare(operations, "", document, before, after)
    return tuple(operations)


def _compare(operations: list[Operation], path: str, document: Callable[[], Any], before: Any, after: Any) -> None:
    if before is after:
        return
    if _are_objects(before, after):
        for name, old, new in _changes(before, after):
            if new is _ABSENT:
                operations.append(remove(path + name))
            elif old is _ABSENT:
                operations.append(add(path + name, new))
            else:
                _compare(operations, path + name, document, old, new)
    elif _are_lists(before, after) and _keep_places(before, after):
        for index, old in enumerate(before):
            _compare(operations, f"{path}/{index}", document, old, after[index])
        operations.extend(add(f"{path}/-", value) for value in after[len(before) :])
    elif not _is_same(before, after):
        operations.append(replace(path, _merged(value_at(document(), path), _plain(before), _plain(after))))


def _changes(before: Any, after: Any) -> list[tuple[str, Any, Any]]:
    """
    (name as a step of a pointer, old value, new value) of the members that aren't the very same.

    A default counts as _ABSENT: writing it down and leaving it out mean the same to the model.
    """
    changes: list[tuple[str, Any, Any]] = []
    if isinstance(after, msgspec.Struct):
        for field, old, new in zip(_fields(type(after)), astuple(before), astuple(after), strict=True):
            if new is old:
                continue
            name, default, by_value = field
            old, new = _or_absent(old, default, by_value), _or_absent(new, default, by_value)  # noqa: PLW2901  # in short
            if new is not old:
                changes.append((name, old, new))
        return changes
    for name in {**after, **before}:
        old, new = before.get(name, _ABSENT), after.get(name, _ABSENT)
        if new is not old:
            changes.append((pointer(name), old, new))
    return changes


@lru_cache(maxsize=1024)
def _fields(model: type[msgspec.Struct]) -> tuple[tuple[str, Any, bool], ...]:
    """(JSON name as a step of a pointer, default, whether what equals the default counts as it) of each field."""
    return tuple((pointer(field.encode_name), *_default(field)) for field in msgspec.structs.fields(model))


def _default(field: msgspec.structs.FieldInfo) -> tuple[Any, bool]:
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory(), True
    default = msgspec.UNSET if field.default is msgspec.NODEFAULT else field.default
    return default, not isinstance(default, msgspec.Struct)


def _or_absent(value: Any, default: Any, by_value: bool) -> Any:  # noqa: FBT001  # a field's own entry
    """The value, or _ABSENT for the default."""
    if value is default or value is msgspec.UNSET:
        return _ABSENT
    return _ABSENT if by_value and type(value) is type(default) and value == default else value


def _keep_places(before: Any, after: Any) -> bool:
    """Whether each element of `before` stands in `after` where it stood."""
    if len(after) < len(before):
        return False
    if all(_name_of(old) == _name_of(new) for old, new in zip(before, after, strict=False)):
        return True
    return _origins(before, after)[: len(before)] == list(range(len(before)))


def _origins(before: Any, after: Any) -> list[int | None]:
    """For each element of `after` the index in `before` that it descends from, None for a new one."""
    names = [_name_of(element) for element in before]
    places = {name: index for index, name in enumerate(names) if name}
    if len(places) != len(names):  # unnamed or ambiguous elements: only their places tell
        places = {}
    claimed = {places[name] for name in map(_name_of, after) if name in places}
    origins: list[int | None] = []
    for index, element in enumerate(after):
        by_place = index if index < len(before) and index not in claimed and len(after) >= len(before) else None
        origins.append(places.get(_name_of(element), by_place))
    return origins


def _merged(document: Any, before: Any, after: Any) -> Any:
    """`after` with the members of `document` that `before` doesn't know; all three are decoded JSON."""
    if isinstance(document, dict) and isinstance(after, dict):
        known = before if isinstance(before, dict) else {}
        kept = {name: value for name, value in document.items() if name not in known or name in after}
        return kept | {name: _merged(document.get(name), known.get(name), value) for name, value in after.items()}
    if isinstance(document, list) and _are_lists(before, after) and len(document) == len(before):
        pairs = zip(_origins(before, after), after, strict=True)
        return [value if at is None else _merged(document[at], before[at], value) for at, value in pairs]
    return after


def _are_objects(before: Any, after: Any) -> bool:
    if isinstance(after, msgspec.Struct):
        return type(before) is type(after)
    return isinstance(before, dict) and isinstance(after, dict)


def _are_lists(before: Any, after: Any) -> bool:
    return isinstance(before, list | tuple) and isinstance(after, list | tuple)


def _is_same(before: Any, after: Any) -> bool:
    """Whether the two encode alike, which tells true from 1 where `==` doesn't."""
    return bool(before == after) and msgspec.json.encode(before) == msgspec.json.encode(after)


def _plain(value: Any) -> Any:
    """Decoded JSON; by way of its text, since models may hold raw parts."""
    return msgspec.json.decode(msgspec.json.encode(value))


def _name_of(element: Any) -> str:
    name = element.get("name") if isinstance(element, dict) else getattr(element, "name", "")
    return name if isinstance(name, str) else ""
