"""shuffle: evicts what plugins name, and nothing by itself."""

from __future__ import annotations

from typing import Any

from scheduler.plugin import Plugin
from scheduler.state.status import Status
from tests.unit.scheduler.build import World, shape
from tests.unit.scheduler.evictions import configured, evicted, reasons, run, victim_job


class Restless(Plugin):
    """Wants every pod moved whose number is in its arguments; two functions, whose answers are joined."""

    name = "restless"

    def on_session_open(self, session: Any) -> None:
        session.add_victim_tasks(self.name, lambda tasks: [task for task in tasks if task.ordinal == 0])
        session.add_victim_tasks(self.name, lambda tasks: [task for task in tasks if task.ordinal == 2])


def world() -> World:
    world = World()
    world.node("n0", cpu=8000.0)
    victim_job(world, "a", {"n0": 3})
    victim_job(world, "b", {"n0": 1}, status=Status.BOUND)
    world.running("nobodys-x-0", "n0", shape(1000.0, 0.0))
    return world


def test_without_a_plugin_nothing_happens() -> None:
    made = world()
    assert evicted(run(made, configured("shuffle", world=made))) == []


def test_running_pods_of_jobs_that_some_function_names_are_evicted() -> None:
    made = world()
    memory = configured("shuffle", more="  - name: restless", plugins={"restless": Restless}, world=made)
    result = run(made, memory)
    assert evicted(result) == ["a-w-0", "a-w-2"]
    assert reasons(result) == {"shuffle"}


def test_the_switch_keeps_a_plugin_out() -> None:
    made = world()
    more = "  - name: restless\n    enabledVictim: false"
    memory = configured("shuffle", more=more, plugins={"restless": Restless}, world=made)
    assert evicted(run(made, memory)) == []
