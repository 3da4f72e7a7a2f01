"""
Strict reading of YAML sources.

Plain YAML 1.1 turns `no` into false, a bare date into a date, lets the second of two equal keys win
and lets an alias build a loop. In a schema each of these is a mistake that would surface far from its
cause, so this reader refuses them by file and line. So it does with tags, with text that UTF-8 can't hold, with
numbers that JSON or the API server can't hold, and with nesting that no code here could follow.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import yaml

from codegen.problems import Problem, SourceError

_BOOL = re.compile(r"^(?:true|false)$")
_INT = re.compile(r"^[-+]?(?:0|[1-9][0-9]*)$")
_FLOAT = re.compile(r"^[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?$")
_NULL = re.compile(r"^(?:~|null|)$")
_MOST_LEVELS = 100
"""Lists and mappings inside each other: several times what a schema needs, and far from Python's limit."""
_WIDTH = 63
"""Bits of a whole number beside its sign, in Go's int64."""


class _Loader(yaml.SafeLoader):
    """JSON's types only, and values that JSON can hold; every key a string that stands once; no aliases, no tags."""

    levels = 0
    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012  # pyyaml's own shape

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]  # the stubs say nothing of it
            raise yaml.constructor.ConstructorError(
                None, None, "aliases are not allowed: name a component and $ref it", event.start_mark
            )
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if getattr(event, "tag", None) is not None:
            raise _refusal("tags are not allowed: write the plain value, text in quotes", event)
        if self.levels > _MOST_LEVELS:
            raise _refusal(f"is nested more than {_MOST_LEVELS} levels deep: name a component and $ref it", event)
        self.levels += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self.levels -= 1

    def construct_object(
        self,
        node: yaml.Node,
        deep: bool = False,  # noqa: FBT001, FBT002  # pyyaml's signature
    ) -> Any:
        try:
            value = super().construct_object(node, deep=deep)
        except ValueError as error:
            raise _refusal(str(error), node) from error
        fault = unfit(value)
        if fault:
            raise _refusal(fault, node)
        return value

    def construct_mapping(
        self,
        node: yaml.MappingNode,
        deep: bool = False,  # noqa: FBT001, FBT002  # pyyaml's signature
    ) -> dict[Any, Any]:
        seen: set[str] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise _refusal(f"key {key!r} is no string: put it in quotes", key_node)
            if key in seen:
                raise _refusal(f"key {key!r} stands twice: remove one", key_node)
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


def unfit(value: Any) -> str:
    """Why JSON or the API server can't hold a scalar, empty when they can."""
    if isinstance(value, str):
        lone = next((character for character in value if "\ud800" <= character <= "\udfff"), "")
        return f"U+{ord(lone):04X} is half a character: write the character itself" if lone else ""
    if isinstance(value, float):
        return "" if math.isfinite(value) else "is a number too big to be held: write a smaller one"
    if isinstance(value, int) and not -(2**_WIDTH) <= value < 2**_WIDTH:
        return "is a whole number of more than 64 bits, which the API server can't read: write a smaller one"
    return ""


def _refusal(message: str, at: Any) -> yaml.constructor.ConstructorError:
    """A mistake at a node or an event."""
    return yaml.constructor.ConstructorError(None, None, message, at.start_mark)


_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", _BOOL, list("tf"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", _INT, list("-+0123456789"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+.0123456789"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:null", _NULL, ["~", "n", ""])


def parse(text: str, file: str) -> Any:
    """Read one YAML document. Raises SourceError naming `file` and the line of the mistake."""
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506  # a SafeLoader made stricter
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{file}:{mark.line + 1}:{mark.column + 1}" if mark else file
        raise SourceError([Problem(place, "", f"cannot be read as YAML: {error.problem or error.context}")]) from error
    except (yaml.YAMLError, ValueError) as error:
        raise SourceError([Problem(file, "", f"cannot be read as YAML: {error}")]) from error


def read(path: Path, root: Path) -> Any:
    """Read one YAML file; mistakes name it relative to `root`."""
    file = path.relative_to(root).as_posix()
    try:
        return parse(path.read_text(encoding="utf-8"), file)
    except OSError as error:
        raise SourceError([Problem(file, "", f"cannot be read: {error.strerror}")]) from error
    except UnicodeDecodeError as error:
        raise SourceError([Problem(file, "", f"is no UTF-8 text: {error.reason} at byte {error.start}")]) from error
