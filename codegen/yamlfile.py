"""
Strict reading of YAML sources.

Plain YAML 1.1 turns `no` into false, a bare date into a date, lets the second of two equal keys win
and lets an alias build a loop. In a schema each of these is a mistake that would surface far from its
cause, so this reader refuses them by file and line.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from codegen.problems import Problem, SourceError

_BOOL = re.compile(r"^(?:true|false)$")
_INT = re.compile(r"^[-+]?(?:0|[1-9][0-9]*)$")
_FLOAT = re.compile(r"^[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?$")
_NULL = re.compile(r"^(?:~|null|)$")


class _Loader(yaml.SafeLoader):
    """JSON's types only; every key a string that stands once; no aliases."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012  # pyyaml's own shape

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]  # the stubs say nothing of it
            raise yaml.constructor.ConstructorError(
                None, None, "aliases are not allowed: name a component and $ref it", event.start_mark
            )
        return super().compose_node(parent, index)

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


def _refusal(message: str, node: yaml.Node) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(None, None, message, node.start_mark)


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
