"""
Whether a new part's names hide what its own code needs: a kind `Context` beside the `Context` that reconcilers import.

Nothing is listed here. A template is rendered twice, for the names asked for and for names that nobody has, and the
two are compared: what differs comes from the arguments, what doesn't is the template's own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from codegen.project import Kind
from codegen.scaffold.errors import ScaffoldError
from codegen.scaffold.render import Named, render

STRANGE = "zqxj"
"""In every name that nobody has."""


def stranger(kind: Kind, position: int = 0) -> Named:
    """The kind under names that nobody has; several kinds stay apart by their positions."""
    name = f"{STRANGE}{chr(ord('a') + position)}"
    return Named(replace(kind, kind=name.capitalize(), plural=f"{name}s", singular=name))


def refuse(templates: Iterable[str], values: Mapping[str, Any], strange: Mapping[str, Any], argument: str) -> None:
    """Raises ScaffoldError on `argument` when a name in `values` is one that a template needs; `strange` has none."""
    for template in templates:
        name = _clash(render(template, **values), render(template, **strange))
        if name:
            raise ScaffoldError(argument, f"{name!r} would hide a name that the new code itself needs: choose another")


def _clash(text: str, strange: str) -> str:
    pairs = list(zip(_names(strange), _names(text), strict=True))
    own = {plain for plain, _ in pairs if STRANGE not in plain.lower()}
    return next((name for plain, name in pairs if STRANGE in plain.lower() and name in own), "")


def _names(text: str) -> Iterator[str]:
    """Every name that the code binds or reads, attributes and modules aside, in an order that only its form decides."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name):
                yield name
            case ast.alias(name=name, asname=other):
                yield other or name
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
