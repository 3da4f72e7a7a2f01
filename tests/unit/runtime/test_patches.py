from __future__ import annotations

import msgspec
import pytest

from runtime.patches import JsonPatch, MergePatch, Patch, StrategicPatch, add, pointer, remove, replace
from runtime.patches import test as check
from tests.things import Meta, Thing


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ((), ""),
        (("metadata", "labels"), "/metadata/labels"),
        (("metadata", "labels", "example.org/a~b"), "/metadata/labels/example.org~1a~0b"),
        (("",), "/"),
    ],
)
def test_a_pointer_escapes_its_parts(parts: tuple[str, ...], expected: str) -> None:
    assert pointer(*parts) == expected


def test_operations_are_encoded_as_the_standard_says() -> None:
    patch = JsonPatch((check("/a", None), add("/b/-", 1), replace("/c", {}), remove("/d")))
    assert msgspec.json.decode(patch.encode()) == [
        {"op": "test", "path": "/a", "value": None},
        {"op": "add", "path": "/b/-", "value": 1},
        {"op": "replace", "path": "/c", "value": {}},
        {"op": "remove", "path": "/d"},
    ]


@pytest.mark.parametrize("kind", [MergePatch, StrategicPatch])
def test_merges_take_models_mappings_and_raw_json(kind: type[MergePatch | StrategicPatch]) -> None:
    assert kind(Thing(metadata=Meta(labels={"a": "b"}))).encode() == b'{"metadata":{"labels":{"a":"b"}}}'
    assert kind({"spec": {"size": None}}).encode() == b'{"spec":{"size":null}}'
    assert kind(b'{"x": 1}').encode() == b'{"x": 1}'


PINNED = {"metadata": {"resourceVersion": "5"}}


@pytest.mark.parametrize(
    ("patch", "pinned"),
    [
        (MergePatch(PINNED), True),
        (MergePatch({"metadata": {"labels": None}}), False),
        (MergePatch({"status": {"phase": "Running"}}), False),
        (StrategicPatch(PINNED), True),
        (StrategicPatch({}), False),
        (JsonPatch([check("/metadata/resourceVersion", "5"), remove("/spec")]), True),
        (JsonPatch([replace("/metadata/resourceVersion", "5")]), False),
        (JsonPatch([check("/metadata/uid", "5")]), False),
        (JsonPatch([]), False),
    ],
)
def test_a_patch_is_pinned_when_a_second_application_would_be_refused(patch: Patch, pinned: bool) -> None:
    assert patch.is_pinned is pinned


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (JsonPatch, "application/json-patch+json"),
        (MergePatch, "application/merge-patch+json"),
        (StrategicPatch, "application/strategic-merge-patch+json"),
    ],
)
def test_each_format_has_its_media_type(kind: type[Patch], expected: str) -> None:
    assert kind.media_type == expected
