"""What all scaffold templates know of a kind, and their rendering."""

from __future__ import annotations

from typing import Any

from codegen import naming, rendering
from codegen.groups import Described
from codegen.project import Kind


def render(template: str, /, **values: Any) -> str:
    """The text of `templates/scaffold/<template>.j2`. It is the user's from now on, so no line says generated."""
    return rendering.template(f"scaffold/{template}.j2").render(values)


class Named:
    """A kind under its names in Python."""

    def __init__(self, kind: Kind) -> None:
        described = Described(kind)
        self.kind = kind
        self.name = kind.kind
        self.module = f"generated.{kind.module}"
        self.client = kind.module.replace(".", "_")
        self.constant = described.constant
        self.attribute = described.attribute
        self.variable = naming.field(naming.snake(kind.kind))
        self.plural = naming.plural(kind.kind, kind.plural)
        self.lister = f"{kind.kind}Lister"
        self.lister_module = f"generated.listers.{self.client}"
        self.place = "(key.name, key.namespace)" if kind.namespaced else "(key.name)"
        self.metadata = 'name="one", namespace="n"' if kind.namespaced else 'name="one"'
        self.key = 'Key("n", "one")' if kind.namespaced else 'Key("", "one")'
        self.shown = "n/one" if kind.namespaced else "one"
