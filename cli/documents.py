"""Files of objects: YAML or JSON, one document or several, or standard input."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TextIO

from cli import fields
from cli.errors import CommandError

if TYPE_CHECKING:
    from cli.kinds import Kind, Object

STDIN = "-"
_LIST = "List"

_SEPARATOR = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_DIRECTIVE = re.compile(r"\A(?:\s*(?:#[^\n]*)?\n)*(?:%[^\n]*\n)+")


def read_text(path: str, *, stdin: TextIO | None = None) -> str:
    """The text of a file, or of standard input for `-`. Raises OSError, and CommandError when it is no UTF-8."""
    try:
        if path == STDIN:
            return _read_stdin(stdin or sys.stdin)
        with open(path, encoding="utf-8") as file:  # noqa: PTH123  # Path makes a folder of an empty name
            return file.read()
    except UnicodeDecodeError as error:
        where = "standard input" if path == STDIN else path
        raise CommandError(f"{where}: not UTF-8 at byte {error.start}") from error


def _read_stdin(stdin: TextIO) -> str:
    """Whatever the locale says, and even where it would pass over what it can't read: files are UTF-8."""
    raw = getattr(stdin, "buffer", None)
    return raw.read().decode() if raw is not None else stdin.read()


def split(text: str) -> Iterator[str]:
    """The documents of a text, at lines that begin with `---`; those without content are left out."""
    for part in _SEPARATOR.split(_DIRECTIVE.sub("", text)):
        lines = (line.strip() for line in part.splitlines())
        if any(line and not line.startswith("#") and line != "..." for line in lines):
            yield part


def parse(text: str) -> Any:
    """One document as plain data. Raises ValueError with the reason."""
    if text.lstrip().startswith("{"):
        import json  # noqa: PLC0415  # most files are YAML

        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            pass  # YAML's own braces
    from cli.yamltext import load  # noqa: PLC0415  # costs more than all the rest

    return load(text)


def parse_all(text: str) -> Iterator[Any]:
    """Each document of a text as plain data, or the ValueError that says why it is none; of a List each of its items."""
    for document in split(text):
        try:
            yield from _items(parse(document))
        except ValueError as error:
            yield error


def _items(value: Any) -> Iterator[Any]:
    """Those of a List, which name their kind or are of its own; anything else is one."""
    kind, items = (value.get(key) for key in ("kind", "items")) if isinstance(value, dict) else (None, None)
    if not isinstance(kind, str) or not kind.endswith(_LIST) or not isinstance(items, list):
        yield value
        return
    own = {"apiVersion": value.get("apiVersion"), "kind": kind.removesuffix(_LIST)} if kind != _LIST else {}
    for item in items:
        yield from _items({**own, **item} if isinstance(item, dict) else item)


def check_object(obj: Any, kind: Kind) -> Object:
    """Data as an object of this kind. Raises CommandError when it is something else: `expected JobFlow, got Job`."""
    if not isinstance(obj, dict):
        raise CommandError(f"expected {kind.kind}, got a {_shape(obj)}")
    named = fields.text(obj, "kind")
    if named and named != kind.kind:
        raise CommandError(f"expected {kind.kind}, got {named}")
    version = fields.text(obj, "apiVersion")
    if version and version != kind.api_version:
        raise CommandError(f"expected {kind.kind} of {kind.api_version}, got apiVersion {version}")
    if not isinstance(obj.get("metadata", {}), dict):
        raise CommandError(f"{kind.kind}: metadata: expected an object, got a {_shape(obj['metadata'])}")
    return obj


def _shape(value: Any) -> str:
    shapes = {list: "list", str: "text", bool: "boolean", int: "number", float: "number", type(None): "null"}
    return shapes.get(type(value), "object")
