"""
Apply builders: `generated/apply/<group>/<version>.py`, one Struct a component with every field UNSET.

They are what a server-side apply or a merge patch is written with: what isn't set isn't sent. Lists and maps
take any sequence and mapping; None is sent as null.
"""

from __future__ import annotations

from collections.abc import Mapping

from codegen import naming
from codegen.document import Property, Shape
from codegen.output import first_line
from codegen.pytext import module
from codegen.structs import Module, containers


def files(modules: Mapping[str, Module]) -> dict[str, str]:
    """Text by path of the builders' modules."""
    return {builder_path(name): _text(name, made) for name, made in modules.items()}


def builder_path(name: str) -> str:
    """`generated/apply/batch/v1alpha1.py` for `batch.v1alpha1`."""
    return f"generated/apply/{name.replace('.', '/')}.py"


def field_line(item: Property, hint: str) -> str:
    """The line of a field; descriptions stand in the models."""
    hint = containers(hint, "Sequence[{}]", "Mapping[str, {}]")
    settable = "Any" if item.shape is Shape.ANY else f"{hint} | UnsetType | None"
    name = "" if naming.camel(item.attribute) == item.wire else f'"{item.wire}"'
    default = f"msgspec.field(default=UNSET, name={name})" if name else "UNSET"
    return f"{item.attribute}: {settable} = {default}"


def _text(name: str, made: Module) -> str:
    body = made.body("Builder", field_line)
    wanted = {
        "UNSET": "from msgspec import UNSET, UnsetType",
        "Mapping[": "from collections.abc import Mapping",
        "Sequence[": "from collections.abc import Sequence",
        "msgspec.": "import msgspec",
        "(Builder, ": "from runtime.model import Builder",
    }
    imports = [*made.imports, *(line for word, line in wanted.items() if word in body)]
    summary = f"Builders for {name.replace('.', '/')}: what server-side apply and merge patches set."
    return first_line(".py", "api") + module(summary, imports, body)
