from __future__ import annotations

from pathlib import Path

import pytest

from codegen.document import Property
from codegen.source import load
from codegen.structs import containers, render
from codegen.typereader import types_of
from tests.unit.codegen.projects import with_spec, write


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        ("str", "str"),
        ("list[str]", "tuple[str, ...]"),
        ("dict[str, int]", "map[int]"),
        ("list[list[Port]]", "tuple[tuple[Port, ...], ...]"),
        ("dict[str, list[str]]", "map[tuple[str, ...]]"),
        ("list[dict[str, Any]]", "tuple[map[Any], ...]"),
        ("listing", "listing"),
    ],
)
def test_containers_are_exchanged_at_every_depth(hint: str, expected: str) -> None:
    assert containers(hint, "tuple[{}, ...]", "map[{}]") == expected


def line(item: Property, hint: str) -> str:
    return f"{item.attribute}: {hint} = {item.wire!r}"


def test_classes_stand_in_modules_after_what_they_refer_to(tmp_path: Path) -> None:
    fields = """
        zone: {$ref: Zone}
        podIPs: {type: array, items: {type: string}}
        port: {$ref: core.v1.Port}
    """
    zone = "Zone: {description: Where., properties: {area: {$ref: Area}}}\nArea: {properties: {name: {type: string}}}"
    modules = render(types_of(load(write(tmp_path, {"test/v1.yaml": with_spec(fields, zone)}))))
    assert set(modules) == {"core.v1", "meta.v1", "test.v1"}
    made = modules["test.v1"]
    body = made.body("Root", line)
    order = [body.index(f"class {name}(") for name in ("Area", "Zone", "WidgetSpec", "Widget")]
    assert order == sorted(order)
    assert "from ..core.v1 import Port" in made.imports
    assert 'class Zone(Root, kw_only=True):\n    """Where."""\n\n    area: Area = \'area\'\n' in body
    assert "    pod_ips: list[str] = 'podIPs'\n" in body
    assert "import" not in body
    assert "#" not in body


def test_a_class_without_fields_is_still_a_class(tmp_path: Path) -> None:
    text = with_spec("it: {$ref: Nothing}", "Nothing: {properties: {}}")
    modules = render(types_of(load(write(tmp_path, {"test/v1.yaml": text}))))
    assert "class Nothing(Root, kw_only=True):\n    pass" in modules["test.v1"].body("Root", line)


@pytest.mark.parametrize("name", ["bool", "int", "str", "float", "object", "list", "dict", "tuple"])
def test_a_field_called_like_a_type_hides_none(tmp_path: Path, name: str) -> None:
    fields = f"{name}: {{type: string}}\nz: {{type: boolean}}\ny: {{type: integer}}\nx: {{type: number}}"
    text = with_spec(fields)
    modules = render(types_of(load(write(tmp_path, {"test/v1.yaml": text}))))
    namespace: dict[str, object] = {}
    body = modules["test.v1"].body("Base", line)
    assert "aliased" not in body
    start = body.index("class WidgetSpec(")
    text = f"class Base:\n    def __init_subclass__(cls, **_): ...\n{body[start : body.index('class Widget(')]}"
    exec(compile(text, "made", "exec", dont_inherit=True), namespace)
    annotations = namespace["WidgetSpec"].__annotations__
    assert [annotations[key] for key in "zyx"] == [bool, int, float]
