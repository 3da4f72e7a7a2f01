"""With the whole default configuration, too, the kernel decides as the oracle does, however much it takes at once."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from generated.scheduling.v1beta1 import Guarantee
from scheduler.state.status import Status
from tests.unit.scheduler.build import World, binds, cycle, memory_of, random_world, shape
from tests.unit.scheduler.slow import SlowJob
from tests.unit.scheduler.slowshares import SlowShares

CHART = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - {name: gang, enablePreemptable: false}
  - name: conformance
- plugins:
  - name: overcommit
  - {name: drf, enablePreemptable: false}
  - name: predicates
  - name: proportion
  - name: nodeorder
  - name: binpack
"""
WITHOUT_DRF = CHART.replace("  - {name: drf, enablePreemptable: false}\n", "")


def shared_world(seed: int) -> tuple[World, dict[str, int], dict[str, int], dict[str, int]]:
    """A random world with two queues of random weights and limits, some of whose jobs already run."""
    rng = random.Random(seed)
    world = random_world(seed)
    weights = {name: rng.choice([0, 1, 1, 2, 3]) for name in ("default", "other")}
    guarantees = {name: rng.choice([1000, 3000]) for name in weights if rng.random() < 0.3}
    capabilities = {name: rng.choice([2000, 6000, 20000]) for name in weights if rng.random() < 0.3}
    for name, weight in weights.items():
        world.queue(
            name,
            weight=weight,
            guarantee=Guarantee(resource={"cpu": f"{guarantees[name]}m"} if name in guarantees else {}),
            capability={"cpu": f"{capabilities[name]}m"} if name in capabilities else None,
        )
    nodes = sorted(world.cluster.node_by_name)
    for number, job_id in enumerate(sorted(world.cluster.jobs)):
        for place in range(rng.randint(0, 3)):
            status = rng.choice([Status.RUNNING, Status.BOUND, Status.RELEASING])
            held = shape(rng.choice([250.0, 1000.0]), rng.choice([0.0, 2.0**30]))
            world.member(job_id[3:], f"held-{number}-{place}", rng.choice(nodes), held, status)
    return world, weights, guarantees, capabilities


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_a_cycle_of_the_chart_binds_as_the_oracle_does(seed: int) -> None:
    world, weights, guarantees, capabilities = shared_world(seed)
    expected = SlowShares(world.cluster, weights, guarantees, capabilities).cycle()
    assert binds(cycle(world, memory_of(world.cluster, CHART))) == expected


class NoDrf(SlowShares):
    """Jobs keep their rank while they are placed, so that whole runs go at once."""

    def job_key(self, job: SlowJob) -> tuple[Any, ...]:
        return (-job.priority, job.ready(), not job.is_broken(), job.created, job.uid)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_runs_stop_where_the_queue_is_full(seed: int) -> None:
    world, weights, guarantees, capabilities = shared_world(seed)
    expected = NoDrf(world.cluster, weights, guarantees, capabilities).cycle()
    assert binds(cycle(world, memory_of(world.cluster, WITHOUT_DRF))) == expected
