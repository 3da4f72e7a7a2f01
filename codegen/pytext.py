"""Pieces of Python source: literals, docstrings, and whole modules with their imports in order."""

from __future__ import annotations

import json
from collections.abc import Iterable

_STANDARD = frozenset({"abc", "collections", "functools", "typing"})
_OURS = frozenset({"generated", "runtime"})
_INDENT = "    "


def literal(value: str) -> str:
    """A string literal in double quotes."""
    return json.dumps(value, ensure_ascii=False)


def display(items: Iterable[str]) -> str:
    """The tuple of the given expressions."""
    listed = list(items)
    return f"({listed[0]},)" if len(listed) == 1 else f"({', '.join(listed)})"


def docstring(text: str) -> str:
    """The text as a one-line docstring, empty for none."""
    plain = "".join(filter(str.isprintable, " ".join(text.split()))).replace("\\", "\\\\").replace('"""', "'''")
    if not plain:
        return ""
    return f'"""{plain} """' if plain.endswith('"') else f'"""{plain}"""'


def indented(lines: Iterable[str]) -> list[str]:
    """The lines one level deeper; empty ones stay empty."""
    return [f"{_INDENT}{line}" if line else line for line in lines]


def module(summary: str, imports: Iterable[str], body: str) -> str:
    """A module's text below its first line, which says where it comes from: see `codegen.output`."""
    groups = ["\n".join(group) for group in _groups(imports)]
    head = [docstring(summary), "from __future__ import annotations", *groups]
    return "\n\n".join(head) + "\n\n\n" + body.strip("\n") + "\n" if body else docstring(summary) + "\n"


def _groups(imports: Iterable[str]) -> list[list[str]]:
    """Standard library, then installed packages, then ours, then relative imports; names of one module together."""
    whole: set[str] = set()
    names: dict[str, set[str]] = {}
    for line in imports:
        source, separator, wanted = line.removeprefix("from ").partition(" import ")
        if separator:
            names.setdefault(source, set()).update(wanted.split(", "))
        else:
            whole.add(line.removeprefix("import "))
    lines = [(source, f"import {source}") for source in sorted(whole)]
    lines += [(source, f"from {source} import {', '.join(sorted(names[source]))}") for source in sorted(names)]
    groups: list[list[str]] = [[], [], [], []]
    for source, line in lines:
        groups[_rank(source.split(".")[0])].append(line)
    return [group for group in groups if group]


def _rank(root: str) -> int:
    if root in _OURS:
        return 2
    return 3 if not root else 0 if root in _STANDARD else 1
