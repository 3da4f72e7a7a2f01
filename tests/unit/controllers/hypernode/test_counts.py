from __future__ import annotations

from typing import Any

import msgspec
import pytest

from controllers.hypernode.counts import Counter
from generated.core.v1 import Node
from generated.meta.v1 import LabelSelector
from generated.topology.v1alpha1 import HYPER_NODES, ExactMatch, HyperNode, MemberSelector, MemberSpec, RegexMatch
from runtime.errors import NotFound, ServerError
from tests.unit.controllers.fakes import status
from tests.unit.controllers.hypernode.samples import World, hypernode, node

NODES = [node("node1", zone="east"), node("node2"), node("node3"), node("node4", zone="west")]


def exact(name: str) -> MemberSelector:
    return MemberSelector(exact_match=ExactMatch(name=name))


def regex(pattern: str) -> MemberSelector:
    return MemberSelector(regex_match=RegexMatch(pattern=pattern))


def labels(**labels: str) -> MemberSelector:
    return MemberSelector(label_match=LabelSelector(match_labels=labels))


def selecting(*selectors: MemberSelector, count: int = 0) -> HyperNode:
    base = hypernode("h", 1, count=count)
    members = tuple(MemberSpec(type="Node", selector=selector) for selector in selectors)
    return msgspec.structs.replace(base, spec=msgspec.structs.replace(base.spec, members=members))


def counter(found: HyperNode, *nodes: Node) -> tuple[Counter, World]:
    world = World(found, *nodes)
    return Counter(world.fakes.clients, world.hypernodes, world.fakes.core_v1.nodes.lister), world


@pytest.mark.parametrize(
    ("selectors", "count"),
    [
        ([exact("master"), labels(zone="east"), regex("node[1-3]")], 4),
        ([exact("master")], 1),
        ([exact("master"), exact("master"), exact("x")], 2),
        ([exact("")], 0),
        ([exact(""), exact("a")], 1),
        ([regex("ode")], 4),
        ([regex("^ode")], 0),
        ([regex("(")], 0),
        ([regex("("), exact("a")], 1),
        ([labels()], 0),
        ([MemberSelector()], 0),
        ([labels(**{"not a key": "x"}), exact("a")], 1),
    ],
)
async def test_distinct_names_over_all_members_are_counted(selectors: list[MemberSelector], count: int) -> None:
    work, world = counter(selecting(*selectors), *NODES)
    await work.count("h")
    assert await work.outdated() == (["h"] if count else [])
    if not count:
        assert world.fakes.writes == []
        return
    (write,) = world.fakes.writes
    assert str(write) == "patch hypernodes.topology.volcano.sh/status h"
    assert write.body == {"metadata": {"uid": "uid-h"}, "status": {"nodeCount": count}}
    settled, world = counter(selecting(*selectors, count=count), *NODES)
    await settled.count("h")
    assert (world.fakes.writes, await settled.outdated()) == ([], [])


async def test_children_count_by_name() -> None:
    work, world = counter(hypernode("h", 2, "a", "b"))
    await work.count("h")
    assert world.fakes.writes[0].body["status"] == {"nodeCount": 2}


@pytest.mark.parametrize(("error", "raises"), [(NotFound, False), (ServerError, True)])
async def test_failures_are_the_queues_unless_it_is_gone(error: Any, raises: bool) -> None:
    work, world = counter(hypernode("h", 1, "a"))
    world.fakes.log.fail(error(status(500, "x")), "patch", HYPER_NODES)
    if raises:
        with pytest.raises(error):
            await work.count("h")
    else:
        await work.count("h")
    await work.count("gone")
    assert len(world.fakes.writes) == 1
