"""Rendering of the Jinja templates under `templates/`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from codegen.output import first_line
from codegen.pytext import display, literal

_FOLDER = Path(__file__).parent / "templates"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701  # Python source, not HTML
    )
    environment.filters |= {"literal": literal, "display": display}
    return environment


def render(name: str, values: Mapping[str, Any] | None = None, source: str = "api/project.yaml") -> str:
    """A generated Python file: its first line, then the template. An unknown name in the template is an error."""
    return first_line(".py", source) + template(name).render(values or {})


def template(name: str) -> Template:
    """A template by its path."""
    return _environment().get_template(name)
