from __future__ import annotations

import json
from pathlib import Path

import pytest

from codegen.document import PREFIX, Absence, Property, Shape, Types
from codegen.problems import SourceError
from codegen.source import load
from codegen.typereader import types_of
from tests.unit.codegen.projects import CORE, real, with_spec, write


def types(root: Path, fields: str, components: str = "", pointers: str = "[]") -> Types:
    return types_of(load(write(root, {"test/v1.yaml": with_spec(fields, components), "k8s/pointers.yaml": pointers})))


def spec(root: Path, fields: str, components: str = "") -> dict[str, Property]:
    return {item.wire: item for item in types(root, fields, components).classes["test.v1.WidgetSpec"].properties}


ABSENCE: list[tuple[str, Shape, Absence]] = [
    ("{type: string}", Shape.TEXT, Absence.ZERO),
    ("{type: integer}", Shape.WHOLE, Absence.ZERO),
    ("{type: number}", Shape.NUMBER, Absence.ZERO),
    ("{type: boolean}", Shape.FLAG, Absence.ZERO),
    ("{type: array, items: {type: string}}", Shape.LIST, Absence.ZERO),
    ("{additionalProperties: {type: string}}", Shape.MAP, Absence.ZERO),
    ("{$ref: Part}", Shape.STRUCT, Absence.ZERO),
    ("{$ref: Part, nullable: true}", Shape.STRUCT, Absence.NONE),
    ("{type: integer, nullable: true}", Shape.WHOLE, Absence.NONE),
    ("{type: string, default: x}", Shape.TEXT, Absence.NONE),
    ("{type: integer, default: 3}", Shape.WHOLE, Absence.NONE),
    ("{type: integer, default: 0}", Shape.WHOLE, Absence.ZERO),
    ("{type: boolean, default: false}", Shape.FLAG, Absence.ZERO),
    ("{type: boolean, default: true}", Shape.FLAG, Absence.NONE),
    ("{type: string, format: date-time}", Shape.TEXT, Absence.NONE),
    ("{$ref: meta.v1.Time}", Shape.TEXT, Absence.NONE),
    ("{$ref: meta.v1.Quantity}", Shape.MIXED, Absence.NONE),
    ("{x-kubernetes-int-or-string: true}", Shape.MIXED, Absence.NONE),
    ("{$ref: Color}", Shape.TEXT, Absence.ZERO),
    ("{$ref: Color, default: red}", Shape.TEXT, Absence.NONE),
]


@pytest.mark.parametrize(("schema", "shape", "absence"), ABSENCE, ids=[row[0] for row in ABSENCE])
def test_absence_follows_from_the_schema(tmp_path: Path, schema: str, shape: Shape, absence: Absence) -> None:
    item = spec(tmp_path, f"it: {schema}", "Part: {properties: {a: {type: string}}}")["it"]
    assert (item.shape, item.absence) == (shape, absence)


@pytest.mark.parametrize(
    ("schema", "absence"),
    [
        ("{type: string}", Absence.WRITTEN),
        ("{type: array, items: {type: string}}", Absence.WRITTEN),
        ("{$ref: meta.v1.Quantity}", Absence.WRITTEN),
        ("{$ref: meta.v1.Time}", Absence.NONE),
        ("{type: integer, nullable: true}", Absence.NONE),
        ("{type: string, default: x}", Absence.NONE),
    ],
)
def test_a_required_property_is_written_where_it_has_a_zero_value(
    tmp_path: Path, schema: str, absence: Absence
) -> None:
    part = f"Part: {{required: [it], properties: {{it: {schema}}}}}"
    made = types(tmp_path, "part: {$ref: Part}", part).classes["test.v1.Part"]
    assert made.properties[0].absence is absence


def test_vendored_pointers_differ_from_zero(tmp_path: Path) -> None:
    made = types(tmp_path, "size: {type: integer}", pointers="[core.v1.Port.number]").classes["core.v1.Port"]
    assert {item.wire: item.absence for item in made.properties} == {
        "number": Absence.NONE,
        "protocol": Absence.NONE,
    }


def test_pointers_that_are_no_list_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"api/k8s/pointers.yaml.*vendor-schemas"):
        types(tmp_path, "size: {type: integer}", pointers="{a: b}")


def test_missing_pointers_are_refused(tmp_path: Path) -> None:
    project = load(write(tmp_path))
    (tmp_path / "api/k8s/pointers.yaml").unlink()
    with pytest.raises(SourceError, match=r"api/k8s/pointers.yaml"):
        types_of(project)


def test_kinds_get_their_type_fields_and_parts_none(tmp_path: Path) -> None:
    made = types(tmp_path, "size: {type: integer}")
    assert [item.wire for item in made.classes["test.v1.Widget"].properties] == [
        "apiVersion",
        "kind",
        "metadata",
        "spec",
        "status",
    ]
    assert [item.wire for item in made.classes["test.v1.WidgetSpec"].properties] == ["size"]


def test_inline_objects_become_classes_named_after_owner_and_property(tmp_path: Path) -> None:
    fields = """
        one: {properties: {a: {type: string}}}
        many: {type: array, items: {required: [b], properties: {b: {properties: {c: {type: string}}}}}}
        named: {additionalProperties: {properties: {d: {type: integer}}}}
    """
    made = types(tmp_path, fields)
    nested = {name for name in made.classes if name.startswith("test.v1.WidgetSpec")}
    assert nested == {
        "test.v1.WidgetSpec",
        "test.v1.WidgetSpecOne",
        "test.v1.WidgetSpecMany",
        "test.v1.WidgetSpecManyB",
        "test.v1.WidgetSpecNamed",
    }
    many = next(item for item in made.classes["test.v1.WidgetSpec"].properties if item.wire == "many")
    assert many.schema == {"type": "array", "items": {"$ref": f"{PREFIX}test.v1.WidgetSpecMany"}}
    assert made.classes["test.v1.WidgetSpecMany"].properties[0].absence is Absence.WRITTEN


def test_an_extended_component_becomes_a_class_of_its_own(tmp_path: Path) -> None:
    made = types(tmp_path, "port: {$ref: core.v1.Port, properties: {extra: {type: string}}}")
    assert [item.wire for item in made.classes["test.v1.WidgetSpecPort"].properties] == ["extra", "number", "protocol"]
    assert [item.wire for item in made.classes["core.v1.Port"].properties] == ["number", "protocol"]


def test_scalar_components_dissolve(tmp_path: Path) -> None:
    components = """
        Name: {type: string, maxLength: 3}
        Names: {type: array, items: {$ref: Name}}
        Sizes: {additionalProperties: {$ref: meta.v1.Quantity}}
    """
    items = spec(tmp_path, "names: {$ref: Names}\nsizes: {$ref: Sizes}", components)
    assert items["names"].schema == {"type": "array", "items": {"type": "string"}}
    assert items["sizes"].schema == {"type": "object", "additionalProperties": {"$ref": f"{PREFIX}meta.v1.Quantity"}}


def test_descriptions_come_from_the_property(tmp_path: Path) -> None:
    items = spec(tmp_path, "color: {$ref: Color, description: What it looks like.}\nsize: {type: integer}")
    assert (items["color"].description, items["size"].description) == ("What it looks like.", "")


def test_enumerations_become_constants_whether_named_or_inline(tmp_path: Path) -> None:
    made = types(tmp_path, "color: {$ref: Color}\nmode: {type: string, description: How., enum: [on, off]}")
    values = {name: item.values for name, item in made.constants.items()}
    assert values == {"test.v1.Color": ("red", "green"), "test.v1.WidgetSpecMode": ("on", "off")}
    assert made.constants["test.v1.WidgetSpecMode"].description == "How."


def test_core_enumerations_give_no_constants(tmp_path: Path) -> None:
    core = json.loads(json.dumps(CORE))
    core["components"]["schemas"]["core.v1.Phase"] = {"type": "string", "enum": ["A", "B"]}
    files = {"k8s/openapi.json": json.dumps(core), "test/v1.yaml": with_spec("phase: {$ref: core.v1.Phase}")}
    made = types_of(load(write(tmp_path, files)))
    assert "core.v1.Phase" not in made.constants
    assert made.classes["test.v1.WidgetSpec"].properties[0].schema == {"type": "string"}


def test_properties_that_would_share_a_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        SourceError, match=r"api/test/v1.yaml: components.WidgetSpec: podIp and podIP would both be .*pod_ip"
    ):
        types(tmp_path, "podIP: {type: string}\npodIp: {type: string}")


@pytest.mark.parametrize(
    ("fields", "components", "place", "other"),
    [
        (
            "foo: {properties: {a: {type: string}}}",
            "WidgetSpecFoo: {properties: {b: {type: string}}}",
            ".properties.foo",
            "",
        ),
        ("foo: {type: string, enum: [a]}", "WidgetSpecFoo: {properties: {b: {type: string}}}", ".properties.foo", ""),
        ("foo: {type: string, enum: [a]}", "WidgetSpecFoo: {type: string, enum: [b]}", ".properties.foo", ""),
        (
            "foo: {type: array, items: {properties: {bar: {properties: {a: {type: string}}}}}}",
            "WidgetSpecFooBar: {properties: {b: {type: string}}}",
            ".properties.foo.items.properties.bar",
            "FooBar",
        ),
    ],
)
def test_two_places_that_would_make_one_class_are_both_named(
    tmp_path: Path, fields: str, components: str, place: str, other: str
) -> None:
    name = f"WidgetSpec{other or 'Foo'}"
    with pytest.raises(SourceError) as caught:
        types(tmp_path, fields, f"{components}\nUser: {{properties: {{a: {{$ref: {name}}}}}}}")
    inline, named = f"components.WidgetSpec{place}", f"components.{name}"
    assert str(caught.value) in (
        f"api/test/v1.yaml: {named}: its class would be called {name}, as that of {inline} (api/test/v1.yaml): rename one",
        f"api/test/v1.yaml: {inline}: its class would be called {name}, as that of {named} (api/test/v1.yaml): rename one",
    )


def test_two_fields_that_would_make_one_class_are_both_named(tmp_path: Path) -> None:
    inner = "{properties: {bar: {properties: {a: {type: string}}}}}"
    with pytest.raises(
        SourceError, match=r"properties.fooBar: .* as that of components.WidgetSpec.properties.foo.prop"
    ):
        types(tmp_path, f"foo: {inner}\nfooBar: {{properties: {{c: {{type: string}}}}}}")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ("[a-b, a_b]", "properties.mode: 'a_b' and 'a-b' would both be called A_B in Python: rename one"),
        ("[values]", "properties.mode: 'values' and the list of all values would both be called VALUES in Python"),
    ],
)
def test_values_that_would_share_a_constant_are_refused(tmp_path: Path, values: str, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        types(tmp_path, f"mode: {{type: string, enum: {values}}}")


def test_a_field_of_an_inline_object_is_named_with_its_file(tmp_path: Path) -> None:
    with pytest.raises(
        SourceError, match=r"api/test/v1.yaml: components.WidgetSpec.properties.a: podIp and podIP would"
    ):
        types(tmp_path, "a: {properties: {podIP: {type: string}, podIp: {type: string}}}")


def test_components_whose_names_the_modules_need_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"components.Model: .*rename"):
        types(tmp_path, "it: {$ref: Model}", "Model: {properties: {a: {type: string}}}")


def test_what_only_fills_caches_is_left_out() -> None:
    made = types_of(real())
    names = {item.wire for item in made.classes["meta.v1.ObjectMeta"].properties}
    assert {"name", "labels", "ownerReferences"} <= names
    assert not names & {"managedFields", "selfLink"}
    assert not made.classes.keys() & {"meta.v1.ManagedFieldsEntry", "meta.v1.FieldsV1", "meta.v1.RawExtension"}


def test_free_form_objects_are_plain_maps() -> None:
    made = types_of(real()).classes["resource.v1.OpaqueDeviceConfiguration"]
    parameters = next(item for item in made.properties if item.wire == "parameters")
    assert parameters.schema == {"type": "object", "additionalProperties": True}
