from __future__ import annotations

import json
from pathlib import Path

import pytest

from codegen.source import load
from tests.unit.codegen.projects import CORE, PROJECT, mistakes, real, with_spec, write

KINDS = {
    "Job", "CronJob", "Command", "PodGroup", "Queue", "JobFlow", "JobTemplate", "HyperNode", "Numatopology",
    "NodeShard", "ColocationConfiguration", "HyperJob", "DataSource", "DataSourceClaim",
}  # fmt: skip


def test_the_real_project_has_every_kind_of_the_system() -> None:
    assert {kind.kind for kind in real().kinds} >= KINDS
    assert {kind.kind for kind in real().kinds if kind.optional} >= {"HyperJob", "DataSource", "DataSourceClaim"}


def test_every_field_of_ours_has_a_meaning_of_one_line() -> None:
    bare = [
        f"{name}.{field}"
        for name, schema in real().components.items()
        for field, node in schema.get("properties", {}).items()
        if not 3 < len(node.get("description", "")) <= 100
    ]
    assert bare == [], "describe these fields in one line of at most 100 characters: users read it in kubectl explain"
    assert [name for name, schema in real().components.items() if "description" not in schema] == []


def test_references_are_dotted_in_every_source(tmp_path: Path) -> None:
    project = load(write(tmp_path))
    assert project.components["test.v1.WidgetSpec"]["properties"]["color"] == {"$ref": "test.v1.Color"}
    assert project.domain == "example.com"
    assert project.root == tmp_path
    assert project.modules == ("test.v1",)


def test_the_vendored_document_is_read_with_plain_references(tmp_path: Path) -> None:
    document = json.loads(json.dumps(CORE))
    pointer = "#/components/schemas/core.v1.Port"
    document["components"]["schemas"]["core.v1.Pod"] = {
        "type": "object",
        "properties": {
            "joined": {"allOf": [{"$ref": pointer}], "default": {}},
            "direct": {"$ref": pointer, "default": {}},
        },
    }
    project = load(write(tmp_path, {"k8s/openapi.json": json.dumps(document)}))
    plain = {"$ref": "core.v1.Port", "default": {}}
    assert project.core["core.v1.Pod"]["properties"] == {"joined": plain, "direct": plain}
    assert project.is_core("core.v1.Pod")
    assert not project.is_core("test.v1.Widget")


def test_a_component_of_ours_stands_in_for_the_published_one(tmp_path: Path) -> None:
    ours = """
        group: core
        version: v1
        components:
          Port: {description: Ours., type: string}
    """
    project = load(write(tmp_path, {"core/v1.yaml": ours}))
    assert "core.v1.Port" not in project.core
    assert project.schema("core.v1.Port")["description"] == "Ours."
    assert not project.is_core("core.v1.Port")


def test_a_field_may_be_called_like_a_keyword(tmp_path: Path) -> None:
    spec = with_spec("default: {type: string}\nenum: {$ref: Color}\nitems: {type: array, items: {$ref: Color}}")
    project = load(write(tmp_path, {"test/v1.yaml": spec}))
    properties = project.components["test.v1.WidgetSpec"]["properties"]
    assert properties["enum"] == {"$ref": "test.v1.Color"}
    assert properties["items"]["items"] == {"$ref": "test.v1.Color"}


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"project.yaml": "[]"}, "api/project.yaml: must be a mapping"),
        (
            {"project.yaml": PROJECT + "    kind: x\n"},
            "api/project.yaml: kind: unknown key; known: domain, kinds, external",
        ),
        ({"test/v1.yaml": "components: {}"}, "api/test/v1.yaml: group: is missing"),
        ({"test/v1.yaml": "group: other\nversion: v1"}, "the file's place says test.v1: make them agree"),
        (
            {"test/v1.yaml": "group: test\nversion: v1\ncomponent: {}"},
            "component: unknown key; did you mean 'components'?",
        ),
        (
            {"test/v1.yaml": "group: test\nversion: v1\ncomponents: {a-b: {}}"},
            "components.a-b: must be named in CamelCase",
        ),
        ({"test/v1.yaml": "group: test\nversion: v1\ncomponents: {A: 1}"}, "components.A: must be a schema"),
        ({"test/v1.yaml": "group: test\nversion: v1\ncomponents: []"}, "components: must be a mapping"),
        ({"k8s/openapi.json": "{"}, "api/k8s/openapi.json: is no OpenAPI document"),
        ({"k8s/openapi.json": "{}"}, "api/k8s/openapi.json: is no OpenAPI document"),
        ({"k8s/openapi.json": "[" * 100_000}, "api/k8s/openapi.json: is no OpenAPI document: is nested too deeply"),
        *(
            (
                {"k8s/openapi.json": f'{{"components": {{"schemas": {schemas}}}}}'},
                f"api/k8s/openapi.json: is no OpenAPI document: {message}; run `make vendor-schemas` again",
            )
            for schemas, message in (  # the first mistake is told
                ("[]", "components.schemas is no mapping"),
                ("{}", "components.schemas has no meta.v1.ObjectMeta"),
                ('{"meta.v1.ObjectMeta": {}, "a.v1.A": 1}', "components.schemas.a.v1.A is no schema"),
                ('{"meta.v1.ObjectMeta": {}, "A": {}}', "components.schemas: 'A' is no name such as core.v1.Pod"),
                (
                    '{"meta.v1.ObjectMeta": {}, "a.v1.A": {"allOf": [1]}}',
                    "components.schemas.a.v1.A.allOf must be a list of schemas, not [1]",
                ),
                (
                    '{"meta.v1.ObjectMeta": {}, "a.v1.A": {"$ref": "a.v1.B"}}',
                    "components.schemas.a.v1.A.$ref: there is no component 'a.v1.B'",
                ),
                (
                    '{"meta.v1.ObjectMeta": {}, "a.v1.A": {"properties": {"b": {"default": "\\ud800"}}}}',
                    "components.schemas.a.v1.A.properties.b.default U+D800 is half a character: write the character itself",
                ),
            )
        ),
        ({"samples.yaml": "test.v1.Wodget: {}"}, "api/samples.yaml: test.v1.Wodget: is no kind of api/project.yaml"),
        (
            {"samples.yaml": "test.v1.Widget: 1"},
            "api/samples.yaml: test.v1.Widget: must be a mapping: an object without",
        ),
        ({"samples.yaml": "- a"}, "api/samples.yaml: must be a mapping"),
    ],
)
def test_a_file_that_is_wrong_is_named(tmp_path: Path, files: dict[str, str], message: str) -> None:
    assert any(message in line for line in mistakes(write(tmp_path, files)))


def test_a_missing_vendored_document_says_how_to_get_it(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "api/k8s/openapi.json").unlink()
    assert "api/k8s/openapi.json: is missing: run `make vendor-schemas K8S=<version>`" in mistakes(tmp_path)


def test_a_missing_project_is_told_once(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "api/project.yaml").unlink()
    assert mistakes(tmp_path) == ["api/project.yaml: cannot be read: No such file or directory"]


def test_what_an_unreadable_file_defines_is_not_called_missing(tmp_path: Path) -> None:
    lines = mistakes(write(tmp_path, {"test/v1.yaml": "components: ["}))
    assert len(lines) == 1
    assert lines[0].startswith("api/test/v1.yaml:1:")


def test_mistakes_of_all_files_are_told_at_once(tmp_path: Path) -> None:
    files = {
        "project.yaml": PROJECT.replace("plural: widgets", "plural: Widgets"),
        "test/v1.yaml": with_spec("a: {type: text}\nb: {$ref: '1'}\nc: {type: string, pattern: '('}"),
        "extensions/site.yaml": "group: test.example.com\nversion: v1\ncomponents: {Color: {type: integer}}",
        "other/v1.yaml": "a: [",
    }
    lines = mistakes(write(tmp_path, files))
    for start in (
        "api/project.yaml: kinds.[Widget].plural",
        "api/test/v1.yaml: components.WidgetSpec.properties.a.type",
        "api/test/v1.yaml: components.WidgetSpec.properties.c.pattern",
        "api/extensions/site.yaml: components.Color.type",
        "api/other/v1.yaml:1:",
    ):
        assert any(line.startswith(start) for line in lines), start
    assert len(lines) == 5


SHELF = "group: shelf.example.com\nversion: v1\ncomponents: {Shelf: {type: string}}"


def test_a_schema_file_without_a_kind_is_refused_with_both_ways_out(tmp_path: Path) -> None:
    """`git checkout .` after `create api` takes back the entry of the kind and leaves its schemas."""
    [line] = mistakes(write(tmp_path, {"shelf/v1.yaml": SHELF}))
    assert line.startswith("api/shelf/v1.yaml: no kind is of this group and version, and nothing refers to its comp")
    assert line.endswith("add the entry of its kind to api/project.yaml, or delete the file")


def test_schemas_that_another_file_refers_to_need_no_kind(tmp_path: Path) -> None:
    load(write(tmp_path, {"shelf/v1.yaml": SHELF, "test/v1.yaml": with_spec("a: {$ref: shelf.v1.Shelf}")}))
