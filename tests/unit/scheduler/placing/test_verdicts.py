from __future__ import annotations

import random
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.contract.effects import Code, Effect, Filter, Refusal
from scheduler.placing.fiterrors import examine
from scheduler.placing.template import Template
from scheduler.placing.verdicts import Verdicts
from tests.unit.scheduler import changing
from tests.unit.scheduler.build import World, shape


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_they_are_those_of_asking_all_nodes_whatever_changed(seed: int) -> None:
    world, rng = changing.world(seed), random.Random(seed)
    followed = {template: Verdicts(template) for template in changing.templates(world) if Verdicts.can_follow(template)}
    for _ in range(10):
        changing.change(world, rng)
        world.cluster.settle()
        rows = np.arange(len(world.cluster.nodes), dtype=np.intp)
        for template, verdicts in followed.items():
            verdicts.refresh()
            template.refresh()
            assert verdicts.errors == examine(template, template.task, rows)
            assert verdicts.any_free == bool((template.passes & template.fits_future).any())


def followed(world: World, evaluate: Any, refusals: list[Refusal], **rest: Any) -> Verdicts:
    function = Filter(name="f", plugin="p", refusals=refusals, evaluate=evaluate, reads=(), **rest)
    world.gang("g", [("w", 1, shape())])
    template = Template(world.cluster, world.cluster.tasks["uid-g-w-0"], (function,), ())
    assert Verdicts.can_follow(template) is (function.effect <= Effect.ROW and not function.upfront)
    return Verdicts(template)


def test_more_sayings_than_there_is_room_for_are_noticed() -> None:
    world = World()
    for number in range(70):
        world.node(f"n{number:02d}")
    world.cluster.settle()
    refusals = [Refusal(Code.UNSCHEDULABLE, f"reason {number}") for number in range(70)]
    verdicts = followed(world, lambda _, view: (view.rows + 1).astype(np.int32), refusals, effect=Effect.STATIC)
    verdicts.refresh()
    assert verdicts.are_lost
    few = followed(World(), lambda _, view: (view.rows + 1).astype(np.int32), refusals[:1], effect=Effect.STATIC)
    few.refresh()
    assert not few.are_lost


def test_what_depends_on_other_nodes_is_not_followed() -> None:
    followed(World(), None, [], effect=Effect.ALL)
    followed(World(), None, [], effect=Effect.DOMAIN, topology_key="zone")
    followed(World(), None, [], effect=Effect.STATIC, upfront=True)
