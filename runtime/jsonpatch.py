"""
What a JSON patch (RFC 6902) does to a document: pointers read, operations applied, missing parents added.

Operations are built by `runtime.patches`. Here is the standard's semantics, used where a patch must be known to
fit before it leaves the process, and by tests. `runtime.jsondiff` computes operations from two objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from runtime.patches import Operation, add, pointer


class PatchError(Exception):
    """An operation doesn't fit the document. Names the operation and what is in its way."""


def split(path: str) -> tuple[str, ...]:
    """The unescaped parts of a JSON pointer. Raises PatchError when it doesn't start with a slash or ends an escape early."""
    if not path:
        return ()
    if not path.startswith("/"):
        raise PatchError(f"JSON pointer {path!r} must be empty or start with a slash")
    return tuple(_unescape(part, path) for part in path[1:].split("/"))


def value_at(document: Any, path: str) -> Any:
    """What a JSON pointer points to. Raises PatchError when it isn't there."""
    for part in split(path):
        document = _child(document, part)
    return document


def apply(document: Any, operations: Iterable[Operation]) -> Any:
    """The document after all operations. The given one stays as it was. Raises PatchError."""
    for operation in operations:
        step = _STEPS.get(operation.get("op", ""))
        if step is None:
            raise PatchError(f"{dict(operation)} is no known operation")
        try:
            document = step(document, operation)
        except PatchError as error:
            raise PatchError(f"{operation['op']} {operation.get('path')!r}: {error}") from None
    return document


def with_parents(document: Any, operations: Iterable[Operation]) -> tuple[Operation, ...]:
    """
    The operations, preceded by the creation of each object that an `add` needs and the document lacks.

    `add /spec/weight` on a document without `spec` becomes `add /spec {}`, `add /spec/weight`. A missing list is
    not invented: whether an index or a name is meant can't be told. Raises PatchError as `apply` does.
    """
    complete: list[Operation] = []
    for operation in operations:
        steps = [*_missing_parents(document, operation), operation]
        document = apply(document, steps)
        complete += steps
    return tuple(complete)


def _missing_parents(document: Any, operation: Operation) -> list[Operation]:
    if operation.get("op") not in {"add", "move", "copy"}:
        return []
    parts = split(_member(operation, "path"))[:-1]
    node = document
    for depth, part in enumerate(parts):
        if isinstance(node, list):
            node = node[_index(node, part, len(node) - 1)]
        elif isinstance(node, dict) and node.get(part) is not None:
            node = node[part]
        elif isinstance(node, dict):
            return [add(pointer(*parts[: end + 1]), {}) for end in range(depth, len(parts))]
        else:
            return []
    return []


def _unescape(part: str, path: str) -> str:
    if "~" in part.replace("~0", "").replace("~1", ""):
        raise PatchError(f"JSON pointer {path!r} has a tilde that is neither ~0 nor ~1")
    return part.replace("~1", "/").replace("~0", "~")


def _index(items: Sequence[Any], part: str, last: int) -> int:
    if not (part.isascii() and part.isdigit()) or (part[0] == "0" and part != "0"):
        raise PatchError(f"{part!r} is no list index")
    index = int(part)
    if index > last:
        raise PatchError(f"index {index} is beyond the list of {len(items)}")
    return index


def _child(node: Any, part: str) -> Any:
    if isinstance(node, list):
        return node[_index(node, part, len(node) - 1)]
    if not isinstance(node, dict):
        raise PatchError(f"there is no object or list around {part!r}")
    if part not in node:
        raise PatchError(f"there is no member {part!r}")
    return node[part]


def _edited(node: Any, parts: Sequence[str], edit: Callable[[Any, str], Any]) -> Any:
    """A copy of `node` in which `edit` has changed the container of the last part; what isn't on the way is shared."""
    part, *rest = parts
    if not rest:
        return edit(node, part)
    child = _edited(_child(node, part), rest, edit)
    if isinstance(node, list):
        index = int(part)
        return [*node[:index], child, *node[index + 1 :]]
    return {**node, part: child}


def _put(document: Any, path: str, value: Any) -> Any:
    parts = split(path)
    if not parts:
        return value

    def put(node: Any, part: str) -> Any:
        if isinstance(node, list):
            index = len(node) if part == "-" else _index(node, part, len(node))
            return [*node[:index], value, *node[index:]]
        if not isinstance(node, dict):
            raise PatchError(f"there is no object or list around {part!r}")
        return {**node, part: value}

    return _edited(document, parts, put)


def _take(document: Any, path: str) -> Any:
    parts = split(path)
    if not parts:
        raise PatchError("the whole document can't be removed")

    def take(node: Any, part: str) -> Any:
        _child(node, part)
        if isinstance(node, list):
            index = int(part)
            return [*node[:index], *node[index + 1 :]]
        return {name: value for name, value in node.items() if name != part}

    return _edited(document, parts, take)


def _member(operation: Operation, name: str) -> Any:
    if name not in operation:
        raise PatchError(f"the operation has no {name!r}")
    return operation[name]


def _add(document: Any, operation: Operation) -> Any:
    return _put(document, _member(operation, "path"), _member(operation, "value"))


def _remove(document: Any, operation: Operation) -> Any:
    return _take(document, _member(operation, "path"))


def _replace(document: Any, operation: Operation) -> Any:
    parts = split(_member(operation, "path"))
    value = _member(operation, "value")
    if not parts:
        return value

    def exchange(node: Any, part: str) -> Any:
        _child(node, part)
        if isinstance(node, list):
            index = int(part)
            return [*node[:index], value, *node[index + 1 :]]
        return {**node, part: value}

    return _edited(document, parts, exchange)


def _move(document: Any, operation: Operation) -> Any:
    source = _member(operation, "from")
    origin, target = split(source), split(_member(operation, "path"))
    if len(target) > len(origin) and target[: len(origin)] == origin:
        raise PatchError(f"{source!r} can't be moved into itself")
    value = value_at(document, source)
    return _put(_take(document, source), _member(operation, "path"), value)


def _copy(document: Any, operation: Operation) -> Any:
    return _put(document, _member(operation, "path"), value_at(document, _member(operation, "from")))


def _test(document: Any, operation: Operation) -> Any:
    found = value_at(document, _member(operation, "path"))
    if not equal(found, _member(operation, "value")):
        raise PatchError(f"the value is {msgspec.json.encode(found).decode()}")
    return document


def equal(left: Any, right: Any) -> bool:
    """JSON equality: numbers by value, and true is not 1."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(value, right[name]) for name, value in left.items())
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(equal, left, right))
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


_STEPS: dict[str, Callable[[Any, Operation], Any]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}
