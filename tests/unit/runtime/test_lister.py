from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.lister import Lister, Store
from runtime.objects import Key
from runtime.selector import EVERYTHING, Selector, parse
from tests.unit.runtime.models import Pod, key, pod


def by_node(obj: Pod) -> list[str]:
    return [obj.spec.node_name] if obj.spec.node_name else []


def by_label(obj: Pod) -> list[str]:
    return list(obj.metadata.labels.values())


def selector(text: str) -> Selector:
    parsed = parse(text)
    assert isinstance(parsed, Selector)
    return parsed


def names(pods: list[Pod]) -> list[str]:
    return [f"{each.metadata.namespace}/{each.metadata.name}" for each in pods]


def test_a_filled_lister_answers_by_key_namespace_and_labels() -> None:
    pods = Lister.filled([pod("a", app="x"), pod("b", app="y"), pod("a", namespace="other", app="x")])
    assert pods.get(key("b")) is not None
    assert pods.get(key("c")) is None
    assert names(pods.list()) == ["ns/a", "ns/b", "other/a"]
    assert names(pods.list("ns")) == ["ns/a", "ns/b"]
    assert names(pods.list("nowhere")) == []
    assert names(pods.list(None, selector("app=x"))) == ["ns/a", "other/a"]
    assert names(pods.list("ns", selector("app=x"))) == ["ns/a"]
    assert names(pods.list("ns", EVERYTHING)) == ["ns/a", "ns/b"]
    assert pods.keys() == [key("a"), key("b"), key("a", "other")]
    assert sorted(pods.namespaces()) == ["ns", "other"]
    assert len(pods) == 3
    assert key("a") in pods
    assert key("z") not in pods
    assert names(list(pods)) == names(pods.list())


def test_an_index_follows_its_objects() -> None:
    pods: Store[Pod] = Store({"node": by_node})
    pods.put(pod("a", node="n1"))
    pods.put(pod("b", node="n1"))
    assert names(pods.by_index("node", "n1")) == ["ns/a", "ns/b"]
    assert (pods.count("node", "n1"), pods.count("node", "n2")) == (2, 0)
    pods.put(pod("a", 2, node="n2"))
    assert names(pods.by_index("node", "n1")) == ["ns/b"]
    assert pods.by_index("node", "n2") == [pod("a", 2, node="n2")]
    pods.remove(key("b"))
    assert pods.by_index("node", "n1") == []
    assert pods.index_values("node") == ["n2"]


def test_an_index_of_several_values_finds_an_object_under_each_once() -> None:
    pods = Lister.filled([pod("a", one="x", two="y", three="x")], {"label": by_label})
    assert names(pods.by_index("label", "x")) == ["ns/a"]
    assert names(pods.by_index("label", "y")) == ["ns/a"]


def test_an_index_declared_later_holds_what_is_there() -> None:
    pods: Store[Pod] = Store()
    pods.put(pod("a", node="n1"))
    pods.add_indexers({"node": by_node})
    pods.add_indexers({"node": by_node})
    assert names(pods.by_index("node", "n1")) == ["ns/a"]


def test_one_name_for_two_indexes_is_refused() -> None:
    pods: Store[Pod] = Store({"node": by_node})
    with pytest.raises(ValueError, match="'node' is declared twice"):
        pods.add_indexers({"node": by_label})


def test_an_unknown_index_names_the_declared_ones() -> None:
    with pytest.raises(KeyError, match="no index 'rack'; declared: node"):
        Lister.filled([], {"node": by_node}).by_index("rack", "r1")
    with pytest.raises(KeyError, match="declared: none"):
        Lister.filled([]).index_values("rack")


def test_an_indexer_that_throws_leaves_the_store_as_it_was() -> None:
    def broken(obj: Pod) -> list[str]:
        if obj.metadata.resource_version == "2":
            raise RuntimeError("no index for you")
        return ["all"]

    pods: Store[Pod] = Store({"node": by_node, "broken": broken})
    pods.put(pod("a", 1, node="n1"))
    with pytest.raises(RuntimeError):
        pods.put(pod("a", 2, node="n2"))
    assert pods.get(key("a")) == pod("a", 1, node="n1")
    assert names(pods.by_index("node", "n1")) == ["ns/a"]
    assert pods.by_index("node", "n2") == []


def test_put_and_remove_give_what_was_there() -> None:
    pods: Store[Pod] = Store()
    first = pod("a", 1)
    assert pods.put(first) is None
    assert pods.put(pod("a", 2)) is first
    assert pods.remove(key("a")) == pod("a", 2)
    assert pods.remove(key("a")) is None
    assert pods.namespaces() == []


def test_iterating_is_safe_while_the_store_changes() -> None:
    pods: Store[Pod] = Store()
    for name in "abc":
        pods.put(pod(name))
    for each in pods:
        pods.remove(key(each.metadata.name))
    assert len(pods) == 0


OBJECTS = st.builds(
    lambda name, namespace, node, app: pod(name, namespace=namespace, node=node, app=app),
    st.sampled_from("abcd"),
    st.sampled_from(["", "ns", "other"]),
    st.sampled_from(["", "n1", "n2"]),
    st.sampled_from(["x", "y"]),
)


@given(st.lists(st.tuples(st.booleans(), OBJECTS), max_size=40))
def test_every_view_agrees_with_a_plain_dict(steps: list[tuple[bool, Pod]]) -> None:
    pods: Store[Pod] = Store({"node": by_node, "label": by_label})
    model: dict[Key, Pod] = {}
    for is_put, obj in steps:
        where = key(obj.metadata.name, obj.metadata.namespace)
        if is_put:
            assert pods.put(obj) == model.get(where)
            model[where] = obj
        else:
            assert pods.remove(where) == model.pop(where, None)
    assert {where: pods.get(where) for where in pods.keys()} == model  # noqa: SIM118  # a store iterates over objects
    for namespace in ("", "ns", "other"):
        expected = {id(p) for where, p in model.items() if where.namespace == namespace}
        assert {id(p) for p in pods.list(namespace)} == expected
    for node in ("n1", "n2"):
        found = pods.by_index("node", node)
        assert {id(p) for p in found} == {id(p) for p in model.values() if p.spec.node_name == node}
    assert set(pods.index_values("label")) == {p.metadata.labels["app"] for p in model.values()}
    assert set(pods.namespaces()) == {where.namespace for where in model}


def test_an_index_may_give_its_values_one_by_one() -> None:
    def each(obj: Pod) -> Iterator[str]:
        yield from obj.metadata.labels.values()

    store: Store[Pod] = Store({"label": each})
    store.put(pod("a", one="x", two="y"))
    store.put(pod("a", 2, one="x", two="z"))
    store.add_indexers({"again": each})
    for name in ("label", "again"):
        assert {value: len(store.by_index(name, value)) for value in store.index_values(name)} == {"x": 1, "z": 1}
        assert store.by_index(name, "x")[0].metadata.resource_version == "2"
    store.remove(key("a"))
    assert store.index_values("label") == []
