"""Explanations of jobs of a built world."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scheduler.explain.explain import explain
from scheduler.explain.obstacles import Obstacle
from scheduler.explain.opening import opened
from scheduler.explain.report import Explanation
from scheduler.explain.shared import Shared
from scheduler.memory import Memory
from scheduler.reporting.timings import Span
from tests.unit.scheduler.build import World, memory_of

DEFAULT = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: overcommit}, {name: drf}, {name: predicates}, {name: proportion}, {name: nodeorder}]
"""


def explained(
    world: World,
    job: str,
    *,
    text: str = DEFAULT,
    plugins: dict[str, Any] | None = None,
    memory: Memory | None = None,
    spans: Sequence[Span] = (),
    stopwatch: Any = lambda: 0.0,
    known: Sequence[Obstacle] = (),
) -> Explanation:
    """Why `ns/<job>` waits."""
    memory = memory or memory_of(world.cluster, text, plugins)
    with opened(world.cluster, memory, 1000.0) as session:
        return explain(Shared(session), world.cluster.jobs[f"ns/{job}"], spans, stopwatch, known)


def kinds(answer: Explanation) -> list[str]:
    return [cause.kind for cause in answer.causes]
