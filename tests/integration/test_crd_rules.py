"""
The rules that sources are checked by are the server's: what passes is installed, what is refused would be refused.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cluster import ControlPlane
from codegen.crds import manifest
from codegen.source import load
from runtime.errors import ApiError
from tests.unit.codegen.projects import mistakes, with_spec, write

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
STRICT = {"dryRun": "All", "fieldValidation": "Strict"}


def install(plane: ControlPlane, crd: dict[str, Any]) -> None:
    plane.api.request("POST", CRDS, crd, query=STRICT)


def crd_with(root: Path, field: dict[str, Any]) -> dict[str, Any]:
    """The CRD of a sound project, one field of which is replaced behind the generator's back."""
    project = load(write(root))
    crd = manifest(project, project.kinds[0])
    spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"]["a"] = field
    return crd


@pytest.mark.parametrize(
    "field",
    [
        "{type: string, title: A, example: b, format: hostname}",
        "{type: object, x-kubernetes-preserve-unknown-fields: true}",
        "{x-kubernetes-preserve-unknown-fields: true}",
        "{x-kubernetes-int-or-string: true, pattern: ^a$}",
        "{x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}",
        "{$ref: meta.v1.Quantity, default: '1'}",
        "{$ref: Color, default: red}",
        "{additionalProperties: true}",
        "{type: array, items: {type: string}, x-kubernetes-list-type: set}",
        "{type: array, items: {$ref: core.v1.Port}, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [number]}",
        "{properties: {b: {type: string}, c: {type: string}}, oneOf: [{required: [b]}, {required: [c]}]}",
        "{type: number, exclusiveMinimum: true, minimum: 0, multipleOf: 0.5}",
        r"{type: string, pattern: '(?i)^[[:alpha:]]+[\d-z]\pL\z'}",
        "{properties: {b: {type: string}}, x-kubernetes-validations: [{rule: 'has(self.b)', message: Set b.}]}",
        "{type: array, items: {type: string}, x-kubernetes-validations: [{rule: 'self.all(s, s != \"\")', message: No.}]}",
    ],
)
def test_what_passes_our_checks_is_installed(control_plane: ControlPlane, tmp_path: Path, field: str) -> None:
    project = load(write(tmp_path, {"test/v1.yaml": with_spec(f"a: {field}")}))
    install(control_plane, manifest(project, project.kinds[0]))


TEXT = {"type": "string"}
LIST = {"type": "array", "items": {"type": "object", "properties": {"x": TEXT}}}
NESTED_LOOPS = "self.all(a, self.exists(b, a.x == b.x))"


@pytest.mark.parametrize(
    ("source", "field", "words"),
    [
        ("{}", {}, "must not be empty for specified object fields"),
        ("{type: text}", {"type": "text"}, "Unsupported value"),
        ("{type: array}", {"type": "array"}, "items: Required value: must be specified"),
        (
            "{type: array, items: [{type: string}]}",
            {"type": "array", "items": [TEXT]},
            "items must be a schema object and not an array",
        ),
        (
            "{properties: {b: {type: string}}, additionalProperties: {type: string}}",
            {"type": "object", "properties": {"b": TEXT}, "additionalProperties": TEXT},
            "mutual exclusive",
        ),
        ("{type: string, const: a}", {"type": "string", "const": "a"}, "unknown field"),
        ("{type: string, readOnly: true}", {"type": "string", "readOnly": True}, "unknown field"),
        (
            "{type: array, items: {type: string}, uniqueItems: true}",
            {"type": "array", "items": TEXT, "uniqueItems": True},
            "uniqueItems cannot be set to true",
        ),
        (
            "{type: string, anyOf: [{type: string}]}",
            {"type": "string", "anyOf": [TEXT]},
            "must be empty to be structural",
        ),
        (
            "{type: string, pattern: '(?!a)b'}",
            {"type": "string", "pattern": "(?!a)b"},
            "must be a valid regular expression",
        ),
        ("{type: integer, default: a}", {"type": "integer", "default": "a"}, "must be of type integer"),
        (
            "{properties: {b: {type: string}}, default: {c: 1}}",
            {"type": "object", "properties": {"b": TEXT}, "default": {"c": 1}},
            "must not have unknown fields",
        ),
        (
            (
                "{type: array, items: {properties: {x: {type: string}}}, "
                "x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [x]}"
            ),
            {**LIST, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["x"]},
            "must have a default or be a required property",
        ),
        (
            "{type: array, items: {properties: {x: {type: string}}}, x-kubernetes-list-type: set}",
            {**LIST, "x-kubernetes-list-type": "set"},
            "x-kubernetes-map-type",
        ),
        (
            "{properties: {b: {type: string}}, x-kubernetes-validations: [{rule: 'has(self.c)', message: No.}]}",
            {
                "type": "object",
                "properties": {"b": TEXT},
                "x-kubernetes-validations": [{"rule": "has(self.c)", "message": "No."}],
            },
            "undefined field 'c'",
        ),
        (
            (
                "{type: array, items: {properties: {x: {type: string}}}, "
                f"x-kubernetes-validations: [{{rule: '{NESTED_LOOPS}', message: No.}}]}}"
            ),
            {**LIST, "x-kubernetes-validations": [{"rule": NESTED_LOOPS, "message": "No."}]},
            "exceeds budget",
        ),
    ],
)
def test_what_our_checks_refuse_the_server_refuses_too(
    control_plane: ControlPlane, tmp_path: Path, source: str, field: dict[str, Any], words: str
) -> None:
    crd = crd_with(tmp_path, field)
    assert mistakes(write(tmp_path, {"test/v1.yaml": with_spec(f"a: {source}")}))
    with pytest.raises(ApiError) as refusal:
        install(control_plane, crd)
    assert words in str(refusal.value)


def test_a_description_of_the_roots_metadata_is_refused(control_plane: ControlPlane, tmp_path: Path) -> None:
    """Why the generator leaves the metadata of a root bare, though sources describe it."""
    crd = crd_with(tmp_path, TEXT)
    install(control_plane, crd)
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["metadata"]["description"] = "Metadata."
    with pytest.raises(ApiError, match="must not specify anything other than name and generateName"):
        install(control_plane, crd)
