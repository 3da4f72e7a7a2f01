from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import Raw

from runtime.shadow import Finish, Node, Recall, plan, tree_of
from tests.unit.runtime.models import Affinity, Container, EnvVar, Meta, Pod, PodSpec, PodStatus

TEXT = msgspec.json.encode(
    {
        "kind": "Pod",
        "metadata": {"name": "a", "labels": {"x": "y"}, "managedFields": [{"manager": "m"}]},
        "spec": {
            "nodeName": "n1",
            "affinity": {"zone": "z"},
            "containers": [{"name": "c", "env": [{"name": "E", "value": "1"}]}, {"name": "d"}],
        },
        "status": {"phase": "Running"},
    }
)


class Cuts:
    """A cutter that decodes each part plainly and remembers its text."""

    def __init__(self) -> None:
        self.seen: dict[str, list[bytes]] = {}

    def __call__(self, kind: Any, below: Node, path: str) -> Finish:
        derived = plan(kind, below, self, path)
        self.seen[path] = []

        def read(raw: Raw) -> Any:
            self.seen[path].append(bytes(raw))
            value = msgspec.json.decode(raw, type=derived.shadow)
            return derived.finish(value) if derived.finish else value

        return read


def decoded(
    text: bytes, model: Any = Pod, *, cut: tuple[str, ...] = (), drop: tuple[str, ...] = ()
) -> tuple[Any, Cuts]:
    cuts = Cuts()
    derived = plan(model, tree_of(cut, drop), cuts)
    value = msgspec.json.decode(text, type=derived.shadow)
    return (derived.finish(value) if derived.finish else value), cuts


@pytest.mark.parametrize(
    "cut",
    [
        (),
        ("spec.containers",),
        ("spec.containers", "spec.containers[].env"),
        ("spec.containers[].env",),
        ("spec.containers[]", "spec.containers[].env[]"),
        ("spec.affinity", "spec.nodeSelector"),
        ("spec",),
        ("metadata", "spec", "status"),
        ("spec", "spec.containers[].env", "spec.affinity.zone"),
        ("spec.priority", "kind", "status.phase"),
    ],
)
def test_the_result_is_the_models_own_object(cut: tuple[str, ...]) -> None:
    plain = msgspec.json.decode(TEXT, type=Pod)
    pod, _ = decoded(TEXT, cut=cut)
    assert pod == plain
    assert msgspec.json.encode(pod) == msgspec.json.encode(plain)
    assert type(pod) is Pod
    assert type(pod.metadata) is Meta
    assert type(pod.spec) is PodSpec
    assert type(pod.status) is PodStatus
    assert type(pod.spec.affinity) is Affinity
    assert [type(each) for each in pod.spec.containers] == [Container, Container]
    assert [type(each) for each in pod.spec.containers[0].env] == [EnvVar]


def test_a_cutter_gets_the_text_of_each_part() -> None:
    _, cuts = decoded(TEXT, cut=("spec.containers", "spec.containers[].env", "spec.affinity"))
    assert cuts.seen == {
        "$.spec.containers": [b'[{"name":"c","env":[{"name":"E","value":"1"}]},{"name":"d"}]'],
        "$.spec.containers[].env": [b'[{"name":"E","value":"1"}]'],
        "$.spec.affinity": [b'{"zone":"z"}'],
    }


@pytest.mark.parametrize("text", [b"{}", b'{"spec":{}}', b'{"metadata":{"name":"a"}}'])
def test_an_absent_part_has_the_models_default(text: bytes) -> None:
    plain = msgspec.json.decode(text, type=Pod)
    pod, cuts = decoded(text, cut=("spec.containers", "spec.nodeSelector", "spec.affinity", "metadata.labels"))
    assert pod == plain
    assert msgspec.json.encode(pod) == msgspec.json.encode(plain)
    assert not any(cuts.seen.values())


def test_the_elements_of_a_list_may_be_parts() -> None:
    _, cuts = decoded(TEXT, cut=("spec.containers[]", "spec.containers[].env[].value"))
    assert cuts.seen == {
        "$.spec.containers[]": [b'{"name":"c","env":[{"name":"E","value":"1"}]}', b'{"name":"d"}'],
        "$.spec.containers[].env[].value": [b'"1"'],
    }


def test_an_absent_struct_stays_the_very_default() -> None:
    pod, _ = decoded(b"{}", cut=("spec.containers",))
    assert pod.spec is Pod().spec


def test_null_for_an_optional_struct_is_none() -> None:
    pod, _ = decoded(b'{"spec":{"affinity":null}}', cut=("spec.affinity.zone",))
    assert pod.spec.affinity is None


def test_a_dropped_field_is_not_read() -> None:
    pod, _ = decoded(TEXT, drop=("metadata.managedFields", "metadata.labels", "spec.affinity"))
    assert pod.metadata == Meta(name="a")
    assert pod.spec.affinity is None
    broken, _ = decoded(b'{"metadata":{"name":"a","managedFields":"no list"}}', drop=("metadata.managedFields",))
    assert broken.metadata == Meta(name="a")


def test_dropped_maps_are_not_shared_among_objects() -> None:
    derived = plan(Pod, tree_of((), ("metadata.labels",)), Cuts())
    assert derived.finish is not None
    first, second = (derived.finish(msgspec.json.decode(TEXT, type=derived.shadow)) for _ in range(2))
    assert first.metadata.labels is not second.metadata.labels


def test_finished_objects_keep_no_hold_of_the_text() -> None:
    pod, _ = decoded(TEXT, cut=("spec.containers",), drop=("metadata.managedFields",))
    assert not any(isinstance(getattr(pod.spec, name), Raw) for name in PodSpec.__struct_fields__)
    assert not any(isinstance(getattr(pod.metadata, name), Raw) for name in Meta.__struct_fields__)


class Remembering:
    """A cutter whose functions remember what they gave, and note each text that they were asked for."""

    def __init__(self) -> None:
        self.known: dict[int, Any] = {}
        self.asked: list[bytes] = []

    def __call__(self, kind: Any, below: Node, path: str) -> Finish:
        del below, path

        def find(key: int, raw: Raw) -> Any:
            self.asked.append(bytes(raw))
            assert key == hash(b"salt" + bytes(raw))
            return self.known.setdefault(key, msgspec.json.decode(raw, type=kind))

        return Recall(self.known, find, b"salt")


@pytest.mark.parametrize("cut", ["spec.containers", "spec.containers[]"])
def test_a_function_that_remembers_gives_the_same_part_again(cut: str) -> None:
    cutter = Remembering()
    derived = plan(Pod, tree_of((cut,), ()), cutter)
    assert derived.finish is not None
    first, second = (derived.finish(msgspec.json.decode(TEXT, type=derived.shadow)) for _ in range(2))
    assert first == second == msgspec.json.decode(TEXT, type=Pod)
    assert first.spec.containers[0] is second.spec.containers[0]


def test_only_texts_that_are_not_known_are_asked_for() -> None:
    cutter = Remembering()
    derived = plan(Pod, tree_of(("spec.affinity",), ()), cutter)
    assert derived.finish is not None
    for text in (b'{"zone":"z"}', b'{"zone":"y"}', b'{"zone":"z"}'):
        derived.finish(msgspec.json.decode(b'{"spec":{"affinity":%s}}' % text, type=derived.shadow))
    assert cutter.asked == [b'{"zone":"z"}', b'{"zone":"y"}']


@pytest.mark.parametrize("text", [b"null", b"[]", b"{}", b'""', b"0"])
def test_parts_that_are_empty_are_remembered_too(text: bytes) -> None:
    class Holder(msgspec.Struct):
        part: Any = 7

    derived = plan(Holder, tree_of(("part",), ()), Remembering())
    assert derived.finish is not None
    for _ in range(2):
        held = derived.finish(msgspec.json.decode(b'{"part":%s}' % text, type=derived.shadow))
        assert held.part == msgspec.json.decode(text)


class Plain(msgspec.Struct, rename={"needed": "need-ed"}):
    needed: tuple[int, ...]
    unset: EnvVar | msgspec.UnsetType = msgspec.UNSET
    either: int | str = 0


def test_models_that_are_neither_frozen_nor_camel_work_too() -> None:
    value, cuts = decoded(b'{"need-ed":[1],"unset":{"name":"x"}}', Plain, cut=("need-ed", "unset.name"))
    assert value == Plain((1,), EnvVar(name="x"))
    assert type(value) is Plain
    assert cuts.seen["$.need-ed"] == [b"[1]"]
    empty, _ = decoded(b'{"need-ed":[]}', Plain, cut=("unset.name",))
    assert empty == Plain(())
    with pytest.raises(msgspec.ValidationError, match="missing required field"):
        decoded(b"{}", Plain, cut=("need-ed",))


@pytest.mark.parametrize(
    ("model", "cut", "drop", "part"),
    [
        (Pod, ("spec.pods",), (), r"\$\.spec: PodSpec has no field 'pods'"),
        (Pod, ("spec.node_name",), (), "no field 'node_name'"),
        (Pod, ("spec.nodeName.x",), (), "has no field 'x'"),
        (Pod, ("spec.nodeName[]",), (), "is no list"),
        (Pod, ("spec.containers.env",), (), "has no field 'env'"),
        (Pod, ("spec.containers[].env", "spec.containers.name"), (), "a list has no fields"),
        (Plain, (), ("need-ed",), "required, so it can't be dropped"),
        (Plain, ("either.x",), (), "union of several types"),
        (Pod, (), ("spec.containers[]",), "elements of a list can't be dropped"),
    ],
)
def test_a_path_that_fits_no_model_is_an_error(
    model: Any, cut: tuple[str, ...], drop: tuple[str, ...], part: str
) -> None:
    with pytest.raises(ValueError, match=part):
        plan(model, tree_of(cut, drop), Cuts())
