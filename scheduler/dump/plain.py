"""
The plain values among an object's slots: numbers, texts and arrays of numbers, taken along without being named.

So a field that is added to a job or task is in dumps from the start. What is no plain value (objects, references,
caches) is left out, and has to follow from API objects or have a part of its own.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

_SIMPLE = (bool, int, float, str)
_SLOTS: dict[type[Any], tuple[str, ...]] = {}


def take(thing: object, but: Collection[str] = ()) -> dict[str, Any]:
    """The plain values of an object's slots by name, arrays as nested lists."""
    found: dict[str, Any] = {}
    for name in _slots(type(thing)):
        if name in but:
            continue
        value = getattr(thing, name, None)
        if type(value) in _SIMPLE:
            found[name] = value
        elif isinstance(value, np.ndarray) and value.dtype == np.float64:
            found[name] = value.tolist()
    return found


def put(thing: object, values: dict[str, Any]) -> None:
    """Set the slots again. A name that this version doesn't know is passed over."""
    known = set(_slots(type(thing)))
    for name, value in values.items():
        if name in known:
            before = getattr(thing, name, None)
            if isinstance(value, list):
                setattr(thing, name, np.array(value, dtype=np.float64))
            else:
                setattr(thing, name, float(value) if isinstance(before, float) else value)


def _slots(kind: type[Any]) -> tuple[str, ...]:
    names = _SLOTS.get(kind)
    if names is None:
        names = tuple(name for base in kind.__mro__ for name in getattr(base, "__slots__", ()))
        _SLOTS[kind] = names
    return names
