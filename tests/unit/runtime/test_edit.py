from __future__ import annotations

from typing import Any

import msgspec
import pytest

from runtime.edit import REMOVED, EditError, Path, edit


class Meta(msgspec.Struct, frozen=True):
    name: str = ""
    labels: dict[str, str] = {}


class Container(msgspec.Struct, frozen=True):
    image: str = ""


class Spec(msgspec.Struct, frozen=True):
    node_name: str = ""
    containers: tuple[Container, ...] = ()
    affinity: Container | None = None


class Pod(msgspec.Struct, frozen=True):
    metadata: Meta = Meta()
    spec: Spec = Spec()


POD = Pod(Meta("p", {"a.b/c": "1", "d": "2"}), Spec("n", (Container("x"), Container("y"))))


@pytest.mark.parametrize(
    ("path", "value", "read", "expected"),
    [
        ("spec.node_name", "m", lambda pod: pod.spec.node_name, "m"),
        ("spec.affinity", None, lambda pod: pod.spec.affinity, None),
        (("spec", "containers", 1, "image"), "z", lambda pod: pod.spec.containers, (Container("x"), Container("z"))),
        (("spec", "containers", 0), REMOVED, lambda pod: pod.spec.containers, (Container("y"),)),
        (("metadata", "labels", "a.b/c"), "9", lambda pod: pod.metadata.labels, {"a.b/c": "9", "d": "2"}),
        (("metadata", "labels", "new"), "3", lambda pod: pod.metadata.labels["new"], "3"),
        (("metadata", "labels", "d"), REMOVED, lambda pod: pod.metadata.labels, {"a.b/c": "1"}),
        (("metadata", "labels", "absent"), REMOVED, lambda pod: pod.metadata.labels, POD.metadata.labels),
        ((), Pod(), lambda pod: pod, Pod()),
    ],
)
def test_a_place_gets_its_value_and_the_old_object_stays(path: Path, value: Any, read: Any, expected: Any) -> None:
    before = msgspec.json.encode(POD)
    assert read(edit(POD, (path, value))) == expected
    assert msgspec.json.encode(POD) == before


def test_what_is_not_on_the_way_is_shared() -> None:
    changed = edit(POD, ("spec.node_name", "m"))
    assert changed.metadata is POD.metadata
    assert changed.spec.containers is POD.spec.containers


def test_changes_apply_in_order() -> None:
    changed = edit(POD, ("spec.node_name", "a"), ("metadata.name", "q"), ("spec.node_name", "b"))
    assert (changed.spec.node_name, changed.metadata.name) == ("b", "q")


@pytest.mark.parametrize(
    ("path", "value", "part"),
    [
        ("spec.nodeName", "m", "Spec has no field 'nodeName'"),
        ("spec.node_name", REMOVED, "can't be removed"),
        ("spec.affinity.image", "x", "NoneType has no parts"),
        ("spec.node_name.x", "m", "str has no parts"),
        (("spec", "containers", 2), Container(), "no position 2 in a list of 2"),
        (("spec", "containers", -1), Container(), "no position -1"),
        ("spec.containers.image", "x", "no position 'image'"),
        (("spec", 0), "x", "no field 0"),
        (("metadata", "labels", "absent", "deeper"), "x", "no entry 'absent'"),
    ],
)
def test_a_place_that_is_not_there_is_an_error_that_names_it(path: Path, value: Any, part: str) -> None:
    with pytest.raises(EditError, match="Pod has no place") as caught:
        edit(POD, (path, value))
    assert part in str(caught.value)


def test_removed_prints_as_its_name() -> None:
    assert repr(REMOVED) == "REMOVED"
