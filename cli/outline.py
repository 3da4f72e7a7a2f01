"""Plain data as an indented outline, for answers whose shape grows with the program that gives them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_INDENT = "  "


def outline(value: Any) -> Iterator[str]:
    """Lines such as `Queue: q1`; maps and lists are indented below their name, what is empty is left out."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _entry(title(str(key)), item)
    elif isinstance(value, list):
        for item in value:
            yield from _item(item)
    elif not _is_empty(value):
        yield scalar(value)


def title(key: str) -> str:
    """`minMember` as `Min member`."""
    words = _HUMP.sub(" ", key)
    return words[:1].upper() + "".join(_lower(word) for word in re.split(r"(?= )", words[1:]))


def scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _lower(word: str) -> str:
    return word if word.strip().isupper() and len(word.strip()) > 1 else word.lower() if word.startswith(" ") else word


def _entry(name: str, value: Any) -> Iterator[str]:
    if _is_empty(value):
        return
    if isinstance(value, dict | list):
        yield f"{name}:"
        yield from (_INDENT + line for line in outline(value))
    else:
        yield f"{name}: {scalar(value)}"


def _item(value: Any) -> Iterator[str]:
    for index, line in enumerate(outline(value)):
        yield f"{'- ' if index == 0 else _INDENT}{line}"


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str | dict | list) and not value)
