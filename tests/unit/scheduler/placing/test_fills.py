from __future__ import annotations

import random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from generated.core.v1 import PodSpec
from scheduler.contract.effects import Code, Effect, Filter, Refusal
from scheduler.contract.view import View
from scheduler.placing.fills import Fill
from scheduler.placing.fiterrors import FitErrors
from scheduler.placing.template import Template
from scheduler.state.dimensions import MIN_RESOURCE, Request
from scheduler.state.status import Status
from scheduler.state.task import Shape
from tests.unit.scheduler import changing
from tests.unit.scheduler.build import World, shape


def counted(template: Template, *, later: bool) -> int:
    """Tasks of a template that go on the nodes one after the other, by resources and what never changes."""
    view, total = View.all(template.cluster), 0
    free = np.maximum(view.idle, view.future_idle) if later else view.idle
    for row in np.flatnonzero(template.static.passes):
        taken = 0
        while all(
            amount - (free[column, row] - taken * amount) < MIN_RESOURCE
            for column, amount in template.request.needed(template.cluster.dimensions)
        ):
            taken += 1
        total += taken
    return total


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_room_is_that_of_filling_node_after_node_whatever_changed(seed: int) -> None:
    world, rng = changing.world(seed), random.Random(seed)
    followed = {template: Fill(template) for template in changing.templates(world) if Fill.can_follow(template)}
    for _ in range(10):
        changing.change(world, rng)
        world.cluster.settle()
        for template, fill in followed.items():
            fill.refresh()
            assert (fill.room, fill.room_now) == (counted(template, later=True), counted(template, later=False))
            assert not fill.any_free, "nodes are full"
            afresh = Fill(template)
            afresh.refresh()
            assert fill.errors == afresh.errors


def filled(world: World, *filters: Filter) -> Fill:
    world.gang("g", [("w", 1, shape(cpu=1000.0))])
    fill = Fill(Template(world.cluster, world.cluster.tasks["uid-g-w-0"], filters, ()))
    fill.refresh()
    return fill


def test_errors_are_those_of_full_nodes() -> None:
    world = World()
    world.node("n", cpu=3500.0)
    world.node("few", cpu=9000.0, pods=2.0)
    world.cluster.settle()
    fill = filled(world)
    assert fill.room == 5
    assert fill.errors == FitErrors({"Insufficient cpu": 1, "Insufficient pods": 1}, 2)


def test_room_of_pods_that_leave_comes_later() -> None:
    world = World()
    world.node("n", cpu=3000.0)
    world.running("leaving", "n", shape(cpu=2000.0), status=Status.RELEASING)
    world.cluster.settle()
    fill = filled(world)
    assert (fill.room, fill.room_now) == (3, 1)


def test_only_what_follows_from_columns_can_be_followed() -> None:
    world = World()
    world.node("n")
    world.cluster.settle()
    for effect, is_followed in [(Effect.COLUMNS, True), (Effect.ROW, False), (Effect.ALL, False)]:
        function = Filter(
            name="f", plugin="p", refusals=[Refusal(Code.UNSCHEDULABLE, "no")], effect=effect, reads=(),
            evaluate=lambda _, view: np.zeros(len(view), dtype=np.int32),
        )  # fmt: skip
        assert Fill.can_follow(filled(world, function)._template) is is_followed


def test_a_task_that_asks_for_nothing_fills_no_node() -> None:
    world = World()
    world.node("n")
    world.cluster.settle()
    world.gang("h", [("w", 1, Shape(PodSpec(), Request({}, (100.0, 0.0))))])
    assert not Fill.can_follow(Template(world.cluster, world.cluster.tasks["uid-h-w-0"], (), ()))
