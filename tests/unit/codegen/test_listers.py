from __future__ import annotations

from pathlib import Path
from textwrap import indent
from types import SimpleNamespace
from typing import Any

import pytest

from codegen.listers import index_lines
from codegen.problems import SourceError
from codegen.source import load
from codegen.typereader import types_of
from tests.unit.codegen.projects import with_spec, write

FIELDS = """
    color: {type: string}
    size: {type: integer}
    tags: {type: array, items: {type: string}}
    ports: {type: array, items: {$ref: Port}}
    lid: {$ref: Lid, nullable: true}
    byName: {additionalProperties: {type: string}}
"""
PARTS = """
    Port: {properties: {name: {type: string}, hostIPs: {type: array, items: {type: string}}, lid: {$ref: Lid, nullable: true}}}
    Lid: {properties: {color: {type: string}}}
"""


def lines(root: Path, path: str) -> list[str]:
    project = load(write(root, {"test/v1.yaml": with_spec(FIELDS, PARTS)}))
    return list(index_lines(project.kinds[0], types_of(project), path))


def values(root: Path, path: str, **spec: Any) -> list[str]:
    """Run the index function of a path on an object."""
    namespace: dict[str, Any] = {}
    exec("def index(obj):\n" + indent("\n".join(lines(root, path)), "    "), namespace)
    return list(namespace["index"](SimpleNamespace(spec=SimpleNamespace(**spec))))


def lid(color: str) -> SimpleNamespace:
    return SimpleNamespace(color=color)


@pytest.mark.parametrize(
    ("path", "spec", "expected"),
    [
        ("spec.color", {"color": "red"}, ["red"]),
        (".spec.color", {"color": ""}, []),
        ("spec.tags[]", {"tags": ("a", "", "b")}, ["a", "b"]),
        ("spec.lid.color", {"lid": None}, []),
        ("spec.lid.color", {"lid": lid("red")}, ["red"]),
        ("spec.lid.color", {"lid": lid("")}, []),
        ("spec.ports[].name", {"ports": (SimpleNamespace(name="x"), SimpleNamespace(name=""))}, ["x"]),
        ("spec.ports[].hostIPs[]", {"ports": (SimpleNamespace(host_ips=("1", "2")),)}, ["1", "2"]),
        ("spec.ports[].lid.color", {"ports": (SimpleNamespace(lid=None), SimpleNamespace(lid=lid("red")))}, ["red"]),
    ],
)
def test_an_index_finds_the_texts_at_its_path(
    tmp_path: Path, path: str, spec: dict[str, Any], expected: list[str]
) -> None:
    assert values(tmp_path, path, **spec) == expected


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("spec.colour", "there is no colour here"),
        ("spec.color.name", "there is no name here"),
        ("spec.byName.x", "there is no x here"),
        ("spec.size", "size holds no text"),
        ("spec.tags", "tags holds no text"),
        ("spec.lid", "lid holds no text"),
        ("spec.ports[]", "ports holds no text"),
        ("spec.color[]", r"color is no list: drop the \[\]"),
        ("spec.lid[].color", r"lid is no list: drop the \[\]"),
    ],
)
def test_a_path_that_leads_to_no_text_is_refused(tmp_path: Path, path: str, message: str) -> None:
    with pytest.raises(SourceError, match=rf"api/project.yaml: Widget.indexes: .*{message}"):
        lines(tmp_path, path)
