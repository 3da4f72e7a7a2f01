from __future__ import annotations

from typing import Any

from codegen.document import PREFIX, by_module
from codegen.typereader import types_of
from tests.unit.codegen.projects import real


def test_the_document_has_every_class_and_alias() -> None:
    made = types_of(real())
    schemas = made.openapi()["components"]["schemas"]
    assert schemas["meta.v1.Time"] == {"type": "string"}
    assert set(schemas) >= set(made.classes)
    assert list(schemas) == sorted(schemas)

    def check(node: Any) -> None:
        if isinstance(node, dict):
            if "$ref" in node:
                assert node["$ref"].removeprefix(PREFIX) in schemas
            for child in node.values():
                check(child)

    check(schemas)


def test_names_are_grouped_by_module() -> None:
    assert list(by_module(["b.v1.Z", "a.v1.X", "b.v1.A"])) == [("a.v1", ["a.v1.X"]), ("b.v1", ["b.v1.A", "b.v1.Z"])]
