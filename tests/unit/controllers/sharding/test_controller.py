"""How the sharding controller is put together: its first look, and periods that go on whatever fails."""

from __future__ import annotations

import pytest

from controllers import sharding
from controllers.blueprint import Context
from controllers.options import Options, ShardingOptions
from controllers.sharding.requests import Shard, Sync, Work
from generated.clients.clientset import Clientset
from runtime.controller import Controller
from runtime.informers import Informers
from runtime.recorder import Recorder
from tests.unit.controllers.fakes import Events

pytestmark = pytest.mark.virtual_time


def built() -> Controller[Work]:
    client = Recorder()
    options = Options(sharding=ShardingOptions(sync_period=30))
    return sharding.BLUEPRINT.build(Context(Clientset(client), Informers(client), Events(), options))


def due(controller: Controller[Work]) -> dict[Work, float]:
    """Seconds until delayed work comes."""
    now = controller.queue._now()
    return {work: when - now for work, (when, *_) in controller.queue._due.items()}


async def test_it_begins_with_a_look_at_all_nodes() -> None:
    controller = built()
    assert await controller.queue.get() == Sync()


@pytest.mark.parametrize(("work", "expected"), [(Sync(), {Sync(): 30.0}), (Shard("a"), {})])
async def test_a_look_that_failed_for_good_comes_again_with_the_next_period(
    work: Work, expected: dict[Work, float]
) -> None:
    controller = built()
    await controller.queue.get()
    controller.queue.done(Sync())
    assert controller._on_give_up is not None
    await controller._on_give_up(work, RuntimeError("no"))
    assert due(controller) == expected
