"""
Fields of plain JSON objects.

Absent, null and of an odd type are all the same here, the zero value: a list of a thousand objects must not fail over
one of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cli.kinds import Object


def value(obj: Any, *path: str) -> Any:
    """What stands at a path, None when nothing does."""
    for part in path:
        if not isinstance(obj, Mapping):
            return None
        obj = obj.get(part)
    return obj


def text(obj: Any, *path: str) -> str:
    """A text; a number or a boolean is written out as JSON has it."""
    found = value(obj, *path)
    if isinstance(found, bool):
        return "true" if found else "false"
    return str(found) if isinstance(found, str | int | float) else ""


def number(obj: Any, *path: str) -> int:
    """A whole number, 0 when there is none."""
    found = value(obj, *path)
    return found if isinstance(found, int) and not isinstance(found, bool) else 0


def is_true(obj: Any, *path: str) -> bool:
    """Whether a boolean stands there and is true."""
    return value(obj, *path) is True


def mapping(obj: Any, *path: str) -> Object:
    """An object or a map, empty when there is none."""
    found = value(obj, *path)
    return found if isinstance(found, dict) else {}


def items(obj: Any, *path: str) -> list[Object]:
    """The objects of a list; what is no object is left out."""
    found = value(obj, *path)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def texts(obj: Any, *path: str) -> list[str]:
    """The texts of a list; what is no text is left out."""
    found = value(obj, *path)
    return [item for item in found if isinstance(item, str)] if isinstance(found, list) else []


def name(obj: Object) -> str:
    return text(obj, "metadata", "name")


def namespace(obj: Object) -> str:
    return text(obj, "metadata", "namespace")


def labels_of(obj: Object) -> Object:
    return mapping(obj, "metadata", "labels")


def annotations_of(obj: Object) -> Object:
    return mapping(obj, "metadata", "annotations")
