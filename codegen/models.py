"""
Models: `generated/<group>/<version>.py`, one frozen Struct a component, the kinds' descriptors and the constants
of enumerations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from codegen import naming
from codegen.document import Absence, Constants, Property, Shape, Types, by_module
from codegen.groups import Described, GroupVersion, group_versions
from codegen.output import first_line
from codegen.project import Project
from codegen.pytext import display, docstring, literal, module
from codegen.structs import Module, containers

_ZEROS: Mapping[Shape, str] = {
    Shape.TEXT: '""',
    Shape.WHOLE: "0",
    Shape.NUMBER: "0.0",
    Shape.FLAG: "False",
    Shape.LIST: "()",
    Shape.MAP: "{}",
}
_FACTORIES: Mapping[Shape, str] = {
    Shape.TEXT: "str",
    Shape.WHOLE: "int",
    Shape.NUMBER: "float",
    Shape.FLAG: "bool",
    Shape.LIST: "lambda: ()",
    Shape.MAP: "lambda: {}",
    Shape.MIXED: "int",
}
"""
Makers of zero values that are written out. msgspec leaves out a default that is the very object found, and an
empty container whose factory is the container's own type: neither is the case for these.
"""


def files(project: Project, types: Types, modules: Mapping[str, Module]) -> dict[str, str]:
    """Text by path of all model modules."""
    constants = dict(by_module(types.constants))
    groups = {group.module: group for group in group_versions(project)}
    texts = {}
    for name in sorted(modules.keys() | constants.keys()):
        enums = [types.constants[constant] for constant in constants.get(name, [])]
        text = _module_text(name, modules.get(name), enums, groups.get(name))
        texts[module_path(name)] = first_line(".py", source_of(project, name)) + text
    return texts


def source_of(project: Project, name: str) -> str:
    """Where the types of a module are written: `api/batch/v1alpha1.yaml`, `api/k8s`, or both."""
    own = [f"api/{name.replace('.', '/')}.yaml"] if name in project.modules else []
    vendored = ["api/k8s"] if any(component.rpartition(".")[0] == name for component in project.core) else []
    return " and ".join(own + vendored)


def module_path(name: str) -> str:
    """`generated/batch/v1alpha1.py` for `batch.v1alpha1`."""
    return f"generated/{name.replace('.', '/')}.py"


def _module_text(name: str, made: Module | None, enums: list[Constants], group: GroupVersion | None) -> str:
    """A whole module: classes, then constants, then descriptors."""
    body = made.body("Model", field_line) if made else ""
    parts = [body] if body else []
    parts += ["\n".join(constants_lines(item)) for item in enums]
    parts += ["\n".join(line for kind in group.kinds for line in resource_lines(kind))] if group else []
    text = "\n\n\n".join(parts)
    wanted = {
        ": Final ": "from typing import Final",
        "msgspec.": "import msgspec",
        "(Model, ": "from runtime.model import Model",
        "= Resource(": "from runtime.resource import Resource",
    }
    imports = [*(made.imports if made else ()), *(line for word, line in wanted.items() if word in text)]
    about = group.api_version if group else name.replace(".", "/")
    return module(f"Types of {about}.", imports, text)


def field_line(item: Property, hint: str) -> str:
    """The line of a field, and its description below."""
    hint = containers(hint, "tuple[{}, ...]", "dict[str, {}]")
    optional = " | None" if item.absence is Absence.NONE and item.shape is not Shape.ANY else ""
    line = f"{item.attribute}: {hint}{optional} = {_default(item, hint)}"
    about = docstring(item.description)
    return f"{line}\n    {about}" if about else line


def _default(item: Property, hint: str) -> str:
    name = "" if naming.camel(item.attribute) == item.wire else f', name="{item.wire}"'
    if item.absence is Absence.WRITTEN:
        return f"msgspec.field(default_factory={_FACTORIES.get(item.shape, hint)}{name})"
    default = "None" if item.absence is Absence.NONE else _ZEROS.get(item.shape) or f"{hint}()"
    return f"msgspec.field(default={default}{name})" if name else default


def constants_lines(item: Constants) -> Iterator[str]:
    """A class of constants. Plain strings: comparing and hashing them costs nothing extra."""
    names = {value: naming.constant(value) for value in item.values}
    yield f"class {item.name.rpartition('.')[2]}:"
    about = docstring(item.description)
    if about:
        yield f"    {about}"
        yield ""
    for value, name in names.items():
        yield f"    {name}: Final = {literal(value)}"
    yield f"    VALUES: Final = {display(names.values())}"


def resource_lines(described: Described) -> Iterator[str]:
    """The descriptor of a kind."""
    kind = described.kind
    yield f"{described.constant}: Final = Resource("
    yield f"    group={literal(kind.group)}, version={literal(kind.version)}, kind={literal(kind.kind)},"
    yield f"    plural={literal(kind.plural)}, singular={literal(kind.singular)}, list_kind={literal(kind.list_kind)},"
    yield f"    model={kind.kind}, namespaced={kind.namespaced}, has_status={kind.status},"
    yield f"    short_names={display(described.short_names)},"
    yield ")"
