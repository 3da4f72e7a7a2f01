"""
Reads from Go types what OpenAPI does not tell: which JSON fields are pointers.

The published schemas say neither whether an absent string differs from an empty one nor whether an
absent struct differs from `{}`. The Go types do: a pointer field distinguishes the two. This reader
knows just the layout that gofmt gives to API types: one field a line, tags in backquotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

_STRUCT = re.compile(r"^type (\w+) struct \{$")
_FIELD = re.compile(r"^\s+(?:(?P<name>\w+)\s+)?(?P<type>[\w.*\[\]{}]+)\s+`(?P<tag>[^`]*)`")
_JSON = re.compile(r'\bjson:"(?P<name>[^",]*)(?P<options>[^"]*)"')
_ALIAS = re.compile(r"([a-z]+)(v\d\w*)")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a Go struct as JSON sees it; an inlined struct has no name of its own."""

    name: str
    type: str
    inline: bool = False

    @property
    def pointer(self) -> bool:
        """Whether absent differs from the zero value."""
        return self.type.startswith("*")


Structs = Mapping[str, tuple[Field, ...]]
"""Fields by struct, the struct named as a schema component (`core.v1.Pod`)."""


def parse(text: str, module: str) -> dict[str, tuple[Field, ...]]:
    """Structs of one Go file; `module` (`core.v1`) prefixes their names."""
    structs: dict[str, tuple[Field, ...]] = {}
    lines = iter(_COMMENT.sub("", text).splitlines())
    for line in lines:
        head = _STRUCT.match(line)
        if head:
            structs[f"{module}.{head[1]}"] = tuple(_fields(lines))
    return structs


def _fields(lines: Iterator[str]) -> Iterator[Field]:
    """Fields up to the closing brace of the struct."""
    for line in lines:
        if line == "}":
            return
        field = _field(line)
        if field is not None:
            yield field


def _field(line: str) -> Field | None:
    if line.lstrip().startswith("//"):
        return None
    matched = _FIELD.match(line)
    tag = _JSON.search(matched["tag"]) if matched else None
    if matched is None or tag is None or tag["name"] == "-":
        return None
    return Field(tag["name"], matched["type"], inline="inline" in tag["options"].split(",") or not tag["name"])


def pointers(structs: Structs, components: Iterable[str]) -> list[str]:
    """
    Sorted `component.field` names whose Go field is a pointer, inlined structs included.

    Components without a Go struct (Quantity, Time and other scalars with a text form) have no fields.
    """
    return sorted(
        f"{component}.{field.name}" for component in components for field in _flat(structs, component) if field.pointer
    )


def _flat(structs: Structs, component: str) -> Iterator[Field]:
    for field in structs.get(component, ()):
        if field.inline:
            yield from _flat(structs, _target(field.type, component))
        else:
            yield field


def _target(type_name: str, component: str) -> str:
    """
    The component that an inlined type names: `VolumeSource` of the same package, or `metav1.TypeMeta` of another.

    Raises ValueError for a package alias that does not tell group and version, as API types' imports do.
    """
    package, _, name = type_name.lstrip("*").rpartition(".")
    if not package:
        return f"{component.rpartition('.')[0]}.{name}"
    alias = _ALIAS.fullmatch(package)
    if alias is None:
        raise ValueError(f"{component} inlines {type_name}: which group and version is {package!r}?")
    return f"{alias[1]}.{alias[2]}.{name}"
