"""
YAML as the Go programs read it that the configuration was written for (scheduler.md 2.4).

PyYAML follows the same version of the language, but doesn't take `y` and `n` for booleans nor `1e3` for a number, and
takes `2026-01-01` for a date and `1:30` for a number in base 60; existing files mean it the other way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec
import yaml

from runtime.yamlguard import Bounded


class _Loader(Bounded, yaml.SafeLoader):
    """The safe loader with Go's scalars."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012  # as the base class declares it


_FLOAT = (
    r"[-+]?(?:(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9_]+)(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+)"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
_SCALARS: tuple[tuple[str, str, str], ...] = (
    ("bool", r"y|Y|yes|Yes|YES|n|N|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF", "yYnNtTfFoO"),
    ("int", r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]*|[1-9][0-9_]*)", "-+0123456789"),
    (
        "float",
        _FLOAT,
        "-+0123456789.",
    ),
    ("null", r"~|null|Null|NULL|", "~nN"),
    ("merge", r"<<", "<"),
)
for _name, _pattern, _first in _SCALARS:
    _starts = [*_first, ""] if _name == "null" else list(_first)
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_name}", re.compile(f"(?:{_pattern})$"), _starts)


def _boolean(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> bool:
    return str(loader.construct_scalar(node)).lower() in {"y", "yes", "true", "on"}


_Loader.add_constructor("tag:yaml.org,2002:bool", _boolean)


class Document(msgspec.Struct, frozen=True):
    """The first document of a text: its value, and what the value doesn't tell."""

    value: Any
    doublets: tuple[str, ...]
    """Paths of mapping keys that stand twice, where the last one counts."""
    texts: dict[str, dict[str, str]]
    """By key of the top level: the scalars of a mapping as they were written; nothing for null."""


def load(text: str) -> Document:
    """Read a text. Raises yaml.YAMLError."""
    loader = _Loader(text)
    try:
        root = loader.get_node() if loader.check_node() else None
        if root is None:
            return Document(None, (), {})
        # Before merge keys are resolved, which rewrites the nodes.
        doublets, texts = tuple(_doublets(root, "")), _texts(root)
        return Document(loader.construct_document(root), doublets, texts)
    finally:
        loader.dispose()


def _doublets(node: yaml.Node, path: str) -> Iterator[str]:
    if isinstance(node, yaml.SequenceNode):
        for place, item in enumerate(node.value):
            yield from _doublets(item, f"{path}[{place}]")
    elif isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            here = f"{path}.{key.value}" if path else str(key.value)
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    yield here
                seen.add(key.value)
            yield from _doublets(value, here)


def _texts(root: yaml.Node) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    if isinstance(root, yaml.MappingNode):
        for key, value in root.value:
            if isinstance(value, yaml.MappingNode):
                found[str(key.value)] = {
                    str(name.value): "" if item.tag.endswith(":null") else item.value
                    for name, item in value.value
                    if isinstance(item, yaml.ScalarNode)
                }
    return found


def documents(text: str) -> Iterator[Any]:
    """The values of all documents of a text; nothing for empty ones. Raises yaml.YAMLError while it is read."""
    return (value for value in yaml.load_all(text, Loader=_Loader) if value is not None)
