from __future__ import annotations

import re
import shutil
from pathlib import Path
from textwrap import dedent, indent

import pytest

from codegen import crds
from codegen.source import load
from tests.unit.codegen.projects import PROJECT, ROOT, mistakes, schema_of, with_spec, write

HEAD = "group: test.example.com\nversion: v1\n"


def extension(components: str) -> dict[str, str]:
    return {"extensions/site.yaml": f"{HEAD}components:\n{indent(dedent(components).strip(), '  ')}\n"}


def test_a_site_adds_fields_to_our_components(tmp_path: Path) -> None:
    site = extension("""
        WidgetSpec:
          properties:
            costCenter: {description: Who pays., type: string, maxLength: 20}
            tint: {$ref: Color}
    """)
    spec = schema_of(write(tmp_path, site))
    assert spec["properties"]["costCenter"] == {"type": "string", "description": "Who pays.", "maxLength": 20}
    assert spec["properties"]["tint"]["enum"] == ["red", "green"]
    assert set(spec["properties"]) == {"size", "color", "costCenter", "tint"}


def test_a_site_adds_enum_values_and_words(tmp_path: Path) -> None:
    site = extension("""
        Color: {enum: [blue, red], description: Any colour.}
        WidgetSpec: {properties: {size: {description: Our size., minimum: 1}}}
    """)
    spec = schema_of(write(tmp_path, site))
    assert spec["properties"]["color"] == {
        "type": "string",
        "enum": ["red", "green", "blue"],
        "description": "Any colour.",
    }
    assert spec["properties"]["size"]["description"] == "Our size."


def test_a_site_adds_below_lists_and_maps(tmp_path: Path) -> None:
    spec = with_spec("""
        parts: {type: array, items: {properties: {a: {type: string}}}}
        named: {additionalProperties: {properties: {a: {type: string}}}}
    """)
    site = extension("""
        WidgetSpec:
          properties:
            parts: {items: {properties: {b: {type: string}}}}
            named: {additionalProperties: {properties: {b: {type: string}}}}
    """)
    expanded = schema_of(write(tmp_path, {"test/v1.yaml": spec, **site}))["properties"]
    assert set(expanded["parts"]["items"]["properties"]) == {"a", "b"}
    assert set(expanded["named"]["additionalProperties"]["properties"]) == {"a", "b"}


def test_a_site_adds_components_and_kinds(tmp_path: Path) -> None:
    site = """
        group: site.example.com
        version: v1
        kinds:
          - {group: site.example.com, version: v1, kind: Gadget, plural: gadgets, status: false}
        components:
          Gadget: {properties: {metadata: {$ref: meta.v1.ObjectMeta}, color: {$ref: test.v1.Color}}}
    """
    project = load(write(tmp_path, {"extensions/gadget.yaml": site}))
    assert [kind.kind for kind in project.kinds] == ["Widget", "Gadget"]
    text = crds.outputs(project)["config/crd/bases/site.example.com_gadgets.yaml"]
    assert text.splitlines()[0].endswith("from api/extensions/gadget.yaml. Do not edit.")


def test_two_sites_files_merge_in_the_order_of_their_names(tmp_path: Path) -> None:
    files = {
        "extensions/a.yaml": f"{HEAD}components: {{Color: {{enum: [blue]}}}}",
        "extensions/b.yaml": f"{HEAD}components: {{Color: {{enum: [black]}}}}",
    }
    assert schema_of(write(tmp_path, files))["properties"]["color"]["enum"] == ["red", "green", "blue", "black"]


def test_a_mistake_in_an_added_field_names_the_extension(tmp_path: Path) -> None:
    site = extension(
        "WidgetSpec: {properties: {a: {type: text}, b: {properties: {c: {type: string, pattern: '(?=a)'}}}}}"
    )
    lines = mistakes(write(tmp_path, site))
    assert len(lines) == 2
    assert lines[0].startswith("api/extensions/site.yaml: components.WidgetSpec.properties.a.type: must be one of")
    assert lines[1].startswith("api/extensions/site.yaml: components.WidgetSpec.properties.b.properties.c.pattern")


PLACE = "api/extensions/site.yaml: components."


@pytest.mark.parametrize(
    ("components", "message"),
    [
        ("WidgetSpec: {properties: {size: {type: string}}}", "WidgetSpec.properties.size.type: would change type from"),
        (
            "WidgetSpec: {properties: {size: {minimum: 5}}}",
            "WidgetSpec.properties.size.minimum: would change minimum from",
        ),
        ("WidgetSpec: {properties: {size: {maximum: 5}}}", "would change maximum by adding 5: an extension may add"),
        ("WidgetSpec: {properties: {size: {default: 5}}}", "would change default by adding 5"),
        ("WidgetSpec: {properties: {size: {enum: [1]}}}", "the field takes any value today, an enum would narrow it"),
        (
            "WidgetSpec: {properties: {size: null}}",
            "WidgetSpec.properties.size: must be a schema; an extension can't remove",
        ),
        ("WidgetSpec: {properties: {size: {properties: {a: {type: string}}}}}", "giving it some would retype it"),
        ("WidgetSpec: {properties: {color: {properties: {a: {type: string}}}}}", "the field is a test.v1.Color: add"),
        (
            "WidgetSpec: {properties: {color: {$ref: Other}}}",
            "would change $ref from 'test.v1.Color' to 'test.v1.Other'",
        ),
        ("WidgetSpec: {required: [size]}", "WidgetSpec.required: an object that is valid today may lack the field"),
        ("WidgetSpec: {properties: {new: 1}}", "WidgetSpec.properties.new: must be a schema: a mapping such as"),
        ("WidgetSpec: {properties: []}", "WidgetSpec.properties: must be a mapping of field names to schemas"),
        (
            "WidgetSpec: {x-kubernetes-validations: [{rule: 'true', message: m}]}",
            "would change x-kubernetes-validations",
        ),
        ("Color: {enum: {}}", "Color.enum: must be a list of values to add"),
        ("Widget: {properties: {metadata: {type: object}}}", "Widget.properties.metadata.type: would change type"),
    ],
)
def test_a_site_can_neither_remove_nor_narrow_nor_retype(tmp_path: Path, components: str, message: str) -> None:
    lines = mistakes(write(tmp_path, extension(components)))
    assert any(line.startswith(PLACE) and message in line for line in lines), lines


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("{group: test.other.com, version: v1}", "group: 'test.other.com' is not 'test.example.com', which the module"),
        ("{group: core.other.com, version: v1}", "group: 'core' is a folder of our own in api/ or generated/"),
        ("{group: absent.other.com, version: v1}", "group: there is no absent.other.com/v1, and no kind of it comes"),
        ("{group: test.example.com, version: v2}", "group: there is no test.example.com/v2, and no kind of it comes"),
        ("{group: 'os;import sys.x', version: v1}", "group: 'os;import sys.x' doesn't match"),
        ("{group: test.example.com, version: ../../../x}", "version: '../../../x' doesn't match"),
        ("{group: my-site.example.com, version: v1}", "group: 'my-site' names a Python package"),
        ("{group: Test.example.com, version: v1}", "group: 'Test.example.com' doesn't match"),
    ],
)
def test_a_group_that_is_not_ours_by_its_whole_name_is_refused(tmp_path: Path, head: str, message: str) -> None:
    inner = head.removeprefix("{").removesuffix("}")
    site = f"{{{inner}, components: {{WidgetSpec: {{properties: {{mine: {{type: string}}}}}}}}}}"
    assert any(
        line.startswith(f"api/extensions/site.yaml: {message}")
        for line in mistakes(write(tmp_path, {"extensions/site.yaml": site}))
    )


def test_a_group_of_kubernetes_is_known_by_its_kinds(tmp_path: Path) -> None:
    external = "external: [{group: '', version: v1, kind: Port, plural: ports, status: false}]"
    files = {
        "project.yaml": PROJECT.replace("external: []", external),
        "extensions/site.yaml": "group: core\nversion: v1\ncomponents: {Mine: {type: string}}",
    }
    assert "core.v1.Mine" in load(write(tmp_path, files)).components


def test_kinds_may_come_with_a_later_file_than_the_components(tmp_path: Path) -> None:
    files = {
        "extensions/a.yaml": """
            group: site.example.com
            version: v1
            components: {Gadget: {properties: {metadata: {$ref: meta.v1.ObjectMeta}}}}
        """,
        "extensions/b.yaml": """
            kinds: [{group: site.example.com, version: v1, kind: Gadget, plural: gadgets, status: false}]
        """,
    }
    assert len(load(write(tmp_path, files)).kinds) == 2


def test_a_kind_of_a_group_that_begins_as_ours_is_refused(tmp_path: Path) -> None:
    site = "kinds: [{group: test.other.com, version: v1, kind: Widget, plural: widgets}]"
    lines = mistakes(write(tmp_path, {"extensions/site.yaml": site}))
    assert any("test.example.com/v1 and test.other.com/v1 would share the module test.v1" in line for line in lines)


def test_an_extension_may_be_named_like_a_version(tmp_path: Path) -> None:
    site = """
        group: site.example.com
        version: v1
        kinds: [{group: site.example.com, version: v1, kind: Gadget, plural: gadgets, status: false}]
        components: {Gadget: {properties: {metadata: {$ref: meta.v1.ObjectMeta}}}}
    """
    assert len(load(write(tmp_path, {"extensions/v1.yaml": site})).kinds) == 2


def test_types_of_kubernetes_cannot_be_extended(tmp_path: Path) -> None:
    site = "group: core\nversion: v1\ncomponents: {Port: {properties: {a: {type: string}}}}"
    lines = mistakes(write(tmp_path, {"extensions/site.yaml": site}))
    assert lines == [
        f"{PLACE}Port: is a Kubernetes type, which the API server defines: add a component of your own instead"
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- a", "api/extensions/site.yaml: must be a mapping"),
        ("components: {A: {type: string}}", "api/extensions/site.yaml: group: is missing"),
        (f"{HEAD}component: {{}}", "component: unknown key; did you mean 'components'?"),
        ("kinds: [{group: test.example.com, version: v1, kind: Widget, plural: wodgets}]", "is already taken by"),
        (
            "kinds: [{group: test.example.com, version: v1, kind: Gadget, plural: gadgets}]",
            "has no schema: add component",
        ),
    ],
)
def test_a_file_that_is_no_extension_is_named(tmp_path: Path, text: str, message: str) -> None:
    lines = mistakes(write(tmp_path, {"extensions/site.yaml": text}))
    assert any("api/extensions/site.yaml" in line and message in line for line in lines), lines


def test_the_examples_of_the_readme_work(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "api", tmp_path / "api")
    examples = re.findall(r"```yaml\n(.*?)```", (ROOT / "api/extensions/README.md").read_text(), re.DOTALL)
    for number, example in enumerate(examples):
        (tmp_path / f"api/extensions/example{number}.yaml").write_text(example)
    project = load(tmp_path)
    job = project.components["batch.v1alpha1.JobSpec"]["properties"]
    assert {"costCenter", "toleration"} <= set(job)
    assert "Archived" in project.components["batch.v1alpha1.JobPhase"]["enum"]
    assert "Account" in {kind.kind for kind in project.kinds}
    assert crds.outputs(project)


def test_the_folder_may_hold_other_files(tmp_path: Path) -> None:
    project = load(write(tmp_path, {"extensions/README.md": "# Extensions"}))
    assert len(project.kinds) == 1
