"""
One sample object a kind, for `config/samples/`.

What `api/samples.yaml` says of a kind is taken as it stands. For any other kind a valid sample follows
from its schema: what is required, and the plain fields of the first two levels, so that a new kind can be
tried at once.
"""

from __future__ import annotations

from typing import Any

from codegen.crds import kustomization, to_yaml
from codegen.expand import Expander
from codegen.output import first_line
from codegen.patterns import matches
from codegen.problems import Problem, SourceError
from codegen.project import Kind, Project, Schema
from codegen.schema import SCALARS
from codegen.validate import findings

SAMPLES = "config/samples"
SOURCE = "api/samples.yaml"
_OBSERVED = ("apiVersion", "kind", "metadata", "status")
_SHOWN_LEVELS = 2
_TIME = "2026-01-01T00:00:00Z"
_WORDS = (
    "example",
    "Example",
    "1",
    "1h",
    "a",
    "example.com",
    "example.com/example",
    "/example",
    "0 0 * * *",
    "1.2.3.4",
)


def outputs(project: Project) -> dict[str, str]:
    """All samples and the kustomizations that list them. Raises SourceError for samples that the schema refuses."""
    expander = Expander(project)
    texts: dict[str, str] = {}
    problems: list[Problem] = []
    listed: dict[str, list[str]] = {}
    for kind in project.kinds:
        sample = of_kind(project, kind, expander)
        problems += _refusals(project, kind, sample, expander)
        path = file_of(kind)
        folder, name = path.rsplit("/", 1)
        listed.setdefault(folder, []).append(name)
        note = f"# {project.schema(kind.component).get('description', kind.kind)}\n"
        texts[path] = first_line(".yaml", _source_of(project, kind)) + note + to_yaml(sample)
    if problems:
        raise SourceError(problems)
    return texts | {f"{folder}/kustomization.yaml": kustomization(sorted(names)) for folder, names in listed.items()}


def file_of(kind: Kind) -> str:
    """Path of a kind's sample relative to the project root."""
    folder = f"{SAMPLES}/optional" if kind.optional else SAMPLES
    return f"{folder}/{kind.group_short}_{kind.version}_{kind.singular}.yaml"


def _source_of(project: Project, kind: Kind) -> str:
    return SOURCE if kind.component in project.samples else project.file_of(kind.component)


def of_kind(project: Project, kind: Kind, expander: Expander) -> Schema:
    """The sample object of a kind."""
    written = project.samples.get(kind.component)
    metadata = {"name": f"{kind.singular}-sample", **(written or {}).get("metadata", {})}
    head = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}
    if written is not None:
        return head | {key: value for key, value in written.items() if key != "metadata"}
    root = expander.kind(kind)
    own = {name: schema for name, schema in root["properties"].items() if name not in _OBSERVED}
    shown = set(own) if "spec" in own else {name for name in own if name in root.get("required", ())}
    return head | {name: _value(own[name], _SHOWN_LEVELS - 1) for name in own if name in shown or _is_plain(own[name])}


def _refusals(project: Project, kind: Kind, sample: Schema, expander: Expander) -> list[Problem]:
    written = kind.component in project.samples
    advice = "" if written else f"; write a sample for {kind.component} in {SOURCE}, or an `example` in the schema"
    return [
        Problem(_source_of(project, kind), f"{kind.component}.{path}", f"the sample's value {message}{advice}")
        for path, message in findings(expander.kind(kind), {**sample, "metadata": {}}, "")
    ]


def _is_plain(schema: Schema) -> bool:
    return schema.get("type") in SCALARS or bool(schema.get("x-kubernetes-int-or-string"))


def _value(schema: Schema, levels: int) -> Any:
    """A valid value; plain optional fields are shown for that many levels, below them only required ones."""
    for key in ("example", "default"):
        if key in schema:
            return schema[key]
    match schema.get("type"):
        case _ if "enum" in schema:
            value: Any = schema["enum"][0]
        case "object":
            value = _object(schema, levels)
        case "array":
            value = [_value(schema["items"], levels - 1) for _ in range(schema.get("minItems", 0))]
        case "string":
            value = _text(schema)
        case "boolean":
            value = True
        case _:
            value = _number(schema)
    return value


def _object(schema: Schema, levels: int) -> Schema:
    properties, required = schema.get("properties", {}), schema.get("required", ())
    values: Schema = {}
    for name, inner in properties.items():
        if name in required or (levels > 0 and _is_plain(inner)):
            value = _value(inner, levels - 1)
            if value is not None or name in required:
                values[name] = value
    return values


def _number(schema: Schema) -> float:
    low, high = schema.get("minimum"), schema.get("maximum")
    value = 1 if low is None or low <= 1 else low
    if schema.get("exclusiveMinimum") and value == low:
        value += 1
    value = value if high is None else min(value, high)
    step = schema.get("multipleOf")
    return value if not step else -(-value // step) * step


def _text(schema: Schema) -> str | None:
    """A text that fits the schema; None when none of the usual ones does."""
    if schema.get("format") == "date-time":
        return _TIME
    shortest, longest = schema.get("minLength", 0), schema.get("maxLength")
    for word in _WORDS:
        padded = word.ljust(shortest, word[-1])[:longest]
        if not schema.get("pattern") or matches(schema["pattern"], padded):
            return padded
    return None
