"""What is written so that the HyperNodes of a source are those wanted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from controllers.hypernode.apply import ApplyError, Writer
from controllers.hypernode.wanted import Changes, changes
from controllers.hypernode.wanted import hypernode as wanted
from generated.topology.v1alpha1 import HYPER_NODES, HyperNode
from runtime.errors import AlreadyExists, Conflict, NotFound, ServerError
from tests.unit.controllers.fakes import status
from tests.unit.controllers.hypernode.samples import SOURCE_LABEL, World, hypernode


def leaf(name: str = "a", *members: str) -> HyperNode:
    return wanted(name, "ufm", 1, "Node", members or ("n1",))


def writer(world: World) -> Writer:
    return Writer(world.fakes.clients, world.hypernodes)


async def apply(world: World, *found: HyperNode, **options: Any) -> list[str]:
    await writer(world).apply("ufm", lambda _: found, **options)
    return world.written


@pytest.mark.parametrize(
    ("existing", "written"),
    [
        ([], ["create a"]),
        ([hypernode("a", 1, "n1", source="ufm")], []),
        ([hypernode("a", 1, "n1", source="ufm", count=7, team="x")], []),
        ([hypernode("a", 1, "n2", source="ufm")], ["patch a"]),
        ([hypernode("a", 2, "n1", source="ufm")], ["patch a"]),
        ([hypernode("b", 1, source="ufm"), hypernode("c", 2, source="ufm")], ["create a", "delete c", "delete b"]),
        ([hypernode("b", 1), hypernode("c", 2, source="label")], ["create a"]),
        ([hypernode("a", 1, "n2")], []),
        ([hypernode("a", 1, "n2", source="label")], []),
    ],
    ids=["absent", "there", "labels of others", "members", "tier", "not wanted", "of others", "a user's", "another's"],
)
async def test_only_what_differs_is_written(existing: list[HyperNode], written: list[str]) -> None:
    world = World(*existing)
    assert await apply(world, leaf()) == written
    assert world.lists == bool(written)


async def test_a_patch_names_what_differs_and_never_the_status() -> None:
    world = World(hypernode("a", 1, "n2", source="ufm", tier_name="old", count=3))
    await apply(world, leaf())
    (write,) = world.fakes.writes
    member = {"type": "Node", "selector": {"exactMatch": {"name": "n1"}}}
    assert write.body == {"metadata": {"uid": "uid-a"}, "spec": {"tier": 1, "tierName": None, "members": [member]}}
    assert write.subresource == ""


async def test_labels_are_merged() -> None:
    present = hypernode("a", 1, "n1", source="label", tier_name="rack", team="x", rack="old")
    world = World(present)
    found = wanted("a", "label", 1, "Node", ["n1"], label={"rack": "new"})
    await writer(world).apply("label", lambda _: [found])
    (write,) = world.fakes.writes
    assert write.body == {"metadata": {"uid": "uid-a", "labels": {"rack": "new"}}}


async def test_what_is_created_has_no_status() -> None:
    world = World()
    await apply(world, leaf())
    body = world.fakes.writes[0].body
    assert (body["metadata"]["labels"], "status" in body) == ({SOURCE_LABEL: "ufm"}, False)


async def test_lower_tiers_come_first_and_go_last() -> None:
    world = World(hypernode("x", 1, source="ufm"), hypernode("y", 2, source="ufm"))
    spine = wanted("s", "ufm", 2, "HyperNode", ["a"])
    assert await apply(world, spine, leaf()) == ["create a", "create s", "delete y", "delete x"]


async def test_nothing_wanted_deletes_all_of_the_source_only() -> None:
    world = World(hypernode("x", 1, source="ufm"), hypernode("y", 1, source="label"), hypernode("z", 1))
    assert await apply(world) == ["delete x"]
    assert world.fakes.writes[0].body["preconditions"] == {"uid": "uid-x"}


async def test_an_old_cache_has_nothing_made_twice() -> None:
    made = hypernode("a-random", 1, "n1", source="ufm")
    world = World(stored=[made])

    def arrange(existing: Iterable[HyperNode]) -> Sequence[HyperNode]:
        names = [each.metadata.name for each in existing]
        return [leaf(names[0] if names else "another")]

    await writer(world).apply("ufm", arrange)
    assert (world.written, world.lists) == ([], 1)


async def test_one_that_fails_holds_up_no_other() -> None:
    world = World()
    world.fakes.log.fail(ServerError(status(500, "InternalError")), name="a")
    world.fakes.log.fail(AlreadyExists(status(409, "AlreadyExists")), name="b")
    with pytest.raises(ApplyError, match="2 HyperNodes of source ufm could not be written: a, b"):
        await apply(world, leaf("a"), leaf("b"), leaf("c"))
    assert world.written == ["create a", "create b", "create c"]


@pytest.mark.parametrize("error", [NotFound(status(404, "NotFound")), Conflict(status(409, "Conflict"))])
async def test_one_that_goes_meanwhile_is_no_error(error: Exception) -> None:
    world = World(hypernode("x", 1, source="ufm"))
    world.fakes.log.fail(error, "delete", HYPER_NODES)
    assert await apply(world) == ["delete x"]


async def test_a_source_that_was_changed_meanwhile_writes_no_more() -> None:
    world = World()
    answers = iter([True, False, False])
    assert await apply(world, leaf("a"), leaf("b"), leaf("c"), is_current=lambda: next(answers)) == ["create a"]


def test_names_that_others_have_are_named() -> None:
    found = changes([leaf("a")], [hypernode("a", 1)], "ufm")
    assert (found, bool(found)) == (Changes(taken=("a",)), False)
