"""
Decoding an object with some of its parts treated apart, and still getting normal model objects.

For a model and a set of field paths this derives "shadow" types: subclasses of the model whose chosen fields hold raw
JSON text, so that one pass of the parser skips over them; fields that nobody wants are skipped for good. A finisher
then replaces each raw part by what the part's own function makes of it, and turns the shadow into the model's own
class: the two have the same layout, so Python itself does (and checks) that, at a tenth of the cost of a constructor
call. `runtime.interning` is the user; its speed for a watch event is decided here and in the parser.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Union, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, Raw, UnsetType
from msgspec.structs import FieldInfo, force_setattr

Finish = Callable[[Any], Any]
_EACH = "[]"
_NEVER = "(dropped) "
"""Begins the JSON name of a dropped field: no object has such a key, so its value is skipped and the default stays."""


class Recall(msgspec.Struct, frozen=True):
    """
    A part's function that remembers, since most texts come again.

    `known` is what it gave for them, by the hash of `salt` and text. A finisher looks there itself, as a call would cost
    half as much again as the look-up, and asks `find`, with the hash, for what it doesn't see.
    """

    known: Mapping[int, Any]
    find: Callable[[int, Raw], Any]
    salt: bytes

    def __call__(self, raw: Raw) -> Any:
        return self.find(hash(self.salt + raw), raw)


class Node(msgspec.Struct):
    """What shall happen to one field: cut it out as raw text, leave it out, or go down into it."""

    is_cut: bool = False
    is_dropped: bool = False
    children: dict[str, Node] = msgspec.field(default_factory=dict)


def tree_of(cut: Iterable[str], drop: Iterable[str]) -> Node:
    """Paths such as `spec.containers[].env`, in JSON names, as a tree."""
    root = Node()
    for path in cut:
        _descend(root, path).is_cut = True
    for path in drop:
        _descend(root, path).is_dropped = True
    return root


def _descend(node: Node, path: str) -> Node:
    for step in path.replace(_EACH, f".{_EACH}").split("."):
        node = node.children.setdefault(step, Node())
    return node


class Plan(msgspec.Struct, frozen=True):
    """A type to decode to, and how its values become the model's; without a finisher they are already."""

    shadow: Any
    finish: Finish | None = None
    steps: _Steps | None = None
    """Of a struct: what its finisher does, for the struct around it to do at once with its own."""


class _Step(msgspec.Struct, frozen=True):
    """One part to finish: the path of attributes to the struct that holds it, empty for the outermost, and its own."""

    owner: str
    name: str
    finish: Finish
    is_raw: bool


class _Steps(msgspec.Struct, frozen=True):
    """The parts inside a struct and the structs that are always there, itself first: (path, shadow, model)."""

    parts: list[_Step]
    structs: list[tuple[str, type, type]]


Cutter = Callable[[Any, Node, str], Finish]
"""(type of the part, what to do below it, its path) -> the function that reads its raw text, best a `Recall`."""


def plan(kind: Any, node: Node, cutter: Cutter, path: str = "$") -> Plan:
    """
    Derive shadow type and finisher of a type.

    Raises ValueError when a path names a field that the type doesn't have, or a list where there is none.
    """
    if not node.children:
        return Plan(kind)
    if get_origin(kind) in {Union, types.UnionType}:
        return _plan_optional(get_args(kind), node, cutter, path)
    if _EACH in node.children:
        return _plan_tuple(kind, node, cutter, path)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return _plan_struct(kind, node, cutter, path)
    raise ValueError(f"{path}: {kind} has no field {next(iter(node.children))!r}")


def _plan_optional(options: tuple[Any, ...], node: Node, cutter: Cutter, path: str) -> Plan:
    empty = [option for option in options if option in {type(None), UnsetType}]
    inner = [option for option in options if option not in empty]
    if len(inner) != 1:
        raise ValueError(f"{path}: can't go down into a union of several types")
    below = plan(inner[0], node, cutter, path)
    return Plan(Union[(below.shadow, *empty)], below.finish)


def _plan_tuple(kind: Any, node: Node, cutter: Cutter, path: str) -> Plan:
    arguments = get_args(kind)
    if get_origin(kind) is not tuple or len(arguments) != 2 or arguments[1] is not Ellipsis:
        raise ValueError(f"{path}: {kind} is no list, so `[]` has no meaning here")
    if len(node.children) > 1:
        raise ValueError(f"{path}: a list has no fields of its own")
    each = node.children[_EACH]
    if each.is_dropped:
        raise ValueError(f"{path}: the elements of a list can't be dropped, only the whole list")
    below = (
        _cut(arguments[0], each, cutter, path + _EACH)
        if each.is_cut
        else plan(arguments[0], each, cutter, path + _EACH)
    )
    finish = below.finish
    if finish is None:
        return Plan(kind)
    shadow: Any = types.GenericAlias(tuple, (below.shadow, Ellipsis))
    if below.steps is not None:
        return Plan(shadow, _each_in_place(finish))
    return Plan(shadow, lambda values: tuple(map(finish, values)) if values else values)


def _each_in_place(finish: Finish) -> Finish:
    """Structs are finished where they are, so the list of them stays as well."""

    def finish_all(values: Any) -> Any:
        for value in values or ():
            finish(value)
        return values

    return finish_all


def _plan_struct(model: type[msgspec.Struct], node: Node, cutter: Cutter, path: str) -> Plan:
    infos = {info.encode_name: info for info in msgspec.structs.fields(model)}
    parts: list[_Field] = []
    for name, below in node.children.items():
        info = infos.get(name)
        if info is None:
            raise ValueError(f"{path}: {model.__name__} has no field {name!r}")
        parts.append(_plan_field(info, below, cutter, f"{path}.{name}"))
    shadow = _shadow_of(model, parts)
    steps = _steps_of(model, shadow, parts)
    return Plan(shadow, _finisher(steps), steps)


class _Field(msgspec.Struct, frozen=True):
    """What becomes of one field in the shadow."""

    info: FieldInfo
    plan: Plan
    encode_name: str


def _plan_field(info: FieldInfo, node: Node, cutter: Cutter, path: str) -> _Field:
    if node.is_cut:
        return _Field(info, _cut(info.type, node, cutter, path), info.encode_name)
    if not node.is_dropped:
        return _Field(info, plan(info.type, node, cutter, path), info.encode_name)
    if info.required:
        raise ValueError(f"{path} is required, so it can't be dropped")
    return _Field(info, Plan(info.type), _NEVER + info.encode_name)


def _cut(kind: Any, node: Node, cutter: Cutter, path: str) -> Plan:
    return Plan(Raw, cutter(kind, Node(children=node.children), path))


def _shadow_of(model: type[msgspec.Struct], parts: list[_Field]) -> type[msgspec.Struct]:
    """The subclass that differs in the types and JSON names of the parts only: same fields, defaults and layout."""
    config = model.__struct_config__
    return msgspec.defstruct(
        f"{model.__name__}Shadow",
        [(part.info.name, part.plan.shadow, *_default_of(part.info)) for part in parts],
        bases=(model,),
        rename={part.info.name: part.encode_name for part in parts},
        kw_only=True,
        frozen=config.frozen,
        gc=config.gc,
    )


def _default_of(info: FieldInfo) -> list[Any]:
    if info.default_factory is not NODEFAULT:
        return [msgspec.field(default_factory=info.default_factory)]
    return [] if info.default is NODEFAULT else [info.default]


def _steps_of(model: type, shadow: type, parts: list[_Field]) -> _Steps:
    steps = _Steps([], [("", shadow, model)])
    for part in parts:
        name, inner = part.info.name, part.plan.steps
        if inner is not None:
            steps.parts.extend(
                _Step(_join(name, step.owner), step.name, step.finish, step.is_raw) for step in inner.parts
            )
            steps.structs.extend((_join(name, path), was, becomes) for path, was, becomes in inner.structs)
        elif part.plan.finish is not None:
            steps.parts.append(_Step("", name, part.plan.finish, part.plan.shadow is Raw))
    return steps


def _join(*path: str) -> str:
    return ".".join(filter(None, path))


def _finisher(steps: _Steps) -> Finish:
    """
    Finish the parts in place, then drop the shadows' classes. What is absent has its default already.

    Written as source and compiled, as dataclasses are: a loop over the same steps takes twice as long, and each watch
    event passes here.
    """
    scope: dict[str, Any] = {"Raw": Raw, "put": force_setattr}
    places: dict[str, str] = {}
    lines = ["def finish_struct(obj):"]
    for index, (path, shadow, model) in enumerate(steps.structs):
        scope |= {f"Shadow{index}": shadow, f"Model{index}": model}
        places[path] = f"struct{index}" if path else "obj"
        if path:
            outer, _, name = path.rpartition(".")
            lines.append(f"    struct{index} = {places[outer]}.{name}")
        else:
            lines += ["    if type(obj) is not Shadow0:", "        return obj"]
    for number, step in enumerate(steps.parts):
        scope |= _names_of(step, number)
        lines += _lines_of(step, number, places[step.owner])
    for index, (path, *_) in enumerate(steps.structs):
        if path:
            lines += [
                f"    if type(struct{index}) is Shadow{index}:",
                f"        put(struct{index}, '__class__', Model{index})",
            ]
    lines += ["    put(obj, '__class__', Model0)", "    return obj"]
    exec("\n".join(lines), scope)  # noqa: S102  # of names of our own models and nothing else
    finish: Finish = scope["finish_struct"]
    return finish


def _names_of(step: _Step, number: int) -> dict[str, Any]:
    """What the source that finishes one part refers to."""
    recall = step.finish
    if not isinstance(recall, Recall):
        return {f"finish{number}": recall}
    return {f"known{number}": recall.known, f"find{number}": recall.find, f"salt{number}": recall.salt}


def _lines_of(step: _Step, number: int, owner: str) -> list[str]:
    """The source that finishes one part."""
    if not step.is_raw:
        return [
            f"    value = {owner}.{step.name}",
            f"    finished = finish{number}(value)",
            "    if finished is not value:",
            f"        put({owner}, {step.name!r}, finished)",
        ]
    lines = [f"    value = {owner}.{step.name}", "    if type(value) is Raw:"]
    if not isinstance(step.finish, Recall):
        return [*lines, f"        put({owner}, {step.name!r}, finish{number}(value))"]
    return [
        *lines,
        f"        key = hash(salt{number} + value)",
        f"        put({owner}, {step.name!r}, known{number}.get(key) or find{number}(key, value))",
    ]
