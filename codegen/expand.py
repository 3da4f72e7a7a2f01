"""
Expanding short schemas to the structural form that a CustomResourceDefinition demands.

Own components are inlined as written. Kubernetes' components pass through the rules that make the result
equal to what a Go type generator publishes for the same types: no enums, no defaults that only mirror Go's
zero values, embedded metadata of five fields. Our own descriptions stay, as far as the kind's policy lets
them; core types carry none, since with them client-side apply would break on its annotation limit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from codegen.project import Kind, Project, Schema
from codegen.schema import map_children, type_of

QUANTITY_PATTERN = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
_STRING: Schema = {"type": "string"}
_STRINGS: Schema = {"type": "array", "items": _STRING}
_STRING_MAP: Schema = {"type": "object", "additionalProperties": _STRING}
_INT_OR_STRING: Schema = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
_TIME: Schema = {"type": "string", "format": "date-time"}
_EMBEDDED_METADATA: Schema = {
    "type": "object",
    "properties": {
        "annotations": _STRING_MAP,
        "finalizers": _STRINGS,
        "labels": _STRING_MAP,
        "name": _STRING,
        "namespace": _STRING,
    },
}
OBJECT_META = "meta.v1.ObjectMeta"
BUILT_INS: Mapping[str, Schema] = {
    "meta.v1.Quantity": {**_INT_OR_STRING, "pattern": QUANTITY_PATTERN},
    "meta.v1.IntOrString": _INT_OR_STRING,
    "meta.v1.Time": _TIME,
    "meta.v1.MicroTime": _TIME,
    "meta.v1.Duration": _STRING,
    OBJECT_META: _EMBEDDED_METADATA,
}
"""Types whose structural form is no expansion of the published component."""

_DROPPED_FROM_CORE = frozenset({
    "description",
    "enum",
    "x-kubernetes-group-version-kind",
    "x-kubernetes-patch-merge-key",
    "x-kubernetes-patch-strategy",
    "x-kubernetes-unions",
})  # fmt: skip
_ATOMIC_CORE = frozenset({
    "core.v1.ConfigMapEnvSource",
    "core.v1.ConfigMapProjection",
    "core.v1.ConfigMapVolumeSource",
    "core.v1.SecretEnvSource",
    "core.v1.SecretProjection",
})  # fmt: skip
"""Types that embed a reference to an object by name, which Go's generator marks as atomic maps."""
_NO_DEFAULT = frozenset({("core.v1.AzureDiskVolumeSource", "cachingMode"), ("core.v1.AzureDiskVolumeSource", "kind")})
_DROPPED_FROM_OWN = frozenset({"nullable"})

TYPE_META: Mapping[str, Schema] = {
    "apiVersion": {"type": "string", "description": "Group and version of this object's schema."},
    "kind": {"type": "string", "description": "Kind of this object."},
}
"""What every object carries beside its own fields."""


class Expander:
    """Expands components of one project under one description policy. Results are shared: don't change them."""

    def __init__(self, project: Project, descriptions: str = "keep") -> None:
        self._project = project
        self._descriptions = descriptions
        self._done: dict[str, Schema] = {}

    def kind(self, kind: Kind) -> Schema:
        """The root schema of a kind's CRD. Its metadata is bare: the server fills it in and lets nobody describe it."""
        root = self.component(kind.component)
        properties = {name: self._described(schema) for name, schema in TYPE_META.items()}
        properties |= {**root["properties"], "metadata": {"type": "object"}}
        return {**root, "properties": properties}

    def component(self, name: str) -> Schema:
        """The structural form of a component below the root, every reference inlined."""
        if name in BUILT_INS:
            return BUILT_INS[name]
        if name not in self._done:
            schema = self._project.schema(name)
            self._done[name] = self._core(schema, name) if self._project.is_core(name) else self.node(schema)
        return self._done[name]

    def node(self, node: Schema) -> Schema:
        """The structural form of a node of an own component."""
        own = {key: value for key, value in node.items() if key not in _DROPPED_FROM_OWN}
        own = self._described(map_children(own, self.node))
        target = own.pop("$ref", None)
        if target is not None:
            own = _overlaid(self.component(target), own)
        return _typed(own)

    def _described(self, node: Schema) -> Schema:
        """The node with its description as the policy wants it."""
        text = node.get("description")
        if text is None or self._descriptions == "keep":
            return node
        if self._descriptions == "drop":
            return {key: value for key, value in node.items() if key != "description"}
        return {**node, "description": shortened(text, int(self._descriptions.removeprefix("max ")))}

    def _core(self, node: Schema, name: str = "") -> Schema:
        """The structural form of a node of a Kubernetes component, named where the node is a whole component."""
        kept = {key: value for key, value in node.items() if key not in _DROPPED_FROM_CORE}
        required = frozenset(kept.get("required", ()))
        for key in ("items", "additionalProperties"):
            if isinstance(kept.get(key), dict):
                kept[key] = self._core(_without_default(kept[key]))
        if "properties" in kept:
            kept["properties"] = {
                key: self._core(_without_default(child) if _is_go_zero(child, name, key, required) else child)
                for key, child in kept["properties"].items()
            }
        if name in _ATOMIC_CORE:
            kept["x-kubernetes-map-type"] = "atomic"
        target = kept.pop("$ref", None)
        if target is not None:
            kept = _overlaid(self.component(target), kept)
        return _typed(kept)


def _is_go_zero(child: Schema, component: str, name: str, required: frozenset[str]) -> bool:
    """Whether the published default of a core property only mirrors Go's zero value."""
    if "default" not in child:
        return False
    default = child["default"]
    if default == {} or (component, name) in _NO_DEFAULT:
        return True
    return name in required and default in ("", 0) and not isinstance(default, bool)


def _without_default(node: Schema) -> Schema:
    return {key: value for key, value in node.items() if key != "default"}


def _overlaid(target: Schema, siblings: Schema) -> Schema:
    """The target extended by the siblings of the reference: properties are added, everything else wins."""
    merged = {**target, **siblings}
    if "properties" in target and "properties" in siblings:
        merged["properties"] = {**target["properties"], **siblings["properties"]}
    return merged


def _typed(node: Schema) -> Schema:
    kind = type_of(node)
    return node if not kind or "type" in node else {"type": kind, **node}


def shortened(text: str, limit: int) -> str:
    """The text cut at a word so that it has at most `limit` characters, with an ellipsis where it was cut."""
    if len(text) <= limit:
        return text
    head = text[: max(limit - 1, 0)].rsplit(" ", 1)[0].rstrip(" ,;:.")
    return f"{head}…"[:limit]


def sorted_schema(node: Any) -> Any:
    """The schema with every mapping and every `required` list in order: the server doesn't care, a diff does."""
    if isinstance(node, list):
        return [sorted_schema(item) for item in node]
    if not isinstance(node, dict):
        return node
    ordered = {key: sorted_schema(node[key]) for key in sorted(node)}
    required = ordered.get("required")
    if isinstance(required, list):
        ordered["required"] = sorted(required)
    return ordered
