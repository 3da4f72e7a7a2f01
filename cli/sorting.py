"""The order of `--sort-by`: the field that it names, how values compare, and what to say of one that no object can have."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from cli import fields
from cli.errors import CommandError
from cli.kinds import Kind, Object

if TYPE_CHECKING:
    from msgspec import inspect as types

_PATH = re.compile(r"(?:\.[A-Za-z0-9_-]+)+")
_ANY_KEY = "KEY"
"""Stands for the keys of a map."""


def sort_path(text: str) -> tuple[str, ...]:
    """The field that `--sort-by` names: `.metadata.name`, also in braces. Raises CommandError."""
    if not text:
        return ()
    inner = text[1:-1] if text.startswith("{") and text.endswith("}") else text
    inner = inner if inner.startswith(".") else f".{inner}"
    if not _PATH.fullmatch(inner):
        raise CommandError(f'--sort-by: "{text}" names no field, expected one such as .metadata.name')
    return tuple(inner[1:].split("."))


def sort_key(value: object) -> tuple[int, float, str]:
    """Order of JSON values: absent ones first, then numbers, then texts."""
    if value is None:
        return (0, 0.0, "")
    if isinstance(value, bool | int | float):
        return (1, float(value), "")
    return (2, 0.0, str(value))


def require_field(kind: Kind, path: Sequence[str], objects: Iterable[Object]) -> None:
    """
    Refuse a field that can order nothing. Raises CommandError, which names those that could stand in its place.

    What an object has is taken, also where this build doesn't know of it; else it must be a field of the kind, since
    many are left out of an object while they are zero.
    """
    if not path or any(_is_plain(fields.value(obj, *path)) for obj in objects):
        return
    import msgspec  # noqa: PLC0415  # only a field that no object has needs the types, which cost more than the command

    from generated.registry import by_kind  # noqa: PLC0415  # as above

    place = msgspec.inspect.type_info(by_kind(kind.api_version, kind.kind).model)
    for depth, part in enumerate(path):
        below = _fields_of(place)
        found = below.get(part, below.get(_ANY_KEY))
        if found is None:
            raise _refusal(kind, path, path[:depth], below)
        place = found
    if below := _fields_of(place):
        raise _refusal(kind, path, path, below)


def _is_plain(value: object) -> bool:
    return value is not None and not isinstance(value, Mapping | list)


def _refusal(kind: Kind, path: Sequence[str], base: Sequence[str], below: Iterable[str]) -> CommandError:
    given, before = ("".join(f".{part}" for part in parts) for parts in (path, base))
    allowed = ", ".join(f"{before}.{name}" for name in sorted(below)) or before
    return CommandError(f'--sort-by: "{given}" is no field of {kind.kind} to sort by, expected one of: {allowed}')


def _fields_of(place: types.Type) -> dict[str, types.Type]:
    """What a type has that can be sorted by or leads to it; lists can't and don't."""
    from msgspec import inspect  # noqa: PLC0415  # as above

    if isinstance(place, inspect.UnionType):
        return {name: found for part in place.types for name, found in _fields_of(part).items()}
    if isinstance(place, inspect.DictType):
        return {_ANY_KEY: place.value_type}
    if isinstance(place, inspect.StructType):
        lists = inspect.VarTupleType | inspect.ListType
        return {each.encode_name: each.type for each in place.fields if not isinstance(each.type, lists)}
    return {}
