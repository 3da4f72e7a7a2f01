"""
Editing YAML sources as text, so that comments, order and form stay as their author left them.

The parser only tells where a node stands; what is inserted goes behind the last line of that node.
"""

from __future__ import annotations

import textwrap
from typing import Any

import yaml

from codegen.scaffold.errors import ScaffoldError


def compose(text: str, path: str) -> yaml.MappingNode:
    """The document's nodes. Raises ScaffoldError when it is no mapping."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise ScaffoldError(path, f"can't be read as YAML: {error}") from error
    if not isinstance(node, yaml.MappingNode):
        raise ScaffoldError(path, "is no mapping")
    return node


def child(node: yaml.MappingNode, key: str) -> yaml.Node | None:
    """The value under a key."""
    return next((value for name, value in node.value if name.value == key), None)


def scalar(node: yaml.MappingNode, key: str) -> str:
    """The text under a key, empty where there is none."""
    found = child(node, key)
    return str(found.value) if isinstance(found, yaml.ScalarNode) else ""


def append_item(text: str, sequence: yaml.SequenceNode, item: str) -> str:
    """The text with an item more in a block sequence; `item` begins with its dash."""
    indent = sequence.value[0].start_mark.column - 2
    return _insert(text, _last_line(text, sequence), textwrap.indent(f"\n{item}", " " * indent))


def append_key(text: str, mapping: yaml.MappingNode, entry: str, *, apart: bool = False) -> str:
    """The text with an entry more in a mapping, in block or flow form; `apart` leaves a blank line before it."""
    if mapping.flow_style:
        end = mapping.end_mark.index - 1
        separator = ", " if mapping.value else ""
        return text[:end].rstrip() + separator + entry + text[end:]
    indent = mapping.value[0][0].start_mark.column
    return _insert(text, _last_line(text, mapping), textwrap.indent(("\n" if apart else "") + entry, " " * indent))


def without_key(text: str, mapping: yaml.MappingNode, key: str) -> str:
    """The text without an entry of a mapping."""
    pairs = mapping.value
    place = next(index for index, (name, _) in enumerate(pairs) if name.value == key)
    name, value = pairs[place]
    start, end = name.start_mark.index, value.end_mark.index
    if not mapping.flow_style:
        start, end = text.rfind("\n", 0, start), text.find("\n", end)
    elif place:
        start = pairs[place - 1][1].end_mark.index
    elif len(pairs) > 1:
        end = pairs[1][0].start_mark.index
    return text[:start] + text[end if end >= 0 else len(text) :]


def _last_line(text: str, node: yaml.Node) -> int:
    """Number of lines up to the last one that belongs to the node; comments behind it belong to what follows."""
    lines = text[: node.end_mark.index].split("\n")
    while lines and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
        lines.pop()
    return len(lines)


def _insert(text: str, line: int, addition: str) -> str:
    lines = text.rstrip("\n").split("\n")
    lines[line:line] = addition.rstrip("\n").split("\n")
    return "\n".join(lines) + "\n"


def items(node: Any) -> list[yaml.MappingNode]:
    """The mappings in a sequence."""
    return [item for item in node.value if isinstance(item, yaml.MappingNode)] if node is not None else []
