"""What informers see, as it reaches the scheduling thread."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from generated.core.v1 import Node
from scheduler.cache.feed import RESOURCES, feed
from scheduler.cache.selection import Ring, Selection, Share, selector_of
from tests.unit.scheduler.cache.test_facts import pod

KINDS = ("Pod", "Node", "PodGroup", "Queue")


class Informer:
    def __init__(self) -> None:
        self.handlers: list[Any] = []

    def add_handler(self, handler: Any) -> None:
        self.handlers.append(handler)


class Informers:
    def __init__(self) -> None:
        self.made: dict[str, Informer] = {}

    def of(self, resource: Any, *, decoder: Any = None) -> Informer:
        assert (decoder is not None) == (resource.kind == "Pod")
        return self.made.setdefault(resource.kind, Informer())


def fed(selection: Selection | None = None, kinds: tuple[str, ...] = KINDS) -> tuple[Informers, list[Any]]:
    informers, pushed = Informers(), list[Any]()
    feed(informers, pushed.append, kinds, selection)  # type: ignore[arg-type]  # the part in use
    return informers, pushed


def node(**labels: str) -> Node:
    return msgspec.convert({"metadata": {"name": "n", "labels": labels}}, Node)


@pytest.mark.parametrize("kinds", [KINDS, tuple(resource.kind for resource in RESOURCES), ("Queue",)])
def test_exactly_the_kinds_that_make_the_state_are_watched(kinds: tuple[str, ...]) -> None:
    informers, _ = fed(kinds=kinds)
    assert set(informers.made) == set(kinds)


def test_changes_come_as_kind_old_and_new() -> None:
    informers, pushed = fed()
    handler = informers.made["Node"].handlers[0]
    old, new = node(), node(a="b")
    handler.on_add(old, True)
    handler.on_update(old, new)
    handler.on_delete(new)
    assert pushed == [("Node", None, old), ("Node", old, new), ("Node", new, None)]


def test_a_node_comes_and_goes_with_its_label() -> None:
    informers, pushed = fed(Selection(selector_of(["pool:batch"])))
    handler = informers.made["Node"].handlers[0]
    out, into = node(), node(pool="batch")
    handler.on_add(out, False)
    handler.on_update(out, into)
    handler.on_update(into, into)
    handler.on_update(into, out)
    handler.on_delete(out)
    assert pushed == [("Node", None, into), ("Node", into, into), ("Node", into, None)]


def test_a_pod_that_is_gone_always_passes() -> None:
    informers, pushed = fed(Selection(share=Share(Ring(["s-0", "s-1"]), "none of them")))
    handler = informers.made["Pod"].handlers[0]
    foreign = pod()
    handler.on_add(foreign, False)
    handler.on_delete(foreign)
    assert pushed == [("Pod", foreign, None)]
