"""Jobs that sleep change nothing: against a scheduler that visits each waiting job in each cycle."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.actions import BUILT_IN as ACTIONS
from scheduler.cycle import Result, run_cycle
from scheduler.dump import parts
from scheduler.explain.explain import explain
from scheduler.explain.opening import opened
from scheduler.explain.shared import Shared
from scheduler.fairness.refused import Refused
from scheduler.memory import Memory
from scheduler.placing.dormant import Dormancy
from scheduler.reporting.messages import PATIENCE, gist
from tests.unit.scheduler import changing
from tests.unit.scheduler.build import World, memory_of

CONFIGURATION = """
actions: "{actions}"
tiers:
- plugins: [{{name: priority}}, {{name: gang}}, {{name: conformance}}]
- plugins:
  - {{name: overcommit}}
  - {{name: drf}}
  - {{name: predicates}}
  - {{name: {divider}}}
  - {{name: nodeorder}}
  - {{name: binpack}}
"""
SETTINGS = {
    "chart": ("enqueue, allocate, backfill", "proportion"),
    "evicting": ("enqueue, allocate, preempt, reclaim, backfill", "proportion"),
    "evicting first": ("enqueue, reclaim, preempt, allocate, backfill", "proportion"),
    "twice": ("allocate, preempt, allocate", "proportion"),
    "capacity": ("enqueue, allocate, preempt, reclaim, backfill", "capacity"),
}


class Sleepless(Dormancy):
    """Nobody sleeps."""

    def settle(self, session: Any, visited: Any, began: int, *, is_quiet: bool) -> None:
        """Each job is visited in each cycle."""


class Asked(Refused):
    """Each job is asked about in each cycle."""

    def ask(self, session: Any, job: Any) -> bool:
        return bool(session.job_enqueueable(job))


@dataclass
class Side:
    """One of the two schedulers, with its own copy of the cluster."""

    world: World
    memory: Memory
    results: list[Result] = field(default_factory=list)
    words: dict[str, str] = field(default_factory=dict)
    gauges: dict[Any, float] = field(default_factory=dict)

    def run(self, now: float) -> Result:
        result = run_cycle(self.world.cluster, self.memory, ACTIONS, uid="session", now=now)
        self.results.append(result)
        self.words |= changing.told([result])
        self.gauges |= result.gauges.values
        return result


def sides(seed: int, kind: str, *, sociable: bool) -> tuple[Side, Side]:
    actions, divider = SETTINGS[kind]
    text = CONFIGURATION.format(actions=actions, divider=divider)
    made = [changing.world(seed, sociable=sociable) for _ in range(2)]
    sleeping, watching = (Side(world, memory_of(world.cluster, text)) for world in made)
    watching.memory.dormancy, watching.memory.refused = Sleepless(), Asked()
    return sleeping, watching


def kept(side: Side) -> dict[str, str]:
    """What is said of those that still wait."""
    tasks, jobs = side.world.cluster.tasks, side.world.cluster.jobs
    return {key: text for key, text in side.words.items() if key in tasks or key in jobs}


def same(sleeping: Side, watching: Side) -> None:
    mine, other = sleeping.results[-1], watching.results[-1]
    assert changing.decisions(mine) == changing.decisions(other)
    assert [(level.queue.name, level.amounts) for level in mine.levels] == [
        (level.queue.name, level.amounts) for level in other.levels
    ]
    assert sleeping.gauges == watching.gauges
    told, all_told = ({job.job.id for job in result.outcome.jobs} for result in (mine, other))
    assert told <= all_told <= told | mine.outcome.asleep
    assert not told & mine.outcome.asleep
    phases = [{job.id: job.phase for job in side.world.cluster.jobs.values()} for side in (sleeping, watching)]
    assert phases[0] == phases[1]


def sense(text: str) -> list[str]:
    """What is said, but for the numbers, which also set the order of reasons."""
    return sorted(re.findall(r"[\w#/-]+", gist(text)))


def state(side: Side) -> bytes:
    """All of the cluster, to the last bit; a plan that was discarded leaves those who wait in another order."""
    taken = parts.take(side.world.cluster, side.memory)
    for job in taken["jobs"]:
        job.pending.sort()
    return msgspec.json.encode(taken)


def explanations(side: Side, now: float) -> list[dict[str, Any]]:
    """Why each job waits, for whoever asks; but for the functions asked, which depend on whose terms were met so far."""
    with opened(side.world.cluster, side.memory, now) as session:
        shared = Shared(session)
        jobs = [job for job in side.world.cluster.jobs.values() if job.pending]
        return [{**msgspec.to_builtins(explain(shared, job, (), lambda: 0.0)), "times": None} for job in jobs]


def makes_promises(side: Side) -> bool:
    """Whether jobs were promised room of pods that leave: whom they come before is told of it, unless it sleeps."""
    return any(" Pipelined" in text for text in changing.told(side.results[-1:]).values())


def gets_somewhere(side: Side, words: dict[str, str]) -> set[str]:
    """
    The pods of jobs some of whose pods would find a node: which ones these are may be told half a minute later.

    And these jobs, if their pods differ: so may be whether the queue or the nodes end a plan, and at which pod.
    """
    found: set[str] = set()
    for job in side.world.cluster.jobs.values():
        if any("can possibly" in words.get(uid, "") for uid in job.tasks):
            found.update(job.tasks)
            if len({(task.role, id(task.shape)) for task in job.pending.values()}) > 1:
                found.add(job.id)
    return found


class Told:
    """What is said of those that wait, and since when, by the side that visits all."""

    def __init__(self) -> None:
        self._words: dict[str, list[tuple[float, str]]] = {}
        self._last: dict[str, float] = {}
        """When something was said of them last: a job whose queue is gone hears no more."""

    def hear(self, watching: Side, now: float) -> None:
        self._last |= dict.fromkeys(changing.told(watching.results[-1:]), now)
        for key, text in kept(watching).items():
            words = self._words.setdefault(key, [])
            if not words or words[-1][1] != text:
                words.append((now, text))

    def was_said(self, key: str, text: str) -> bool:
        """Whether that was the word not longer ago than numbers may be, or no longer before the last one."""
        words, after = self._words[key], self._last[key] - PATIENCE
        ends = [*(at for at, _ in words[1:]), float("inf")]
        return any(text == word and end > after for (_, word), end in zip(words, ends, strict=True))


@pytest.mark.parametrize("sociable", [False, True])
@pytest.mark.parametrize("kind", SETTINGS)
@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**32))
def test_what_is_decided_and_told_is_that_of_visiting_every_job(kind: str, sociable: bool, seed: int) -> None:
    sleeping, watching = both = sides(seed, kind, sociable=sociable)
    rng, now, said = random.Random(seed), 1000.0, Told()
    for _ in range(8):
        for _ in range(rng.choice([0, 1, 1, 2])):
            own = rng.randrange(2**32)
            for side in both:
                changing.change(side.world, random.Random(own))
        for _ in range(12):
            # Until nothing is decided any more: then both say why the rest waits.
            now += rng.choice([0.5, 1.0, 20.0, 40.0])
            for side in both:
                changing.touch(side.world)
                changing.carry_out(side.world, side.run(now))
            same(sleeping, watching)
            said.hear(watching, now)
            if not sleeping.results[-1].decisions:
                break
        assert state(sleeping) == state(watching)
        assert explanations(sleeping, now) == explanations(watching, now)
        mine, other = kept(sleeping), kept(watching)
        assert mine.keys() == other.keys()
        if not makes_promises(watching):
            late = gets_somewhere(sleeping, mine)
            assert late == gets_somewhere(watching, other)
            strict = mine.keys() - late
            assert {key: sense(mine[key]) for key in strict} == {key: sense(other[key]) for key in strict}
            # Of what the first of two visits in one cycle says, the second leaves nothing for comparison.
            assert kind == "twice" or all(said.was_said(key, text) for key, text in mine.items())


def test_enough_of_those_that_wait_in_these_clusters_sleep() -> None:
    slept = 0
    for seed in range(20):
        sleeping, _ = sides(seed, "chart", sociable=False)
        for now in range(5):
            carried = sleeping.run(1000.0 + now)
            changing.carry_out(sleeping.world, carried)
            slept += len(carried.outcome.asleep)
            changing.change(sleeping.world, random.Random(seed + now))
    assert slept > 20, "the comparison is worth something"
