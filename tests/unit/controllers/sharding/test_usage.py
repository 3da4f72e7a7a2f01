from __future__ import annotations

from typing import Any

import msgspec
import pytest

from controllers.sharding.usage import Load, Usage
from generated.core.v1 import Container, Node, Pod, ResourceRequirements
from generated.fakes.fakes import Fakes
from tests.unit.controllers.sharding.samples import node, pod


def usage(*objects: Any) -> Usage:
    fakes = Fakes(*objects)
    return Usage(fakes.core_v1.nodes.lister, fakes.core_v1.pods)


def put(found: Usage, obj: Node | Pod) -> None:
    lister: Any = found._nodes if isinstance(obj, Node) else found._pods.lister
    lister.put(obj)


@pytest.mark.parametrize(
    ("pods", "load"),
    [
        ([], Load(0, 0)),
        ([pod("a", "n"), pod("b", "n", "500m", "1Gi")], Load(0.15, 0.2)),
        ([pod("a", "n", "50", "50Gi")], Load(1, 1)),
        ([pod("a", "n", phase="Succeeded"), pod("b", "n", phase="Failed")], Load(0, 0)),
        ([pod("a", "n", annotations={"kubernetes.io/config.mirror": "x"})], Load(0, 0)),
        ([pod("a", "other")], Load(0, 0)),
        ([pod("a", "n", overhead={"cpu": "1"})], Load(0.2, 0.1)),
        (
            [
                pod(
                    "a",
                    "n",
                    init_containers=(Container(name="i", resources=ResourceRequirements(requests={"cpu": "4"})),),
                )
            ],
            Load(0.4, 0.1),
        ),
    ],
)
async def test_requests_of_pods_against_the_capacity(pods: list[Pod], load: Load) -> None:
    found = usage(node("n"), *pods)
    assert await found.refresh()
    assert found.of("n") == load


async def test_a_node_without_capacity_is_empty_and_a_bad_one_spoils_no_other() -> None:
    found = usage(node("a", cpu="x"), node("b", cpu="0", memory="0"), node("c"), pod("p", "b"))
    await found.refresh()
    assert [found.of(name) for name in "abc"] == [None, Load(0, 0), Load(0, 0)]


@pytest.mark.parametrize(("cpu", "memory", "leaps"), [("5", "1Gi", False), ("6", "1Gi", True), ("1", "6Gi", True)])
async def test_only_leaps_are_told(cpu: str, memory: str, leaps: bool) -> None:
    found = usage(node("n"), node("m"))
    assert await found.refresh()
    assert not await found.refresh()
    put(found, pod("a", "n", cpu, memory))
    assert not await found.refresh()
    found.mark("n")
    assert await found.refresh() is leaps


async def test_nodes_that_go_are_forgotten_and_counted_anew_when_they_come_back() -> None:
    found = usage(node("n"), pod("a", "n"))
    await found.refresh()
    held = found._nodes.get(next(iter(found._nodes.keys())))
    assert held is not None
    found._nodes.remove(next(iter(found._nodes.keys())))  # type: ignore[attr-defined]  # a filled lister is a store
    assert not await found.refresh()
    assert found.of("n") is None
    put(found, msgspec.structs.replace(held, status=node("n", cpu="2").status))
    assert await found.refresh()
    assert found.of("n") == Load(0.5, 0.1)
