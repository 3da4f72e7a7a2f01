"""A session opened over a small world, for tests that ask plugins directly."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from scheduler.plugin import Plugin
from scheduler.session import Session
from scheduler.state.task import Task
from tests.unit.scheduler.build import World, memory_of

P = TypeVar("P", bound=Plugin)


def tiers(*plugins: str, actions: str = "enqueue, allocate, backfill") -> str:
    """A configuration; each text is one tier: names, or YAML entries, separated by semicolons."""
    lines = [f'actions: "{actions}"', "tiers:"]
    for tier in plugins:
        entries = ", ".join(entry if entry.startswith("{") else f"{{name: {entry}}}" for entry in tier.split("; "))
        lines.append(f"- plugins: [{entries}]")
    return "\n".join(lines)


@contextmanager
def opened(world: World, *plugins: str) -> Iterator[Session]:
    """A session with these plugins (see `tiers`)."""
    memory = memory_of(world.cluster, tiers(*plugins))
    session = Session(world.cluster, memory.configuration, memory, uid="session", now=0.0)
    session.open()
    assert not memory.failures
    yield session
    assert not memory.failures
    session.close()


def plugin_of(session: Session, kind: type[P]) -> P:
    """The plugin of that class in a session."""
    return next(plugin for plugin in session.plugins if isinstance(plugin, kind))


def names_of(tasks: list[Task]) -> list[str]:
    """Names of tasks, in order."""
    return [task.name for task in tasks]
