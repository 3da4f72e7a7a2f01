from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.decoding import without_nulls
from runtime.jsondiff import overlay_diff
from runtime.jsonpatch import apply
from runtime.patches import Operation, add, remove, replace


class Model(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    pass


class Item(Model, frozen=True):
    name: str = ""
    max_size: int = 0
    chosen: int | None = None
    labels: dict[str, str] = {}
    args: tuple[str, ...] = ()


class Spec(Model, frozen=True):
    queue: str = ""
    is_held: bool = False
    items: tuple[Item, ...] = ()
    only: Item | None = None
    anything: Any = None


class Thing(Model, frozen=True):
    spec: Spec = Spec()
    raw: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


def change(**fields: Any) -> Callable[[Thing], Thing]:
    """A handler that sets fields of the spec."""
    return lambda thing: Thing(spec=msgspec.structs.replace(thing.spec, **fields), raw=thing.raw)


def read(document: Any) -> Thing:
    return msgspec.json.decode(msgspec.json.encode(without_nulls(document)), type=Thing)


def diff(document: Any, handler: Callable[[Thing], Thing]) -> tuple[list[Operation], Any]:
    """The operations as they go over the wire, and the document after them."""
    before = read(document)
    operations = msgspec.json.decode(msgspec.json.encode(overlay_diff(lambda: document, before, handler(before))))
    return operations, apply(document, operations)


def renamed(*names: str) -> Callable[[Thing], Thing]:
    """A handler that brings the items into the order of these names, making those that are new."""

    def handle(thing: Thing) -> Thing:
        known = {item.name: item for item in thing.spec.items}
        items = tuple(known.get(name, Item(name=name)) for name in names)
        return Thing(spec=msgspec.structs.replace(thing.spec, items=items))

    return handle


@pytest.mark.parametrize(
    ("document", "handler", "expected"),
    [
        pytest.param({}, change(queue="a"), [add("/spec", {"queue": "a"})], id="the parent is missing"),
        pytest.param({"spec": None}, lambda _: Thing(spec=Spec(queue="a")), [add("/spec", {"queue": "a"})], id="null"),
        pytest.param({"spec": {}}, change(queue="a"), [add("/spec/queue", "a")], id="an empty parent"),
        pytest.param(
            {"spec": {"unknown": 1}}, change(queue="a"), [add("/spec/queue", "a")], id="a parent we know nothing of"
        ),
        pytest.param({"spec": {"queue": ""}}, change(queue="a"), [add("/spec/queue", "a")], id="an explicit zero"),
        pytest.param({"spec": {"queue": "a"}}, change(queue="b"), [replace("/spec/queue", "b")], id="another value"),
        pytest.param({"spec": {"queue": "a"}}, change(queue=""), [remove("/spec/queue")], id="a value taken out"),
        pytest.param({"spec": {"queue": ""}}, change(queue=""), [], id="an explicit zero that stays"),
        pytest.param({"spec": {"queue": "a"}}, change(queue="a", is_held=False), [], id="an equal value"),
        pytest.param(
            {"spec": {"items": []}}, change(items=(Item(name="x"),)), [add("/spec/items", [{"name": "x"}])], id="an empty list"
        ),
        pytest.param(
            {"spec": {}}, change(items=(Item(name="x"),)), [add("/spec/items", [{"name": "x"}])], id="a list is missing"
        ),
        pytest.param(
            {"spec": {"items": [{}, {"x-new": 1}]}},
            change(items=(Item(name="d0"), Item(name="d1"))),
            [add("/spec/items/0/name", "d0"), add("/spec/items/1/name", "d1")],
            id="names given to nameless elements",
        ),
        pytest.param(
            {"spec": {"items": [{"name": "a", "x": 1}, {"name": "b", "x": 2}]}},
            renamed("b"),
            [replace("/spec/items", [{"name": "b", "x": 2}])],
            id="an element taken out keeps the others' unknown members",
        ),
        pytest.param(
            {"spec": {"items": [{"name": "a", "x": 1}, {"name": "b", "x": 2}]}},
            renamed("b", "a"),
            [replace("/spec/items", [{"name": "b", "x": 2}, {"name": "a", "x": 1}])],
            id="another order",
        ),
        pytest.param(
            {"spec": {"items": [{"name": "a", "x": 1}]}},
            renamed("new", "a"),
            [replace("/spec/items", [{"name": "new"}, {"name": "a", "x": 1}])],
            id="an element put in front",
        ),
        pytest.param(
            {"spec": {"items": [{"name": "a", "x": 1}]}},
            renamed("a", "new"),
            [add("/spec/items/-", {"name": "new"})],
            id="an element put at the end",
        ),
        pytest.param(
            {"spec": {"items": [{"name": "a", "x": 1}, {"name": "b", "x": 2}]}},
            renamed("a", "c"),
            [replace("/spec/items/1/name", "c")],
            id="an element renamed in its place",
        ),
        pytest.param(
            {"spec": {"items": [{"name": "a", "labels": {"a/b": "1", "c~d": "2"}}]}},
            change(items=(Item(name="a", labels={"a/b": "3", "e~/": "4"}),)),
            [
                replace("/spec/items/0/labels/a~1b", "3"),
                add("/spec/items/0/labels/e~0~1", "4"),
                remove("/spec/items/0/labels/c~0d"),
            ],
            id="keys with slashes and tildes",
        ),
        pytest.param(
            {"spec": {"only": {"name": "a", "x": 1}}}, change(only=None), [remove("/spec/only")], id="a pointer unset"
        ),
        pytest.param(
            {"spec": {"only": {"name": "a", "x": 1}}},
            change(only=Item(name="b", max_size=0, chosen=0)),
            [replace("/spec/only/name", "b"), add("/spec/only/chosen", 0)],
            id="a pointer to zero is written, a zero is not",
        ),
        pytest.param(
            {"spec": {"only": {"maxSize": 7}}}, change(only=Item()), [remove("/spec/only/maxSize")], id="back to zero"
        ),
        pytest.param({"spec": {}}, change(only=Item()), [add("/spec/only", {})], id="an empty struct is a value"),
        pytest.param(
            {"spec": {"items": [{"args": ["a", "b"]}]}},
            change(items=(Item(args=("a", "c")),)),
            [replace("/spec/items/0/args/1", "c")],
            id="one of several texts",
        ),
        pytest.param(
            {"spec": {"items": [{"args": ["a", "b"]}]}},
            change(items=(Item(args=("b",)),)),
            [replace("/spec/items/0/args", ["b"])],
            id="a shorter list of texts",
        ),
        pytest.param({"spec": {"anything": 1}}, change(anything=True), [replace("/spec/anything", True)], id="1, true"),
        pytest.param(
            {"spec": {"anything": [1]}}, change(anything=[True]), [replace("/spec/anything/0", True)], id="[1], [true]"
        ),
        pytest.param(
            {"spec": {"anything": {"a": 1}}}, change(anything=[1]), [replace("/spec/anything", [1])], id="another type"
        ),
        pytest.param(
            {"raw": {"a": 1}}, lambda thing: Thing(raw=thing.raw, spec=Spec(queue="q")), [add("/spec", {"queue": "q"})],
            id="a raw part beside the change",
        ),
        pytest.param(
            {"raw": {"a": 1}}, lambda _: Thing(raw=msgspec.Raw(b'{"b":2}')), [replace("/raw", {"b": 2})],
            id="a raw part exchanged",
        ),
    ],
)  # fmt: skip
def test_the_patch_is_as_small_as_the_change(
    document: Any, handler: Callable[[Thing], Thing], expected: list[Operation]
) -> None:
    operations, _ = diff(msgspec.json.decode(msgspec.json.encode(document)), handler)

    assert operations == msgspec.json.decode(msgspec.json.encode(expected))


def test_a_handler_that_changes_nothing_makes_no_patch() -> None:
    document = {"spec": {"queue": "", "items": [{"name": "a", "labels": {}}], "unknown": [None]}, "more": {}}
    before = read(document)
    again = read(document)

    assert overlay_diff(lambda: document, before, before) == ()
    assert overlay_diff(lambda: document, before, again) == ()


NAMES = st.sampled_from(["", "a", "b", "c"])
LABELS = st.dictionaries(st.sampled_from(["k", "a/b", "~", "~1"]), st.sampled_from(["", "1"]), max_size=3)
ITEMS = st.builds(
    Item,
    name=NAMES,
    max_size=st.integers(0, 2),
    chosen=st.none() | st.integers(0, 1),
    labels=LABELS,
    args=st.lists(st.sampled_from("xyz"), max_size=3).map(tuple),
)
SPECS = st.builds(
    Spec,
    queue=NAMES,
    is_held=st.booleans(),
    items=st.lists(ITEMS, max_size=3).map(tuple),
    only=st.none() | ITEMS,
    anything=st.none() | st.integers(0, 1) | st.booleans() | st.lists(st.integers(0, 1), max_size=2),
)


@st.composite
def written(draw: st.DrawFn, spec: Spec) -> dict[str, Any]:
    """How a user may have written a spec: zeros in or out, and members that the model doesn't know at any depth."""

    def dress(value: Any, model: Any) -> Any:
        if isinstance(model, msgspec.Struct):
            for field in msgspec.structs.fields(model):
                part = getattr(model, field.name)
                if field.encode_name in value:
                    value[field.encode_name] = dress(value[field.encode_name], part)
                elif part is not None and draw(st.booleans()):
                    value[field.encode_name] = msgspec.json.decode(msgspec.json.encode(part))
            if draw(st.booleans()):
                value["x-unknown"] = {"serial": draw(st.integers(0, 999))}
        elif isinstance(value, list) and isinstance(model, tuple):
            return [dress(part, known) for part, known in zip(value, model, strict=True)]
        return value

    dressed: dict[str, Any] = dress(msgspec.json.decode(msgspec.json.encode(spec)), spec)
    return dressed


def text_of(value: Any) -> bytes:
    return msgspec.json.encode(value, order="deterministic")


@given(st.data(), SPECS, SPECS)
def test_the_patched_document_decodes_to_what_the_handler_answered(data: st.DataObject, old: Spec, new: Spec) -> None:
    document: dict[str, Any] = {"spec": data.draw(written(old)), "x-more": [1]}
    before = read(document)
    assert before.spec == old

    operations, patched = diff(document, lambda _: Thing(spec=new))

    assert text_of(read(patched)) == text_of(Thing(spec=new))
    assert patched["x-more"] == [1]
    assert patched.get("spec", {}).get("x-unknown") == document["spec"].get("x-unknown")
    if text_of(old) == text_of(new):
        assert operations == []


@given(st.data(), SPECS.filter(lambda spec: len({item.name for item in spec.items} - {""}) == len(spec.items)))
def test_named_elements_keep_their_unknown_members_wherever_they_go(data: st.DataObject, spec: Spec) -> None:
    document = {"spec": data.draw(written(spec))}
    order = data.draw(st.permutations(spec.items))
    kept = order[: data.draw(st.integers(0, len(order)))]

    _, patched = diff(document, change(items=tuple(kept)))

    unknown = {item["name"]: item.get("x-unknown") for item in document["spec"].get("items", [])}
    for item in patched.get("spec", {}).get("items", []):
        assert item.get("x-unknown") == unknown[item["name"]]
