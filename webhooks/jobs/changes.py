"""
Where two versions of a spec differ, by meaning.

Absent, null and empty are the same; so are two spellings of one amount (`1` and `1000m`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

import msgspec

from runtime.quantity import QuantityError, parse

_NEVER_NULL: Final = frozenset((("JobSpec", "max_retry"), ("JobSpec", "queue"), ("ContainerPort", "protocol")))
"""Fields in which absent means zero, although their models can tell the two apart."""


def first_change(old: Any, new: Any, path: str) -> str:
    """The path of the first field that differs between two objects of one model, below `path`; empty for none."""
    return _differ(old, new, path, is_amount=False)


def _differ(old: Any, new: Any, path: str, *, is_amount: bool) -> str:
    if old == new:
        return ""
    if isinstance(old, msgspec.Struct) and isinstance(new, msgspec.Struct):
        return next(_changed_fields(old, new, path), "")
    if isinstance(old, tuple) and isinstance(new, tuple):
        return next(_changed_items(old, new, path, is_amount), "")
    if isinstance(old, dict) and isinstance(new, dict):
        return next(_changed_entries(old, new, path, is_amount), "")
    return "" if is_amount and _is_same_amount(old, new) else path


def _changed_items(old: tuple[Any, ...], new: tuple[Any, ...], path: str, is_amount: bool) -> Iterator[str]:  # noqa: FBT001
    for index, (one, other) in enumerate(zip(old, new, strict=False)):
        if found := _differ(one, other, f"{path}[{index}]", is_amount=is_amount):
            yield found
    if len(old) != len(new):
        yield path


def _changed_entries(old: dict[str, Any], new: dict[str, Any], path: str, is_amount: bool) -> Iterator[str]:  # noqa: FBT001
    for key in dict.fromkeys((*old, *new)):
        place = f"{path}[{key}]"
        if key not in old or key not in new:
            yield place
        elif found := _differ(old[key], new[key], place, is_amount=is_amount):
            yield found


def _changed_fields(old: msgspec.Struct, new: msgspec.Struct, path: str) -> Iterator[str]:
    for attribute, word, is_amount, zero_is_null in _fields_of(type(old)):
        before, after = getattr(old, attribute), getattr(new, attribute)
        if zero_is_null and not before and not after:
            continue
        if found := _differ(before, after, f"{path}.{word}", is_amount=is_amount):
            yield found


def _is_same_amount(old: Any, new: Any) -> bool:
    if old is None or new is None:
        return False
    try:
        return parse(old) == parse(new)
    except QuantityError:
        return False


@lru_cache(maxsize=256)
def _fields_of(model: type[msgspec.Struct]) -> tuple[tuple[str, str, bool, bool], ...]:
    """Of each field: attribute, JSON name, whether it holds quantities, whether zero is the same as null."""
    return tuple(
        (
            one.name,
            one.encode_name,
            "float" in str(one.type),
            (model.__name__, one.name) in _NEVER_NULL,
        )
        for one in msgspec.structs.fields(model)
    )
