"""
Reference pages: every field with its type, default, limits and meaning, one page a group and version.

They are made from the short sources, so a shared component is told once and linked to.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from codegen.crds import file_of as crd_file
from codegen.output import first_line
from codegen.project import Kind, Project, Schema
from codegen.resolve import Resolver
from codegen.samples import file_of as sample_file
from codegen.schema import SCALARS, type_of

REFERENCE = "docs/reference"
_TYPE_NAMES = {
    "meta.v1.Duration": "duration",
    "meta.v1.IntOrString": "integer or string",
    "meta.v1.MicroTime": "time",
    "meta.v1.Quantity": "quantity",
    "meta.v1.Time": "time",
}
_LIMITS = (
    ("minimum", "at least {}"),
    ("maximum", "at most {}"),
    ("multipleOf", "a multiple of {}"),
    ("minLength", "{} or more characters"),
    ("maxLength", "at most {} bytes"),
    ("minItems", "{} or more items"),
    ("maxItems", "at most {} items"),
    ("minProperties", "{} or more entries"),
    ("maxProperties", "at most {} entries"),
    ("pattern", "matches `{}`"),
)


def outputs(project: Project) -> dict[str, str]:
    """All reference pages and the page that lists the kinds."""
    pages = {f"{REFERENCE}/{page_of(project, module)}": _page(project, module) for module in project.modules}
    return pages | {f"{REFERENCE}/README.md": _index(project)}


def page_of(project: Project, module: str) -> str:
    """File name of the page about a module such as `batch.v1alpha1`."""
    return f"{_group_of(project, module)}-{module.rsplit('.', 1)[1]}.md"


def _group_of(project: Project, module: str) -> str:
    groups = [kind.group for kind in project.kinds if kind.module == module]
    return groups[0] if groups else module.split(".", 1)[0]


def _index(project: Project) -> str:
    lines = [
        first_line(".md", "api/project.yaml").rstrip("\n"),
        "# API reference",
        "",
        "| Kind | Group and version | Short names | Scope | Meaning |",
        "| --- | --- | --- | --- | --- |",
    ]
    for kind in sorted(project.kinds, key=lambda kind: (kind.optional, kind.group, kind.kind)):
        link = f"[{kind.kind}]({page_of(project, kind.module)}#{kind.kind.lower()})"
        meaning = _cell(project.schema(kind.component).get("description", ""))
        meaning += " Optional: its CRD is installed only where it is wanted." if kind.optional else ""
        names = ", ".join(f"`{name}`" for name in kind.short_names)
        lines.append(f"| {link} | `{kind.api_version}` | {names} | {kind.scope} | {meaning} |")
    return "\n".join([*lines, ""])


def _page(project: Project, module: str) -> str:
    kinds = {kind.component: kind for kind in project.kinds if kind.module == module}
    names = [name for name in project.components if name.rsplit(".", 1)[0] == module]
    ordered = [*(name for name in names if name in kinds), *(name for name in names if name not in kinds)]
    writer = _Writer(project, module)
    lines = [
        first_line(".md", project.file_of(names[0])).rstrip("\n"),
        f"# {_group_of(project, module)}/{module.rsplit('.', 1)[1]}",
        "",
    ]
    for name in ordered:
        lines += writer.component(name, kinds.get(name))
    return "\n".join(lines)


class _Writer:
    """Writes the sections of one page."""

    def __init__(self, project: Project, module: str) -> None:
        self._project = project
        self._module = module
        self._resolve = Resolver(project)

    def component(self, name: str, kind: Kind | None) -> Iterator[str]:
        """The section of one component, with the facts of the kind that it is, if it is one."""
        schema = self._project.schema(name)
        yield f"## {name.rsplit('.', 1)[1]}"
        yield ""
        if "description" in schema:
            yield from (_text(schema["description"]), "")
        if kind is not None:
            yield from self._facts(kind)
        rules = _rules(schema)
        if type_of(schema) in SCALARS or rules:
            yield from (f"- {fact}" for fact in (*self._scalar(schema), *rules))
            yield ""
        rows = list(self._rows(schema, is_root=kind is not None))
        if rows:
            yield from ("| Field | Type | Default | Limits | Meaning |", "| --- | --- | --- | --- | --- |", *rows, "")

    def _facts(self, kind: Kind) -> Iterator[str]:
        names = ", ".join(f"`{name}`" for name in (kind.plural, kind.singular, *kind.short_names))
        yield f"- Names for `kubectl`: {names}"
        yield f"- Scope: {kind.scope}"
        yield f"- Status subresource: {'yes' if kind.status else 'no'}"
        columns = [f"{column.name}{' (`-o wide`)' if column.priority else ''}" for column in kind.columns]
        if columns:
            yield f"- Columns: {', '.join(columns)}"
        optional = ", optional" if kind.optional else ""
        yield f"- [CRD](../../{crd_file(kind)}){optional}, [sample](../../{sample_file(kind)})"
        yield ""

    def _scalar(self, schema: Schema) -> Iterator[str]:
        if type_of(schema) in SCALARS:
            yield f"Type: {self._type(schema)}"
            yield from (limit[0].upper() + limit[1:] for limit in _limits(schema))

    def _rows(self, schema: Schema, path: str = "", *, is_root: bool = False) -> Iterator[str]:
        """One row a field; fields of unnamed objects follow with their path."""
        required = schema.get("required", ())
        if is_root:
            yield "| `apiVersion` | string | | required | Group and version of the object's schema. |"
            yield "| `kind` | string | | required | Kind of the object. |"
        for name, node in schema.get("properties", {}).items():
            place = f"{path}.{name}" if path else name
            yield self._row(place, node, is_required=name in required)
            inner, suffix = _innermost(node)
            yield from self._rows(inner, f"{place}{suffix}")

    def _row(self, place: str, node: Schema, *, is_required: bool) -> str:
        resolved = self._resolve(node)
        default = f"`{json.dumps(resolved['default'])}`" if "default" in resolved else ""
        limits = [*(["required"] if is_required else []), *_limits(_innermost(node)[0]), *_list_limits(node)]
        meaning = _cell(resolved.get("description", ""))
        return f"| `{place}` | {self._type(node)} | {default} | {_cell(', '.join(limits))} | {meaning} |"

    def _type(self, node: Schema) -> str:
        target = node.get("$ref")
        if target is not None:
            return self._link(target)
        match type_of(node):
            case "array":
                return f"list of {self._type(node['items'])}"
            case "object" if isinstance(node.get("additionalProperties"), dict):
                return f"map of string to {self._type(node['additionalProperties'])}"
            case "":
                return "integer or string" if node.get("x-kubernetes-int-or-string") else "any"
            case kind:
                return f"{kind} ({node['format']})" if "format" in node else kind

    def _link(self, target: str) -> str:
        if target in _TYPE_NAMES:
            return _TYPE_NAMES[target]
        module, name = target.rsplit(".", 1)
        if target not in self._project.components:
            return f"`{target}`"
        page = "" if module == self._module else page_of(self._project, module)
        return f"[{name}]({page}#{name.lower()})"


def _innermost(node: Schema) -> tuple[Schema, str]:
    """What a field holds once lists and maps are opened, and how a path says so."""
    suffix = ""
    while "$ref" not in node:
        if isinstance(node.get("items"), dict):
            node, suffix = node["items"], f"{suffix}[]"
        elif isinstance(node.get("additionalProperties"), dict):
            node, suffix = node["additionalProperties"], f"{suffix}{{}}"
        else:
            break
    return node, suffix


def _limits(schema: Schema) -> Iterator[str]:
    if "enum" in schema:
        yield "one of " + ", ".join(f"`{value}`" for value in schema["enum"])
    for keyword, words in _LIMITS:
        if keyword in schema and "Items" not in keyword and "Properties" not in keyword:
            yield words.format(schema[keyword])


def _list_limits(schema: Schema) -> Iterator[str]:
    for keyword, words in _LIMITS:
        if keyword in schema and ("Items" in keyword or "Properties" in keyword):
            yield words.format(schema[keyword])
    match schema.get("x-kubernetes-list-type"):
        case "map":
            yield f"unique by {', '.join(f'`{key}`' for key in schema.get('x-kubernetes-list-map-keys', ()))}"
        case "set":
            yield "unique"


def _rules(schema: Schema) -> list[str]:
    return [_text(rule["message"]) for rule in schema.get("x-kubernetes-validations", ())]


def _text(text: str) -> str:
    """Plain text: nothing in it is markup."""
    return text.replace("<", "&lt;").replace("*", r"\*").replace("[", r"\[")


def _cell(text: str) -> str:
    """Text for a table cell, where a bar would end it."""
    return text.replace("|", r"\|").replace("<", "&lt;")
