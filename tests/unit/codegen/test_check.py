"""Bad sources: each gives one clear line, with file, path and what to do."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest

from codegen import keywords
from codegen.problems import SourceError
from codegen.source import load
from tests.unit.codegen.projects import CORE, PROJECT, WIDGET, mistakes, with_spec, write

SPEC = "api/test/v1.yaml: components.WidgetSpec.properties.a"


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("{}", f"{SPEC}: has no type: add one of array, object"),
        ("{type: text}", f"{SPEC}.type: must be one of array, object, boolean, integer, number, string, not 'text'"),
        ("{type: [string, integer]}", f"{SPEC}.type: must be one of"),
        ("{$ref: Colour}", f"{SPEC}.$ref: there is no component 'test.v1.Colour'; did you mean 'test.v1.Color'?"),
        ("{$ref: core.v2.Nothing}", "there is no component 'core.v2.Nothing'"),
        ("{$ref: 1}", f"{SPEC}.$ref: must be the name of a component, not 1"),
        (
            "{type: string, const: a}",
            f"{SPEC}.const: is no keyword that a CustomResourceDefinition knows: write `enum`",
        ),
        (
            "{type: string, maxLenght: 3}",
            "maxLenght: is no keyword that a CustomResourceDefinition knows; did you mean",
        ),
        ("{type: string, x-foo: 1}", f"{SPEC}.x-foo: is no keyword"),
        ("{type: string, readOnly: true}", "status subresource are read-only already"),
        ("{type: string, x-kubernetes-patch-strategy: merge}", "custom resources know no strategic merge patch"),
        ("{type: array, items: {type: string}, uniqueItems: true}", "write `x-kubernetes-list-type: set`"),
        ("{description: What, why., type: string}", f"{SPEC}.why.: is no keyword"),
        ("{description: What, why., type: string}", "put the whole text in quotes"),
        ("{description: ' ', type: string}", f"{SPEC}.description: must be one line of text"),
        ("{type: object, properties: {b: {type: string}}, additionalProperties: {type: string}}", "remove one"),
        ("{type: array, properties: {b: {type: string}}}", f"{SPEC}.properties: means nothing for type array"),
        ("{type: array}", f"{SPEC}.items: is missing: an array needs the schema of its items"),
        ("{type: array, items: [{type: string}]}", f"{SPEC}.items: must be one schema (a list of schemas is not"),
        ("{$ref: [a]}", f"{SPEC}.$ref: must be the name of a component, not ['a']"),
        ("{$ref: [a], default: 1}", f"{SPEC}.$ref: must be the name of a component, not ['a']"),
        ("{type: integer, minimum: a, default: 3}", f"{SPEC}.minimum: must be a number, not 'a'"),
        ("{type: array, items: 3, default: [1]}", f"{SPEC}.items: must be one schema"),
        ("{type: integer, default: 1e30}", f"{SPEC}.default: the default is no valid value: must be of type integer"),
        ("{type: object, x-kubernetes-embedded-resource: true}", f"{SPEC}.x-kubernetes-embedded-resource: needs prop"),
        ("{properties: {'b\"': {type: string}}}", f"{SPEC}.properties: 'b\"' is no field name: use letters, digits"),
        ('{properties: {"b\\nc": {type: string}}}', f"{SPEC}.properties: 'b\\nc' is no field name: use letters"),
        ("{type: string, minimum: 1}", f"{SPEC}.minimum: means nothing for type string, only for integer or number"),
        ("{type: string, minLength: -1}", f"{SPEC}.minLength: must be a number of 0 or more, not -1"),
        ("{type: integer, minimum: 5, maximum: 1}", f"{SPEC}.minimum: 5 is above maximum 1: no value can satisfy both"),
        ("{type: string, minLength: 5, maxLength: 1}", f"{SPEC}.minLength: 5 is above maxLength 1"),
        ("{type: string, enum: []}", f"{SPEC}.enum: must be a list with at least one value"),
        ("{type: string, enum: [a, 1]}", f"{SPEC}.enum: value 1 is no string: put it in quotes"),
        ("{type: string, enum: [true]}", f"{SPEC}.enum: value True is no string: put it in quotes"),
        ("{type: integer, enum: ['1']}", f"{SPEC}.enum: value '1' is no integer"),
        ("{type: integer, enum: [true]}", f"{SPEC}.enum: value True is no integer"),
        ("{type: string, enum: [a, a]}", f"{SPEC}.enum: names a value twice: remove one"),
        ("{type: object, enum: [{}]}", f"{SPEC}.enum: means nothing for type object"),
        ("{type: string, pattern: '(?!a)b'}", f"{SPEC}.pattern: '(?!a)b' is no RE2 expression: RE2 has no negative"),
        (r"{type: string, pattern: '(a)\1'}", "RE2 has no back references"),
        ("{type: string, pattern: '('}", "is no RE2 expression: missing )"),
        ("{type: string, default: 1}", f"{SPEC}.default: the default is no valid value: must be of type string, not 1"),
        ("{type: string, enum: [a], default: b}", "the default is no valid value: 'b' is none of a"),
        ("{type: integer, minimum: 3, default: 2}", "the default is no valid value: 2 is below 3"),
        ("{$ref: Color, default: pink}", "the default is no valid value: 'pink' is none of red, green"),
        (
            "{properties: {b: {type: string}}, default: {c: 1}}",
            f"{SPEC}.default.c: the default is no valid value: is no",
        ),
        ("{properties: {b: {type: string}}, required: [c]}", f"{SPEC}.required: there is no field 'c' here"),
        (
            "{properties: {b: {type: string}}, required: [b, b]}",
            f"{SPEC}.required: must be a list of field names, each",
        ),
        (
            "{type: array, items: {type: string}, x-kubernetes-list-type: map}",
            f"{SPEC}.x-kubernetes-list-map-keys: is missing: a list of type map needs",
        ),
        (
            "{type: array, items: {type: string}, x-kubernetes-list-map-keys: [a]}",
            "needs `x-kubernetes-list-type: map` beside it",
        ),
        (
            (
                "{type: array, items: {properties: {b: {type: string}}}, "
                "x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [b]}"
            ),
            "'b' identifies an item: make it required or give it a default",
        ),
        (
            (
                "{type: array, items: {properties: {b: {type: string}}}, "
                "x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [c]}"
            ),
            "items have no field 'c'",
        ),
        (
            (
                "{type: array, items: {required: [b], properties: {b: {type: array, items: {type: string}}}}, "
                "x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [b]}"
            ),
            "'b' must be a scalar to identify an item",
        ),
        (
            "{type: array, items: {properties: {b: {type: string}}}, x-kubernetes-list-type: set}",
            "items of a set must be scalars or atomic",
        ),
        ("{type: array, items: {type: string}, x-kubernetes-list-type: bag}", "must be atomic, map or set, not 'bag'"),
        ("{type: object, x-kubernetes-map-type: set}", "must be atomic or granular, not 'set'"),
        ("{type: string, anyOf: [{type: string}]}", f"{SPEC}.anyOf[0].type: must not stand below allOf, anyOf"),
        ("{type: string, not: {default: a}}", f"{SPEC}.not.default: must not stand below"),
        ("{type: string, oneOf: []}", f"{SPEC}.oneOf: must be a list of schemas"),
        ("{properties: {b: {type: string}}, x-kubernetes-validations: [{rule: 'true'}]}", "[0].message: is missing"),
    ],
)
def test_a_bad_field_is_named(tmp_path: Path, field: str, message: str) -> None:
    lines = mistakes(write(tmp_path, {"test/v1.yaml": with_spec(f"a: {field}")}))
    assert any(message in line for line in lines), lines
    assert all(line.startswith("api/test/v1.yaml: components.WidgetSpec.") for line in lines)


@pytest.mark.parametrize(
    "field",
    [
        "{type: string, title: A, example: b, format: hostname}",
        "{type: object, x-kubernetes-preserve-unknown-fields: true}",
        "{x-kubernetes-preserve-unknown-fields: true}",
        "{x-kubernetes-int-or-string: true, pattern: ^a$}",
        "{x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}",
        "{$ref: meta.v1.Quantity, default: '1'}",
        "{$ref: meta.v1.Time}",
        "{$ref: meta.v1.Duration}",
        "{$ref: core.v1.Port, description: A port., nullable: true}",
        "{$ref: Color, default: red}",
        "{additionalProperties: {type: integer}}",
        "{additionalProperties: true}",
        "{type: array, items: {type: string}, x-kubernetes-list-type: set}",
        "{type: array, items: {$ref: core.v1.Port}, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [number]}",
        "{properties: {b: {type: string}, c: {type: string}}, oneOf: [{required: [b]}, {required: [c]}]}",
        "{type: number, exclusiveMinimum: true, minimum: 0, multipleOf: 0.5}",
        "{type: string, default: null}",
    ],
)
def test_a_good_field_passes(tmp_path: Path, field: str) -> None:
    root = write(tmp_path, {"test/v1.yaml": with_spec(f"a: {field}")})
    if "default: null" in field:
        assert mistakes(root) == [f"{SPEC}.default: must be a value of the field, not None"]
    else:
        assert load(root).components["test.v1.WidgetSpec"]["properties"]["a"]


LOOP = "x-kubernetes-validations: [{rule: 'self.names.all(n, n != self.id)', message: No.}]"
PART = f"{{properties: {{id: {{type: string}}, names: {{type: array, items: {{type: string}}}}}}, {LOOP}}}"


@pytest.mark.parametrize(
    ("field", "fits"),
    [
        (PART, True),
        (f"{{type: array, items: {PART}}}", False),
        (f"{{additionalProperties: {PART}}}", False),
        (f"{{type: array, maxItems: 9, items: {PART}}}", True),
        (f"{{additionalProperties: {PART}, maxProperties: 9}}", True),
        (f"{{type: array, maxItems: 9, items: {{type: array, items: {PART}}}}}", False),
    ],
)
def test_a_rule_that_loops_may_not_stand_in_an_unbounded_list(tmp_path: Path, field: str, *, fits: bool) -> None:
    root = write(tmp_path, {"test/v1.yaml": with_spec(f"a: {field}")})
    if fits:
        assert load(root).components["test.v1.WidgetSpec"]["properties"]["a"]
    else:
        (line,) = mistakes(root)
        assert line.endswith("set maxItems, maxProperties and maxLength on what it loops over")


def test_recursion_is_told_with_its_way_round(tmp_path: Path) -> None:
    spec = with_spec(
        "a: {$ref: Node}", "Node: {properties: {next: {$ref: Other}}}\nOther: {type: array, items: {$ref: Node}}"
    )
    assert mistakes(write(tmp_path, {"test/v1.yaml": spec})) == [
        (
            "api/test/v1.yaml: components.Node: refers to itself (test.v1.Node -> test.v1.Other -> test.v1.Node): "
            "a CRD has no recursion, name the levels"
        )
    ]


@pytest.mark.parametrize(
    "link", ["{{$ref: {}}}", "{{type: array, items: {{$ref: {}}}}}", "{{properties: {{a: {{$ref: {}}}}}}}"]
)
@pytest.mark.parametrize("length", [66, 3000])
def test_a_chain_of_references_that_nobody_could_follow_is_told(tmp_path: Path, link: str, length: int) -> None:
    chain = [f"C{position}: {link.format(f'C{position + 1}')}" for position in range(length)]
    spec = with_spec("a: {$ref: C0}", "\n".join([*chain, f"C{length}: {{type: string}}"]))
    [line] = mistakes(write(tmp_path, {"test/v1.yaml": spec}))
    assert line.startswith("api/test/v1.yaml: components.C")
    assert "more than 64 schemas stand inside each other: make it flatter" in line


def test_a_component_of_kubernetes_that_leads_back_is_told(tmp_path: Path) -> None:
    core = json.loads(json.dumps(CORE))
    core["components"]["schemas"]["core.v1.Tree"] = {"properties": {"next": {"$ref": "core.v1.Tree"}}}
    files = {"k8s/openapi.json": json.dumps(core), "test/v1.yaml": with_spec("a: {$ref: core.v1.Tree}")}
    assert mistakes(write(tmp_path, files)) == [
        (
            "api/k8s/openapi.json: components.Tree: refers to itself (core.v1.Tree -> core.v1.Tree): "
            "a CRD has no recursion, name the levels"
        )
    ]


VALUES = ("1", "true", "null", "''", "'('", "x", "[]", "[[a]]", "[{}]", "{}", "{a: 1}", "{$ref: 3}", "{default: 3}")
BASES = ("type: string", "type: integer", "$ref: Color", "type: object", "type: array, items: {type: string}")


@pytest.mark.parametrize("keyword", sorted(keywords._SHAPES))
def test_no_value_of_a_keyword_is_an_accident(tmp_path: Path, keyword: str) -> None:
    """Each is fine or a mistake with file and place."""
    fields = [f"{{{base}, {keyword}: {value}, default: x}}" for base in BASES for value in VALUES]
    for field in (field for field in fields if field.count(f"{keyword}:") == 1):
        root = write(tmp_path, {"test/v1.yaml": with_spec(f"a: {field}\nb: {{type: array, items: {field}}}")})
        with suppress(SourceError):
            load(root)


def test_a_component_that_is_only_itself_is_told(tmp_path: Path) -> None:
    spec = with_spec("a: {$ref: Loop}", "Loop: {$ref: Loop}")
    assert any(
        "refers to itself (test.v1.Loop -> test.v1.Loop)" in line
        for line in mistakes(write(tmp_path, {"test/v1.yaml": spec}))
    )


KIND = "api/project.yaml: kinds.[Widget]"


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("columns: [{name: A, type: string, path: .spec.sizes}]", f"{KIND}.columns[0]: there is no field .spec.sizes"),
        (
            "columns: [{name: A, type: integer, path: .spec.color}]",
            "is a integer column over .spec.color, which is a string",
        ),
        ("columns: [{name: A, type: date, path: .spec.size}]", "is a date column over .spec.size, which is a integer"),
        ("indexes: {color: spec.colour}", f"{KIND}.indexes.color: there is no field spec.colour"),
        ("indexes: {color: 'spec.color[]'}", "there is no field spec.color[]"),
    ],
)
def test_an_entry_that_doesnt_fit_its_schema_is_named(tmp_path: Path, entry: str, message: str) -> None:
    project = PROJECT.replace("plural: widgets}", f"plural: widgets, {entry}}}")
    assert any(message in line for line in mistakes(write(tmp_path, {"project.yaml": project})))


@pytest.mark.parametrize(
    "entry",
    [
        "columns: [{name: A, type: string, path: .spec.size}, {name: B, type: date, path: .metadata.creationTimestamp}]",
        "columns: [{name: A, type: integer, path: .spec.size}]",
        "indexes: {color: spec.color, name: metadata.name}",
    ],
)
def test_an_entry_that_fits_passes(tmp_path: Path, entry: str) -> None:
    project = PROJECT.replace("plural: widgets}", f"plural: widgets, {entry}}}")
    assert load(write(tmp_path, {"project.yaml": project})).kinds


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Widget:\n", "Wodget:\n", f"{KIND}: has no schema: add component Widget to api/test/v1.yaml"),
        (
            "metadata: {$ref: meta.v1.ObjectMeta}",
            "metadata: {type: object}",
            "needs `metadata: {$ref: meta.v1.ObjectMeta}`",
        ),
        (
            "metadata: {$ref: meta.v1.ObjectMeta}",
            "name: {type: string}",
            "needs `metadata: {$ref: meta.v1.ObjectMeta}`",
        ),
        (
            "status: {description: How it is., $ref: WidgetStatus}",
            "kind: {type: string}",
            "every object has kind already",
        ),
        (
            "status: {description: How it is., $ref: WidgetStatus}",
            "other: {type: string}",
            "has a status subresource but no status: add the property, or write `status: false` in the entry",
        ),
    ],
)
def test_a_root_that_is_no_kind_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in WIDGET
    assert any(message in line for line in mistakes(write(tmp_path, {"test/v1.yaml": WIDGET.replace(old, new)})))


def test_a_kind_that_is_no_object_is_named(tmp_path: Path) -> None:
    text = "group: test.example.com\nversion: v1\ncomponents: {Widget: {type: string}}"
    lines = mistakes(write(tmp_path, {"test/v1.yaml": text}))
    assert lines == [f"{KIND}: in component test.v1.Widget: a kind is an object with properties"]


def test_an_external_kind_must_be_vendored(tmp_path: Path) -> None:
    project = PROJECT.replace("external: []", "external: [{group: apps, version: v1, kind: Set, plural: sets}]")
    lines = mistakes(write(tmp_path, {"project.yaml": project}))
    assert lines == [
        "api/project.yaml: external.[Set]: the vendored document has no apps.v1.Set: run `make vendor-schemas`"
    ]
