"""That the whole expansion is Volcano's is shown in `test_surface.py`; here the rules are, one by one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from codegen.expand import BUILT_INS, Expander, shortened, sorted_schema
from codegen.schema import walk
from codegen.source import load
from tests.unit.codegen.projects import real, real_kind, schema_of, with_spec, write

NEVER_USED = {
    "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource", "nullable", "oneOf", "allOf", "not",
    "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "maxItems", "maxProperties", "minProperties", "$ref",
}  # fmt: skip


def nodes(schema: dict[str, Any]) -> list[dict[str, Any]]:
    return [node for path, node in walk(schema) if "anyOf[" not in path]


def expanded(plural: str, descriptions: str = "drop") -> dict[str, Any]:
    kind = next(kind for kind in real().kinds if kind.plural == plural)
    schema: dict[str, Any] = Expander(real(), descriptions).kind(kind)
    return schema


@pytest.mark.parametrize("plural", [kind.plural for kind in real().kinds])
def test_the_expansion_uses_only_what_structural_schemas_know(plural: str) -> None:
    for node in nodes(expanded(plural, "keep")):
        assert not NEVER_USED & set(node)
        assert "type" in node or node["x-kubernetes-int-or-string"] is True
        assert not ("properties" in node and "additionalProperties" in node)
        assert not isinstance(node.get("additionalProperties"), bool)
        if "anyOf" in node:
            assert node["anyOf"] == [{"type": "integer"}, {"type": "string"}]


def test_the_four_copies_of_a_jobs_spec_are_equal() -> None:
    job = expanded("jobs", "keep")["properties"]["spec"]
    template = expanded("cronjobs", "keep")["properties"]["spec"]["properties"]["jobTemplate"]["properties"]["spec"]
    flow = expanded("jobflows", "keep")["properties"]["spec"]["properties"]["flows"]["items"]
    copies = [template, expanded("jobtemplates", "keep")["properties"]["spec"]]
    copies.append(flow["properties"]["patch"]["properties"]["jobSpec"])
    for copy in copies:
        assert {**copy, "description": ""} == {**job, "description": ""}


def test_expanding_twice_changes_nothing() -> None:
    """An expanded schema is a source without references, and expands to itself."""
    for kind in real().kinds:
        once = Expander(real()).kind(kind)
        assert Expander(real()).node(once) == once


def test_expanding_leaves_the_sources_alone() -> None:
    before = json.dumps([real().components, real().core])
    for kind in real().kinds:
        Expander(real(), "drop").kind(kind)
    assert json.dumps([real().components, real().core]) == before


def pod_template() -> dict[str, Any]:
    schema: dict[str, Any] = Expander(real()).component("core.v1.PodTemplateSpec")
    return schema


def test_a_pod_template_is_that_of_kubernetes_without_its_words() -> None:
    template = pod_template()
    assert len(template["properties"]["spec"]["properties"]) >= 42
    assert not any("enum" in node for node in nodes(template))
    assert template["properties"]["spec"]["required"] == ["containers"]
    assert not any("description" in node for node in nodes(template))
    assert set(template["properties"]["metadata"]["properties"]) == {
        "annotations",
        "finalizers",
        "labels",
        "name",
        "namespace",
    }
    assert len(json.dumps(template, separators=(",", ":"))) < 63_000


LIST_KEYS = {
    "containers": ["name"],
    "initContainers": ["name"],
    "ephemeralContainers": ["name"],
    "hostAliases": ["ip"],
    "imagePullSecrets": ["name"],
    "resourceClaims": ["name"],
    "schedulingGates": ["name"],
    "topologySpreadConstraints": ["topologyKey", "whenUnsatisfiable"],
    "volumes": ["name"],
}
CONTAINER_LIST_KEYS = {
    "env": ["name"],
    "ports": ["containerPort", "protocol"],
    "volumeMounts": ["mountPath"],
    "volumeDevices": ["devicePath"],
}


def test_lists_of_a_pod_are_keyed_as_in_kubernetes() -> None:
    spec = pod_template()["properties"]["spec"]["properties"]
    container = spec["containers"]["items"]["properties"]
    for fields, keys in ((spec, LIST_KEYS), (container, CONTAINER_LIST_KEYS)):
        found = {
            name: node["x-kubernetes-list-map-keys"]
            for name, node in fields.items()
            if node.get("x-kubernetes-list-type") == "map"
        }
        assert found == keys
    claims = container["resources"]["properties"]["claims"]
    assert claims["x-kubernetes-list-map-keys"] == ["name"]


@pytest.mark.parametrize(
    ("component", "path", "expected"),
    [
        ("core.v1.ContainerPort", "containerPort", {"type": "integer", "format": "int32"}),
        ("core.v1.ContainerPort", "protocol", {"type": "string", "default": "TCP"}),
        ("core.v1.AzureDiskVolumeSource", "cachingMode", {"type": "string"}),
        ("core.v1.AzureDiskVolumeSource", "kind", {"type": "string"}),
        ("core.v1.AzureDiskVolumeSource", "fsType", {"type": "string", "default": "ext4"}),
        ("core.v1.AzureDiskVolumeSource", "readOnly", {"type": "boolean", "default": False}),
        ("core.v1.AzureDiskVolumeSource", "diskName", {"type": "string"}),
        ("core.v1.SecretEnvSource", "name", {"type": "string", "default": ""}),
        ("core.v1.PodSpec", "restartPolicy", {"type": "string"}),
        ("meta.v1.LabelSelector", "matchLabels", {"type": "object", "additionalProperties": {"type": "string"}}),
        (
            "core.v1.ResourceRequirements",
            "limits",
            {"type": "object", "additionalProperties": BUILT_INS["meta.v1.Quantity"]},
        ),
    ],
)
def test_defaults_and_enums_of_core_types_follow_the_rules(component: str, path: str, expected: dict[str, Any]) -> None:
    assert Expander(real()).component(component)["properties"][path] == expected


@pytest.mark.parametrize(
    "name",
    ["ConfigMapEnvSource", "SecretEnvSource", "ConfigMapVolumeSource", "ConfigMapProjection", "SecretProjection"],
)
def test_references_by_name_are_atomic(name: str) -> None:
    assert Expander(real()).component(f"core.v1.{name}")["x-kubernetes-map-type"] == "atomic"


def test_the_root_leaves_metadata_to_the_server() -> None:
    root = expanded("jobs", "keep")
    assert root["properties"]["metadata"] == {"type": "object"}
    assert root["properties"]["apiVersion"]["type"] == "string"
    assert "description" in root["properties"]["kind"]


def test_siblings_of_a_reference_extend_or_override_it(tmp_path: Path) -> None:
    fields = """
        a: {$ref: Part, description: Mine., nullable: true, x-kubernetes-map-type: atomic}
        b: {$ref: Part, properties: {y: {type: string}}}
    """
    part = "Part: {description: Theirs., properties: {x: {type: integer}}}"
    spec = schema_of(write(tmp_path, {"test/v1.yaml": with_spec(fields, part)}))["properties"]
    assert spec["a"] == {
        "type": "object",
        "description": "Mine.",
        "properties": {"x": {"type": "integer"}},
        "x-kubernetes-map-type": "atomic",
    }
    assert set(spec["b"]["properties"]) == {"x", "y"}
    assert spec["b"]["description"] == "Theirs."


def test_enums_and_defaults_of_our_own_stay(tmp_path: Path) -> None:
    fields = """
        a: {$ref: core.v1.Port, default: {number: 0}}
        b: {type: string, default: ""}
        c: {type: array, items: {type: string, default: x, enum: [x]}}
    """
    spec = schema_of(write(tmp_path, {"test/v1.yaml": with_spec(fields)}))["properties"]
    assert spec["a"]["default"] == {"number": 0}
    assert "enum" not in spec["a"]["properties"]["protocol"]
    assert spec["b"]["default"] == ""
    assert spec["c"]["items"] == {"type": "string", "default": "x", "enum": ["x"]}


def test_a_field_may_be_called_description(tmp_path: Path) -> None:
    spec = with_spec("description: {type: string}\ndefault: {type: string}\nnullable: {type: boolean}")
    for policy in ("keep", "drop", "max 10"):
        expanded_spec = schema_of(write(tmp_path, {"test/v1.yaml": spec}), descriptions=policy)
        assert set(expanded_spec["properties"]) == {"description", "default", "nullable"}


@pytest.mark.parametrize(
    ("policy", "expected"),
    [("keep", "How big."), ("drop", None), ("max 100", "How big."), ("max 5", "How…")],
)
def test_the_policy_decides_over_descriptions(tmp_path: Path, policy: str, expected: str | None) -> None:
    size = schema_of(write(tmp_path), descriptions=policy)["properties"]["size"]
    assert size.get("description") == expected


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("short", 10, "short"),
        ("exactly ten", 11, "exactly ten"),
        ("some longer words", 12, "some…"),
        ("ends, here", 7, "ends…"),
        ("unbreakable", 5, "unbr…"),
        ("unbreakable", 1, "…"),
    ],
)
def test_a_description_is_cut_at_a_word(text: str, limit: int, expected: str) -> None:
    assert shortened(text, limit) == expected
    assert len(expected) <= limit


def test_a_sorted_schema_is_the_same_schema() -> None:
    schema = {
        "type": "object",
        "required": ["b", "a"],
        "properties": {"b": {"enum": ["z", "y"]}, "a": {"type": "string"}},
    }
    assert json.dumps(sorted_schema(schema)) == (
        '{"properties": {"a": {"type": "string"}, "b": {"enum": ["z", "y"]}}, "required": ["a", "b"], "type": "object"}'
    )


def test_two_kinds_share_the_expansion_of_a_component() -> None:
    expander = Expander(real())
    job = expander.kind(real_kind("Job"))["properties"]["spec"]["properties"]["tasks"]
    template = expander.kind(real_kind("JobTemplate"))["properties"]["spec"]["properties"]["tasks"]
    assert job is template


def test_the_small_project_expands(tmp_path: Path) -> None:
    project = load(write(tmp_path))
    assert Expander(project).kind(project.kinds[0])["properties"]["spec"]["properties"]["color"]["enum"] == [
        "red",
        "green",
    ]
